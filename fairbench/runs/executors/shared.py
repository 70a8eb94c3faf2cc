"""An executor for a store that other runs use too: what one of them does is not done again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator

from fairbench.runs.audit_job import AuditJob
from fairbench.runs.executors.base import (
    DoneElsewhere,
    Event,
    Executor,
    Failed,
    Finished,
    HeldByAnotherRun,
    Idle,
    Printed,
    Progressed,
    Started,
)
from fairbench.runs.job import Job
from fairbench.store.claims import Claims

LOOK_EVERY = 1.0
"""Seconds between looks at what other runs hold."""


class SharedExecutor(Executor):
    """Claims a job before the executor inside gets it; waits for jobs that other runs hold.

    ``settled`` says whether some of a job is in the store by now, and is called once the job is
    claimed. If it is, the event DoneElsewhere hands the job back, and what is left of it can be
    submitted anew. ``look_every`` is the time between looks at jobs that others hold, seconds.
    """

    def __init__(
        self,
        inner: Executor,
        claims: Claims,
        settled: Callable[[Job], bool],
        *,
        look_every: float = LOOK_EVERY,
    ) -> None:
        self.inner, self.claims, self.settled = inner, claims, settled
        self.workers, self.look_every = inner.workers, look_every
        self._queue: deque[Job] = deque()
        self._held: set[str] = set()
        self._waiting: deque[Job] = deque()
        self._announced: set[str] = set()
        self._running = 0
        self._looked = 0.0

    def submit(self, job: Job) -> None:
        # An audit that follows from a fit is claimed at once, before the claim on the fit is given
        # up: what another run could only audit by training the model again, it waits for. Those
        # that are there from the start are shared out among runs.
        if isinstance(job, AuditJob) and self._running and self.claims.take(job.claimed):
            self._held.add(job.id)
        self._queue.append(job)

    def events(self) -> Iterator[Event]:
        yield from self._start()
        while self._running or self._queue or self._waiting:
            if not self._running:
                time.sleep(self.look_every)
                yield from self._start()
                continue
            for event in self.inner.events():
                if not isinstance(event, Idle):
                    yield event
                if isinstance(event, Finished | Failed):
                    # What the job gave is in the store by now: who read this event put it there.
                    self._running -= 1
                    self._release(event.job)
                # A job that reports several times a second leaves no idle moment.
                reports = isinstance(event, Progressed | Printed)
                if not isinstance(event, Started) and (self._may_look or not reports):
                    yield from self._start()

    def stop(self) -> None:
        self._queue.clear()
        self._waiting.clear()
        self.inner.stop()

    def _release(self, job: Job) -> None:
        """Give up a job's claims, but for what a job that follows from it has claimed already."""
        held = {key for j in self._queue if j.id in self._held for key in j.claimed}
        self.claims.release([key for key in job.claimed if key not in held])

    @property
    def _may_look(self) -> bool:
        """Whether a job waits for another run, and it is time to look at what others hold."""
        return bool(self._waiting) and time.monotonic() - self._looked >= self.look_every

    def _next(self) -> Job | None:
        """The first job of the queue that would start: none waits for a GPU on a free worker."""
        for job in self._queue:
            if not self._running or self.inner.has_room(job):
                self._queue.remove(job)
                return job
        return None

    def _start(self) -> Iterator[Event]:
        """Hand jobs on while there are free workers."""
        if self._may_look:
            # One look for all: to try hundreds of jobs would take longer than until the next.
            held = self.claims.held_by_others()
            free = [job for job in self._waiting if held.isdisjoint(job.claimed)]
            self._queue.extendleft(reversed(free))
            self._waiting = deque(job for job in self._waiting if not held.isdisjoint(job.claimed))
            self._looked = time.monotonic()
        while self._running < self.workers and (job := self._next()) is not None:
            if job.id not in self._held and not self.claims.take(job.claimed):
                self._waiting.append(job)
                if job.id not in self._announced:
                    self._announced.add(job.id)
                    yield HeldByAnotherRun(job, self.claims.holder(job.claimed) or "another run")
                continue
            self._held.discard(job.id)
            if self.settled(job):
                self._release(job)
                yield DoneElsewhere(job)
                continue
            self._running += 1
            self.inner.submit(job)
