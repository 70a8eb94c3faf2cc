"""What became of a unit or of a point."""

from __future__ import annotations

import enum

from fairbench.errors import text_of


class Status(enum.StrEnum):
    """Statuses in the store; only DONE ever counts as a result."""

    PENDING = "PENDING"
    """Planned, not started."""
    RUNNING = "RUNNING"
    """Started; a run that was killed leaves it so, and the next run does it again."""
    DONE = "DONE"
    """Finished; never done again unless requested."""
    FAILED = "FAILED"
    """The plugin or the suite raised; the traceback is kept."""
    DIVERGED = "DIVERGED"
    """Training blew up (a loss that is not finite, or exploded)."""
    TIMEOUT = "TIMEOUT"
    """Killed at its time limit."""
    OOM = "OOM"
    """Ran out of memory."""
    CRASHED = "CRASHED"
    """The process died without a word (segmentation fault, kill)."""
    SKIPPED = "SKIPPED"
    """The method does not support the dataset; the reason is kept."""

    @property
    def ended(self) -> bool:
        """Whether it neither waits nor runs."""
        return self not in (Status.PENDING, Status.RUNNING)

    @property
    def is_failure(self) -> bool:
        """Whether the work was tried and gave no result; a run with such work exits with 1."""
        return self in _FAILURES


_FAILURES = {Status.FAILED, Status.DIVERGED, Status.TIMEOUT, Status.OOM, Status.CRASHED}


def status_of(error: BaseException) -> Status:
    """Return the status of what raised."""
    if isinstance(error, TimeoutError):
        return Status.TIMEOUT
    text = text_of(error)[:10_000].lower()
    out_of_memory = "out of memory" in text or "can't allocate memory" in text
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and out_of_memory):
        return Status.OOM
    return Status.FAILED
