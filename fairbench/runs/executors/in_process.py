"""Jobs in the driver's own process, for debuggers: nothing is isolated, and nothing is killed."""

from __future__ import annotations

import bdb
import time
from collections import deque
from collections.abc import Iterator

from fairbench.runs.executors.base import Event, Executor, Started, run_guarded
from fairbench.runs.job import Job

_LEAVES = (KeyboardInterrupt, bdb.BdbQuit)
"""How a person ends a run here: by Ctrl-C, or ``quit`` in the debugger."""


class InProcessExecutor(Executor):
    """One job at a time, where a debugger can step into it.

    A time limit holds only for methods that look at their deadline; a crash is the driver's.
    """

    def __init__(self) -> None:
        self.workers = 1
        self._waiting: deque[Job] = deque()

    def submit(self, job: Job) -> None:
        self._waiting.append(job)

    def events(self) -> Iterator[Event]:
        while self._waiting:
            job = self._waiting.popleft()
            yield Started(job)
            started = time.monotonic()
            try:
                outcome = run_guarded(job, lambda fraction, note: None, let_out=_LEAVES)
            except _LEAVES:
                raise KeyboardInterrupt from None
            yield outcome.event(job, time.monotonic() - started)

    def stop(self) -> None:
        self._waiting.clear()
