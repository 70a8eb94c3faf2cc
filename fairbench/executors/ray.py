"""Jobs as plain Ray tasks: one fresh worker process a job, on this machine or a cluster."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fairbench.executors.base import Broke, Event, Executor, Finished, Idle, Started, run_guarded
from fairbench.jobs import Job
from fairbench.status import Status

_LOOK_EVERY = 0.5
"""Seconds between looks at the clock while nothing ends."""


@dataclass
class _Task:
    job: Job
    started: float


class RayExecutor(Executor):
    """Up to ``workers`` Ray tasks at a time; a local cluster is started if there is none.

    Parameters
    ----------
    workers : int
        Jobs at a time.
    timeout : float or None
        Seconds a job may take; its worker is killed.
    """

    def __init__(self, *, workers: int, timeout: float | None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray

        self._ray = ray
        self.workers, self.timeout = workers, timeout
        if not ray.is_initialized():
            quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
            if os.environ.get("RAY_ADDRESS"):
                ray.init(**quiet)
            else:
                ray.init(num_cpus=workers, include_dashboard=False, **quiet)
        # A worker serves one job (max_calls): what a plugin does to its process dies with it. Ray
        # does not retry (max_retries): what became of a job is ours to say.
        self._run = ray.remote(num_cpus=1, max_retries=0, max_calls=1)(_run)
        self._waiting: deque[Job] = deque()
        self._tasks: dict[Any, _Task] = {}

    def submit(self, job: Job) -> None:
        self._waiting.append(job)

    def events(self) -> Iterator[Event]:
        while self._waiting or self._tasks:
            while self._waiting and len(self._tasks) < self.workers:
                job = self._waiting.popleft()
                self._tasks[self._run.remote(job)] = _Task(job, time.monotonic())
                yield Started(job)
            ended, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=_LOOK_EVERY)
            for reference in ended:
                yield self._end(reference, self._tasks.pop(reference))
            if not ended:
                yield Idle()
            yield from self._expired()

    def stop(self) -> None:
        self._waiting.clear()
        for reference in self._tasks:
            self._ray.cancel(reference, force=True)
        self._tasks.clear()
        self._ray.shutdown()

    def _end(self, reference: Any, task: _Task) -> Event:
        seconds = time.monotonic() - task.started
        try:
            ok, result, status, error, trace = self._ray.get(reference)
        except self._ray.exceptions.OutOfMemoryError as problem:
            return Broke(task.job, Status.OOM, _first_line(problem), None, seconds)
        except self._ray.exceptions.RayError as problem:
            return Broke(task.job, Status.CRASHED, _first_line(problem), None, seconds)
        if ok:
            return Finished(task.job, result, seconds)
        return Broke(task.job, status, error, trace, seconds)

    def _expired(self) -> Iterator[Event]:
        if self.timeout is None:
            return
        for reference, task in list(self._tasks.items()):
            seconds = time.monotonic() - task.started
            if seconds >= self.timeout:
                del self._tasks[reference]
                self._ray.cancel(reference, force=True)
                text = f"killed after {self.timeout:g} s (--timeout)"
                yield Broke(task.job, Status.TIMEOUT, text, None, seconds)


def _run(job: Job) -> tuple[bool, Any, Status, str, str]:
    return run_guarded(job, lambda fraction, note: None)


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
