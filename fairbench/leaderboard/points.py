"""Rows about single points: their figures, their auditors, and what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from fairbench.api.metric import Metric
from fairbench.data.splits import Split
from fairbench.leaderboard.select import CurveRecords
from fairbench.metrics.columns import REFERENCE_COLUMNS, VACUOUS
from fairbench.metrics.pareto import choose_front
from fairbench.metrics.rows import AuditorRow, FailureRow, PointRow
from fairbench.metrics.transfer import transfer_figures
from fairbench.registry import declared_columns
from fairbench.store.records import PointRecord, UnitRecord


def make_point_rows(
    curve: CurveRecords,
    reference: Mapping[str, float],
    metrics: Sequence[type[Metric]],
    *,
    counted: bool,
) -> list[PointRow]:
    """Make one row per point, and one per unit that gave none.

    Parameters
    ----------
    reference : mapping of str to float
        What the seed's curves are normalised by; empty where it is not measured.
    metrics : sequence of type of Metric
        Figures stand in the order of their columns.
    counted : bool
        Whether the leaderboard's row is made of this curve.
    """
    normalised_by: dict[str, Any] = {name: reference.get(name) for name in REFERENCE_COLUMNS}
    unit_of = {unit.key: unit for unit in curve.units}
    front = _front(curve.done)
    rows = []
    for point in curve.points:
        chosen = point.chosen_auditor
        rows.append(
            PointRow(
                **_identify(unit_of[point.unit], curve),
                **_data(unit_of[point.unit], counted),
                point=point.label,
                status=point.status,
                auditor=f"{chosen.auditor} on {chosen.view}" if chosen else None,
                on_front=front.get(point.key),
                figures=_in_order(point.figures, metrics),
                origin=point.origin or unit_of[point.unit].origin,
                **normalised_by | transfer_figures(point.figures, reference),
            )
        )
    # Numbered in the order of their knobs, over all units of the curve.
    rows = [replace(row, point_number=number) for number, row in enumerate(rows)]
    return rows + [
        PointRow(
            **_identify(unit, curve),
            **_data(unit, counted),
            point=unit.point,
            status=unit.status,
            figures={},
            origin=unit.origin,
            **normalised_by,
        )
        for unit in curve.units
        if not unit.points
    ]


def make_auditor_rows(curve: CurveRecords) -> list[AuditorRow]:
    """Make one row per auditor and view of each measured point."""
    unit_of = {unit.key: unit for unit in curve.units}
    return [
        AuditorRow(
            **_identify(unit_of[point.unit], curve),
            auditor=reading.auditor,
            view=reading.view,
            mutual_information=reading.mutual_information,
            chosen=reading.chosen,
        )
        for point in curve.done
        for reading in point.auditors or ()
    ]


def make_failure_rows(curve: CurveRecords) -> list[FailureRow]:
    """Make one row per unit and point that was tried and gave no figures."""
    unit_of = {unit.key: unit for unit in curve.units}
    tried: list[tuple[UnitRecord | PointRecord, UnitRecord, str | None]] = [
        (unit, unit, unit.point) for unit in curve.units
    ]
    tried += [(point, unit_of[point.unit], point.label) for point in curve.points]
    return [
        FailureRow(
            **_identify(unit, curve),
            seed=unit.seed,
            point=label,
            status=record.status,
            error=record.error,
        )
        for record, unit, label in tried
        if record.status.is_failure
    ]


def order_points(row: PointRow) -> tuple[object, ...]:
    """Return what a table of points is sorted by."""
    number = row.point_number if row.point_number is not None else 10**6
    return (*row.group, *row.variant, Split.parse(row.split), row.seed, number)


def _front(points: Sequence[PointRecord]) -> dict[str, bool]:
    """Whether points are on their curve's Pareto front, by key; empty without a task."""
    measured = [point for point in points if "accuracy_y_validation" in point.figures]
    keys = [point.key for point in measured]
    front = choose_front([point.figures for point in measured])
    return dict(zip(keys, front.tolist(), strict=True))


def _in_order(
    figures: Mapping[str, float | None], metrics: Sequence[type[Metric]]
) -> dict[str, float | str | None]:
    """The figures in the order in which the metrics declare their columns, with their words."""
    return {
        name: VACUOUS
        if metric and figures[name] is None and name in metric.vacuous_columns
        else figures[name]
        for name, metric in _declared(tuple(figures), tuple(metrics))
    }


@cache  # points of a board have the same figures, and there are thousands
def _declared(
    names: tuple[str, ...], metrics: tuple[type[Metric], ...]
) -> list[tuple[str, type[Metric] | None]]:
    """The names of figures in order, each with the metric that declares it, if one does."""
    by_name: dict[str, type[Metric] | None] = {}
    for metric in metrics:
        if metric.level == "point":
            for name in declared_columns(metric).among(names):
                by_name.setdefault(name, metric)
    return [*by_name.items(), *((name, None) for name in names if name not in by_name)]


def _identify(unit: UnitRecord, curve: CurveRecords) -> dict[str, Any]:
    """Fields that all of these rows have."""
    return {
        "method": unit.method,
        "params": unit.params_label,
        "track": unit.track,
        "budget": unit.budget,
        "audit": curve.audit,
    }


def _data(unit: UnitRecord, counted: bool) -> dict[str, Any]:
    return {
        "dataset": unit.dataset,
        "data_source": unit.data_source,
        "split": unit.split,
        "counted": counted,
        "seed": unit.seed,
    }
