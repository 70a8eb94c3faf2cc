"""Jobs on this machine: a child process each, so that any of them can be killed."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import multiprocessing
import multiprocessing.connection
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from fairbench.errors import ExecutorError
from fairbench.runs import session
from fairbench.runs.deaths import how_it_died, processes_killed_for_memory
from fairbench.runs.executors import worker
from fairbench.runs.executors.base import (
    CANNOT_SEND,
    Event,
    Executor,
    Failed,
    Finished,
    Idle,
    Printed,
    Started,
    Underway,
)
from fairbench.runs.executors.channel import GarbledError, Receiver
from fairbench.runs.executors.devices import (
    Devices,
    count_devices,
    environment_of,
    share_of,
)
from fairbench.runs.executors.output import JobOutput
from fairbench.runs.job import Job
from fairbench.store.status import Status
from fairbench.store.text import describe, describe_fully
from fairbench.training.compiler import header_is_compiled, start_compiling_header
from fairbench.training.device import VISIBLE
from fairbench.training.freed_memory import give_back_freed_memory
from fairbench.training.threads import THREAD_VARIABLES

_LONGEST_WAIT = 1.0
"""Seconds without news after which the caller may look around."""

_PRINTED_EVERY = 1.0
"""Seconds between events of what a job prints."""

_LONGEST_END = 15.0
"""Seconds that a guardian has to end its job: somewhat more than it gives itself."""

_LONGEST_COMPILATION = 60.0
"""Seconds that the compilation of PyTorch's header may take; later jobs would do it."""

_SERVER_IS_GONE = 255
"""Exit code that multiprocessing reports where the fork server ended before it could tell one."""

_PAUSES = (0.0, 0.1, 0.5, 2.0)
"""Seconds before each try to start a process."""


@dataclass
class _Child:
    job: Job
    process: Any
    """Its guardian; see fairbench.runs.session."""
    connection: Connection
    printed: Connection
    receiver: Receiver
    output: JobOutput
    started: float
    device: int | None
    killed_before: int
    """Processes that the kernel had killed for lack of memory when it started."""
    told: float = 0.0
    """When what it printed was last handed on."""

    @property
    def waited_for(self) -> list[Any]:
        """What has something to say when the job does, or when its guardian is gone."""
        prints = [] if self.printed.closed else [self.printed]
        return [self.connection, self.process.sentinel, *prints]


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
        self._started_again: set[str] = set()
        self._used = False
        self._loads_compiler = False
        self._header: subprocess.Popen[bytes] | None = None

    @functools.cached_property
    def _context(self) -> Any:
        self._end_header(after=_LONGEST_COMPILATION)
        return _context(compiler=self._loads_compiler)

    def prepare(self, *, compiler: bool = False) -> None:
        self._loads_compiler = compiler
        if compiler and not header_is_compiled():
            # It takes so much memory that the server starts once it is there.
            self._header = start_compiling_header()
        else:
            _ = self._context

    def submit(self, job: Job) -> None:
        _ = self._context
        self._used = True
        self._waiting.append(job)

    def has_room(self, job: Job) -> bool:
        share = share_of(job)
        return share <= 0 or self._gpus().would_fit(share, map(share_of, self._waiting))

    def events(self) -> Iterator[Event]:
        while self._waiting or self._running:
            while len(self._running) < self.workers:
                job = self._next_that_fits()
                if job is None:
                    break
                if job.id not in self._started_again:
                    yield Started(job)
                try:
                    content = ForkingPickler.dumps(job)
                # A class that was made in a function, or arrays whose file is gone.
                except Exception as error:
                    text = f"{CANNOT_SEND}: {describe(error)}"
                    yield Failed(job, Status.FAILED, text, describe_fully(error), 0.0)
                    continue
                self._running.append(self._start(job, content))
            if self._running:
                yield from self._wait()

    def stop(self) -> None:
        self._waiting.clear()
        for child in self._running:
            child.process.terminate()
        for child in list(self._running):
            self._remove(child)
        self._end_header()
        if not self._used and "_context" in self.__dict__:
            _end_server()  # it still loads, and whoever reads its output would wait for its end

    def _end_header(self, after: float = 0.0) -> None:
        """End the compilation of PyTorch's header, if it has not ended after some seconds."""
        if self._header is None:
            return
        process, self._header = self._header, None
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(after)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # it leads a group of its own
                process.wait()

    def _next_that_fits(self) -> Job | None:
        """The first job that waits and finds room on a GPU, if it needs one."""
        for job in self._waiting:
            if share_of(job) <= 0 or self._gpus().fits(share_of(job)):
                self._waiting.remove(job)
                return job
        return None

    def _gpus(self) -> Devices:
        if self._devices is None:
            self._devices = Devices(count_devices())
        return self._devices

    def _start(self, job: Job, content: bytes | memoryview) -> _Child:
        """Start a job, given as itself and pickled."""
        give_back_freed_memory()  # of results that are stored since, and of data that is prepared
        ours, theirs = self._context.Pipe(duplex=True)
        printed, prints = self._context.Pipe(duplex=False)
        killed_before = processes_killed_for_memory()
        process = self._start_process(theirs, prints)
        theirs.close()
        prints.close()
        device = self._gpus().take(share_of(job)) if share_of(job) > 0 else None
        # The server that children are forked from may be older than this process's environment.
        seen = {k: os.environ[k] for k in (VISIBLE,) if k in os.environ} | environment_of(device)
        with contextlib.suppress(OSError):  # the child died at once: _wait reports it
            ours.send(seen)
            ours.send_bytes(content)
        return _Child(
            job=job,
            process=process,
            connection=ours,
            printed=printed,
            receiver=Receiver(ours),
            output=JobOutput(printed),
            started=time.monotonic(),
            device=device,
            killed_before=killed_before,
        )

    def _start_process(self, connection: Connection, prints: Connection) -> Any:
        """Start a job's process; ExecutorError where the fork server ends each time meanwhile."""
        for pause in _PAUSES:
            time.sleep(pause)
            process = self._context.Process(
                target=worker.main, args=(connection, prints), daemon=True
            )
            # The server was killed at this moment; multiprocessing starts another once it is gone,
            # which takes a while on a busy machine.
            with contextlib.suppress(EOFError, ConnectionError):
                process.start()
                return process
        raise ExecutorError(
            "Jobs cannot be started: the process that starts them (fork server) ends at each try.",
            "Was the machine out of memory? What is done is kept, and the same command resumes.",
        )

    def _wait(self) -> Iterator[Event]:
        waited_for = [one for child in self._running for one in child.waited_for]
        ready = multiprocessing.connection.wait(waited_for, timeout=self._patience())
        if not ready:
            yield Idle()
        for child in list(self._running):
            if not child.printed.closed and child.printed in ready and not child.output.read():
                child.printed.close()
            said, ended = child.connection in ready, child.process.sentinel in ready
            if said or ended:
                yield from self._receive(child, gone=ended and not said)
            if child in self._running:
                yield from self._tell(child)
        if self.timeout is None:
            return
        for child in list(self._running):
            seconds = time.monotonic() - child.started
            if seconds < self.timeout:
                continue
            yield from self._receive_late(child)
            if child in self._running:
                text = f"killed after {self.timeout:g} s (--timeout)"
                yield from self._end(child, Failed(child.job, Status.TIMEOUT, text, None, seconds))

    def _receive_late(self, child: _Child) -> Iterator[Event]:
        """What a job said that may have ended in time, while this process was busy with others."""
        yield from self._receive(child, gone=False)
        while child in self._running and child.receiver.has_part:  # of a result, by megabytes
            if not multiprocessing.connection.wait([child.connection], _LONGEST_WAIT):
                return
            yield from self._receive(child, gone=False)

    def _patience(self) -> float:
        if self.timeout is None:
            return _LONGEST_WAIT
        ends = [child.started + self.timeout for child in self._running]
        return min(max(0.0, min(ends) - time.monotonic()), _LONGEST_WAIT)

    def _receive(self, child: _Child, *, gone: bool) -> Iterator[Event]:
        """What a job's process said, and its end if it ended."""
        seconds = time.monotonic() - child.started
        job = child.job
        gone |= not child.receiver.read()
        try:
            for message in child.receiver.messages():
                if not isinstance(message, Underway):
                    return (yield from self._end(child, message.event(job, seconds)))
                yield message.event(job)
        except GarbledError as error:
            text = f"the job's process sent {error}: did it write to a descriptor of the suite?"
            return (yield from self._end(child, Failed(job, Status.CRASHED, text, None, seconds)))
        if gone:
            self._join(child)  # its guardian knows how it ended
            if child.process.exitcode == _SERVER_IS_GONE and job.id not in self._started_again:
                # Not the job's fault, most likely; multiprocessing starts another server.
                self._started_again.add(job.id)
                self._remove(child)
                self._waiting.appendleft(job)
                return
            status, text = how_it_died(child.process.exitcode, child.killed_before)
            yield from self._end(child, Failed(job, status, text, None, seconds))

    def _tell(self, child: _Child, *, ended: bool = False) -> Iterator[Event]:
        """Hand on what a job printed."""
        if ended or time.monotonic() - child.told >= _PRINTED_EVERY:
            child.told = time.monotonic()
            text = child.output.news() + (child.output.rest() if ended else "")
            if text:
                yield Printed(child.job, text)

    def _end(self, child: _Child, event: Finished | Failed) -> Iterator[Event]:
        """End a job whole, and tell how it ended."""
        self._remove(child)
        yield from self._tell(child, ended=True)
        if isinstance(event, Failed):
            event = dataclasses.replace(event, output=child.output.tail())
        yield event

    def _remove(self, child: _Child) -> None:
        self._running.remove(child)
        if child.device is not None:
            self._gpus().give_back(child.device, share_of(child.job))
        # The job has ended; threads or children it left behind must not outlive it.
        child.process.terminate()
        self._join(child)
        child.connection.close()
        if not child.printed.closed:
            child.output.read()
            child.printed.close()

    def _join(self, child: _Child) -> None:
        """Wait for the end of a job's guardian, and thereby of all that the job started."""
        child.process.join(_LONGEST_END)
        if child.process.is_alive():
            session.end_all(child.process.pid)
            child.process.join()


def _context(*, compiler: bool) -> Any:
    """A fork server that has loaded what every job needs: a fresh process in milliseconds."""
    for name in THREAD_VARIABLES:  # thread pools are sized when libraries load
        os.environ.setdefault(name, "1")
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    wanted = ["server_start", *["preload_compiler"] * compiler, "preload"]
    context.set_forkserver_preload([f"fairbench.runs.executors.{name}" for name in wanted])
    _start_server()
    return context


def _start_server() -> None:
    """Start the fork server deaf to Ctrl-C, which would else find it while it still imports.

    Raises ExecutorError where it finds no place for its socket.
    """
    from multiprocessing import forkserver

    # In other threads signals cannot be set.
    here = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if here else None
    try:
        forkserver.ensure_running()
    except OSError as error:
        raise ExecutorError(
            f"The process that starts jobs cannot be started: {error.strerror or error}.",
            "It keeps a socket in the folder for temporary files, which must be one that can be "
            "written, with a short path. Name one in TMPDIR, as in: export TMPDIR=/tmp",
        ) from error
    finally:
        if here:
            signal.signal(signal.SIGINT, before)


def _end_server() -> None:
    from multiprocessing import forkserver

    server: Any = forkserver._forkserver
    if (pid := getattr(server, "_forkserver_pid", None)) is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
