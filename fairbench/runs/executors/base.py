"""The protocol of executors, and what they report."""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fairbench.runs.job import Job
from fairbench.store.status import Status
from fairbench.training.threads import use_one_thread


@dataclass(frozen=True)
class Started:
    """A job has begun."""

    job: Job


@dataclass(frozen=True)
class Progressed:
    """A job is ``fraction`` (0 to 1) through."""

    job: Job
    fraction: float
    note: str


@dataclass(frozen=True)
class Finished:
    """A job gave its result."""

    job: Job
    result: Any
    seconds: float


@dataclass(frozen=True)
class Broke:
    """A job gave no result; ``status`` says how it ended, ``error`` why, in one line."""

    job: Job
    status: Status
    error: str
    traceback: str | None
    seconds: float


@dataclass(frozen=True)
class Idle:
    """Nothing happened for about a second: a chance to look around."""


@dataclass(frozen=True)
class Waits:
    """A job is held by another run on the same store; ``holder`` says by which."""

    job: Job
    holder: str


@dataclass(frozen=True)
class Elsewhere:
    """Another run did some of a job, or all of it, before its turn came here; it was not run."""

    job: Job


Event = Started | Progressed | Finished | Broke | Idle | Waits | Elsewhere


class Executor(ABC):
    """Runs jobs, ``workers`` at a time; may be given more jobs while it works."""

    workers: int

    @abstractmethod
    def submit(self, job: Job) -> None:
        """Queue a job; jobs start in the order they were given."""

    @abstractmethod
    def events(self) -> Iterator[Event]:
        """What happens, as it happens, until every submitted job has ended."""

    @abstractmethod
    def stop(self) -> None:
        """End all running jobs at once and free what the executor holds."""


def classify(error: BaseException) -> Status:
    """Status of a job that raised."""
    if isinstance(error, TimeoutError):
        return Status.TIMEOUT
    text = str(error).lower()
    out_of_memory = "out of memory" in text or "can't allocate memory" in text
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and out_of_memory):
        return Status.OOM
    return Status.FAILED


def run_guarded(
    job: Job, progress: Callable[[float, str], None]
) -> tuple[Callable[..., Finished | Broke], tuple[Any, ...]]:
    """Run a job and catch whatever it raises: the event that ends it, and its fields in order."""
    use_one_thread()
    try:
        return Finished, (job.run(progress),)
    # A plugin may raise anything, SystemExit included; the driver decides what becomes of it.
    except BaseException as error:
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        return Broke, (classify(error), text, traceback.format_exc())
