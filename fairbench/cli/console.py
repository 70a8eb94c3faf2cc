"""Print tables for people and for pipes, warnings, comparisons."""

from __future__ import annotations

import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairbench.errors import ConfigError
from fairbench.files import is_writable
from fairbench.metrics.rows import DEFAULT
from fairbench.report.format import format_cell, format_interval, group_heading, settings_of
from fairbench.report.headings import NOT_REPLICATED, SHIFT, TERMINAL, headed
from fairbench.report.verdicts import describe_intervals, describe_tests, note_limits

if TYPE_CHECKING:
    from fairbench.leaderboard.build import Tables
    from fairbench.metrics.rows import LeaderboardRow, RankingGroup, Variant
    from fairbench.report.comparisons import MethodDifference

_WIDTH = None if sys.stdout.isatty() else 120
"""Characters per line in files and pipes; a terminal has a width of its own."""
out = Console(highlight=False, emoji=False, soft_wrap=True, width=_WIDTH)
err = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)


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


def show_warnings(warnings: Sequence[str]) -> None:
    """Print a line each."""
    for warning in warnings:
        err.print(f"Warning: {warning}", markup=False)


def say_unused_columns(columns: Sequence[str]) -> str:
    """Say which columns of x an encoder does not read."""
    return f"It reads all columns of x but {', '.join(columns)}: new rows need not hold these."


def can_write_tables(folder: Path) -> bool:
    """Whether the CSV files of printed tables can be written; say so where they cannot."""
    writable = is_writable(folder)
    if not writable:
        err.print(f"No CSV files: {folder} cannot be written.", markup=False)
    return writable


_RANKS = (
    "95% confidence intervals and ranks are over {count} folds. With 95% confidence the",
    "rank of a method is in the range shown.",
)
_USEFUL, _UNSEEN = "accuracy_y_at_leakage_10", "transfer_at_leakage_10"
_OPTIONAL = (
    *("train_seconds", "mutual_information_min", "distortion_min", "seeds", "points_missing"),
    *(_UNSEEN, "aufdc_certified", _USEFUL),
)
"""Columns that a narrow terminal does without, the first ones first."""
_PARAMS_WIDTH = 20
"""Characters of hyperparameters, at least; longer ones are folded."""
_PADDING = 2
_BLOCK = f"-- {NOT_REPLICATED} --"
"""Heads the rows without ranks, below ranked ones."""
_MAX_NAMES = 12
"""Methods that a note names one by one."""
_NO_RANKS = "Not replicated: intervals are {over}. One split gives no ranks; --splits 5 gives them."
_OTHER_FOLDS = "On other splits or data than the ranked rows, so without a rank: {methods}."


def show_leaderboard(
    title: str, rows: Sequence[LeaderboardRow], *, own: Collection[Variant] = ()
) -> None:
    """Print a leaderboard, one table per track, budget and audit; rows of ``own`` have a star."""

    def cell(row: LeaderboardRow, column: str) -> str:
        text = settings[row.variant] if column == "params" else _leaderboard_cell(row, column)
        return f"{text} *" if column == "method" and row.variant in own else text

    groups: dict[RankingGroup, list[LeaderboardRow]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    for group, members in groups.items():
        settings, ranked_by = settings_of(members), members[0].ranked_by
        table = Table(
            title=group_heading(title, group),
            title_justify="left",
            box=None,
            padding=(0, _PADDING, 0, 0),
        )
        shown = _shown_columns(members)
        left_out, fits = _leave_out(shown, members, out.width, cell)
        # Where the table is wider than the terminal, hyperparameters are folded; where that is
        # not enough, names are too: a figure or rank that is cut reads as another.
        folded = {"params"} if fits else {"params", "method"}
        for column, heading in shown.items():
            words = column in ("method", "params", ranked_by)
            table.add_column(
                heading,
                justify="left" if words else "right",
                no_wrap=column not in folded,
                overflow="fold",
            )
        ranked = [row for row in members if row.replicated]
        for row in ranked:
            table.add_row(*(Text(cell(row, column)) for column in shown), style=_style(row, own))
        if ranked and len(ranked) < len(members):
            heads = {"method": _BLOCK}
            table.add_row(*(heads.get(column, "") for column in shown), style="italic")
        for row in members[len(ranked) :]:
            table.add_row(*(Text(cell(row, column)) for column in shown), style=_style(row, own))
        out.print(table)
        if left_out:
            names = ", ".join(" ".join(text.split()) for text in left_out)
            line = f"Left out for want of width; a wider terminal shows them: {names}."
            for part in textwrap.wrap(line, out.width):
                out.print(part, markup=False)
        for note in note_limits(members, shown):
            for part in textwrap.wrap(note, 80):
                out.print(part, markup=False)
        for note in notes_below(members):
            out.print(note, markup=False)


def _shown_columns(members: Sequence[LeaderboardRow]) -> dict[str, str]:
    """Columns of the terminal that say something of a group, with their headings."""
    present = {column for row in members for column in row.cells()}
    if any(row.replicated for row in members):
        present.add("rank")
    shown = {column: text for column, text in headed(TERMINAL).items() if column in present}
    if all(row.params == DEFAULT for row in members):
        del shown["params"]
    if not any(row.points_missing for row in members):
        del shown["points_missing"]
    if _same_seeds(members):  # the notes say how many
        del shown["seeds"]
    if members[0].ranked_by == _USEFUL:  # what ranks comes first
        first = {name: shown.pop(name) for name in ("rank", "method", "params") if name in shown}
        shown = first | {_USEFUL: shown.pop(_USEFUL)} | shown
    for column in (_USEFUL, _UNSEEN, *SHIFT):
        if all(row.value(column) is None for row in members):
            shown.pop(column, None)
    if any(column in shown for column in SHIFT):  # in place of what the other tables show
        for column in (_USEFUL, "distortion_min", "mutual_information_min", "train_seconds"):
            if column != members[0].ranked_by:
                shown.pop(column, None)
    return shown


def _style(row: LeaderboardRow, own: Collection[Variant]) -> str:
    return "bold" if row.variant in own else ""


def _leave_out(
    shown: dict[str, str],
    members: Sequence[LeaderboardRow],
    width: int,
    cell: Callable[[LeaderboardRow, str], str],
) -> tuple[list[str], bool]:
    """Take optional columns out until the others fit; return headings of those, and if these do."""
    heads_block = len({row.replicated for row in members}) > 1

    def needed(column: str) -> int:
        cells = [cell(row, column) for row in members]
        if column == "method" and heads_block:
            cells.append(_BLOCK)
        longest = max(cell_len(line) for text in (shown[column], *cells) for line in lines_of(text))
        return (min(longest, _PARAMS_WIDTH) if column == "params" else longest) + _PADDING

    def lines_of(text: str) -> list[str]:
        return text.splitlines() or [""]

    widths = {column: needed(column) for column in shown}
    left_out = []
    for column in _OPTIONAL:
        if sum(widths.values()) <= width:
            break
        if column != members[0].ranked_by and widths.pop(column, 0):
            left_out.append(shown.pop(column))
    return left_out, sum(widths.values()) <= width


def _leaderboard_cell(row: LeaderboardRow, column: str) -> str:
    value = row.value(column)
    if row.no_point_within_limit(column):
        return "none"
    if column == row.ranked_by and value is not None:
        text = format_interval(value, *(row.interval(column) or (None, None)))
    else:
        text = format_cell(value)
    return text + row.limit_mark(column)


def _same_seeds(members: Sequence[LeaderboardRow]) -> bool:
    return len({row.seeds for row in members}) == 1 and all(row.interval_over for row in members)


def notes_below(members: Sequence[LeaderboardRow]) -> list[str]:
    """Notes under a table: what intervals and ranks account for, and the two tests."""
    ranked = [row for row in members if row.replicated]
    notes: list[str] = []
    if ranked:
        folds = ranked[0].splits.split()[0]
        notes += [line.format(count=folds) for line in _RANKS]
        for line in describe_tests(ranked):
            notes += textwrap.wrap(line, 80, subsequent_indent="  ")
    unfinished = [row for row in members if not row.replicated and row.points_missing]
    if unfinished:
        of = ", ".join(dict.fromkeys(row.method for row in unfinished))
        what = (
            f"Not complete, so not ranked: {of}. The command that made them goes on with them; "
            "with --rerun failed it also tries again what failed."
        )
        notes += textwrap.wrap(what, 80, subsequent_indent="  ")
    others = [row for row in members if not row.replicated and not row.points_missing]
    elsewhere = [row for row in others if ranked and row.interval_over == "splits"]
    if elsewhere:
        of = ", ".join(f"{row.method} ({row.splits})" for row in elsewhere)
        notes += textwrap.wrap(_OTHER_FOLDS.format(methods=of), 80, subsequent_indent="  ")
        others = [row for row in others if row not in elsewhere]
    complete = [row for row in others if row.complete]
    if members[0].demonstration:
        what = f"For demonstration, without ranks: {members[0].demonstration}."
        notes += textwrap.wrap(what, 80)
    elif others:
        notes += textwrap.wrap(_NO_RANKS.format(over=describe_intervals(complete)), 80)
    has_none = any(row.interval_over is None for row in complete)
    if has_none and not {row.splits for row in others} - {"official"}:
        notes.append(
            "Rows without an interval have no replicates: 'fairbench audit' measures them."
        )
    without = [row for row in members if row.complete and row.figures.get("aufdc") is None]
    if without and without[0].mutual_information_max is not None:
        i_max = without[0].mutual_information_max
        notes.append(f"No AUFDC: I(X;S) of x itself is {i_max:.3f} nats, and its 95% confidence")
        notes.append("interval reaches 0. That may be noise: there is nothing to divide by.")
    for origin in sorted({row.origin for row in members if row.origin}):
        names = list(dict.fromkeys(row.method for row in members if row.origin == origin))
        what = ", ".join(names) if len(names) <= _MAX_NAMES else f"{len(names)} methods"
        line = f"Imported from {origin}, not made here: {what}."
        notes += textwrap.wrap(line, 80, subsequent_indent="  ")
    return notes


def show_problems(tables: Sequence[Tables]) -> int:
    """Print the errors of metrics; return the exit code that they call for."""
    problems = dict.fromkeys(problem for table in tables for problem in table.problems)
    for problem in problems:
        err.print(f"Warning: {problem}", markup=False)
    return 1 if problems else 0


def print_folded(text: str) -> None:
    """Print a paragraph in lines of at most 80 characters."""
    out.print(textwrap.fill(" ".join(text.split()), width=80), markup=False)


def show_differences(compared: Sequence[MethodDifference]) -> None:
    """Print what two methods differ by."""
    for one in compared:
        out.print(one.heading, markup=False, style="italic")
        for line in one.lines:
            out.print(line, markup=False)


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a plain table: on a terminal in columns, otherwise tab-separated lines."""
    if not sys.stdout.isatty():
        for row in rows:
            print("\t".join(row))
        return
    table = Table(box=None, pad_edge=False)
    for number, column in enumerate(columns):
        # The first column names what the next command needs: it is never broken.
        table.add_column(column, overflow="fold", no_wrap=number == 0)
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


def confirm(question: str) -> None:
    """Ask before something is deleted; ConfigError where nobody answers."""
    import typer

    try:
        typer.confirm(question, abort=True)
    except typer.Abort:
        if sys.stdin.isatty():
            raise
        raise ConfigError(
            "Nothing was deleted: the deletion was not confirmed.", "Without a terminal, add --yes."
        ) from None


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
