"""A job and all that it starts, ended together.

A job's process leads a session of its own. Its parent is a guardian, which does nothing but wait:
when the job has ended, or is to end, or its driver is gone, the guardian ends whatever descends
from the job. On Linux it is a *subreaper*: processes whose parents are gone become its children, so
that it also finds those which have left the session. Elsewhere it ends the job's process group.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence

GUARDIAN = "fairbench-guard"
"""Name of a guardian's process. It shares its memory with the server that it was forked from."""

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36

_ENDING = {signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
"""Signals at which a guardian ends its job."""

_LONGEST_END = 10.0
"""Seconds for which a guardian tries to end processes; one that waits for a disk may not end."""

_TRACKER = "resource_tracker"
_LONGEST_CLEANING = 2.0
"""Part of the command of processes that free shared memory, temporary folders and semaphores once
nobody uses them any more (of multiprocessing and of loky, joblib's); seconds they have for it."""


def start_guarded(descriptors: Sequence[int]) -> None:
    """Fork. The child, the job's process, returns from here; this process stays as its guardian.

    The guardian closes ``descriptors``, which are the job's, and ends in the way the job ended,
    once none of its descendants is left; it never returns.
    """
    os.setsid()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # The parent, which forked this, ends when the one that wants the job is gone.
    end_with_parent()
    awaited = _ENDING | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    guardian = os.getpid()
    job = os.fork()
    if job == 0:
        os.setsid()
        # Also of a job that holds the interpreter's lock; its guardian may be killed.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guardian:
            os._exit(1)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    code = 1
    _prctl(_PR_SET_NAME, GUARDIAN.encode())
    try:
        for descriptor in descriptors:
            os.close(descriptor)
        status = _wait(job, awaited)
        _end_descendants(job)
        if status is not None:
            code = os.waitstatus_to_exitcode(status)
        if code < 0:
            _end_by(-code)
    finally:
        os._exit(code if code >= 0 else 1)


def end_with_parent() -> None:
    """End this process when the thread that started it ends, however that goes; on Linux alone."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def end_all(guardian: int) -> None:
    """End a guardian that does not answer, and all that descends from it."""
    for pid in [*_descendants(guardian), guardian]:
        _kill(pid)


def _wait(job: int, awaited: set[signal.Signals]) -> int | None:
    """Wait until the job ends; None: it is to end."""
    while signal.sigwait(awaited) == signal.SIGCHLD:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == job:
                    return status
                if pid == 0:
                    break
    return None


def _end_descendants(job: int) -> None:
    if sys.platform != "linux":
        with contextlib.suppress(OSError):
            os.killpg(job, signal.SIGKILL)
    end = time.monotonic() + _LONGEST_END
    alone_since: float | None = None
    while (now := time.monotonic()) < end:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        left = _descendants(os.getpid())
        # Trackers end by themselves when all others have; memory would stay taken without them.
        others = [pid for pid in left if not _is_tracker(pid)]
        if not others and alone_since is None:
            alone_since = now
        cleaned = alone_since is not None and now - alone_since > _LONGEST_CLEANING
        for pid in left if cleaned else others:
            _kill(pid)
        time.sleep(0.005 if others else 0.02)


def _descendants(pid: int) -> list[int]:
    import psutil

    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def _is_tracker(pid: int) -> bool:
    import psutil

    try:
        return any(_TRACKER in word for word in psutil.Process(pid).cmdline())
    except psutil.Error:
        return False


def _kill(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def _end_by(number: int) -> None:
    """End this process by a signal, without a core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):  # of SIGKILL nothing can be set
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})


def _prctl(option: int, value: int | bytes) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
