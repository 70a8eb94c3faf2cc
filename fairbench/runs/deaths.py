"""How a process died that gave no result: by its exit code, and by what the kernel counts."""

from __future__ import annotations

import signal
from pathlib import Path

from fairbench.store.status import Status

CANNOT_ANSWER = 76
"""Exit code of a job whose result found no way to the driver, which still waits for it."""

_COUNTERS = Path("/proc/vmstat")


def processes_killed_for_memory() -> int:
    """Return how many processes the kernel has killed for lack of memory; 0 where none is counted.

    Linux counts them since its start, those of a container's own limit too.
    """
    try:
        counters = dict(line.split() for line in _COUNTERS.read_text().splitlines())
        return int(counters["oom_kill"])
    except (OSError, KeyError, ValueError):
        return 0


def how_it_died(code: int | None, killed_before: int) -> tuple[Status, str]:
    """Return the status of what a process that died had to do, and why it died.

    Parameters
    ----------
    code : int, optional
        Exit code of the process, negative for a signal.
    killed_before : int
        :func:`processes_killed_for_memory` when it started.
    """
    if code == -signal.SIGKILL and processes_killed_for_memory() > killed_before:
        return Status.OOM, "the process was killed, as the machine was out of memory"
    if code is not None and code < 0:
        names = {one.value: one.name for one in signal.Signals}
        name = names.get(-code, f"signal {-code}")  # real-time signals have no name of their own
        more = "; was the machine out of memory?" if code == -signal.SIGKILL else ""
        return Status.CRASHED, f"the process was ended by {name}{more}"
    if code == CANNOT_ANSWER:
        text = "the process could not send its result: did it close descriptors of the suite?"
        return Status.CRASHED, text
    return Status.CRASHED, f"the process ended without a result (exit code {code})"
