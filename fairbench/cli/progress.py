"""Progress of runs and searches: a live view on a terminal, plain lines anywhere else."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Self

from fairbench.cli.console import err
from fairbench.cli.provisional import ProvisionalTable
from fairbench.cli.remaining import Remaining
from fairbench.cli.setup import review_checkpoints
from fairbench.report.format import format_count, format_seconds, format_seconds_between
from fairbench.runs.audit_job import AuditJob
from fairbench.runs.audits import points_per_job
from fairbench.runs.executors import base as events
from fairbench.runs.fit_job import FitJob
from fairbench.runs.job import Job
from fairbench.runs.unit_result import UnitResult
from fairbench.search.estimate import trial_seconds
from fairbench.search.study import Search
from fairbench.search.trials import Trial, TrialOutcome

if TYPE_CHECKING:
    from rich.live import Live
    from rich.progress import Progress, TaskID
    from rich.table import Table

_POINTS_SHOWN = 6
"""Points of the newest curve that the view shows."""

_PAUSE = 1.0
"""Seconds between two looks at the memory of all processes."""


class ProgressDisplay:
    """Shows a run's events; use it as a context manager.

    On a terminal: a bar over all work with the time left, one bar per running job, jobs by status
    and memory, and D and I of the curve that was measured last. Elsewhere one line per job.

    Parameters
    ----------
    remaining : Remaining
        The work that is planned.
    jobs : int
        Jobs planned so far; the audits of a fit are added when it ends.
    provisional : ProvisionalTable, optional
        Table of the curves that are complete, shown as it fills.
    transient : bool
        Whether the view disappears when it ends.
    """

    def __init__(
        self,
        remaining: Remaining,
        jobs: int = 0,
        *,
        provisional: ProvisionalTable | None = None,
        transient: bool = False,
    ) -> None:
        self.remaining = remaining
        self.transient = transient
        self._provisional = provisional
        self._started = time.monotonic()
        self._counts = {"waiting": jobs, "running": 0, "done": 0, "failed": 0}
        self._curves: dict[str, list[tuple[float, float]]] = {}
        self._newest: str | None = None
        self._bars: Progress | None = None
        self._live: Live | None = None
        self._overall: TaskID | None = None
        self._tasks: dict[str, TaskID] = {}
        self._memory, self._looked = "", -math.inf

    def __enter__(self) -> Self:
        if err.is_terminal:
            from rich.live import Live

            self._bars = _bars()
            self._overall = self._bars.add_task("all jobs", total=1.0, note="")
            self._live = Live(
                console=err,
                get_renderable=self._view,
                refresh_per_second=4,
                transient=self.transient,
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, event: events.Event) -> None:
        """Show one event."""
        if isinstance(event, events.Idle | events.Printed):
            self._advance()
            return
        job = event.job
        if isinstance(event, events.HeldByAnotherRun):
            err.print(f"waits  {job.title}: {event.holder} has it", markup=False)
        elif isinstance(event, events.DoneElsewhere):
            self.remaining.add(job, -1)
            for other in event.left:
                self.remaining.add(other)
            self._count("waiting", len(event.left) - 1)
            err.print(f"seen   {job.title}: done by another run", markup=False)
        elif isinstance(event, events.Started):
            self._count("waiting", -1)
            self._count("running", 1)
            self.remaining.start(job)
            self._begin(event)
        elif isinstance(event, events.Progressed):
            self.remaining.advance(job, event.fraction)
            if self._bars is not None and job.id in self._tasks:
                self._bars.update(self._tasks[job.id], completed=event.fraction, note=event.note)
        else:
            self.remaining.end(job, event.seconds)
            if isinstance(job, FitJob):
                self._learn(job, event)
            self._count("running", -1)
            if isinstance(event, events.Failed) and event.parts:
                self.remaining.plan(job.estimate, fits=False)
                self._count("waiting", event.parts)
            else:
                bad = isinstance(event, events.Failed) or _bad_units(event)
                self._count("failed" if bad else "done", 1)
            if isinstance(event, events.Finished) and isinstance(event.job, AuditJob):
                self._read(event.job, event)
            self._end(event)
            if isinstance(event.job, AuditJob):
                self._tabulate()
        self._advance()

    def _tabulate(self) -> None:
        """Take in what is complete; a log gets the table as often as it has grown."""
        if self._provisional is None or not self._provisional.refresh() or self._live is not None:
            return
        table = self._provisional.table()
        if table is not None:
            err.print(table)

    def _count(self, status: str, change: int) -> None:
        self._counts[status] = max(self._counts[status] + change, 0)

    def _learn(self, job: FitJob, event: events.Finished | events.Failed) -> None:
        """Correct the estimate: how many points a fit gave is known once it has ended."""
        results = event.result if isinstance(event, events.Finished) else []
        counts = [len(result.points) for result in results]
        more = sum(counts) - job.expected_points
        self.remaining.plan(more * job.point_estimate, fits=False)
        self._count("waiting", sum(len(points_per_job(points)) for points in counts))

    def _read(self, job: AuditJob, event: events.Finished) -> None:
        """Take in D and I of the points of a curve."""
        self._newest = job.title.removeprefix("audit ").rpartition(" (")[0]
        curve = self._curves.setdefault(self._newest, [])
        curve += [
            (r.values["distortion"], max(r.values["mutual_information"], 0.0)) for r in event.result
        ]

    def _begin(self, event: events.Started) -> None:
        if self._bars is not None:
            title = event.job.title
            self._tasks[event.job.id] = self._bars.add_task(title, total=1.0, note="")
        else:
            err.print(f"start  {event.job.title}", markup=False)

    def _end(self, event: events.Finished | events.Failed) -> None:
        if self._bars is not None and event.job.id in self._tasks:
            self._bars.remove_task(self._tasks.pop(event.job.id))
        if isinstance(event, events.Failed):
            err.print(f"{event.status.value}  {event.job.title}: {event.error}", markup=False)
            if event.parts:
                err.print("  its points are tried one by one")
            for line in event.output.splitlines():
                err.print(f"  | {line}", markup=False)
            if event.log is not None:
                err.print(f"  all that it printed: {event.log}", markup=False)
            return
        bad = _bad_units(event)
        if bad:
            models = f"{len(bad)} of {format_count(len(event.result), 'model')}"
            text = f"{bad[0].status.value}  {event.job.title}: {models}: {bad[0].error}"
            err.print(text, markup=False)
        elif self._bars is None:
            left = self._left(", ")
            err.print(f"done   {event.job.title} in {event.seconds:.1f} s{left}", markup=False)

    def _left(self, before: str = "") -> str:
        """Time left; silent where nothing is."""
        seconds = self.remaining.seconds()
        return (
            f"{before}{format_seconds_between(*self.remaining.between())} left"
            if seconds >= 1
            else ""
        )

    def _advance(self) -> None:
        if self._bars is not None and self._overall is not None:
            elapsed = time.monotonic() - self._started
            share = elapsed / max(elapsed + self.remaining.seconds(), 1.0)
            self._bars.update(self._overall, completed=share)

    def _view(self) -> Table:
        """All that the terminal shows, cut to its width."""
        from rich.table import Table
        from rich.text import Text

        view = Table.grid(expand=True)
        view.add_column(no_wrap=True, overflow="ellipsis")
        if self._bars is not None:
            view.add_row(self._bars.get_renderable())
        if time.monotonic() - self._looked > _PAUSE:
            self._memory, self._looked = memory(), time.monotonic()
        counts = ", ".join(f"{n} {name}" for name, n in self._counts.items() if n)
        parts = (self._left(), f"jobs: {counts or 'none'}", f"memory {self._memory}")
        view.add_row(Text(" · ".join(filter(None, parts))))
        if self._newest is not None:
            curve = sorted(self._curves[self._newest])
            points = "  ".join(f"{d:.2f} {i:.3f}" for d, i in curve[-_POINTS_SHOWN:])
            view.add_row(Text(f"newest: {self._newest}"))
            view.add_row(Text(f"  D, I: {points}"))
        table = None if self._provisional is None else self._provisional.table()
        if table is not None:
            view.add_row(table)
        return view


def _bad_units(event: events.Finished) -> list[UnitResult]:
    """Units of a fit that gave nothing, though the fit itself came to its end."""
    if not isinstance(event.job, FitJob):
        return []
    return [result for result in event.result if result.status.is_failure]


def _bars() -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    # Titles give way on a narrow terminal, then notes; percent and time never.
    title = Column(ratio=3, no_wrap=True, overflow="ellipsis")
    note = Column(ratio=2, no_wrap=True, overflow="ellipsis")
    return Progress(
        TextColumn("{task.description}", markup=False, table_column=title),
        BarColumn(bar_width=16, table_column=Column(min_width=16)),
        TextColumn("{task.percentage:>3.0f}%", table_column=Column(min_width=4, no_wrap=True)),
        TimeElapsedColumn(table_column=Column(min_width=7, no_wrap=True)),
        TextColumn("{task.fields[note]}", markup=False, table_column=note),
        console=err,
        expand=True,
    )


def memory() -> str:
    """Memory of this process and all its children, but for what guardians of jobs share."""
    import psutil

    from fairbench.runs.session import GUARDIAN

    here = psutil.Process()
    total = 0
    for process in (here, *here.children(recursive=True)):
        with contextlib.suppress(psutil.Error):  # it has just ended
            total += process.memory_info().rss if process.name() != GUARDIAN else 0
    return f"{total / 1e9:.1f} GB"


class TrialDisplay:
    """Shows a search's trials: one line per trial as it ends, bars for its jobs on a terminal."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self._started = time.monotonic()
        self._fresh = 0

    @contextlib.contextmanager
    def watch(self, jobs: Sequence[Job]) -> Iterator[ProgressDisplay]:
        """Show the jobs of some trials."""
        review_checkpoints(jobs, self.search.config.run)
        remaining = Remaining(self.search.workers)
        for job in jobs:
            remaining.add(job)
        with _TrialJobs(remaining, len(jobs), transient=True) as display:
            yield display

    def report(self, trial: Trial) -> None:
        """Print a trial's line: number, value, best so far, parameters."""
        width = len(str(self.search.config.most_trials - 1))
        head = f"{'final' if trial.final else 'trial'} {trial.number:>{width}}  "
        if trial.outcome is TrialOutcome.COMPLETE:
            head += "  ".join(spell_value(value) for value in trial.values)
        else:
            head += f"{trial.outcome.value} ({trial.error})"
        best = self.search.best
        if best is not None and len(trial.values) < 2:
            head += f"  best {spell_value(best.values[0])} (trial {best.number})"
        params = " ".join(f"{name}={value}" for name, value in trial.params.items())
        err.print(f"{head}  {params}{self._rest(trial)}", markup=False)

    def _rest(self, trial: Trial) -> str:
        """Say where the trial came from, and after a batch how long the others will take."""
        if trial.replayed:
            return "  (from the store)"
        if trial.final:
            return ""
        self._fresh += 1
        done, config = trial.number + 1, self.search.config
        if done % config.parallel:
            return ""
        spent = time.monotonic() - self._started
        more = 0 if self.search.exhausted else config.most_trials - done
        left = spent / self._fresh * more
        fresh = sum(one.seconds for one in self.search.trials if not one.replayed)
        # Seconds for one of work; unknown where nothing was measured, or next to nothing.
        wall = spent / fresh if fresh > 1 else 1 / self.search.workers
        if config.work is not None:
            left = min(left, max(wall * (config.work - self.search.seconds), 0.0))
        if config.finalists:
            final = trial_seconds(self.search, self.search.final_budget)
            left += wall * self.search.most_finalists * final
        return f"  about {format_seconds(left)} left" if left > 0 else ""


def spell_value(value: float) -> str:
    """An area with four digits after the point, operations as a power of ten."""
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.3g}"


class _TrialJobs(ProgressDisplay):
    """Progress of a trial's jobs; logs have only those that broke or that another run has."""

    def _begin(self, event: events.Started) -> None:
        if self._bars is not None:
            super()._begin(event)

    def _end(self, event: events.Finished | events.Failed) -> None:
        if self._bars is not None or isinstance(event, events.Failed):
            super()._end(event)
