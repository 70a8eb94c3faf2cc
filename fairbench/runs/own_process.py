"""A call in a process of its own: it has nothing but what it is given, and ends with the call."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar, cast

from fairbench.runs import session
from fairbench.store.text import describe, describe_fully
from fairbench.training.device import VISIBLE

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

_LONGEST_END = 15.0
"""Seconds that a guardian has to end its process: somewhat more than it gives itself."""

_START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    f"from {__name__} import _answer; _answer(int(sys.argv[1]))"
)


@dataclass(frozen=True)
class Inherited:
    """What the process of a call has of the one that calls, beside what it is given.

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


def call_in_own_process(
    inherited: Inherited,
    function: Callable[Given, Answer],
    *arguments: Given.args,
    **keywords: Given.kwargs,
) -> Answer:
    """Call a function of a module in a new process; return what it returns.

    What it prints is lost. What it raises is raised here, with a note of where, as RuntimeError
    where it is no Exception, such as SystemExit. Whatever ends the wait, such as Ctrl-C, ends the
    process. What the process has started ends with it. RuntimeError says that the process died.
    """
    message = BytesIO()
    pickle.dump(list(inherited.path), message)
    dump((function, arguments, keywords), message)
    receive, send = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, str(send)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[send],
            env=inherited.with_own_gpu,
            cwd=inherited.folder,
        )
    except BaseException:
        os.close(receive)
        raise
    finally:
        os.close(send)  # else the end of the process would not be seen
    with Connection(receive, writable=False) as answers:
        try:
            raised, answer = _ask(process, message.getbuffer(), answers)
        except EOFError:
            code = process.wait()
            raise RuntimeError(f"its process ended with exit code {code}") from None
        finally:
            _end(process)
    if raised:
        raise answer
    return cast(Answer, answer)


def dump(value: Any, file: BytesIO) -> None:
    """Pickle a value for another process; no plugin says by ``copyreg`` how classes are pickled."""
    pickler = pickle.Pickler(file)
    pickler.dispatch_table = {}
    pickler.dump(value)


def _ask(process: subprocess.Popen[bytes], message: memoryview, answers: Connection) -> Any:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin:  # it may have died
        process.stdin.write(message)
    return pickle.loads(answers.recv_bytes())


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()  # its guardian ends it, and all that it has started
    try:
        process.wait(_LONGEST_END)
    except subprocess.TimeoutExpired:
        session.end_all(process.pid)
        process.wait()


def _answer(descriptor: int) -> None:
    """Make the call whose message stands on the standard input, and send what comes of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C reaches it too
    session.start_guarded([descriptor])
    try:
        function, arguments, keywords = pickle.load(sys.stdin.buffer)
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
    Connection(descriptor, readable=False).send_bytes(message)
