"""The time that jobs under way and jobs that wait will take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from fairbench.runs.fit_job import FitJob
from fairbench.runs.job import Job

_TRUST = 20.0
"""Seconds of work after which what jobs took counts as much as what was estimated."""

_FASTER, _SLOWER = 0.3, 0.7
"""How much shorter, or longer, a run may take than is estimated before anything has ended: other
work on the machine makes it longer, and nothing makes it much shorter."""

_SETTLED = 60.0
"""Seconds of work of a kind after which half of that doubt is left."""


@dataclass
class _Kind:
    """Jobs of one kind: what was estimated, and what the work done so far has taken; seconds."""

    planned: float = 0.0
    done: float = 0.0  # estimated seconds of the jobs that have ended
    taken: float = 0.0

    def between(self, done: float) -> tuple[float, float]:
        """Return what the real time of the work left may be, as shares of its estimate."""
        doubt = _SETTLED / (_SETTLED + self.done + done)
        return 1 - _FASTER * doubt, 1 + _SLOWER * doubt

    def pace(self, done: float, taken: float) -> float:
        """Return real seconds per estimated one, with some jobs that run."""
        return (self.taken + taken + _TRUST) / (self.done + done + _TRUST)


@dataclass
class Remaining:
    """Corrects estimates by what jobs of the same kind have taken: fits, and audits.

    The two kinds have separate corrections. With a common one the time left would jump when a run
    goes from training to audits.
    """

    workers: int = 1
    _kinds: dict[bool, _Kind] = field(default_factory=lambda: {True: _Kind(), False: _Kind()})
    _running: dict[str, tuple[Job, float, float]] = field(default_factory=dict)

    def plan(self, seconds: float, *, fits: bool) -> None:
        """Add estimated seconds of fits, or of audits; negative ones take away."""
        self._kinds[fits].planned += seconds

    def add(self, job: Job, times: int = 1) -> None:
        """Plan a job, and of a fit the audits that follow from it; -1 takes it away."""
        fits = isinstance(job, FitJob)
        self.plan(times * job.estimate, fits=fits)
        if isinstance(job, FitJob):
            self.plan(times * job.expected_points * job.point_estimate, fits=False)

    def start(self, job: Job) -> None:
        """Take note that a job has begun."""
        self._running[job.id] = (job, time.monotonic(), 0.0)

    def advance(self, job: Job, share: float) -> None:
        """Take note of the share of a running job that is done."""
        if job.id in self._running:
            _, started, _ = self._running[job.id]
            self._running[job.id] = (job, started, share)

    def end(self, job: Job, seconds: float) -> None:
        """Take note that a job has ended after some seconds."""
        self._running.pop(job.id, None)
        kind = self._kinds[isinstance(job, FitJob)]
        kind.done += job.estimate
        kind.taken += seconds

    def seconds(self) -> float:
        """Return the seconds that are left: no job ends before its own time."""
        return self._left()[0]

    def between(self) -> tuple[float, float]:
        """Return the seconds that are left at least, and at most, as far as can be told."""
        return self._left()[1:]

    def _left(self) -> tuple[float, float, float]:
        """Return the seconds that are left, then the least and the most of them."""
        now = time.monotonic()
        total, longest = np.zeros(3), np.zeros(3)
        for fits, kind in self._kinds.items():
            running = [one for one in self._running.values() if isinstance(one[0], FitJob) is fits]
            done = sum(job.estimate * share for job, _, share in running)
            # A job that has told nothing of its progress tells nothing of the pace.
            taken = sum(now - started for _, started, share in running if share > 0)
            pace = kind.pace(done, taken) * np.array([1.0, *kind.between(done)])
            total += max(kind.planned - kind.done - done, 0.0) * pace
            for job, _, share in running:
                longest = np.maximum(longest, job.estimate * (1 - share) * pace)
        left, least, most = np.maximum(total / self.workers, longest).tolist()
        return left, least, most
