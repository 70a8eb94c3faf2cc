"""Wrong metrics of every kind are caught, and told what is wrong; the built-in ones keep all."""

from __future__ import annotations

import os
import sys
from typing import ClassVar

import numpy as np
import pytest

from fairbench.api.metric import Metric
from fairbench.errors import CheckError
from fairbench.registry import load_registry
from fairbench.testing import check_metric
from fairbench.testing.metric_promises import MetricTrial

pytestmark = pytest.mark.thorough

METRICS = load_registry().metrics.classes


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_keeps_its_promises(name: str) -> None:
    check_metric(METRICS[name])


class Spread(Metric):
    """Keeps every promise."""

    name = "spread"
    summary = "standard deviation of z"
    level = "point"
    columns: ClassVar = {"z_spread": "mean standard deviation of the dimensions of z"}

    def compute(self, evaluation):
        return {"z_spread": float(evaluation.z.std(axis=0).mean())}


class LowestI(Metric):
    """Keeps every promise, of replicates too."""

    name = "lowest-i"
    summary = "I of the fairest point"
    level = "curve"
    columns: ClassVar = {"i_fairest": "nats", "i_fairest_low": "lower", "i_fairest_high": "upper"}

    def compute(self, evaluation):
        return {"i_fairest": evaluation.points[-1]["mutual_information"]}

    def resampled(self, evaluation):
        return (
            {"i_fairest": evaluation.replicates[-1]["mutual_information"]}
            if evaluation.replicates
            else {}
        )


class Overwrites(Spread):
    """A second time it changes nothing more."""

    def compute(self, evaluation):
        evaluation.s[:] = 0
        return super().compute(evaluation)


class BadName(Spread):
    name = "Spread!"


class BadLevel(Spread):
    level = "points"


class BadDirection(Spread):
    direction = "up"


class Unexplained(Spread):
    columns: ClassVar = {"z_spread": ""}


class BadColumn(Spread):
    columns: ClassVar = {"Z spread": "text"}


class TakenColumn(Spread):
    columns: ClassVar = {"mutual_information": "text"}


class TakenColumns(Spread):
    columns: ClassVar = {"mutual_{task}": "text"}


class ReservedColumn(Spread):
    columns: ClassVar = {"rank": "text"}


class NotANumber(Spread):
    def compute(self, evaluation):
        return {"z_spread": float("nan")}


class NotANumberOfNothing(Spread):
    """Divides by what is zero where z says nothing."""

    def compute(self, evaluation):
        leak = evaluation.validation.mutual_information
        return {"z_spread": np.float64(1.0) / leak if leak else float("inf")}


class AWord(Spread):
    def compute(self, evaluation):
        return {"z_spread": "wide"}


class Undeclared(Spread):
    def compute(self, evaluation):
        return {**super().compute(evaluation), "z_width": 1.0}


class LeavesOut(Spread):
    def compute(self, evaluation):
        return {}


class NeedsADecoder(Spread):
    def compute(self, evaluation):
        return {"z_spread": float(evaluation.distortion.own.mean())}


class WritesIntoZ(Spread):
    def compute(self, evaluation):
        evaluation.z[:] = evaluation.z - evaluation.z.mean(axis=0)
        evaluation.z[:] += 1
        return super().compute(evaluation)


class Draws(Spread):
    def compute(self, evaluation):
        return {"z_spread": float(np.random.default_rng().normal())}


class MovesAway(Spread):
    def compute(self, evaluation):
        os.chdir("/")
        return super().compute(evaluation)


class VacuousOfOthers(Spread):
    vacuous_columns: ClassVar = frozenset({"rank"})


class ByTaskOfCurves(LowestI):
    columns: ClassVar = {"i_{task}": "nats"}


class NoEnds(LowestI):
    columns: ClassVar = {"i_fairest": "nats"}


class OtherReplicates(LowestI):
    def resampled(self, evaluation):
        return {"i_fairest": 1_000 + np.arange(500.0)}


class ShortReplicates(LowestI):
    def resampled(self, evaluation):
        return {"i_fairest": np.zeros(3)}


class NeedsReplicates(LowestI):
    def compute(self, evaluation):
        return {"i_fairest": float(evaluation.replicates[-1]["mutual_information"].mean())}


@pytest.mark.parametrize("metric", [Spread, LowestI])
def test_a_good_metric_passes(metric: type[Metric]) -> None:
    check_metric(metric)


class ReturnsANumber(Spread):
    def compute(self, evaluation):
        return 1.0


class Exits(Spread):
    def compute(self, evaluation):
        sys.exit(3)


@pytest.mark.parametrize("other", [ReturnsANumber, Exits])
def test_a_metric_of_curves_is_not_blamed_for_another_metric(other: type[Metric]) -> None:
    beside = MetricTrial(LowestI, [*METRICS.values(), other])
    assert beside.values["whole"] == MetricTrial(LowestI, [*METRICS.values()]).values["whole"]


@pytest.mark.parametrize(
    ("metric", "promise", "says"),
    [
        (BadName, "name and texts", "'Spread!' is not a name"),
        (BadLevel, "name and texts", "level is 'points'"),
        (BadDirection, "name and texts", "direction is 'up'"),
        (Unexplained, "columns are named", "not explained"),
        (BadColumn, "columns are named", "'Z spread' is not a column name"),
        (
            TakenColumn,
            "columns are named",
            "'mutual_information' belongs to the metric 'information'",
        ),
        (VacuousOfOthers, "columns are named", "vacuous_columns has 'rank'"),
        (ByTaskOfCurves, "columns are named", "'i_{task}' is by task"),
        (TakenColumns, "columns are named", "'mutual_{task}' belongs to the metric 'information'"),
        (ReservedColumn, "columns are named", "'rank' belongs to the leaderboard"),
        (NotANumber, "finite numbers", "z_spread is nan"),
        (NotANumberOfNothing, "finite numbers", "without information z_spread is inf"),
        (AWord, "finite numbers", "z_spread is 'wide'"),
        (Undeclared, "no others", "'z_width', which is not declared"),
        (LeavesOut, "all declared columns", "leaves out 'z_spread'"),
        (NeedsADecoder, "every kind of evaluation", "without a decoder"),
        (WritesIntoZ, "stays as it is", "compute changes its evaluation"),
        (Overwrites, "stays as it is", "compute changes its evaluation"),
        (Draws, "the same values", "values differ"),
        (MovesAway, "leaves its process", "the working directory"),
        (NoEnds, "replicates", "without declaring 'i_fairest_low'"),
        (OtherReplicates, "replicates", "its replicates 1000 to"),
        (ShortReplicates, "replicates", "shape (3,)"),
        (NeedsReplicates, "every kind of evaluation", "without costs and replicates"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_wrong_metric_is_told_which_promise_it_breaks(
    metric: type[Metric], promise: str, says: str
) -> None:
    with pytest.raises(CheckError) as caught:
        check_metric(metric)
    assert promise in caught.value.message
    assert says in str(caught.value)
