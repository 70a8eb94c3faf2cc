"""A plugin that cannot be planned fails alone, with a line that says why and where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, Field

from fairbench.api import Knob, Point
from fairbench.api.dataset import Dataset
from fairbench.api.method import Method, Params
from fairbench.cli.setup import try_datasets
from fairbench.config import RunConfig
from fairbench.data.prepared import Prepared
from fairbench.errors import DataError
from fairbench.registry import Registry
from fairbench.runs.plan import Plan, make_plan
from tests.support.small_table import make_table


class Sound(Method):
    """One knob, two points."""

    name = "sound"
    summary = "can be planned"
    knobs = (Knob("k", 0, 1),)

    def points(self) -> Any:
        return (Point.of(k=0), Point.of(k=1))

    def fit(self, train: Any, units: Any, context: Any) -> Any:
        raise AssertionError("nothing is fitted")


def raises(error: BaseException) -> Callable[..., Any]:
    def act(*_: object) -> Any:
        raise error

    return act


def made(**own: Any) -> type[Method]:
    return type("Odd", (Sound,), {"name": "odd", "__module__": __name__, **own})


class RefusesItsDefault(Params):
    rank: int = Field(0, ge=1, validate_default=True)


class WithoutDefault(Params):
    rank: int


class OtherModel(BaseModel):
    rank: int = 1


@dataclass
class NoModel:
    rank: int = 1


def plan_of(method: type[Method], prepared: Prepared) -> Plan:
    registry = Registry()
    for cls in (method, Sound):
        registry.methods.add(cls, "test")
    config = RunConfig(methods=("all",), datasets=("adults-gender",), budget="quick")
    return make_plan(config, registry, [prepared])


@pytest.mark.parametrize(
    ("method", "error"),
    [
        (made(points=lambda self: (Point.of(k=0), Point.of(k=0))), "the same label, k=0."),
        (
            made(points=lambda self: (Point.of(k=0.12345678), Point.of(k=0.12345679))),
            "the same label, k=0.123457. Labels keep 6 digits",
        ),
        (made(points=lambda self: ()), "points() is empty. Return (Point(),)"),
        (made(points=lambda self: (0.1, 0.2)), "points() returned (0.1, 0.2). Return a tuple"),
        (made(points=lambda self: None), "points() returned None."),
        (made(points=lambda self: (Point.of(k=float("nan")),)), "that is not finite"),
        (made(points=raises(ValueError("no grid"))), "odd raised ValueError: no grid (runs/test_"),
        (made(points=raises(SystemExit(0))), "odd raised SystemExit: 0 (runs/test_plan.py:"),
        (made(supports=raises(KeyError("s"))), "odd raised KeyError: 's'"),
        (made(supports=lambda self, info: False), "supports() returned False. Return None"),
        (made(supports=lambda self, info: True), "supports() returned True."),
        (made(workload=raises(ValueError("no size"))), "odd raised ValueError: no size"),
        (made(workload=lambda self, info: 7), "workload() returned 7."),
        (made(__init__=raises(RuntimeError("no licence"))), "odd raised RuntimeError: no licence"),
        (made(Params=WithoutDefault), "A hyperparameter has no usable default: rank of odd."),
        (made(Params=RefusesItsDefault), "no usable default: rank: at least 1 is needed (got 0)."),
        (made(Params={"rank": 1}), "Params of odd is {'rank': 1}, no subclass"),
        (made(Params=NoModel), "no subclass of fairbench.api.Params"),
        (made(Params=OtherModel), "no subclass of fairbench.api.Params"),
    ],
)
def test_a_method_that_cannot_be_planned_fails_and_the_others_are_planned(
    method: type[Method], error: str, prepared: Prepared
) -> None:
    plan = plan_of(method, prepared)
    assert {unit.method.name for unit in plan.units} == {"sound"}
    assert len(plan.units) == 2
    ((title, text),) = plan.failed.items()
    assert title.partition(" on ")[0] == "odd"
    assert error in text
    assert "\n" not in text


class Whole(Dataset):
    name = "whole"
    summary = "can be loaded"
    optional = True

    def load(self, folder: Any) -> Any:
        return make_table(400)


class Raises(Whole):
    name = "raises"

    def load(self, folder: Any) -> Any:
        raise KeyError("wage")


class Exits(Whole):
    name = "exits"

    def load(self, folder: Any) -> Any:
        raise SystemExit(0)


def test_a_dataset_that_raises_fails_and_the_others_are_loaded() -> None:
    registry = Registry()
    for cls in (Raises, Whole, Exits):
        registry.datasets.add(cls, "test")
    config = RunConfig(methods=("all",), datasets=("raises", "whole", "exits"))
    loaded, failed = try_datasets(config, registry)
    assert [data.info.name for data in loaded] == ["whole"]
    assert list(failed) == ["raises", "exits"]
    assert "The dataset 'raises' raised KeyError: 'wage' (runs/test_plan.py:" in str(
        failed["raises"]
    )
    with pytest.raises(DataError, match="'raises' raised KeyError"):
        try_datasets(config.model_copy(update={"datasets": ("raises", "exits")}), registry)
