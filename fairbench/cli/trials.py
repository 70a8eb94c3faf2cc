"""What a search shows while it runs: a line a trial, and bars for its jobs on a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fairbench.cli.console import err
from fairbench.cli.progress import Display
from fairbench.cli.setup import review_checkpoints
from fairbench.report.format import spell
from fairbench.runs.executors.base import Broke, Finished, Started
from fairbench.runs.fit_job import FitJob
from fairbench.runs.job import Job
from fairbench.search.study import Search
from fairbench.search.trials import Trial, TrialOutcome


class TrialDisplay:
    """Shows a search's trials as they end.

    Parameters
    ----------
    search : Search
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self._started = time.monotonic()
        self._fresh = 0

    @contextmanager
    def watch(self, jobs: Sequence[Job]) -> Iterator[Display]:
        """Show some jobs."""
        review_checkpoints(jobs, self.search.config.run)
        fits = [job for job in jobs if isinstance(job, FitJob)]
        later = sum(job.expected_points * job.point_estimate for job in fits)
        with _Jobs(sum(job.estimate for job in jobs) + later, len(jobs), transient=True) as display:
            yield display

    def told(self, trial: Trial) -> None:
        """Print a trial's line: number, value, best so far, parameters."""
        width = len(str(self.search.config.trials - 1))
        head = f"trial {trial.number:>{width}}  "
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
        """Where the trial came from, and at the end of a batch how long the others will take."""
        if trial.replayed:
            return "  (from the store)"
        self._fresh += 1
        done, config = trial.number + 1, self.search.config
        if done % config.parallel or done == config.trials:
            return ""
        each = (time.monotonic() - self._started) / self._fresh
        return f"  about {spell(each * (config.trials - done))} left"


def spell_value(value: float) -> str:
    """An area with four digits after the point, operations as a power of ten."""
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.3g}"


class _Jobs(Display):
    """A run's display whose logs tell of few jobs.

    Of those that broke, and of those that another run has.
    """

    def _begin(self, event: Started) -> None:
        if self._bars is not None:
            super()._begin(event)

    def _end(self, event: Finished | Broke) -> None:
        if self._bars is not None or isinstance(event, Broke):
            super()._end(event)
