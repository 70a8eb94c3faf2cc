"""Calls in processes of their own, which have what they are given, and end with the call.

They are forked from a server, which has loaded libraries and nothing else: to load those takes
seconds, and a fork milliseconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import socket
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from multiprocessing.connection import Connection
from typing import Any, TypeVar, cast

from fairbench.runs import forked_calls, session
from fairbench.runs.deaths import how_it_died, processes_killed_for_memory
from fairbench.runs.forked_calls import END, LONGEST_DEATH, SAY_HOW, TOLD
from fairbench.store.status import Status
from fairbench.training.device import VISIBLE

Answer = TypeVar("Answer")

_LONGEST_END = 15.0
"""Seconds that the end of a call may take: somewhat more than its guardian gives itself."""

_SERVE = "import sys; sys.path[:] = {path}; from {module} import serve; serve({control}, {names})"


@dataclass(frozen=True)
class Inherited:
    """What processes have of the one that calls, beside what they are given.

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


class DiedError(Exception):
    """The process of a call died, and gave no answer."""


class OwnProcesses:
    """Processes of calls, one at a time. Where this is pickled, the copy has a server of its own.

    Parameters
    ----------
    inherited : Inherited
    libraries : sequence of str
        Modules that every process has loaded.
    like_here : sequence of str
        Modules that processes have loaded too, if the one that calls first has.
    """

    def __init__(
        self,
        inherited: Inherited,
        libraries: Sequence[str] = (),
        like_here: Sequence[str] = (),
    ) -> None:
        self._given = inherited, tuple(libraries), tuple(like_here)
        self._server: _Server | None = None

    def __reduce__(self) -> tuple[type[OwnProcesses], tuple[Any, ...]]:
        return OwnProcesses, self._given

    def call(
        self, call: Callable[[], Answer], told: Callable[[Any], None] = lambda value: None
    ) -> Answer:
        """Make a call, such as a partial one of a function of a module; return its answer.

        ``told`` gets what the call tells by ``forked_calls.tell``. What it prints is lost. What it
        raises is raised here, with a note of where, as RuntimeError where it is no Exception, such
        as SystemExit. Whatever ends the wait, such as Ctrl-C, ends the process. What the process
        has started ends with it. DiedError says that the process died, MemoryError that it was
        killed for lack of memory.
        """
        message = BytesIO()
        dump(call, message)
        server = self._taken()
        killed_before = processes_killed_for_memory()
        try:
            answer = server.ask(message.getbuffer(), told)
            code = server.end_call(dead=answer is None)
        except BaseException:
            server.end()
            raise
        self._server = None if server.gone else server
        if answer is None:
            status, how = how_it_died(code, killed_before)
            kind = MemoryError if status is Status.OOM else DiedError
            raise kind(f"in a process of its own: {how}")
        raised, value = pickle.loads(answer)
        if raised:
            raise value
        return cast(Answer, value)

    def end(self) -> None:
        """End what stays between calls, and takes memory. A later call starts it again."""
        server, self._server = self._server, None
        if server is not None:
            server.end()

    def _taken(self) -> _Server:
        """Return the server, which is put back after a call that has ended as it should."""
        server, self._server = self._server, None
        if server is not None and not server.gone:
            return server
        if server is not None:
            server.end()
        inherited, libraries, like_here = self._given
        server = _Server(inherited, [*libraries, *(one for one in like_here if one in sys.modules)])
        weakref.finalize(self, server.end)
        return server


def dump(value: Any, file: BytesIO) -> None:
    """Pickle a value for another process; no plugin says by ``copyreg`` how classes are pickled."""
    pickler = pickle.Pickler(file)
    pickler.dispatch_table = {}
    pickler.dump(value)


class _Server:
    """The process that forks, as the one that calls sees it."""

    def __init__(self, inherited: Inherited, libraries: Sequence[str]) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            code = _SERVE.format(
                path=list(map(str, inherited.path)),
                module=forked_calls.__name__,
                control=theirs.fileno(),
                names=list(libraries),
            )
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                # No process of PyTorch's compiler, which calls would share.
                env={**inherited.with_own_gpu, "TORCH_WARM_POOL": "0"},
                cwd=inherited.folder,
                start_new_session=True,  # a terminal's Ctrl-C is for the one that calls
            )

    @property
    def gone(self) -> bool:
        return self._process.poll() is not None

    def ask(self, message: memoryview, told: Callable[[Any], None]) -> bytes | None:
        """Make a call; return its answer, or None where its process died."""
        with self._forked() as (questions, answers):
            with questions, contextlib.suppress(OSError):  # it may be dead
                questions.send_bytes(message)
            while (kind := _received(answers)) == TOLD:
                told(json.loads(_received(answers) or b"null"))
            return None if kind is None else _received(answers)

    @contextlib.contextmanager
    def _forked(self) -> Iterator[tuple[Connection, Connection]]:
        """Start a process; give the way to it, and the way back."""
        pipes = [os.pipe(), os.pipe()]
        (asked, asks), (answered, answers) = pipes
        with Connection(asks, readable=False) as to, Connection(answered, writable=False) as back:
            try:
                with contextlib.suppress(OSError):  # it is gone: then nobody answers
                    socket.send_fds(self._control, [b" "], [asked, answers])
                    self._control.recv(1)
            except BaseException:
                self._process.kill()  # it may load libraries for a while
                raise
            finally:
                os.close(asked)
                os.close(answers)
            yield to, back

    def end_call(self, *, dead: bool) -> int:
        """End the process of a call, and what it has started; return its exit code.

        ``dead``: it seems to have died, so how it did is waited for.
        """
        with contextlib.suppress(OSError):
            self._control.settimeout(_LONGEST_END + LONGEST_DEATH)
            self._control.sendall(SAY_HOW if dead else END)
            code = self._control.recv(16)
            self._control.settimeout(None)
            if code:
                return int(code)
        self.end()
        return self._process.returncode

    def end(self) -> None:
        """End the server; it ends what it has forked."""
        self._control.close()
        try:
            self._process.wait(_LONGEST_END)
        except subprocess.TimeoutExpired:
            session.end_all(self._process.pid)
            self._process.wait()


def _received(connection: Connection) -> bytes | None:
    """Return what comes next; None: nothing will, as the process at the other end died."""
    try:
        return connection.recv_bytes()
    except (EOFError, OSError):
        return None
