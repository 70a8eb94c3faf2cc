"""What an audit job takes from metrics of points."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from fairbench.api.metric import Metric
from fairbench.metrics.points import Distortion
from fairbench.runs.audit_job import _all_columns, measured_columns, protect
from fairbench.runs.plugin_values import ContractError
from fairbench.testing.sample_evaluations import point_evaluations


class Gives(Metric):
    name = "gives"
    summary = "what a test says"
    level = "point"
    columns = {"own": "a number", "own_{task}": "a number by task"}  # noqa: RUF012
    given: Mapping[str, Any]

    def compute(self, evaluation: Any) -> Mapping[str, float | None]:
        return self.given


def measured(**values: Any) -> Mapping[str, float | None]:
    class Giving(Gives):
        given = values

    return measured_columns(Giving, None)


def test_declared_columns_are_taken() -> None:
    assert measured(own=1, own_income=None) == {"own": 1.0, "own_income": None}


@pytest.mark.parametrize("column", ["mutual_information", "ow", "own2"])
def test_a_metric_cannot_write_columns_that_it_does_not_declare(column: str) -> None:
    with pytest.raises(ContractError, match=f"'{column}', which it does not declare in columns"):
        measured(own=1.0, **{column: 0.0})


def test_names_of_columns_are_texts() -> None:
    class Numbered(Gives):
        given = {1: 0.0}  # noqa: RUF012

    with pytest.raises(ContractError, match="1, which it does not declare"):
        measured_columns(Numbered, None)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "1", 10**400, np.ones(1)])
def test_values_are_finite_numbers(value: object) -> None:
    with pytest.raises(ContractError, match="None says"):
        measured(own=value)


def test_numbers_of_numpy_are_numbers() -> None:
    found = measured(own=np.float32(0.5), own_income=np.int64(2))
    assert found == {"own": 0.5, "own_income": 2.0}


def test_a_metric_cannot_write_into_what_other_metrics_read() -> None:
    evaluation = point_evaluations()["whole"]
    protect(evaluation)

    class Overwrites(Gives):
        def compute(self, evaluation: Any) -> Mapping[str, float | None]:
            evaluation.audit.probabilities[:] = 0
            return {"own": 1.0}

    with pytest.raises(ContractError, match="read-only"):
        measured_columns(Overwrites, evaluation)


def test_a_metric_of_a_plugin_cannot_write_the_columns_of_another() -> None:
    evaluation = point_evaluations()["whole"]

    class Grows(Gives):
        """Declares a column when it computes it."""

        columns: ClassVar[dict[str, str]] = {"own": "a number"}

        def compute(self, evaluation: Any) -> Mapping[str, float | None]:
            self.columns["distortion"] = "not its own"
            return {"own": 1.0, "distortion": 0.0}

    class Says(Gives):
        columns: ClassVar[dict[str, str]] = {"distortion": "another's, too"}

        def compute(self, evaluation: Any) -> Mapping[str, float | None]:
            return {"distortion": 0.0}

    values, faults = _all_columns([Distortion, Grows, Says], evaluation)
    assert values["distortion"] != 0
    assert "own" not in values
    assert len(faults) == 2


def test_a_mapping_that_tells_other_names_the_second_time_is_read_once() -> None:
    class Two(dict[str, float]):
        def __iter__(self) -> Any:
            return iter(["own"])

        def keys(self) -> Any:
            return ["own"]

    assert measured_columns(type("Lies", (Gives,), {"given": Two(own=1.0, d=0.0)}), None)
