"""From records to tables: one row per method, one row per point. A pure function of records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairbench.files import remove_file, write_file
from fairbench.files.paths import is_file_name, within
from fairbench.leaderboard.attainment import LEVELS, compute_surfaces
from fairbench.leaderboard.entries import make_entry
from fairbench.leaderboard.frames import to_csv, to_frame
from fairbench.leaderboard.measured import MeasuredCurve, MetricProblems, evaluate_curves, mean_of
from fairbench.leaderboard.points import (
    make_auditor_rows,
    make_failure_rows,
    make_point_rows,
    order_points,
)
from fairbench.leaderboard.ranking import LeaderboardEntry, rank_rows
from fairbench.leaderboard.row_curves import choose_curves, commonest_folds
from fairbench.leaderboard.select import CurveRecords, SelectedRecords, read
from fairbench.metrics.hull import curve_of
from fairbench.metrics.rows import (
    AttainmentRow,
    AuditorRow,
    FailureRow,
    LeaderboardRow,
    PointRow,
    RankingGroup,
    TableRow,
)
from fairbench.registry import Registry
from fairbench.store.database import Store

LEADERBOARDS = "leaderboards"
"""Folder of the files in a results folder."""


@dataclass(frozen=True)
class Tables:
    """Leaderboard, points and attainment surfaces of one dataset.

    Parameters
    ----------
    dataset : str
        Name, with ``-simulated`` for a twin: the file's name.
    entries : list of LeaderboardEntry
        The leaderboard's rows, ranked, with what intervals and comparisons are made of.
    problems : list of str
        Metrics that raised, each with its error and methods; their columns are empty.
    auditors : list of AuditorRow
        One row per auditor and view of every measured point.
    failures : list of FailureRow
        One row per model or point without figures.
    """

    dataset: str
    entries: list[LeaderboardEntry] = field(default_factory=list)
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
    ranked_with: dict[tuple[str, RankingGroup], list[list[CurveRecords]]] = {}
    for curves in records.curves.values():
        ranked_with.setdefault(_group(curves), []).append(curves)
    folds = {
        group: commonest_folds(rows, records.is_complete) for group, rows in ranked_with.items()
    }
    tables: dict[str, Tables] = {}
    problems: dict[str, MetricProblems] = {}
    for curves in records.curves.values():
        first = curves[0].units[0]
        table = tables.setdefault(first.table, Tables(first.table))
        of_row = choose_curves(curves, records.is_complete, folds=folds[_group(curves)])
        measured = evaluate_curves(of_row.curves, records)
        entry = make_entry(
            of_row,
            measured,
            records,
            curve_metrics,
            problems.setdefault(first.table, MetricProblems()),
        )
        dataset = registry.datasets.classes.get(first.dataset)
        if dataset is not None and dataset.demonstration:
            row = replace(entry.row, demonstration=dataset.demonstration)
            entry = replace(entry, row=row)
        table.entries.append(entry)
        table.attainment.extend(_make_attainment_rows(entry.row, measured))
        for curve in curves:
            reference = records.reference(curve)
            figures = reference.figures if reference else {}
            counted = any(curve is one for one in of_row.curves)
            if curve.audit_version not in (None, of_row.audit_version):
                continue  # points of two versions of the audit never stand in one table
            table.points.extend(make_point_rows(curve, figures, metrics, counted=counted))
            if counted:
                table.auditors.extend(make_auditor_rows(curve))
            table.failures.extend(make_failure_rows(curve))
    for name, table in tables.items():
        table.problems[:] = problems[name].lines()
        table.entries[:] = rank_rows(table.entries, registry.references)
        table.points.sort(key=order_points)
        table.attainment.sort(key=lambda row: (*row.group, *row.variant, row.level, row.distortion))
    return [tables[name] for name in sorted(tables)]


def _group(curves: Sequence[CurveRecords]) -> tuple[str, RankingGroup]:
    """Return the table of a row's curves, and the group that the row is ranked in."""
    unit = curves[0].units[0]
    return unit.table, RankingGroup(unit.track, unit.budget, curves[0].audit)


def _make_attainment_rows(
    row: LeaderboardRow, measured: Sequence[MeasuredCurve]
) -> Iterator[AttainmentRow]:
    d_max = mean_of(one.reference["distortion_max"] for one in measured)
    if d_max is None or not row.complete:
        return
    curves = []
    for one in measured:
        if (curve := curve_of(one.evaluation)) is not None:
            # Each split has its own D_max: a curve is drawn as a share of it.
            d, i = curve
            curves.append((d / one.reference["distortion_max"] * d_max, i))
    if not curves:
        return
    # One curve is its own surface at every level.
    levels = LEVELS if len(curves) > 1 else (50,)
    for surface in compute_surfaces(curves, d_max=d_max, levels=levels):
        for d, i in zip(surface.x, surface.y, strict=True):
            yield AttainmentRow(
                method=row.method,
                params=row.params,
                track=row.track,
                budget=row.budget,
                audit=row.audit,
                dataset=row.dataset,
                data_source=row.data_source,
                splits=row.splits,
                seeds=row.seeds,
                level=surface.level,
                distortion=float(d),
                mutual_information=float(i),
            )


def write_results(tables: Sequence[Tables], results: Path) -> list[Path]:
    """Write the files of all tables into a results folder."""
    return write(tables, results / LEADERBOARDS)


def write(tables: Sequence[Tables], folder: Path) -> list[Path]:
    """Write ``<dataset>.csv``, ``-points.csv`` and ``-attainment.csv`` into a folder.

    Tables of a dataset whose name is no name of a file are left out, with a problem.
    """
    written = []
    for table in tables:
        if not is_file_name(table.dataset):
            what = f"{table.dataset!r} is no name of a file: its tables are not written."
            table.problems.append(what)
            continue
        files: tuple[tuple[str, Sequence[TableRow]], ...] = (
            (table.dataset, table.leaderboard),
            (f"{table.dataset}-points", table.points),
            (f"{table.dataset}-attainment", table.attainment),
        )
        for name, rows in files:
            path = within(folder, f"{name}.csv")
            frame = to_frame([row.cells() for row in rows])
            if not rows:  # a table of an earlier state of the store
                remove_file(path)
                continue
            write_file(path, to_csv(frame).encode())
            written.append(path)
    return written
