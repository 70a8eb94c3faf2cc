"""The protocol of executors, and what they report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbench.api.types import Progress
from fairbench.runs.job import Job
from fairbench.store.status import Status, status_of
from fairbench.store.text import describe, describe_fully
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
class Printed:
    """A job printed ``text``: whole lines that do nothing to a terminal."""

    job: Job
    text: str


@dataclass(frozen=True)
class Finished:
    """A job gave its result."""

    job: Job
    result: Any
    seconds: float


@dataclass(frozen=True)
class Failed:
    """A job gave no result; ``status`` says how it ended, ``error`` why, in one line.

    ``output`` are the last lines that it printed, ``log`` the file that has more of them. ``parts``
    is the number of jobs that now try its parts one by one; 0: it is lost.
    """

    job: Job
    status: Status
    error: str
    traceback: str | None
    seconds: float
    output: str = ""
    log: Path | None = None
    parts: int = 0


@dataclass(frozen=True)
class Idle:
    """Nothing happened for about a second: a chance to look around."""


@dataclass(frozen=True)
class HeldByAnotherRun:
    """A job is held by another run on the same store; ``holder`` says by which."""

    job: Job
    holder: str


@dataclass(frozen=True)
class DoneElsewhere:
    """Another run did some of a job, or all of it, before its turn came here; it was not run.

    ``left``: what is still to do of it, as jobs, where that is known.
    """

    job: Job
    left: tuple[Job, ...] = ()


CANNOT_SEND = "the job cannot be sent to a process of its own"
"""How errors begin of a method class that was made in a function, or arrays whose file is gone."""

Event = Started | Progressed | Printed | Finished | Failed | Idle | HeldByAnotherRun | DoneElsewhere


class Executor(ABC):
    """Runs jobs, ``workers`` at a time; may be given more jobs while it works."""

    workers: int

    def prepare(self, *, compiler: bool = False) -> None:
        """Begin to load what jobs need, while the caller plans them; there may be none.

        ``compiler``: that of PyTorch too, since trainings will be compiled.
        """
        return None

    @abstractmethod
    def submit(self, job: Job) -> None:
        """Queue a job; jobs start in the order they were given."""

    def has_room(self, job: Job) -> bool:
        """Whether a free worker could start a job at once: its share of a GPU is free too."""
        return True

    @abstractmethod
    def events(self) -> Iterator[Event]:
        """What happens, as it happens, until every submitted job has ended."""

    @abstractmethod
    def stop(self) -> None:
        """End all running jobs at once and free what the executor holds."""


@dataclass(frozen=True)
class Underway:
    """How far a job is; as in :class:`Progressed`."""

    fraction: float
    note: str

    def event(self, job: Job) -> Progressed:
        """Return the event that reports this of a job."""
        return Progressed(job, self.fraction, self.note)


@dataclass(frozen=True)
class Succeeded:
    """What a job gave."""

    result: Any

    def event(self, job: Job, seconds: float) -> Finished:
        """Return the event that reports this of a job."""
        return Finished(job, self.result, seconds)


@dataclass(frozen=True)
class Raised:
    """What a job raised, in words."""

    status: Status
    error: str
    traceback: str | None

    def event(self, job: Job, seconds: float) -> Failed:
        """Return the event that reports this of a job."""
        return Failed(job, self.status, self.error, self.traceback, seconds)


def run_guarded(
    job: Job,
    progress: Progress,
    *,
    let_out: tuple[type[BaseException], ...] = (),
) -> Succeeded | Raised:
    """Run a job and catch whatever it raises, but what is to be ``let_out``.

    Texts of errors are cleaned here, before they travel.
    """
    use_one_thread()
    try:
        return Succeeded(job.run(progress))
    except let_out:
        raise
    # A plugin may raise anything, SystemExit included; the driver decides what becomes of it.
    except BaseException as error:
        return Raised(status_of(error), describe(error), describe_fully(error))
