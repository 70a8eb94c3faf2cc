"""What a fit gives of units that gave nothing: why, and what they took."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from fairbench.api import Architecture, Floats, Knob, Point, Shots, Workload
from fairbench.api.method import Curve, Diverged, Method, Params, Representation
from fairbench.config import RunConfig
from fairbench.data.prepared import Prepared
from fairbench.errors import PluginError
from fairbench.runs.method_answers import ask
from fairbench.runs.plan import make_budget, units_of
from fairbench.runs.plugin_values import ContractError
from fairbench.runs.unit_result import UnitResult
from fairbench.store.status import Status
from tests.support import wrong_curves as curves
from tests.support import wrong_encoders as encoders
from tests.support.fits import fit_of, job_of


class TooLarge(Representation):
    def encode(self, x: Floats, **_: Any) -> Floats:
        raise MemoryError("no room for z")


class Large(Method):
    name, summary = "large", "does not fit into memory"

    def fit(self, train: Any, units: Any, context: Any) -> list[Any]:
        sum(range(2_000_000))
        return [TooLarge() for _ in units]


class Diverges(Large):
    name = "diverges"

    def fit(self, train: Any, units: Any, context: Any) -> list[Any]:
        sum(range(2_000_000))
        return [Diverged("loss nan") for _ in units]


def result_of(method: type[Method], data: Prepared, **given: Any) -> UnitResult:
    config = RunConfig(methods=(method.name,), datasets=("toy",), seeds=(0,))
    (planned,) = units_of(method, Params(), data, make_budget(10, data), config)
    return fit_of(planned, data, **given)


@pytest.mark.parametrize(("method", "status"), [(Large, Status.OOM), (Diverges, Status.DIVERGED)])
def test_what_gave_nothing_says_why_and_what_it_took(
    method: type[Method], status: Status, prepared: Prepared
) -> None:
    result = result_of(method, prepared)
    assert result.status is status
    assert result.costs["processor_seconds"] > 0.005


class TwiceTheSame(Method):
    name, summary, shots = "twice", "two points of one name", Shots.SINGLE

    class Line(Curve):
        knob = Knob("t", 0.0, 1.0)
        points = (Point.of(t=0.5), Point.of(t=0.5 + 1e-12))

        def at(self, point: Point) -> Representation:
            raise AssertionError("its points are not read")

    def fit(self, train: Any, units: Any, context: Any) -> list[Any]:
        return [self.Line() for _ in units]


def test_points_of_a_curve_have_names_of_their_own(prepared: Prepared) -> None:
    result = result_of(TwiceTheSame, prepared)
    assert result.status is Status.FAILED
    assert "several points called t=0.5" in result.error


@pytest.mark.parametrize(
    ("method", "says"),
    [
        (curves.PointsAreNumbers, "The points of the curve of right-curve are (0.0, 0.5, 1.0): g"),
        (curves.PointsAreGenerated, "give a tuple of fairbench.api.Point"),
        (curves.LogarithmOfZero, "is logarithmic from 0: give it a low above 0"),
        (curves.WithoutEnd, "has no end: give it finite ends"),
    ],
)
def test_a_curve_that_cannot_be_read_says_why(
    method: type[Method], says: str, prepared: Prepared
) -> None:
    result = result_of(method, prepared)
    assert result.status is Status.FAILED
    assert says in str(result.error)


@pytest.mark.parametrize(
    ("method", "says"),
    [
        (encoders.BadBits, "bits() returned other values than 0, 1 and -1"),
        (encoders.FlatBits, "bits() returned shape ("),
        (encoders.CountsInWords, "multiply_adds() is 'many', not a finite number"),
    ],
)
def test_bits_and_counts_of_another_kind_are_no_result(
    method: type[Method], says: str, prepared: Prepared
) -> None:
    result = result_of(method, prepared)
    assert result.status is Status.FAILED
    assert says in str(result.error)


class CurveForAPoint(Method):
    name, summary = "curve-for-a-point", "multi-shot, and gives a curve"

    def fit(self, train: Any, units: Any, context: Any) -> list[Any]:
        return [TwiceTheSame.Line() for _ in units]


def test_a_multi_shot_method_may_not_give_a_curve(prepared: Prepared) -> None:
    result = result_of(CurveForAPoint, prepared)
    assert result.status is Status.FAILED
    assert "is multi-shot: its fit must return a Representation" in result.error


class OneByOne(Method):
    name, summary = "one-by-one", "a generator instead of a list"

    def fit(self, train: Any, units: Any, context: Any) -> Any:
        yield from (TooLarge() for _ in units)


def test_a_generator_is_no_list(prepared: Prepared) -> None:
    with pytest.raises(ContractError, match="fit returned a generator: return a list, with one"):
        result_of(OneByOne, prepared)


class Limits(Params):
    clip: float = float("inf")


def test_hyperparameters_that_cannot_be_stored_are_the_methods_own_fault(
    prepared: Prepared,
) -> None:
    with pytest.raises(PluginError, match="hyperparameters of large cannot be stored"):
        ask(Large, Limits(), prepared.info)


class Odd(Large):
    """Says something wrong of itself."""

    name = "odd"
    size: Any = None
    where: Any = "cpu"
    words: Any = ("odd",)

    def workload(self, info: Any) -> Any:
        return self.size

    @classmethod
    def device(cls, available: str) -> Any:
        return cls.where

    @property
    def tags(self) -> Any:
        return self.words


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"size": Workload(Architecture(), 128, 0)}, "workload() returned"),
        ({"size": Workload(Architecture(), None)}, "workload() returned"),  # type: ignore[arg-type]
        ({"size": Workload("small", 128)}, "workload() returned"),  # type: ignore[arg-type]
        ({"size": "small"}, "workload() returned"),
        ({"where": "tpu"}, "device('cpu') returned"),
        ({"words": 5}, "tags are 5"),
        ({"words": ("two words",)}, "tags are"),
        ({"knobs": (Knob("\ud800", 0.0, 1.0),)}, "has no name that can be shown"),
    ],
)
def test_what_a_method_says_wrongly_of_itself_is_its_own_fault(
    wrong: dict[str, Any], says: str, prepared: Prepared
) -> None:
    """Else it would end the run of all other methods, while it is planned."""
    with pytest.raises(PluginError, match=re.escape(says)):
        ask(type("Wrong", (Odd,), wrong), Params(), prepared.info)
    assert ask(Odd, Params(), prepared.info).refusal is None


class Exits(Representation):
    """Ends the process, or what would be one, at some points."""

    def __init__(self, when: str) -> None:
        self.when = when

    def encode(self, x: Floats, **_: Any) -> Floats:
        if self.when == "encoded":
            raise SystemExit("bad rows")
        return x[:, :1]

    def state(self) -> dict[str, Any]:
        if self.when == "stored":
            raise SystemExit("no room")
        return {}


class ExitsOnce(Method):
    name, summary = "exits-once", "one of its models ends the process"
    knobs = (Knob("t", 0.0, 2.0),)
    moments = ("encoded", "stored", "never")

    def points(self) -> tuple[Point, ...]:
        return tuple(Point.of(t=float(number)) for number in range(3))

    def fit(self, train: Any, units: Any, context: Any) -> list[Any]:
        return [Exits(self.moments[int(unit.point["t"])]) for unit in units]


def test_a_model_that_ends_the_process_costs_no_other_its_training(prepared: Prepared) -> None:
    config = RunConfig(methods=("exits-once",), datasets=("toy",), seeds=(0,))
    units = units_of(ExitsOnce, Params(), prepared, make_budget(10, prepared), config)
    results = job_of(*units, data=prepared).run(lambda share, note: None)
    assert [one.status for one in results] == [Status.FAILED, Status.DONE, Status.DONE]
    assert "bad rows" in str(results[0].error)


class Late(Representation):
    """Trains when it is first used."""

    def __init__(self) -> None:
        self.trained = False

    def train(self) -> None:
        if not self.trained:
            sum(range(5_000_000))
        self.trained = True

    def encode(self, x: Floats, **_: Any) -> Floats:
        self.train()
        return x[:, :1]


class LateInState(Late):
    def state(self) -> dict[str, Any]:
        self.train()
        return {}


class TrainsInState(Large):
    name = "trains-in-state"

    def fit(self, train: Any, units: Any, context: Any) -> list[Any]:
        return [LateInState() for _ in units]


class LateLine(Curve):
    """Trains when its points are asked for, or when one is read."""

    knob = Knob("t", 0.0, 1.0)

    def __init__(self, when: str) -> None:
        self.when, self.model = when, Late()

    @property
    def points(self) -> tuple[Point, ...]:  # type: ignore[override]
        if self.when == "points":
            self.model.train()
        return (Point.of(t=0.0), Point.of(t=1.0))

    def at(self, point: Point) -> Representation:
        if self.when == "at":
            self.model.train()
        return self.model


def late(when: str) -> type[Method]:
    class TrainsLate(Large):
        name, shots = f"trains-in-{when}", Shots.SINGLE

        def fit(self, train: Any, units: Any, context: Any) -> list[Any]:
            return [LateLine(when) for _ in units]

    return TrainsLate


@pytest.mark.parametrize("method", [TrainsInState, late("points"), late("at")])
def test_training_after_the_fit_is_a_cost_of_training_or_encoding(
    method: type[Method], prepared: Prepared
) -> None:
    """Else a method that trains when it is stored, or read, would look as if it cost nothing."""
    costs = result_of(method, prepared).costs
    took = time.process_time()
    sum(range(5_000_000))
    took = time.process_time() - took
    assert costs["processor_seconds"] > took / 2
    assert costs["train_seconds"] + costs["encode_seconds"] > took / 2
