"""The tidy table of points: one row a point of every curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from fairbench.api.metric import Metric
from fairbench.leaderboard.select import CurveRecords
from fairbench.metrics.columns import POINT_COLUMNS, REFERENCE_COLUMNS
from fairbench.metrics.pareto import on_front
from fairbench.store.database import Row
from fairbench.store.status import Status


def point_rows(curve: CurveRecords, reference: Mapping[str, float]) -> list[Row]:
    """One row a point, and one a unit that gave none.

    ``reference`` is what the seed's curves are normalised by; empty where it is not measured.
    """
    normalised_by = {name: reference.get(name) for name in REFERENCE_COLUMNS}
    unit_of = {unit["key"]: unit for unit in curve.units}
    front: dict[str, bool] = {}
    measured = [row for row in curve.done if "accuracy_y" in row["values"]]
    if measured:
        a_s = np.array([row["values"]["accuracy_s"] for row in measured])
        a_y = np.array([row["values"]["accuracy_y"] for row in measured])
        keys = [row["key"] for row in measured]
        front = dict(zip(keys, on_front(a_s, a_y).tolist(), strict=True))
    rows = []
    for point in curve.points:
        unit = unit_of[point["unit"]]
        chosen = next((a for a in point["auditors"] or () if a["chosen"]), None)
        label = f"{chosen['auditor']} on {chosen['view']}" if chosen else None
        rows.append(
            {
                **_point_head(unit, curve),
                "point_number": point["number"],
                "point": point["label"],
                "status": point["status"],
                "auditor": label,
                "on_front": front.get(point["key"]),
                **(point["values"] or {}),
                **normalised_by,
            }
        )
    for unit in curve.units:
        if not unit["read_points"]:
            rows.append(
                {
                    **_point_head(unit, curve),
                    "point_number": None,
                    "point": unit["point"],
                    "status": unit["status"],
                    "auditor": None,
                    "on_front": None,
                    **normalised_by,
                }
            )
    return _numbered(rows)


def auditor_rows(curve: CurveRecords) -> list[Row]:
    """What each auditor read from each view of each measured point."""
    unit_of = {unit["key"]: unit for unit in curve.units}
    return [
        {**_point_head(unit_of[point["unit"]], curve), "point": point["label"], **asdict(found)}
        for point in curve.done
        for found in point["auditors"] or ()
    ]


def failure_rows(curve: CurveRecords) -> list[Row]:
    """Units and points that were tried and gave nothing, and why."""
    unit_of = {unit["key"]: unit for unit in curve.units}
    tried = [(unit, unit, unit["point"]) for unit in curve.units]
    tried += [(point, unit_of[point["unit"]], point["label"]) for point in curve.points]
    return [
        {
            **_point_head(unit, curve),
            "point": label,
            "status": row["status"],
            "error": row["error"],
        }
        for row, unit, label in tried
        if Status(row["status"]).bad
    ]


def in_columns(row: Row, metrics: Sequence[type[Metric]]) -> Row:
    """The row with its columns in the order in which the metrics declare them."""
    ordered = {name: row[name] for name in POINT_COLUMNS}
    for metric in metrics:
        for declared in metric.columns if metric.level == "point" else ():
            head, brace, _ = declared.partition("{")
            for name, value in row.items():
                if name == declared or (brace and name.startswith(head)):
                    ordered.setdefault(name, value)
    rest = {name: value for name, value in row.items() if name not in REFERENCE_COLUMNS}
    return ordered | rest | {name: row[name] for name in REFERENCE_COLUMNS}


def _numbered(rows: list[Row]) -> list[Row]:
    """Number the points of a curve in the order of their knobs, over all its units."""
    done = [row for row in rows if row["point_number"] is not None]
    return [row | {"point_number": n} for n, row in enumerate(done)] + rows[len(done) :]


def _point_head(unit: Row, curve: CurveRecords) -> Row:
    return {
        "method": unit["method"],
        "params": unit["params_label"],
        "track": unit["track"],
        "budget": unit["budget"],
        "audit": curve.audit,
        "dataset": unit["dataset"],
        "data_source": unit["data_source"],
        "seed": unit["seed"],
    }


def point_order(row: Row) -> tuple[Any, ...]:
    number = row["point_number"] if row["point_number"] is not None else 10**6
    names = ("track", "budget", "audit", "method", "params", "seed")
    return (*(row[name] for name in names), number)
