"""What commands print: tables for people and for pipes, warnings, comparisons."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairbench.report.format import with_interval
from fairbench.report.headings import TERMINAL, headed
from fairbench.stats.intervals import LEAST_P

if TYPE_CHECKING:
    from fairbench.leaderboard.ranking import Comparison

_WIDTH = None if sys.stdout.isatty() else 120
"""Of what is printed into files and pipes; a terminal has a width of its own."""

out = Console(highlight=False, soft_wrap=True, width=_WIDTH)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def warn_simulated(names: Sequence[str]) -> None:
    """The warning nobody can miss: these figures are not of real people."""
    from rich.panel import Panel

    text = (
        f"SIMULATED DATA: {', '.join(names)}\n"
        "No data files were found and none could be downloaded.\n"
        "This run uses an embedded simulated twin, a model of the real table.\n"
        "Its figures are NOT results on the real data: every record says\n"
        "data_source=simulated, and its leaderboards are kept apart.\n"
        "Give the real files with --data-root DIR or FAIRBENCH_DATA;\n"
        "--require-real-data refuses twins."
    )
    err.print(Panel(text, title="WARNING", style="bold red", expand=False), soft_wrap=False)


def show_notes(dataset: str, notes: Sequence[str]) -> None:
    """Warn of what is doubtful about a table."""
    for note in notes:
        err.print(f"Warning: {dataset}: {note}", markup=False)


_ONE_SEED = (
    "95% intervals are over test rows alone: with one seed, ranks tell these models",
    "apart, not the methods (--seeds 5 does). Rank: 1 + those significantly better.",
)
_MANY_SEEDS = (
    "95% intervals are over test rows and {seeds}.",
    "Rank: 1 + the number of methods that are significantly better.",
)


def show_leaderboard(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a leaderboard, one table a track, budget and audit."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["track"], row["budget"], row["audit"]), []).append(row)
    for group, members in groups.items():
        table = Table(
            title=group_heading(title, group), title_justify="left", box=None, padding=(0, 2, 0, 0)
        )
        shown = {c: t for c, t in headed(TERMINAL).items() if any(c in row for row in members)}
        if all(row["params"] == "default" for row in members):
            shown.pop("params", None)
        if not any(row["points_missing"] for row in members):
            shown.pop("points_missing", None)
        if _same_seeds(members):  # the note below tells
            shown.pop("seeds")
        ranked_by = members[0]["ranked_by"]
        if ranked_by != "accuracy_y_at_leakage_10":
            shown.pop("accuracy_y_at_leakage_10", None)
        for column, text in shown.items():
            words = column in ("method", "params", ranked_by)
            # Only parameters are folded where the table is wider than the terminal.
            table.add_column(
                text,
                justify="left" if words else "right",
                no_wrap=column != "params",
                overflow="fold",
            )
        for row in members:
            table.add_row(*(Text(_leaderboard_cell(row, c, ranked_by)) for c in shown))
        out.print(table)
        for note in _notes(members):
            out.print(note, markup=False)


def group_heading(title: str, group: tuple[str, str, str]) -> str:
    """``dataset · track · budget · audit``."""
    track, budget, audit = group
    return f"{title} · {track} track · budget {budget} · {audit} audit"


def _leaderboard_cell(row: Mapping[str, Any], column: str, ranked_by: str) -> str:
    if column == ranked_by and row.get(column) is not None:
        return with_interval(row[column], row.get(f"{column}_low"), row.get(f"{column}_high"))
    return _cell(row.get(column))


def _same_seeds(members: Sequence[Mapping[str, Any]]) -> bool:
    return len({row["seeds"] for row in members}) == 1 and all(
        row["interval_over"] for row in members
    )


def _notes(members: Sequence[Mapping[str, Any]]) -> list[str]:
    """What intervals and ranks are worth."""
    ranked = [row for row in members if row["rank"] is not None]
    over = {row["interval_over"] for row in ranked}
    notes: list[str] = []
    if "rows and seeds" in over:
        count = f"{ranked[0]['seeds']} seeds" if _same_seeds(members) else "seeds"
        notes += [line.format(seeds=count) for line in _MANY_SEEDS]
        if "rows" in over:
            notes.append("Those of rows with one seed are over test rows alone.")
    elif "rows" in over:
        notes += _ONE_SEED
    if None in over:
        notes.append("Rows without an interval have no replicates and rank by their value alone;")
        notes.append("'fairbench audit' measures them again.")
    without = [
        r
        for r in members
        if r["complete"] and r.get("aufdc") is None and "mutual_information_max" in r
    ]
    if without and without[0]["mutual_information_max"] is not None:
        notes.append(
            f"No area: x itself tells of s only I = {without[0]['mutual_information_max']:.3f} nats here, which"
        )
        notes.append("may be noise (its 95% interval reaches 0): there is nothing to divide by.")
    return notes


def show_comparison(title: str, found: Comparison) -> None:
    """Print a difference, its interval and its p-value."""
    out.print(group_heading(title, found.group), markup=False, style="italic")
    labels = [
        row["method"] + ("" if row["params"] == "default" else f" ({row['params']})")
        for row in (found.a, found.b)
    ]
    for label, row in zip(labels, (found.a, found.b), strict=True):
        ends = row.get(f"{found.column}_low"), row.get(f"{found.column}_high")
        text = with_interval(row[found.column], *ends)
        out.print(f"  {label}: {found.column} {text}, seeds: {row['seeds']}", markup=False)
    gap = found.a[found.column] - found.b[found.column]
    if found.difference is None:
        out.print(f"  difference {gap:+.4f}; no replicates, so no interval", markup=False)
        return
    low, high = found.difference.interval()
    p = found.difference.p_value()
    one = min(found.a["seeds"], found.b["seeds"]) == 1
    out.print(
        f"  difference {gap:+.4f} [{low:+.4f}, {high:+.4f}], "
        f"p {'=' if p > LEAST_P else '<='} {p:.2g}, paired over test rows"
        + ("; one seed: of these models" if one else ", and over seeds"),
        markup=False,
    )


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a plain table: on a terminal in columns, otherwise tab-separated lines."""
    if not sys.stdout.isatty():
        for row in rows:
            print("\t".join(row))
        return
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    out.print(table)


def show_columns(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> None:
    """Print a table for people, at most 80 characters wide; long cells are folded.

    The first ``words`` columns are aligned to the left, the others, numbers, to the right.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i < words else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    out.print(table, soft_wrap=False, width=min(80, out.width))


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{round(value, 3) + 0.0:.3f}" if abs(value) < 100 else f"{value:.0f}"
    return str(value)
