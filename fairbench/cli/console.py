"""Print tables for people and for pipes, warnings, comparisons."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairbench.report.format import format_cell, format_interval
from fairbench.report.headings import TERMINAL, headed
from fairbench.stats.intervals import LEAST_P

if TYPE_CHECKING:
    from fairbench.leaderboard.ranking import MethodComparison
    from fairbench.metrics.rows import Group, LeaderboardRow

_WIDTH = None if sys.stdout.isatty() else 120
"""Characters per line in files and pipes; a terminal has a width of its own."""

out = Console(highlight=False, soft_wrap=True, width=_WIDTH)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def warn_simulated(names: Sequence[str]) -> None:
    """Warn, so that nobody can miss it, that data are simulated."""
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
    """Warn of doubts about a dataset."""
    for note in notes:
        err.print(f"Warning: {dataset}: {note}", markup=False)


_ONE_SEED = (
    "95% confidence intervals are over test rows alone: with one seed, intervals and",
    "ranks are of these models, not of the methods (--seeds 5 compares methods).",
    "Rank: 1 + the number of models that are significantly better.",
)
_MANY_SEEDS = (
    "95% confidence intervals are over test rows and {seeds}.",
    "Rank: 1 + the number of methods that are significantly better.",
)


def show_leaderboard(title: str, rows: Sequence[LeaderboardRow]) -> None:
    """Print a leaderboard, one table per track, budget and audit."""
    groups: dict[Group, list[LeaderboardRow]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    for group, members in groups.items():
        ranked_by = members[0].ranked_by
        table = Table(
            title=group_heading(title, group), title_justify="left", box=None, padding=(0, 2, 0, 0)
        )
        shown = _shown_columns(members)
        for column, heading in shown.items():
            words = column in ("method", "params", ranked_by)
            # Only hyperparameters are folded where the table is wider than the terminal.
            table.add_column(
                heading,
                justify="left" if words else "right",
                no_wrap=column != "params",
                overflow="fold",
            )
        for row in members:
            table.add_row(*(Text(_leaderboard_cell(row, column)) for column in shown))
        out.print(table)
        for note in _notes(members):
            out.print(note, markup=False)


def _shown_columns(members: Sequence[LeaderboardRow]) -> dict[str, str]:
    """Columns of the terminal that say something of a group, with their headings."""
    present = {column for row in members for column in row.cells()}
    shown = {column: text for column, text in headed(TERMINAL).items() if column in present}
    if all(row.params == "default" for row in members):
        del shown["params"]
    if not any(row.points_missing for row in members):
        del shown["points_missing"]
    if _same_seeds(members):  # the notes say how many
        del shown["seeds"]
    if members[0].ranked_by != "accuracy_y_at_leakage_10":
        shown.pop("accuracy_y_at_leakage_10", None)
    return shown


def group_heading(title: str, group: Group) -> str:
    """Return ``dataset · track · budget · audit``."""
    return f"{title} · {group.track} track · budget {group.budget} · {group.audit} audit"


def _leaderboard_cell(row: LeaderboardRow, column: str) -> str:
    value = row.value(column)
    if column == row.ranked_by and value is not None:
        return format_interval(value, *(row.interval(column) or (None, None)))
    return format_cell(value)


def _same_seeds(members: Sequence[LeaderboardRow]) -> bool:
    return len({row.seeds for row in members}) == 1 and all(row.interval_over for row in members)


def _notes(members: Sequence[LeaderboardRow]) -> list[str]:
    """Notes under a table: what intervals and ranks account for."""
    ranked = [row for row in members if row.rank is not None]
    over = {row.interval_over for row in ranked}
    notes: list[str] = []
    if "rows and seeds" in over:
        count = f"{ranked[0].seeds} seeds" if _same_seeds(members) else "seeds"
        notes += [line.format(seeds=count) for line in _MANY_SEEDS]
        if "rows" in over:
            notes.append("Those of rows with one seed are over test rows alone.")
    elif "rows" in over:
        notes += _ONE_SEED
    if None in over:
        notes.append("Rows without an interval have no replicates and rank by their value alone;")
        notes.append("'fairbench audit' measures them again.")
    without = [row for row in members if row.complete and row.figures.get("aufdc") is None]
    if without and without[0].mutual_information_max is not None:
        i_max = without[0].mutual_information_max
        notes.append(f"No AUFDC: I(X;S) of x itself is {i_max:.3f} nats, and its 95% confidence")
        notes.append("interval reaches 0. That may be noise: there is nothing to divide by.")
    return notes


def show_comparison(title: str, comparison: MethodComparison) -> None:
    """Print two methods' figures, their difference, its interval and its p-value."""
    column, a, b = comparison.column, comparison.a, comparison.b
    out.print(group_heading(title, comparison.group), markup=False, style="italic")
    for row in (a, b):
        label = row.method if row.params == "default" else f"{row.method} ({row.params})"
        text = format_interval(row.value(column), *(row.interval(column) or (None, None)))
        out.print(f"  {label}: {column} {text}, seeds: {row.seeds}", markup=False)
    gap = a.value(column) - b.value(column)
    if comparison.difference is None:
        out.print(f"  difference {gap:+.4f}; no replicates, so no interval", markup=False)
        return
    low, high = comparison.difference.interval()
    p = comparison.difference.p_value()
    one = min(a.seeds, b.seeds) == 1
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


@contextmanager
def spinner(text: str) -> Iterator[Callable[[str], None]]:
    """Show a text on a terminal, with a clock, until the end; yield what replaces the text."""
    if not err.is_terminal:
        yield lambda text: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=err, transient=True) as bars:
        task = bars.add_task(text, total=None)
        yield lambda text: bars.update(task, description=text)
