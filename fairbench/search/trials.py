"""Trials of a search, and what the store knows of them."""

from __future__ import annotations

import enum
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairbench.api import Params
from fairbench.auditing.config import AuditConfig
from fairbench.metrics.aufdc import strict_area
from fairbench.runs.cost import processor_seconds
from fairbench.runs.plan import PlannedUnit, point_key
from fairbench.search.config import Objective
from fairbench.store.database import Store
from fairbench.store.records import PointRecord, UnitRecord
from fairbench.store.status import Status


class TrialOutcome(enum.StrEnum):
    """How a trial ended."""

    COMPLETE = "complete"
    """All its curves are whole; it has values."""
    DIVERGED = "diverged"
    """A model of it diverged: TPE learns to keep away."""
    FAILED = "failed"
    """A job of it failed for another reason, which the sampler learns nothing from."""


@dataclass(frozen=True)
class Trial:
    """One set of the searched hyperparameters, as plain values, and what it gave.

    Parameters
    ----------
    values : tuple of float
        By objective, means over splits and seeds; empty unless complete.
    error : str
        Why it is not complete.
    seconds : float
        Time of processor cores for training, encoding and auditing, whenever that was; without what
        an earlier trial of the search trained too.
    curves, points : int
        Curves (one per split and seed) and points that were measured.
    replayed : bool
        Whether all of it was in the store.
    final : bool
        Whether it is a finalist's, with the final budget.
    """

    number: int
    params: Mapping[str, Any]
    outcome: TrialOutcome
    values: tuple[float, ...]
    error: str
    seconds: float
    curves: int
    points: int
    replayed: bool
    final: bool = False


@dataclass
class RunningTrial:
    """A trial under way; ``params`` is None where what was drawn is no valid set of them."""

    optuna_trial: Any
    params: Params | None
    drawn: dict[str, Any]
    outcome: TrialOutcome | None = None
    error: str = ""
    areas: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    seconds: float = 0.0
    points: int = 0
    replayed: bool = True

    def summed_up(self, objectives: Sequence[Objective]) -> Trial:
        """Return what it gave, means over its curves; it has ended."""
        assert self.outcome is not None
        values: tuple[float, ...] = ()
        if self.outcome is TrialOutcome.COMPLETE:
            measured = {Objective.AUFDC: self.areas, Objective.COST: self.costs}
            values = tuple(statistics.fmean(measured[each]) for each in objectives)
        return Trial(
            number=self.optuna_trial.number,
            params=self.drawn,
            outcome=self.outcome,
            values=values,
            error=self.error,
            seconds=self.seconds,
            curves=len(self.areas),
            points=self.points,
            replayed=self.replayed,
        )


@dataclass
class TrialMeasurements:
    """What the store knows of the units of one trial.

    ``seconds`` is what each of them and each audit took, by key, whatever came of it.
    """

    points: list[PointRecord] = field(default_factory=list)
    flops: list[float] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    problem: tuple[TrialOutcome, str] | None = None
    pending: bool = False

    def blame(self, status: Status, error: str) -> None:
        """Remember the first problem; a failed job weighs more than a model that diverged."""
        diverged = status is Status.DIVERGED
        outcome = TrialOutcome.DIVERGED if diverged else TrialOutcome.FAILED
        first = self.problem[0] if self.problem else None
        if first is None or (not diverged and first is TrialOutcome.DIVERGED):
            self.problem = (outcome, f"{status.value}: {error}")


def measure_trial(
    units: Sequence[PlannedUnit], store: Store, audit: AuditConfig
) -> TrialMeasurements:
    """Gather what the store has of the units of a trial."""
    measured = TrialMeasurements()
    found = store.find(UnitRecord, [planned.key for planned in units])
    keys = {
        unit.key: [point_key(unit.key, point.label, audit) for point in unit.points]
        for unit in found.values()
        if unit.done
    }
    points = store.find(PointRecord, [key for own in keys.values() for key in own])
    for planned in units:
        unit = found.get(planned.key)
        if unit is None or not (unit.done or unit.status.is_failure):
            measured.pending = True
            continue
        costs = unit.costs or {}
        measured.seconds[unit.key] = processor_seconds(costs)
        if not unit.done:
            measured.blame(unit.status, unit.error or "")
            continue
        if "flops" in costs:
            measured.flops.append(costs["flops"])
        for point in (points.get(key) for key in keys[unit.key]):
            if point is None or not (point.done or point.status.is_failure):
                measured.pending = True
                continue
            measured.seconds[point.key] = point.processor_seconds or point.seconds or 0.0
            if point.done:
                measured.points.append(point)
            else:
                measured.blame(point.status, point.error or "")
    return measured


def validation_area(points: Sequence[Mapping[str, float]], reference: Mapping[str, float]) -> float:
    """AUFDC of one curve with the validation set in place of test: hull, area and ends."""
    curve = [
        (point["distortion_validation"], point["mutual_information_validation"]) for point in points
    ]
    i_max = reference["mutual_information_max_validation"]
    d_max = reference["distortion_max_validation"]
    return strict_area(
        curve, curve, i_max=i_max, d_max=d_max, i_max_validation=i_max, d_max_validation=d_max
    )
