"""Calls in processes of their own, which have what they are given, and end with the call.

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
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from multiprocessing.connection import Connection
from typing import Any, NoReturn, TypeVar, cast

from fairbench.runs import session
from fairbench.runs.deaths import how_it_died, processes_killed_for_memory
from fairbench.store.status import Status
from fairbench.store.text import describe, describe_fully
from fairbench.training.device import VISIBLE

Answer = TypeVar("Answer")

_LONGEST_END = 15.0
"""Seconds that the end of a call may take: somewhat more than its guardian gives itself."""
_LONGEST_DEATH = 5.0
"""Seconds in which a call that is dead ends by itself, and leaves its exit code."""

_FORKED = b"f"
"""What the server says when it has forked."""
_END, _SAY_HOW = b"e", b"h"
"""What it is asked then: to end the process, or to say how the process ended by itself."""
_TOLD, _ANSWER = b"t", b"a"
"""What a call sends before something that it tells, and before its answer."""

_SERVE = "import sys; sys.path[:] = {path}; from {module} import _serve; _serve({control}, {names})"


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

        ``told`` gets what the call tells by :func:`tell`. What it prints is lost. What it raises is
        raised here, with a note of where, as RuntimeError where it is no Exception, such as
        SystemExit. Whatever ends the wait, such as Ctrl-C, ends the process. What the process has
        started ends with it. DiedError says that the process died, MemoryError that it was killed
        for lack of memory.
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


def tell(value: Any) -> None:
    """Tell something that JSON can say to the one that waits for the answer of this call."""
    if _asker is not None:
        _asker.send(_TOLD, json.dumps(value).encode())


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
                module=__name__,
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
            while (kind := _received(answers)) == _TOLD:
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
            self._control.settimeout(_LONGEST_END + _LONGEST_DEATH)
            self._control.sendall(_SAY_HOW if dead else _END)
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


def _serve(descriptor: int, libraries: Sequence[str]) -> None:
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
                control.sendall(_FORKED)
            finally:
                _end_call(control, process)


def _end_call(control: socket.socket, process: int) -> None:
    """End a process when it is asked for, and say how it ended.

    Nothing of that stays in this process: the next call could read it from the memory.
    """
    asked = b""
    with contextlib.suppress(OSError):  # who asked is gone
        asked = control.recv(1)
    status = _end(process, after=_LONGEST_DEATH if asked == _SAY_HOW else 0.0)
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
        _asker.send(_ANSWER, _answer_to(Connection(question, writable=False)))
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
