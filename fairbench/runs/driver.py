"""One event loop for all work: a source gives jobs and takes what becomes of them."""

from __future__ import annotations

import dataclasses
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from fairbench.errors import UnstorableError
from fairbench.runs.executors.base import (
    DoneElsewhere,
    Event,
    Executor,
    Failed,
    Finished,
    HeldByAnotherRun,
    Printed,
    Started,
)
from fairbench.runs.executors.shared import SharedExecutor
from fairbench.runs.job import Job
from fairbench.runs.job_logs import JobLogs
from fairbench.store.claims import Claims
from fairbench.store.database import Store
from fairbench.store.status import Status


class JobSource(ABC):
    """Jobs against a store, and what is written of them: a training run, or a re-audit."""

    id: str
    """Under which it claims jobs."""
    store: Store
    results: Path
    """The results folder, for the logs of jobs."""

    @abstractmethod
    def jobs(self) -> Iterable[Job]:
        """Jobs that can start now, in order; read lazily."""

    @abstractmethod
    def is_settled(self, job: Job) -> bool:
        """Whether another run did some of a job since it was planned."""

    @abstractmethod
    def remaining_jobs(self, job: Job) -> Sequence[Job]:
        """What is left to do of a job that is settled."""

    @abstractmethod
    def finish(self, job: Job, result: Any) -> Sequence[Job]:
        """Write what a job gave; return the jobs that follow from it.

        Raises UnstorableError, with nothing written, where the store does not take it.
        """

    @abstractmethod
    def fail(self, event: Failed) -> Sequence[Job]:
        """Return jobs that try its parts one by one; without any, write that it gave nothing."""

    def start(self, job: Job) -> None:
        """Take note that a job has begun."""
        return None


def drive(
    source: JobSource,
    executor: Executor,
    observe: Callable[[Event], None],
    *,
    ahead: int | None = None,
) -> None:
    """Run all jobs of a source, and those that follow from them, writing results as they come.

    ``observe`` is called with every event, after the source has taken it in. At most ``ahead`` jobs
    of the source are in memory, but for those that wait for other runs; None: all. The executor is
    not stopped at the end: it may be used again.
    """
    jobs = iter(source.jobs())
    ready: set[str] = set()
    logs = JobLogs(source.results)
    with Claims(source.store, source.id) as claims:
        shared = SharedExecutor(executor, claims, source.is_settled)

        def submit(some: Iterable[Job]) -> None:
            for job in some:
                ready.add(job.id)
                shared.submit(job)

        def submit_ahead() -> None:
            count = None if ahead is None else max(0, ahead - len(ready))
            submit(itertools.islice(jobs, count))

        submit_ahead()
        for event in shared.events():
            if isinstance(event, Finished | Failed | DoneElsewhere | HeldByAnotherRun):
                ready.discard(event.job.id)
            if isinstance(event, Started):
                source.start(event.job)
            elif isinstance(event, Printed):
                logs.write(event.job, event.text)
            elif isinstance(event, Finished):
                try:
                    submit(source.finish(event.job, event.result))
                except UnstorableError as error:
                    event = Failed(event.job, Status.FAILED, error.message, None, event.seconds)
            elif isinstance(event, DoneElsewhere):
                event = dataclasses.replace(event, left=tuple(source.remaining_jobs(event.job)))
                submit(event.left)
            if isinstance(event, Failed):
                event = dataclasses.replace(event, log=logs.of(event.job))
                parts = source.fail(event)
                submit(parts)
                event = dataclasses.replace(event, parts=len(parts))
            submit_ahead()
            observe(event)
