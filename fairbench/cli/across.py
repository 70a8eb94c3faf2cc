"""Verdicts across tables: which tables they are of, and what is printed and written."""

from __future__ import annotations

import textwrap
from collections import abc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.table import Table
from rich.text import Text

from fairbench.api.collection import Collection
from fairbench.cli.against import read_own
from fairbench.cli.console import err, out
from fairbench.errors import ConfigError, StoreError
from fairbench.files import write_file
from fairbench.files.paths import within
from fairbench.leaderboard.across import Unranked, Verdict
from fairbench.leaderboard.boards import PUBLISHED
from fairbench.leaderboard.build import LEADERBOARDS, build
from fairbench.leaderboard.frames import to_csv, to_frame
from fairbench.leaderboard.published_tables import PublishedTables, tables_with_published
from fairbench.metrics.rows import AcrossRow, Variant
from fairbench.models.query import ResultsLocation
from fairbench.registry import Registry
from fairbench.report.format import format_cell, format_count, format_share, group_heading
from fairbench.report.headings import name_measure
from fairbench.stats.across import MIN_SOURCES

_WIDTH = 80


def tables_across(
    location: ResultsLocation, registry: Registry, collection: Collection, against: str | None
) -> PublishedTables:
    """Build the tables of own results, among those of published boards if asked for.

    Published ones can be read without any results. ConfigError: ``against`` is a single board.
    """
    if against is None and not location.has_results:
        raise StoreError(
            f"There are no results in {location.folder}.",
            "See the published ones with --against published, or run something first.",
        )
    if against is None:
        return PublishedTables(tuple(build(location.open_store(), registry)), frozenset(), ())
    if against != PUBLISHED:
        raise ConfigError(
            f"--across is over many boards, and {against} is one.", "Give: --against published"
        )
    return tables_with_published(read_own(location), collection, registry)


def show_own(found: PublishedTables) -> None:
    """Print which rows are whose, and which own rows were refused."""
    if found.own:
        out.print("* yours. All other rows are of published boards; they were not trained here.")
    for line in found.refused:
        err.print(f"Not in these tables: {line}", markup=False)


def show_verdict(verdict: Verdict, own: abc.Collection[Variant] = ()) -> None:
    """Print one measure's verdict: ranks over tables, comparisons, and what is missing.

    Rows of ``own`` have a star.
    """
    count = format_count(len(verdict.tables), "table")
    table = _table(f"{verdict.collection}, {count}: {name_measure(verdict.measure)}", verdict)
    for column in ("mean rank", "method", "mean"):
        table.add_column(column, justify="left" if column == "method" else "right", no_wrap=True)
    compared = verdict.reference is not None
    if compared:
        for column in ("wins", "ties", "losses", "P(better)", "p"):
            table.add_column(column, justify="right", no_wrap=True)
    for row in verdict.rows:
        cells = [
            _mean_rank(row),
            f"{row.name} *" if row.variant in own else row.name,
            format_share(row.mean_figure),
        ]
        if compared:
            cells += [format_cell(value) for value in (row.wins, row.ties, row.losses)]
            cells += (
                ["-"] * 2
                if row.improvement is None
                else [
                    format_share(row.improvement),
                    "-" if row.p_value is None else f"{row.p_value:.3g}",
                ]
            )
        table.add_row(*map(Text, cells))
    out.print(table)
    for note in _notes(verdict):
        for line in textwrap.wrap(note, _WIDTH, subsequent_indent="  "):
            out.print(line, markup=False)


def _mean_rank(row: AcrossRow) -> str:
    if row.mean_rank_low is None or row.mean_rank_high is None:
        return f"{row.mean_rank:.1f}"
    return f"{row.mean_rank:.1f} [{row.mean_rank_low:.1f}, {row.mean_rank_high:.1f}]"


def show_unranked(shown: Unranked) -> None:
    """Print figures by table, without ranks."""
    table = _table(f"{shown.collection}, not ranked: {name_measure(shown.measure)}", shown)
    table.add_column("method", no_wrap=True)
    for name in shown.tables:
        table.add_column(name, justify="right", overflow="fold")
    for variant, figures in zip(shown.names, shown.figures, strict=True):
        cells = ["-" if np.isnan(value) else format_share(value) for value in figures]
        table.add_row(Text(variant.label), *cells)
    out.print(table)
    out.print(
        "No replicated row is on all of these tables, so there are no ranks."
        if shown.replicated
        else "No row is replicated on these tables, so there are no ranks; --splits 5 gives them."
    )


def write_across(verdicts: Sequence[Verdict], collection: str, results: Path) -> Path:
    """Write all rows of all verdicts as one CSV file, and return its path."""
    path = within(results / LEADERBOARDS, f"across-{collection}.csv")
    rows = [row.cells() for verdict in verdicts for row in verdict.rows]
    write_file(path, to_csv(to_frame(rows)).encode())
    err.print(str(path), markup=False)
    return path


def _table(title: str, of: Verdict | Unranked) -> Table:
    return Table(
        title=group_heading(title, of.group), title_justify="left", box=None, padding=(0, 2, 0, 0)
    )


def _notes(verdict: Verdict) -> list[str]:
    sources = verdict.source_count
    few = f"no intervals below {MIN_SOURCES} sources"
    ends = few if sources < MIN_SOURCES else "with 95% intervals"
    notes = [f"Mean ranks over tables by weight, {ends}."]
    if sources < len(verdict.tables):
        notes.append(
            f"The {len(verdict.tables)} tables come from {format_count(sources, 'source')}. Those "
            "of one source describe the same people: in intervals and p-values they count as one."
        )
    if verdict.reference is not None:
        notes.append(
            f"wins, ties, losses, P(better) and p: against {verdict.reference}. Wins and losses "
            "are tables whose folds tell the two apart; P(better) is the chance that a fold of a "
            "table is better; p is one-sided, by signed ranks over sources, adjusted over all "
            "rows."
        )
        best = [verdict.rows[k] for k in verdict.families]
        better = [
            f"{row.family} ({row.name}, p = {row.p_value:.2g})"
            for row in best
            if row.p_value is not None and row.p_value < 0.05
        ]
        notes.append(
            f"Families whose best row is better than {verdict.reference} at 5%: "
            f"{', '.join(better) or 'none'}."
        )
    light = [
        f"{name} {weight:g}"
        for name, weight in zip(verdict.tables, verdict.weights, strict=True)
        if weight != 1
    ]
    if light:
        notes.append(f"Weights other than 1: {', '.join(light)}.")
    if verdict.missing:
        known = len(verdict.missing) + len(verdict.tables)
        notes.append(
            f"Missing: {', '.join(verdict.missing)}. This covers {len(verdict.tables)} of the "
            f"{known} entries of {verdict.collection}: do not cite it as the verdict of "
            f"{verdict.collection}."
        )
    if verdict.partial:
        notes.append(f"Not on all of these tables, so left out: {', '.join(verdict.partial)}.")
    return notes
