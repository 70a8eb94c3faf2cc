"""Verification trains where there are the training rows and nothing else."""

from __future__ import annotations

import gc
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairbench.api import DatasetInfo, Floats, Ints, Role, Unit
from fairbench.api.method import Diverged, Method, Representation
from fairbench.api.types import Progress
from fairbench.config import RunConfig
from fairbench.data.prepared import Prepared
from fairbench.registry import load_registry
from fairbench.runs.data_files import DataFiles
from fairbench.runs.isolation import Isolation, isolated_processes
from fairbench.runs.plan import make_budget, units_of
from fairbench.runs.plugin_values import ContractError
from fairbench.runs.unit_result import UnitResult
from fairbench.store.status import Status
from fairbench.training.schedule import FEWEST_COMPILED
from tests.support.fits import job_of

LEFT = "LEFT_BY_THE_PLUGIN"


class Shifted(Representation):
    """x, and a number that was fitted."""

    def __init__(self, by: float) -> None:
        self.by = by

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        return (x[:, :2] + self.by).astype(np.float32)

    def state(self) -> Mapping[str, np.ndarray] | None:
        return {"by": np.array(self.by)}


class Fits(Method):
    """Fits the number that ``finds`` returns."""

    name, summary = "fits", "x and a number"

    def finds(self, train: Any) -> float:
        return float(train.x.sum())

    def fit(self, train: Any, units: Any, context: Any) -> list[Any]:
        context.progress(0.5, "halfway")
        context.report("steps", 3)
        return [Shifted(self.finds(train)) for _ in units]

    def restore(
        self, state: Mapping[str, np.ndarray], unit: Unit, info: DatasetInfo
    ) -> Representation:
        return Shifted(float(state["by"]))


class FindsNothing(Fits):
    """What the methods below give that find none of what they look for."""

    name = "finds-nothing"

    def finds(self, train: Any) -> float:
        return 0.0


class FromMemory(Fits):
    """How many rows of the test set it finds."""

    name = "from-memory"

    def finds(self, train: Any) -> float:
        found = [one for one in gc.get_objects() if type(one) is Prepared]
        return float(sum(len(one.roles[Role.TEST].s) for one in found))


class FromTheEnvironment(Fits):
    """What its code left in the environment, where the data were in memory."""

    name = "from-the-environment"

    def finds(self, train: Any) -> float:
        return float(
            "LEFT" in str(dict(os.environ)) or LEFT in Path("/proc/self/environ").read_text()
        )


class FromData(Fits):
    name = "from-data"

    def finds(self, train: Any) -> float:
        return float(Path(os.environ["PEOPLE"]).read_text())


class FromAProgram(Fits):
    name = "from-a-program"

    def finds(self, train: Any) -> float:
        return float(subprocess.check_output(["cat", os.environ["PEOPLE"]]))


class FromAFileOfItsOwn(Fits):
    """A number that it writes down for a while, as one that keeps the best of its models does."""

    name = "from-a-file-of-its-own"

    def finds(self, train: Any) -> float:
        with tempfile.TemporaryDirectory() as folder:
            best = Path(folder, "best")
            best.with_suffix(".new").write_text("7")
            best.with_suffix(".new").replace(best)
            return float(best.read_text())


class WithoutState(Fits):
    name = "without-state"
    stored: Callable[[Any], Any] = lambda self: None

    def fit(self, train: Any, units: Any, context: Any) -> list[Any]:
        return [type("Stateless", (Shifted,), {"state": type(self).stored})(5.0) for _ in units]


def store_where_others_are(self: Shifted) -> Mapping[str, np.ndarray] | None:
    """Arrays only where there is more than the training rows."""
    known = any(type(one) is Prepared for one in gc.get_objects())
    return {"by": np.array(self.by)} if known else None


def refuse_to_store(self: Shifted) -> None:
    raise ValueError("not now")


class StateOfACheat(WithoutState):
    name, stored = "state-of-a-cheat", store_where_others_are


class RefusesToStore(WithoutState):
    name, stored = "refuses-to-store", refuse_to_store


class OneDiverges(Fits):
    name = "one-diverges"

    def fit(self, train: Any, units: Any, context: Any) -> list[Any]:
        return [Diverged("the loss is no number"), *super().fit(train, units[1:], context)]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of the data, there before the verification began."""
    path = tmp_path_factory.mktemp("data") / "people.csv"
    path.write_text("41")
    return path


@pytest.fixture(scope="module")
def isolation(people: Path) -> Iterator[Isolation]:
    time.sleep(0.05)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PEOPLE", str(people))
        processes = isolated_processes()
        yield Isolation(time.time(), DataFiles.among([people]), processes, "mine", {})


def trained(
    method: type[Method],
    data: Prepared,
    isolation: Isolation | None,
    seeds: int = 1,
    progress: Progress = lambda share, note: None,
    **given: Any,
) -> list[UnitResult]:
    """Train one unit a seed, alone or here, and encode; ``given``: of the job."""
    config = RunConfig(
        methods=(method.name,),
        datasets=(data.info.name,),
        points=2,
        seeds=tuple(range(seeds)),
    )
    planned = units_of(method, method.Params(), data, make_budget(10, data), config)[:seeds]
    return job_of(*planned, data=data, isolation=isolation, **given).run(progress)


def differ(one: UnitResult, other: UnitResult) -> bool:
    """Whether two results have different codes."""
    return one.arrays.keys() != other.arrays.keys() or any(
        not np.array_equal(array, other.arrays[name]) for name, array in one.arrays.items()
    )


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["pca", "sofair", "msfair", "merged-cells"])
def test_honest_methods_give_the_codes_and_encoders_that_they_give_in_a_run(
    method: str, prepared: Prepared, isolation: Isolation
) -> None:
    cls = load_registry().methods[method]
    (alone,), (here,) = trained(cls, prepared, isolation), trained(cls, prepared, None)
    assert alone.status is Status.DONE
    assert not differ(alone, here)
    assert alone.encoder == here.encoder
    assert alone.points == here.points


@pytest.mark.thorough
def test_how_far_a_training_is_can_be_followed(prepared: Prepared, isolation: Isolation) -> None:
    shares: dict[str, float] = {}

    def note(share: float, what: str) -> None:
        shares[what] = share

    trained(load_registry().methods["sofair"], prepared, isolation, progress=note)
    assert shares["step 9 of 10"] == pytest.approx(0.95 * 9 / 10)


@pytest.mark.slow
def test_so_do_those_whose_steps_are_compiled(prepared: Prepared, isolation: Isolation) -> None:
    """PyTorch's compiler writes files, and starts programs."""
    sofair = load_registry().methods["sofair"]
    (alone,), (here,) = (
        trained(sofair, prepared, one, iterations=FEWEST_COMPILED) for one in (isolation, None)
    )
    assert alone.status is Status.DONE
    assert not differ(alone, here)


@pytest.mark.parametrize(
    "method", [FromMemory, pytest.param(FromTheEnvironment, marks=pytest.mark.thorough)]
)
def test_what_lies_in_memory_or_the_environment_is_not_there(
    method: type[Method], prepared: Prepared, isolation: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LEFT, "who is in group 1")
    os.putenv(LEFT + "_UNSEEN", "who is in group 2")
    (here,), (alone,) = (trained(method, prepared, one) for one in (None, isolation))
    (nothing,) = trained(FindsNothing, prepared, None)
    assert here.status is alone.status is nothing.status is Status.DONE
    assert not differ(alone, nothing)
    for name, z in nothing.arrays.items():
        assert (here.arrays[name] > z).all(), "it was there to be found"
    assert os.environ[LEFT] == "who is in group 1"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("method", "says"),
    [
        (FromData, r"reads the data, \S+people.csv. All that fit needs is given to it"),
        (FromAProgram, "starts a program"),
    ],
)
def test_the_files_of_the_data_are_not_read(
    method: type[Method], says: str, prepared: Prepared, isolation: Isolation
) -> None:
    with pytest.raises(ContractError, match=says):
        trained(method, prepared, isolation)


@pytest.mark.thorough
def test_a_fit_may_write_files_and_read_them_again(
    prepared: Prepared, isolation: Isolation
) -> None:
    (alone,) = trained(FromAFileOfItsOwn, prepared, isolation)
    assert alone.status is Status.DONE


@pytest.mark.thorough
@pytest.mark.parametrize("method", [WithoutState, StateOfACheat, RefusesToStore])
def test_what_cannot_be_trained_alone_has_no_encoder_that_passes_for_one(
    method: type[Method], prepared: Prepared, isolation: Isolation
) -> None:
    (alone,) = trained(method, prepared, isolation)
    assert alone.status is Status.DONE
    assert alone.encoder is None


@pytest.mark.thorough
def test_one_that_diverges_does_not_keep_others_from_being_trained(
    prepared: Prepared, isolation: Isolation
) -> None:
    first, second = trained(OneDiverges, prepared, isolation, seeds=2)
    assert first.status is Status.DIVERGED
    assert second.status is Status.DONE
    assert second.costs["steps"] == 3
