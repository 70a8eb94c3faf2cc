"""Jobs on this machine: a child process each, so that any of them can be killed."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from fairbench.runs.executors.base import (
    Broke,
    Event,
    Executor,
    Idle,
    Progressed,
    Started,
    run_guarded,
)
from fairbench.runs.executors.devices import Devices, count_devices, environment_of
from fairbench.runs.job import Job
from fairbench.store.status import Status
from fairbench.training.threads import THREAD_VARIABLES

_PROGRESS_EVERY = 0.2
"""Seconds between progress messages of a job."""

JOB_ENVIRONMENT = {
    # Thread pools are sized when libraries load.
    **dict.fromkeys(THREAD_VARIABLES, "1"),
    # By default glibc gives large blocks back to the system at once. The activations of a
    # convolutional network are such blocks, and a training step would spend more time on page
    # faults than on its products (benchmarks/image_step.py). The memory goes with the process.
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
}
"""Variables that the processes of jobs inherit, unless they are set already."""

_LONGEST_WAIT = 1.0
"""Seconds without news after which the caller may look around."""

_PR_SET_PDEATHSIG = 1
_VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass
class _Child:
    job: Job
    process: Any
    connection: Connection
    started: float
    device: int | None


class InlineExecutor(Executor):
    """Up to ``workers`` child processes at a time, forked from a server that has torch loaded.

    A job that takes longer than ``timeout`` seconds is killed, whatever it is doing. With
    ``assign_devices``, each job that trains on a GPU gets one of this machine's; else it sees what
    this process sees.
    """

    def __init__(self, *, workers: int, timeout: float | None, assign_devices: bool = True) -> None:
        self.workers, self.timeout = workers, timeout
        self._devices = None if assign_devices else Devices(0)
        self._waiting: deque[Job] = deque()
        self._running: list[_Child] = []

    @functools.cached_property
    def _context(self) -> Any:
        return _context()

    def submit(self, job: Job) -> None:
        # The server starts with the first job: where all is done, nobody shall wait for its end.
        _ = self._context
        self._waiting.append(job)

    def events(self) -> Iterator[Event]:
        while self._waiting or self._running:
            while len(self._running) < self.workers:
                job = self._next_that_fits()
                if job is None:
                    break
                child = self._start(job)
                self._running.append(child)
                yield Started(child.job)
            yield from self._wait()

    def stop(self) -> None:
        self._waiting.clear()
        for child in self._running:
            child.process.kill()
        for child in self._running:
            child.process.join()
        self._running.clear()

    def _next_that_fits(self) -> Job | None:
        """The first job that waits and finds room on a GPU, if it needs one."""
        for job in self._waiting:
            if _share(job) <= 0 or self._gpus().fits(_share(job)):
                self._waiting.remove(job)
                return job
        return None

    def _gpus(self) -> Devices:
        if self._devices is None:
            self._devices = Devices(count_devices())
        return self._devices

    def _start(self, job: Job) -> _Child:
        ours, theirs = self._context.Pipe(duplex=True)
        process = self._context.Process(target=_main, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        device = self._gpus().take(_share(job)) if _share(job) > 0 else None
        child = _Child(job, process, ours, time.monotonic(), device)
        # The server that children are forked from may be older than this process's environment.
        seen = {k: os.environ[k] for k in (_VISIBLE,) if k in os.environ} | environment_of(device)
        with contextlib.suppress(OSError):  # the child died at once: _wait reports it
            ours.send((seen, job))
        return child

    def _wait(self) -> Iterator[Event]:
        connections = [child.connection for child in self._running]
        ready = multiprocessing.connection.wait(connections, timeout=self._patience())
        if not ready:
            yield Idle()
        for child in [c for c in self._running if c.connection in ready]:
            event = self._receive(child)
            if not isinstance(event, Progressed):
                self._remove(child)
            yield event
        if self.timeout is None:
            return
        for child in list(self._running):
            seconds = time.monotonic() - child.started
            if seconds >= self.timeout:
                self._remove(child)
                text = f"killed after {self.timeout:g} s (--timeout)"
                yield Broke(child.job, Status.TIMEOUT, text, None, seconds)

    def _patience(self) -> float:
        if self.timeout is None:
            return _LONGEST_WAIT
        ends = [child.started + self.timeout for child in self._running]
        return min(max(0.0, min(ends) - time.monotonic()), _LONGEST_WAIT)

    def _receive(self, child: _Child) -> Event:
        seconds = time.monotonic() - child.started
        try:
            kind, content = child.connection.recv()
        except (EOFError, OSError):
            child.process.join()
            return Broke(child.job, Status.CRASHED, _how_it_died(child.process), None, seconds)
        if kind == "progress":
            return Progressed(child.job, *content)
        event, fields = content
        ended: Event = event(child.job, *fields, seconds)
        return ended

    def _remove(self, child: _Child) -> None:
        self._running.remove(child)
        if child.device is not None:
            self._gpus().give_back(child.device, _share(child.job))
        # The job has ended; threads or children it left behind must not outlive it.
        child.process.kill()
        child.process.join()
        child.connection.close()


def _context() -> Any:
    """A fork server that has loaded what every job needs: a fresh process in milliseconds."""
    for name, value in JOB_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["fairbench.runs.executors.ignore_interrupts", "fairbench.runs.executors.preload"]
    )
    _start_server()
    return context


def _start_server() -> None:
    """Start the fork server deaf to Ctrl-C, which would else find it while it still imports."""
    from multiprocessing import forkserver

    if threading.current_thread() is not threading.main_thread():
        return  # it starts with the first job
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGINT, before)


def _how_it_died(process: Any) -> str:
    code = process.exitcode
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        more = "; was the machine out of memory?" if name == "SIGKILL" else ""
        return f"the process was ended by {name}{more}"
    return f"the process ended without a result (exit code {code})"


def _share(job: Job) -> float:
    """Share of a GPU that a job needs."""
    return float(getattr(job, "gpus", 0.0))


def _die_with_the_parent() -> None:
    """Have the system kill this process when its server is gone, also one that holds the GIL."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # The server ends when nobody holds its pipe any more: the driver alone shall.
    from multiprocessing import forkserver

    server: Any = forkserver._forkserver
    if (pipe := getattr(server, "_forkserver_alive_fd", None)) is not None:
        server._forkserver_alive_fd = None
        os.close(pipe)


def _die_with_the_driver(connection: Connection) -> None:
    """End this process when the driver is gone, however it went: nobody waits for the result."""
    with contextlib.suppress(EOFError, OSError):
        connection.recv()
    os._exit(1)


def _main(connection: Connection) -> None:
    # Ctrl-C reaches the whole process group; the driver alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_the_parent()
    try:
        seen, job = connection.recv()
    except EOFError:  # the driver is gone
        os._exit(1)
    os.environ.update(seen)
    threading.Thread(target=_die_with_the_driver, args=(connection,), daemon=True).start()
    last = 0.0

    def progress(fraction: float, note: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PROGRESS_EVERY:
            last = now
            connection.send(("progress", (fraction, note)))

    outcome = run_guarded(job, progress)
    with contextlib.suppress(BrokenPipeError):  # the driver is gone
        connection.send(("end", outcome))
    connection.close()
    # Skip atexit handlers: a plugin's cannot keep a finished job alive.
    os._exit(0)
