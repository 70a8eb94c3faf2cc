"""From records to tables: one row a method, one row a point. A pure function of the store."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairbench.api import NO_KNOBS
from fairbench.api.metric import CurveEvaluation, Metric
from fairbench.errors import StoreError
from fairbench.files import write_atomically
from fairbench.leaderboard.attainment import LEVELS, surfaces
from fairbench.leaderboard.points import (
    auditor_rows,
    failure_rows,
    in_columns,
    point_order,
    point_rows,
)
from fairbench.leaderboard.ranking import LOWER, Entry, ranked
from fairbench.leaderboard.select import CurveRecords, Records, read
from fairbench.metrics.columns import ATTAINMENT_COLUMNS, COLUMNS
from fairbench.metrics.hull import curve_of
from fairbench.registry import Registry
from fairbench.stats.bootstrap import from_text
from fairbench.stats.intervals import Array, Sample, estimate
from fairbench.store.database import Row, Store

if TYPE_CHECKING:
    import pandas as pd

AUDITORS_LUCK = 0.01
"""Share of an area that other trainings of the same auditors move it by (standard deviation): on
Adults, .003 of I for x itself and .012 for random projections of it."""

VERSIONS = {
    "fairbench": "fairbench-frl",
    "python": "python",
    "torch": "torch",
    "scikit_learn": "scikit-learn",
}
"""Columns of versions, and what records call them."""


@dataclass(frozen=True)
class Tables:
    """Leaderboard, points and attainment surfaces of one dataset.

    Parameters
    ----------
    dataset : str
        Name, with ``-simulated`` for a twin: the file's name.
    entries : list of Entry
        The leaderboard's rows, ranked, with what intervals and comparisons are made of.
    points, attainment : list of dict
        Rows, columns in order.
    problems : list of str
        Metrics that raised, each with what it said; their columns are empty.
    auditors : list of dict
        A row an auditor and view of every measured point: what each of them found.
    failures : list of dict
        A row a model or point without figures: its status, and why.
    """

    dataset: str
    entries: list[Entry]
    points: list[Row]
    attainment: list[Row]
    problems: list[str]
    auditors: list[Row]
    failures: list[Row]

    @property
    def leaderboard(self) -> list[Row]:
        """Rows of the leaderboard, columns in order."""
        return [entry.row for entry in self.entries]


def build(store: Store, registry: Registry) -> list[Tables]:
    """All tables of a store, by dataset name."""
    records = read(store)
    metrics = list(registry.metrics.classes.values())
    curve_metrics = [metric for metric in metrics if metric.level == "curve"]
    entries: dict[str, list[Entry]] = defaultdict(list)
    points: dict[str, list[Row]] = defaultdict(list)
    attainment: dict[str, list[Row]] = defaultdict(list)
    problems: dict[str, list[str]] = defaultdict(list)
    auditors: dict[str, list[Row]] = defaultdict(list)
    failures: dict[str, list[Row]] = defaultdict(list)
    for group in records.curves.values():
        first = group[0].units[0]
        name = table_name(first["dataset"], first["data_source"])
        measured = _measured(group, records)
        entries[name].append(_entry(group, measured, curve_metrics, problems[name]))
        for curve in group:
            reference = records.reference(curve)
            rows = point_rows(curve, reference["values"] if reference else {})
            points[name] += [in_columns(row, metrics) for row in rows]
        attainment[name] += _attainment(entries[name][-1].row, measured)
        auditors[name] += [row for curve in group for row in auditor_rows(curve)]
        failures[name] += [row for curve in group for row in failure_rows(curve)]
    return [
        Tables(
            name,
            ranked(rows),
            sorted(points[name], key=point_order),
            sorted(attainment[name], key=_attainment_order),
            problems[name],
            auditors[name],
            failures[name],
        )
        for name, rows in sorted(entries.items())
    ]


def table_name(dataset: str, data_source: str) -> str:
    """Name of a dataset's files: a simulated twin has files of its own."""
    return f"{dataset}-simulated" if data_source == "simulated" else dataset


def _measured(curves: Sequence[CurveRecords], records: Records) -> list[CurveEvaluation]:
    """What there is of each seed that has points and a reference."""
    hardware = [unit["hardware"] for curve in curves for unit in curve.units if unit["hardware"]]
    # Costs on cpu and cuda are never summed or averaged: a mixed row has none.
    one_device = len({h["device"] for h in hardware}) == 1
    found = []
    for curve in curves:
        reference = records.reference(curve)
        if reference is not None and curve.done:
            found.append(_evaluation(curve, reference, one_device))
    return found


def _evaluation(curve: CurveRecords, reference: Row, one_device: bool) -> CurveEvaluation:
    seconds: dict[str, float] = defaultdict(float)
    for point in curve.done:
        seconds[point["unit"]] += point["seconds"]
    costs = [
        {**unit["costs"], "audit_seconds": seconds[unit["key"]]}
        for unit in curve.units
        if unit["costs"]
    ]
    replicates = [from_text(row["replicates"]) for row in curve.done]
    return CurveEvaluation(
        points=[row["values"] for row in curve.done],
        reference=reference["values"],
        costs=costs if one_device else (),
        single_shot=curve.units[0]["point"] in (None, NO_KNOBS),
        replicates=replicates if all(replicates) else (),
        reference_replicates=from_text(reference["replicates"]),
    )


def _entry(
    curves: Sequence[CurveRecords],
    measured: Sequence[CurveEvaluation],
    metrics: Sequence[type[Metric]],
    problems: list[str],
) -> Entry:
    first = curves[0].units[0]
    hardware = [unit["hardware"] for curve in curves for unit in curve.units if unit["hardware"]]
    versions = [unit["versions"] for curve in curves for unit in curve.units if unit["versions"]]
    done = [point for curve in curves for point in curve.done]
    missing = sum(curve.missing for curve in curves)
    method = first["method"]
    row: Row = dict.fromkeys(COLUMNS) | {
        "method": method,
        "params": first["params_label"],
        "track": first["track"],
        "tags": " ".join(first["tags"]),
        "budget": first["budget"],
        "audit": curves[0].audit,
        "dataset": first["dataset"],
        "data_source": first["data_source"],
        "complete": missing == 0 and len(measured) == len(curves),
        "seeds": sum(1 for curve in curves if curve.done),
        "seeds_missing": sum(1 for curve in curves if not curve.done),
        "points": len(done),
        "points_missing": missing,
    }
    samples: dict[str, Sample] = {}
    for metric in metrics:
        values = [_values(metric, evaluation, method, problems) for evaluation in measured]
        for column in metric.columns:
            row[column] = _mean(found.get(column) for found in values)
        samples |= _samples(metric, values, measured, method, problems)
    for column, sample in samples.items():
        row["interval_over"] = "rows" if len(sample.values) == 1 else "rows and seeds"
        ends = estimate(sample).interval()
        if column in LOWER or column.startswith(
            "accuracy_y"
        ):  # areas and accuracies, which are shares
            ends = max(ends[0], 0.0), min(ends[1], 1.0)
        told = ends if np.isfinite(sample.replicates).all() else (None, None)
        row[f"{column}_low"], row[f"{column}_high"] = told
    row |= {
        "mutual_information_max": _mean(
            evaluation.reference["mutual_information_max"] for evaluation in measured
        ),
        "distortion_max": _mean(evaluation.reference["distortion_max"] for evaluation in measured),
        "device": _one_or_mixed(h["device"] for h in hardware),
        "processor": _one_or_mixed(h.get("accelerator", h["processor"]) for h in hardware),
        "iterations": first["iterations"],
        "protocol": first["protocol"],
        "audit_version": max((p["audit_version"] or 1 for p in done), default=None),
        "plugin": first["plugin"],
        **{
            column: _one_or_mixed(v[package] for v in versions if package in v)
            for column, package in VERSIONS.items()
        },
        "fingerprint": first["fingerprint"][:12],
    }
    return Entry(row, samples)


def _values(
    metric: type[Metric], evaluation: CurveEvaluation, method: str, problems: list[str]
) -> Mapping[str, float | None]:
    try:
        return metric().compute(evaluation)
    # A stranger's metric must not take the leaderboard along.
    except Exception as error:
        problems.append(f"The metric {metric.name} raised {error!r} on {method}.")
        return {}


def _samples(
    metric: type[Metric],
    values: Sequence[Mapping[str, float | None]],
    measured: Sequence[CurveEvaluation],
    method: str,
    problems: list[str],
) -> dict[str, Sample]:
    """Columns of a metric with replicates of every seed."""
    resampled: list[Mapping[str, Array]] = []
    for evaluation in measured:
        try:
            resampled.append(metric().resampled(evaluation))
        except Exception as error:
            problems.append(f"The metric {metric.name} raised {error!r} on {method}.")
            return {}
    found = {}
    for column in metric.columns:
        figures = [value.get(column) for value in values]
        rows = [replicates[column] for replicates in resampled if column in replicates]
        known = [figure for figure in figures if figure is not None]
        same = len({len(replicates) for replicates in rows}) == 1
        if same and len(known) == len(rows) == len(measured):
            luck = AUDITORS_LUCK * known[0] if column == "aufdc" else 0.0
            found[column] = Sample(np.array(known), np.stack(rows), luck)
    return found


def _attainment(row: Row, measured: Sequence[CurveEvaluation]) -> list[Row]:
    curves = [curve for evaluation in measured if (curve := curve_of(evaluation)) is not None]
    if not curves or not row["complete"]:
        return []
    head = {name: row[name] for name in ATTAINMENT_COLUMNS if name in row}
    # One curve is its own surface at every level.
    levels = LEVELS if len(curves) > 1 else (50,)
    d_max = measured[0].reference["distortion_max"]
    return [
        {**head, "level": level, "distortion": float(d), "mutual_information": float(i)}
        for level, d_of, i_of in surfaces(curves, d_max=d_max, levels=levels)
        for d, i in zip(d_of, i_of, strict=True)
    ]


def _attainment_order(row: Row) -> tuple[object, ...]:
    names = ("track", "budget", "audit", "method", "params", "level", "distortion")
    return tuple(row[name] for name in names)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _one_or_mixed(values: Iterable[str]) -> str | None:
    found = sorted(set(values))
    return None if not found else found[0] if len(found) == 1 else "mixed"


def write(tables: Sequence[Tables], results: Path) -> list[Path]:
    """Write ``<dataset>.csv``, ``-points.csv`` and ``-attainment.csv`` into ``leaderboards``."""
    folder = results / "leaderboards"
    written = []
    for table in tables:
        for name, rows in (
            (table.dataset, table.leaderboard),
            (f"{table.dataset}-points", table.points),
            (f"{table.dataset}-attainment", table.attainment),
        ):
            path = folder / f"{name}.csv"
            text = to_frame(rows).to_csv(index=False, lineterminator="\n")
            try:
                if not rows:  # what an earlier state of the store gave speaks of nothing now
                    path.unlink(missing_ok=True)
                    continue
                folder.mkdir(parents=True, exist_ok=True)
                write_atomically(path, text.encode())
            except OSError as error:
                raise StoreError(f"{path} cannot be written: {error.strerror}.") from error
            written.append(path)
    return written


def to_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Rows as a frame; numbers rounded to 6 significant digits, columns in order of appearance."""
    import pandas as pd

    columns = list(dict.fromkeys(column for row in rows for column in row))
    rounded = [{k: _short(v) for k, v in row.items()} for row in rows]
    frame = pd.DataFrame(rounded, columns=columns)
    whole = [c for c in ("rank", "point_number", "distinct_codes") if c in frame]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def _short(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return value
