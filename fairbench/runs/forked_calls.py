"""The server that forks a process for each call, and what such a process does.

Calls come from :mod:`fairbench.runs.own_processes`. What is imported here is in every process.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from fairbench.runs import session
from fairbench.store.text import describe, describe_fully

LONGEST_DEATH = 5.0
"""Seconds in which a call that is dead ends by itself, and leaves its exit code."""

FORKED = b"f"
"""What the server says when it has forked."""
END, SAY_HOW = b"e", b"h"
"""What it is asked then: to end the process, or to say how the process ended by itself."""
TOLD, ANSWER = b"t", b"a"
"""What a call sends before something that it tells, and before its answer."""


def tell(value: Any) -> None:
    """Tell something that JSON can say to the one that waits for the answer of this call."""
    if _asker is not None:
        _asker.send(TOLD, json.dumps(value).encode())


class _Asker:
    """The one that waits for the answer, as the process of a call sees it."""

    def __init__(self, descriptor: int) -> None:
        self._connection = Connection(descriptor, readable=False)
        self._lock = threading.Lock()  # a plugin may tell from several threads

    def send(self, kind: bytes, content: bytes) -> None:
        with self._lock:
            self._connection.send_bytes(kind)
            self._connection.send_bytes(content)


_asker: _Asker | None = None
"""None where no call is made: :func:`tell` has nobody to tell anything then."""


def serve(descriptor: int, libraries: Sequence[str]) -> None:
    """Fork a process for each call that is asked for, until who asks is gone."""
    session.end_with_parent()
    gc.disable()  # what is loaded is never garbage
    for library in libraries:
        with contextlib.suppress(Exception):  # the call that needs it raises it
            importlib.import_module(library)
    gc.freeze()  # so that processes go on to share its memory
    with socket.socket(fileno=descriptor) as control:
        while True:
            _, pipes, _, _ = socket.recv_fds(control, 1, 2)
            if not pipes:
                return
            if (process := os.fork()) == 0:
                control.close()
                _answer(*pipes)
            for pipe in pipes:  # else the end of the process would not be seen
                os.close(pipe)
            try:
                control.sendall(FORKED)
            finally:
                _end_call(control, process)


def _end_call(control: socket.socket, process: int) -> None:
    """End a process when it is asked for, and say how it ended.

    Nothing of that stays in this process: the next call could read it from the memory.
    """
    asked = b""
    with contextlib.suppress(OSError):  # who asked is gone
        asked = control.recv(1)
    status = _end(process, after=LONGEST_DEATH if asked == SAY_HOW else 0.0)
    control.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _end(process: int, *, after: float) -> int:
    """End a process, if it has not ended by itself after some seconds; return its status."""
    latest = time.monotonic() + after
    while time.monotonic() < latest:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.005)
    os.kill(process, signal.SIGTERM)  # its guardian ends it, and all that it has started
    return os.waitpid(process, 0)[1]


def _answer(question: int, answer: int) -> NoReturn:
    """Make the call that comes, send what comes of it, and end this process."""
    global _asker
    try:
        session.start_guarded([question, answer])
        _open_nothing_shared()
        gc.enable()
        _draw_new_seeds()
        _asker = _Asker(answer)
        _asker.send(ANSWER, _answer_to(Connection(question, writable=False)))
    finally:
        os._exit(1)  # where an answer was sent, nobody looks at it


def _answer_to(questions: Connection) -> bytes:
    try:
        with questions:  # so that nobody can add anything to what was asked
            call = pickle.loads(questions.recv_bytes())
        answer = (False, call())
    except Exception as error:
        error.add_note(f"In a process of its own: {describe_fully(error)}")
        answer = (True, error)
    except BaseException as error:
        # A plugin's sys.exit(0) must not end the command that asked as if all were well.
        answer = (True, RuntimeError(describe(error)))
    try:
        message = pickle.dumps(answer)
        pickle.loads(message)  # an exception may be written and not read
    except Exception:
        message = pickle.dumps((True, RuntimeError(describe(answer[1]))))
    return message


def _open_nothing_shared() -> None:
    """Open the standard streams anew: locks of a file that calls share would last."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.close(null)


def _draw_new_seeds() -> None:
    """Seed the generators of libraries, which else draw the same numbers in each process.

    Python's own does so by itself.
    """
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed()
    if (torch := sys.modules.get("torch")) is not None:
        torch.default_generator.seed()
