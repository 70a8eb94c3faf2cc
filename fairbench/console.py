"""What a run shows: bars with time left on a terminal, plain lines anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairbench.executors.base import (
    Broke,
    Elsewhere,
    Event,
    Finished,
    Idle,
    Progressed,
    Started,
    Waits,
)
from fairbench.jobs import FitJob

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_WIDTH = None if sys.stdout.isatty() else 120
"""Of what is printed into files and pipes; a terminal has a width of its own."""

out = Console(highlight=False, soft_wrap=True, width=_WIDTH)
err = Console(stderr=True, highlight=False, soft_wrap=True)


class Display:
    """Shows a run's events; use it as a context manager.

    Parameters
    ----------
    estimate : float
        Seconds of work that are planned, on one core.
    """

    def __init__(self, estimate: float) -> None:
        self.estimate = max(estimate, 1.0)
        self._started = time.monotonic()
        self._done: dict[str, float] = {}
        self._bars: Progress | None = None
        self._overall: TaskID | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        if err.is_terminal:
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TextColumn("{task.percentage:>3.0f}%"),
                TimeElapsedColumn(),
                TextColumn("{task.fields[note]}"),
                console=err,
            )
            self._bars.start()
            self._overall = self._bars.add_task("all jobs", total=1.0, note="")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if isinstance(event, Idle):
            return
        job = event.job
        if isinstance(event, Waits):
            self._line(f"waits  {job.title}: {event.holder} has it")
        elif isinstance(event, Elsewhere):
            self.estimate -= job.estimate  # what is left of it has an estimate of its own
            self._line(f"seen   {job.title}: done by another run")
        elif isinstance(event, Started):
            self._begin(event)
        elif isinstance(event, Progressed):
            self._done[job.id] = event.fraction * job.estimate
            if self._bars is not None and job.id in self._tasks:
                self._bars.update(self._tasks[job.id], completed=event.fraction, note=event.note)
        else:
            self._done[job.id] = job.estimate
            if isinstance(job, FitJob):
                self._learn(job, event)
            self._end(event)
        self._advance()

    def _learn(self, job: FitJob, event: Finished | Broke) -> None:
        """How many points a fit really gave to audit is known once it has ended."""
        results = event.result if isinstance(event, Finished) else []
        found = sum(len(result.points) for result in results)
        self.estimate += (found - job.expected_points) * job.point_estimate

    def _begin(self, event: Started) -> None:
        if self._bars is not None:
            title = event.job.title
            self._tasks[event.job.id] = self._bars.add_task(title, total=1.0, note="")
        else:
            self._line(f"start  {event.job.title}")

    def _end(self, event: Finished | Broke) -> None:
        if self._bars is not None and event.job.id in self._tasks:
            self._bars.remove_task(self._tasks.pop(event.job.id))
        if isinstance(event, Broke):
            self._line(f"{event.status.value}  {event.job.title}: {event.error}")
        elif self._bars is None:
            self._line(f"done   {event.job.title} in {event.seconds:.1f} s{self._left()}")

    def _line(self, text: str) -> None:
        err.print(text, markup=False)

    def _share(self) -> float:
        return min(sum(self._done.values()) / self.estimate, 1.0)

    def _left(self) -> str:
        """Time left by the work done so far; silent until there is something to go by."""
        share, elapsed = self._share(), time.monotonic() - self._started
        if share < 0.03 or share >= 1:
            return ""
        return f", about {spell(elapsed * (1 - share) / share)} left"

    def _advance(self) -> None:
        if self._bars is not None and self._overall is not None:
            note = self._left().removeprefix(", ")
            self._bars.update(self._overall, completed=self._share(), note=note)


def spell(seconds: float) -> str:
    """``45 s``, ``6 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


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


LEADERBOARD_VIEW = {
    "rank": "rank",
    "method": "method",
    "params": "params",
    "aufdc": "aufdc",
    "aufdc_paper": "paper's",
    "d_min": "D_min",
    "i_min": "I_min",
    "front_hypervolume": "front",
    "points": "points",
    "points_missing": "missing",
    "seeds": "seeds",
    "train_seconds": "train s",
}
"""Columns of the table on the terminal, few enough for 80 characters; the CSV has all."""


def show_leaderboard(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a leaderboard, one table a track, budget and audit."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["track"], row["budget"], row["audit"]), []).append(row)
    for (track, budget, audit), members in groups.items():
        heading = f"{title} · {track} track · budget {budget} · {audit} audit"
        table = Table(title=heading, title_justify="left", box=None, padding=(0, 2, 0, 0))
        shown = {c: t for c, t in LEADERBOARD_VIEW.items() if any(c in row for row in members)}
        if all(row["params"] == "default" for row in members):
            shown.pop("params", None)
        if not any(row["points_missing"] for row in members):
            shown.pop("points_missing", None)
        for column, text in shown.items():
            words = column in ("method", "params")
            table.add_column(text, justify="left" if words else "right", no_wrap=True)
        for row in members:
            table.add_row(*(_cell(row.get(column)) for column in shown))
        out.print(table)


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
        return f"{value:.3f}" if abs(value) < 100 else f"{value:.0f}"
    return str(value)
