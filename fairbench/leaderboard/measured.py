"""Curves as metrics take them, and what metrics make of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from fairbench.api import NO_KNOBS
from fairbench.api.metric import CurveEvaluation, Metric
from fairbench.leaderboard.select import CurveRecords, SelectedRecords
from fairbench.registry import declared_columns
from fairbench.stats.bootstrap import from_text
from fairbench.stats.intervals import Array
from fairbench.store.records import ReferenceRecord
from fairbench.store.returned_values import checked_columns, short_repr
from fairbench.store.text import describe


class MetricProblems:
    """What metrics could not compute, each once, with the methods on which it went wrong."""

    def __init__(self) -> None:
        self._methods: dict[str, dict[str, None]] = {}

    def add(self, what: str, method: str) -> None:
        """Add what went wrong on a method."""
        self._methods.setdefault(what, {})[method] = None

    def lines(self) -> list[str]:
        """Return a line for each thing that went wrong."""
        found = []
        for what, methods in self._methods.items():
            first, *others = methods
            one = len(others) == 1
            more = f" and {len(others)} other method{'' if one else 's'}" if others else ""
            found.append(f"On {first}{more}: {what}")
        return found


@dataclass(frozen=True)
class MeasuredCurve:
    """A curve, as metrics take it."""

    method: str
    split: str
    evaluation: CurveEvaluation
    # Bootstrap replicates of its figures by column, where its points came without their own
    stored_replicates: Mapping[str, Array] = field(default_factory=dict)

    @property
    def reference(self) -> Mapping[str, float]:
        """What it is normalised by."""
        return self.evaluation.reference


def evaluate_curves(
    curves: Sequence[CurveRecords], records: SelectedRecords
) -> list[MeasuredCurve]:
    """Evaluations of the curves that have points and a reference."""
    # Costs on cpu and cuda are never summed or averaged: a mixed row has none.
    one_device = len({hardware["device"] for hardware in hardware_of(curves)}) == 1
    return [
        MeasuredCurve(
            curve.units[0].method,
            curve.split,
            _evaluation(curve, reference, one_device),
            records.curve_replicates.get(curve.key, {}),
        )
        for curve in curves
        if curve.done and (reference := records.reference(curve)) is not None
    ]


def _evaluation(
    curve: CurveRecords, reference: ReferenceRecord, one_device: bool
) -> CurveEvaluation:
    seconds = {unit.key: 0.0 for unit in curve.units}
    for point in curve.done:
        seconds[point.unit] += point.seconds or 0.0
    costs = [
        {**unit.costs, "audit_seconds": seconds[unit.key]} for unit in curve.units if unit.costs
    ]
    replicates = [from_text(point.replicates) for point in curve.done]
    return CurveEvaluation(
        # Of the records themselves: no metric may write into them.
        points=[MappingProxyType(point.figures) for point in curve.done],
        reference=MappingProxyType(reference.figures),
        costs=costs if one_device else (),
        single_shot=curve.units[0].point in (None, NO_KNOBS),
        replicates=[*map(MappingProxyType, replicates)] if all(replicates) else (),
        reference_replicates=MappingProxyType(from_text(reference.replicates)),
        knobs=[MappingProxyType(point.knobs) for point in curve.done],
    )


def hardware_of(curves: Sequence[CurveRecords]) -> list[Mapping[str, Any]]:
    """What the models of curves were trained on, as they recorded it."""
    return [unit.hardware for curve in curves for unit in curve.units if unit.hardware]


def compute(
    metric: type[Metric], evaluation: CurveEvaluation, method: str, problems: MetricProblems
) -> Mapping[str, float | None]:
    """Return the columns of a metric. If it cannot: none, and ``problems`` says why."""
    try:
        values = metric().compute(evaluation)
    # A third party's metric must not take the leaderboard along.
    except (Exception, SystemExit) as error:
        problems.add(f"The metric {metric.name} raised {describe(error)}.", method)
        return {}
    try:
        return checked_columns(metric, values)
    except ValueError as error:
        problems.add(str(error), method)
        return {}


def _row(column: str, values: object) -> Array:
    """Return replicates as an array ``(resamples,)``; ValueError where they are none."""
    row = np.asarray(values, np.float64)
    if row.ndim != 1:
        raise ValueError(f"replicates of shape {row.shape} for {column}")
    return row


def resample(
    metric: type[Metric], curve: MeasuredCurve, problems: MetricProblems
) -> Mapping[str, Array]:
    """Bootstrap replicates of a metric's columns: those that came with the curve, or computed.

    If they cannot be: none, and ``problems`` says why.
    """
    if curve.stored_replicates:
        return {
            name: values
            for name, values in curve.stored_replicates.items()
            if declared_columns(metric).declares(name)
        }
    try:
        found = dict(metric().resampled(curve.evaluation))
        rows = {name: _row(name, values) for name, values in found.items()}
    except (Exception, SystemExit) as error:
        problems.add(f"The metric {metric.name} raised {describe(error)}.", curve.method)
        return {}
    for name in declared_columns(metric).undeclared(rows):
        what = f"The metric {metric.name} resampled {short_repr(name)}, which it does not declare."
        problems.add(what, curve.method)
        return {}
    return rows


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are known; None where none is."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
