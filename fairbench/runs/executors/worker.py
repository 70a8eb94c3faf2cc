"""The process of a job: takes the job, runs it, sends what becomes of it."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from fairbench.runs.deaths import CANNOT_ANSWER
from fairbench.runs.executors.base import Raised, Underway, run_guarded
from fairbench.runs.executors.channel import Sender
from fairbench.runs.session import start_guarded
from fairbench.store.status import Status
from fairbench.store.text import clean_line, describe

_PROGRESS_EVERY = 0.2
"""Seconds between progress messages of a job."""

_LONGEST_NOTE = 200


def main(connection: Connection, prints: Connection) -> NoReturn:
    """Run the job that comes over ``connection``; all that it prints goes to ``prints``."""
    # Ctrl-C reaches the whole process group; the driver alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _forget_the_server()
    start_guarded([connection.fileno(), prints.fileno()])
    _allow_children()
    _redirect_output(prints)
    try:
        os.environ.update(connection.recv())
        _silence_trackers()
        job = connection.recv()
    except EOFError:  # the driver is gone
        os._exit(1)
    # A job is read by importing what it is made of, such as a plugin's classes.
    except (Exception, SystemExit) as error:
        text = (
            f"its process cannot import what it needs: {describe(error)}. Define the classes of a "
            "plugin at the top of an importable module."
        )
        Sender(connection).send(Raised(Status.FAILED, text, None))
        os._exit(0)
    channel = os.fstat(connection.fileno())
    threading.Thread(target=_die_with_the_driver, args=(connection,), daemon=True).start()
    sender = Sender(connection)
    last = 0.0

    def progress(fraction: float, note: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PROGRESS_EVERY:
            last = now
            share = min(max(fraction, 0.0), 1.0)
            sender.send(Underway(share, clean_line(note, _LONGEST_NOTE)))

    outcome = run_guarded(job, progress)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a plugin may have put anything there
            stream.flush()
    if not _is_open(connection, channel):
        os._exit(CANNOT_ANSWER)
    with contextlib.suppress(OSError):  # the driver is gone
        try:
            sender.send(outcome)
        except OSError:
            raise
        # A plugin's objects may be of any kind.
        except Exception as error:
            text = f"the result cannot be sent to the driver: {describe(error)}"
            sender.send(Raised(Status.FAILED, text, None))
    # Skip atexit handlers: a plugin's cannot keep a finished job alive.
    os._exit(0)


def _is_open(connection: Connection, channel: os.stat_result) -> bool:
    """Whether a job's connection is still what it was: a plugin may have closed any descriptor.

    Its number may be that of another file since, which is not to be written to.
    """
    try:
        return os.path.samestat(os.fstat(connection.fileno()), channel)
    except OSError:
        return False


def _forget_the_server() -> None:
    """Close what belongs to the server that this process was forked from."""
    from multiprocessing import forkserver, resource_tracker

    # The server ends when nobody holds its pipe any more: the driver alone shall.
    server: Any = forkserver._forkserver
    if (pipe := getattr(server, "_forkserver_alive_fd", None)) is not None:
        server._forkserver_alive_fd = None
        os.close(pipe)
    # A job that needs one starts one of its own, which ends with the job.
    tracker: Any = resource_tracker._resource_tracker
    if (pipe := getattr(tracker, "_fd", None)) is not None:
        tracker._fd = tracker._pid = None
        os.close(pipe)


def _allow_children() -> None:
    """Let the job start processes with multiprocessing, as a Pool or a DataLoader does.

    To the driver this process is a daemon, which may have none: multiprocessing would leave them
    behind where it ends a daemon. Here the guardian ends them with the job.
    """
    process: Any = multiprocessing.current_process()
    process._config["daemon"] = False


def _silence_trackers() -> None:
    """Have what frees shared memory after the job do so without a warning.

    It warns of all that is left, and a job ends without what would run at the end of a process.
    """
    given = os.environ.get("PYTHONWARNINGS")
    ours = "ignore:resource_tracker:UserWarning"
    os.environ["PYTHONWARNINGS"] = f"{given},{ours}" if given else ours


def _redirect_output(prints: Connection) -> None:
    """Have all that is printed here, by libraries in C too, go to the driver."""
    for descriptor in (1, 2):
        os.dup2(prints.fileno(), descriptor)
    prints.close()
    sys.stdout, sys.stderr = (
        open(  # noqa: SIM115 - for as long as the process lives
            descriptor,
            "w",
            buffering=1,
            encoding="utf-8",
            errors="backslashreplace",
            closefd=False,
        )
        for descriptor in (1, 2)
    )
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr  # type: ignore[misc]


def _die_with_the_driver(connection: Connection) -> None:
    """End this process when the driver is gone, however it went: nobody waits for the result."""
    code = 1
    try:
        connection.recv()
    except EOFError:
        pass
    except OSError as error:
        if error.errno == errno.EBADF:  # the job was so quick to close it
            code = CANNOT_ANSWER
    os._exit(code)
