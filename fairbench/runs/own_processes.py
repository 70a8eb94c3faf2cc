"""Calls in processes of their own: each has nothing but what it is given, and ends with the call.

They are forked from a server, which has loaded libraries and nothing else: to load those takes
seconds, and a fork milliseconds.
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
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from multiprocessing.connection import Connection
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

from fairbench.runs import session
from fairbench.store.text import describe, describe_fully
from fairbench.training.device import VISIBLE

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

_LONGEST_END = 15.0
"""Seconds that the end of a call may take: somewhat more than its guardian gives itself."""
_LONGEST_DEATH = 5.0
"""Seconds in which a call that is dead ends by itself, and leaves its exit code."""

_END, _TELL = b"e", b"t"
"""What the server is asked once it has made a call: to end it, or to tell how it ended."""

_SERVE = "import sys; sys.path[:] = {path!r}; from {module} import _serve; _serve({descriptor})"


@dataclass(frozen=True)
class Inherited:
    """What the processes have of the one that calls, beside what they are given.

    Parameters
    ----------
    environment : mapping of str to str
    folder : str
        The working directory.
    path : sequence of str
        Where modules are imported from.
    """

    environment: Mapping[str, str]
    folder: str
    path: Sequence[str]

    @classmethod
    def now(cls) -> Inherited:
        """Return what this process has now."""
        return cls(dict(os.environ), os.getcwd(), tuple(sys.path))

    @property
    def with_own_gpu(self) -> dict[str, str]:
        """The environment; but the GPU, if it is one of them, is that of the job that calls."""
        own, known = os.environ.get(VISIBLE), self.environment.get(VISIBLE, "").split(",")
        if own is None or not (own in known or (own.isdecimal() and len(own) < 4)):
            return dict(self.environment)
        return {**self.environment, VISIBLE: own}


class OwnProcesses:
    """Processes of calls, one at a time. Where this is sent to another process, it starts its own.

    Parameters
    ----------
    inherited : Inherited
    """

    def __init__(self, inherited: Inherited) -> None:
        self._inherited = inherited
        self._server: _Server | None = None

    def __reduce__(self) -> tuple[type[OwnProcesses], tuple[Inherited]]:
        return OwnProcesses, (self._inherited,)

    def call(
        self,
        libraries: Sequence[str],
        function: Callable[Given, Answer],
        *arguments: Given.args,
        **keywords: Given.kwargs,
    ) -> Answer:
        """Call a function of a module in a new process that has libraries; return its answer.

        What it prints is lost. What it raises is raised here, with a note of where, as RuntimeError
        where it is no Exception, such as SystemExit. Whatever ends the wait, such as Ctrl-C, ends
        the process. What the process has started ends with it. RuntimeError says that the process
        died.
        """
        message = BytesIO()
        dump((function, arguments, keywords), message)
        if self._server is None or self._server.gone:
            self._server = _Server(self._inherited)
            weakref.finalize(self, self._server.end)
        server, answer, dead = self._server, b"", False
        try:
            with server.fork(libraries) as connection:
                try:
                    connection.send_bytes(message.getbuffer())
                    answer = connection.recv_bytes()
                except (EOFError, OSError):
                    dead = True
        finally:
            code = server.end_call(dead=dead)
        if dead:
            raise RuntimeError(f"its process ended with exit code {code}")
        raised, value = pickle.loads(answer)
        if raised:
            raise value
        return cast(Answer, value)


def dump(value: Any, file: BytesIO) -> None:
    """Pickle a value for another process; no plugin says by ``copyreg`` how classes are pickled."""
    pickler = pickle.Pickler(file)
    pickler.dispatch_table = {}
    pickler.dump(value)


class _Server:
    """The process that forks, as the one that calls sees it."""

    def __init__(self, inherited: Inherited) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            code = _SERVE.format(
                path=list(inherited.path), module=__name__, descriptor=theirs.fileno()
            )
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=inherited.with_own_gpu,
                cwd=inherited.folder,
                start_new_session=True,  # a terminal's Ctrl-C is for the one that calls
            )

    @property
    def gone(self) -> bool:
        return self._control.fileno() < 0 or self._process.poll() is not None

    def fork(self, libraries: Sequence[str]) -> Connection:
        """Start a process, in which libraries are loaded; return the way to it."""
        ours, theirs = socket.socketpair()
        with theirs, contextlib.suppress(OSError):  # it died: then there is no answer
            socket.send_fds(self._control, [json.dumps(libraries).encode()], [theirs.fileno()])
        return Connection(ours.detach())

    def end_call(self, *, dead: bool) -> int:
        """End the process of a call, and what it has started; return its exit code.

        ``dead``: it seems to have died, so how it did is waited for.
        """
        told = b""
        try:
            self._control.settimeout(_LONGEST_END + _LONGEST_DEATH)
            with contextlib.suppress(OSError):
                self._control.sendall(_TELL if dead else _END)
                told = self._control.recv(16)
        finally:
            if not told:  # also where the wait is interrupted: the next answer would be this one
                self.end()
        return int(told or self._process.returncode)

    def end(self) -> None:
        """End the server; it ends what it has forked."""
        self._control.close()
        try:
            self._process.wait(_LONGEST_END)
        except subprocess.TimeoutExpired:
            session.end_all(self._process.pid)
            self._process.wait()


def _serve(descriptor: int) -> None:
    """Fork a process for each call that is asked for, until who asks is gone."""
    gc.disable()  # what is loaded is never garbage
    with socket.socket(fileno=descriptor) as control:
        while True:
            libraries, connections, _, _ = socket.recv_fds(control, 1 << 16, 1)
            if not connections:
                return
            for library in json.loads(libraries):
                importlib.import_module(library)
            gc.freeze()  # so that processes go on to share its memory
            if (process := os.fork()) == 0:
                control.close()
                _answer(connections[0])
            os.close(connections[0])  # else the end of the process would not be seen
            asked = control.recv(1)
            status = _end(process, after=_LONGEST_DEATH if asked == _TELL else 0.0)
            if not asked:
                return
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


def _answer(descriptor: int) -> NoReturn:
    """Make the call that comes, send what comes of it, and end this process."""
    try:
        session.start_guarded([descriptor])
        gc.enable()
        _draw_new_seeds()
        connection = Connection(descriptor)
        connection.send_bytes(_answer_to(connection.recv_bytes()))
    finally:
        os._exit(1)  # the one that calls has ended it before, but for its death


def _answer_to(message: bytes) -> bytes:
    try:
        function, arguments, keywords = pickle.loads(message)
        answer = (False, function(*arguments, **keywords))
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


def _draw_new_seeds() -> None:
    """Seed what all processes have from the server: else they would draw the same numbers.

    Python's own generator does so by itself.
    """
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed()
    if (torch := sys.modules.get("torch")) is not None:
        torch.seed()
