"""From records to tables: one row per method, one row per point. A pure function of records."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fairbench.api import NO_KNOBS
from fairbench.api.metric import CurveEvaluation, Metric
from fairbench.errors import StoreError
from fairbench.files import write_atomically
from fairbench.leaderboard.attainment import LEVELS, compute_surfaces
from fairbench.leaderboard.frames import to_frame
from fairbench.leaderboard.points import (
    make_auditor_rows,
    make_failure_rows,
    make_point_rows,
    order_points,
)
from fairbench.leaderboard.ranking import LOWER, RankedRow, rank_rows
from fairbench.leaderboard.select import CurveRecords, SelectedRecords, read
from fairbench.metrics.hull import curve_of
from fairbench.metrics.rows import (
    AttainmentRow,
    AuditorRow,
    FailureRow,
    LeaderboardRow,
    PointRow,
    TableRow,
)
from fairbench.registry import Registry
from fairbench.stats.bootstrap import from_text
from fairbench.stats.intervals import Array, Sample, estimate
from fairbench.store.database import Store
from fairbench.store.records import ReferenceRecord

AUDITOR_SD = 0.01
"""Standard deviation of an area over trainings of the same auditors, as a share of it: on Adults,
.003 of I for x itself and .012 for random projections of it."""


@dataclass(frozen=True)
class Tables:
    """Leaderboard, points and attainment surfaces of one dataset.

    Parameters
    ----------
    dataset : str
        Name, with ``-simulated`` for a twin: the file's name.
    entries : list of RankedRow
        The leaderboard's rows, ranked, with what intervals and comparisons are made of.
    problems : list of str
        Metrics that raised, each with its error; their columns are empty.
    auditors : list of AuditorRow
        One row per auditor and view of every measured point.
    failures : list of FailureRow
        One row per model or point without figures.
    """

    dataset: str
    entries: list[RankedRow] = field(default_factory=list)
    points: list[PointRow] = field(default_factory=list)
    attainment: list[AttainmentRow] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    auditors: list[AuditorRow] = field(default_factory=list)
    failures: list[FailureRow] = field(default_factory=list)

    @property
    def leaderboard(self) -> list[LeaderboardRow]:
        """Rows of the leaderboard."""
        return [entry.row for entry in self.entries]


def build(store: Store, registry: Registry) -> list[Tables]:
    """Build all tables of a store, by dataset name."""
    return build_tables(read(store), registry)


def build_tables(records: SelectedRecords, registry: Registry) -> list[Tables]:
    """Build all tables of records, by dataset name."""
    metrics = list(registry.metrics.classes.values())
    curve_metrics = [metric for metric in metrics if metric.level == "curve"]
    tables: dict[str, Tables] = {}
    for curves in records.curves.values():
        first = curves[0].units[0]
        name = table_name(first.dataset, first.data_source)
        table = tables.setdefault(name, Tables(name))
        measured = _evaluate(curves, records)
        entry = _make_entry(curves, measured, curve_metrics, table.problems)
        table.entries.append(entry)
        table.attainment.extend(_make_attainment_rows(entry.row, measured))
        for curve in curves:
            reference = records.reference(curve)
            figures = reference.figures if reference else {}
            table.points.extend(make_point_rows(curve, figures, metrics))
            table.auditors.extend(make_auditor_rows(curve))
            table.failures.extend(make_failure_rows(curve))
    for table in tables.values():
        table.entries[:] = rank_rows(table.entries)
        table.points.sort(key=order_points)
        table.attainment.sort(key=lambda row: (*row.group, *row.variant, row.level, row.distortion))
    return [tables[name] for name in sorted(tables)]


def table_name(dataset: str, data_source: str) -> str:
    """Name of a dataset's files: a simulated twin has files of its own."""
    return f"{dataset}-simulated" if data_source == "simulated" else dataset


def _evaluate(curves: Sequence[CurveRecords], records: SelectedRecords) -> list[CurveEvaluation]:
    """Evaluations of the seeds that have points and a reference."""
    # Costs on cpu and cuda are never summed or averaged: a mixed row has none.
    one_device = len({hardware["device"] for hardware in _hardware(curves)}) == 1
    return [
        _evaluation(curve, reference, one_device)
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
        points=[point.figures for point in curve.done],
        reference=reference.figures,
        costs=costs if one_device else (),
        single_shot=curve.units[0].point in (None, NO_KNOBS),
        replicates=replicates if all(replicates) else (),
        reference_replicates=from_text(reference.replicates),
    )


def _make_entry(
    curves: Sequence[CurveRecords],
    measured: Sequence[CurveEvaluation],
    metrics: Sequence[type[Metric]],
    problems: list[str],
) -> RankedRow:
    first = curves[0].units[0]
    hardware = _hardware(curves)
    versions = [unit.versions for curve in curves for unit in curve.units if unit.versions]
    done = [point for curve in curves for point in curve.done]
    missing = sum(curve.missing for curve in curves)
    figures: dict[str, float | None] = {}
    samples: dict[str, Sample] = {}
    for metric in metrics:
        values = [_compute(metric, evaluation, first.method, problems) for evaluation in measured]
        for column in metric.columns:
            figures[column] = _mean(value.get(column) for value in values)
        samples |= _make_samples(metric, values, measured, first.method, problems)
    for column, sample in samples.items():
        figures[f"{column}_low"], figures[f"{column}_high"] = _interval(column, sample)
    over = "rows" if len(measured) == 1 else "rows and seeds"
    row = LeaderboardRow(
        interval_over=over if samples else None,
        method=first.method,
        params=first.params_label,
        track=first.track,
        tags=" ".join(first.tags),
        budget=first.budget,
        audit=curves[0].audit,
        dataset=first.dataset,
        data_source=first.data_source,
        complete=missing == 0 and len(measured) == len(curves),
        seeds=sum(1 for curve in curves if curve.done),
        seeds_missing=sum(1 for curve in curves if not curve.done),
        points=len(done),
        points_missing=missing,
        figures=figures,
        mutual_information_max=_mean(e.reference["mutual_information_max"] for e in measured),
        distortion_max=_mean(e.reference["distortion_max"] for e in measured),
        device=_one_or_mixed(h["device"] for h in hardware),
        processor=_one_or_mixed(h.get("accelerator", h["processor"]) for h in hardware),
        iterations=first.iterations,
        protocol=first.protocol,
        audit_version=max((point.version for point in done), default=None),
        plugin=first.plugin,
        fairbench=_version("fairbench-frl", versions),
        python=_version("python", versions),
        torch=_version("torch", versions),
        scikit_learn=_version("scikit-learn", versions),
        fingerprint=first.fingerprint[:12],
    )
    return RankedRow(row, samples)


def _hardware(curves: Sequence[CurveRecords]) -> list[Mapping[str, Any]]:
    return [unit.hardware for curve in curves for unit in curve.units if unit.hardware]


def _interval(column: str, sample: Sample) -> tuple[float, float] | tuple[None, None]:
    """The 95% confidence interval of a figure; none where a replicate is not defined."""
    if not np.isfinite(sample.replicates).all():
        return None, None
    low, high = estimate(sample).interval()
    if column in LOWER or column.startswith("accuracy_y"):  # areas and accuracies are shares
        return max(low, 0.0), min(high, 1.0)
    return low, high


def _compute(
    metric: type[Metric], evaluation: CurveEvaluation, method: str, problems: list[str]
) -> Mapping[str, float | None]:
    try:
        return metric().compute(evaluation)
    # A third party's metric must not take the leaderboard along.
    except Exception as error:
        problems.append(f"The metric {metric.name} raised {error!r} on {method}.")
        return {}


def _make_samples(
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
    samples = {}
    for column in metric.columns:
        figures = [value.get(column) for value in values]
        rows = [replicates[column] for replicates in resampled if column in replicates]
        known = [figure for figure in figures if figure is not None]
        same = len({len(replicates) for replicates in rows}) == 1
        if same and len(known) == len(rows) == len(measured):
            auditor_sd = AUDITOR_SD * known[0] if column == "aufdc" else 0.0
            samples[column] = Sample(np.array(known), np.stack(rows), auditor_sd)
    return samples


def _make_attainment_rows(
    row: LeaderboardRow, measured: Sequence[CurveEvaluation]
) -> Iterator[AttainmentRow]:
    curves = [curve for evaluation in measured if (curve := curve_of(evaluation)) is not None]
    if not curves or not row.complete:
        return
    # One curve is its own surface at every level.
    levels = LEVELS if len(curves) > 1 else (50,)
    d_max = measured[0].reference["distortion_max"]
    for level, d_of, i_of in compute_surfaces(curves, d_max=d_max, levels=levels):
        for d, i in zip(d_of, i_of, strict=True):
            yield AttainmentRow(
                method=row.method,
                params=row.params,
                track=row.track,
                budget=row.budget,
                audit=row.audit,
                dataset=row.dataset,
                data_source=row.data_source,
                seeds=row.seeds,
                level=level,
                distortion=float(d),
                mutual_information=float(i),
            )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _version(package: str, versions: Sequence[Mapping[str, str]]) -> str | None:
    return _one_or_mixed(known[package] for known in versions if package in known)


def _one_or_mixed(values: Iterable[str]) -> str | None:
    different = sorted(set(values))
    return None if not different else different[0] if len(different) == 1 else "mixed"


def write(tables: Sequence[Tables], results: Path) -> list[Path]:
    """Write ``<dataset>.csv``, ``-points.csv`` and ``-attainment.csv`` into ``leaderboards``."""
    folder = results / "leaderboards"
    written = []
    for table in tables:
        files: tuple[tuple[str, Sequence[TableRow]], ...] = (
            (table.dataset, table.leaderboard),
            (f"{table.dataset}-points", table.points),
            (f"{table.dataset}-attainment", table.attainment),
        )
        for name, rows in files:
            path = folder / f"{name}.csv"
            frame = to_frame([row.cells() for row in rows])
            try:
                if not rows:  # a table of an earlier state of the store
                    path.unlink(missing_ok=True)
                    continue
                folder.mkdir(parents=True, exist_ok=True)
                write_atomically(path, frame.to_csv(index=False, lineterminator="\n").encode())
            except OSError as error:
                raise StoreError(f"{path} cannot be written: {error.strerror}.") from error
            written.append(path)
    return written
