"""A call in a process of its own: it has nothing but what it is given, and ends with the call."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar, cast

from fairbench.runs import session
from fairbench.store.text import describe

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

_LONGEST_END = 15.0
"""Seconds that a guardian has to end its process: somewhat more than it gives itself."""


def call_in_own_process(
    function: Callable[Given, Answer], *arguments: Given.args, **keywords: Given.kwargs
) -> Answer:
    """Call a function of a module in a new process; return what it returns.

    What it raises is raised here, as RuntimeError where it is no Exception, such as SystemExit.
    Whatever ends the wait, such as Ctrl-C, ends the process. What the process has started ends with
    it. RuntimeError says that the process died.
    """
    context = get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(send, function, arguments, keywords))
    process.start()
    try:
        send.close()  # else the end of the process would not be seen
        raised, answer = receive.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"its process ended with exit code {process.exitcode}") from None
    finally:
        process.terminate()  # its guardian ends it, and all that it has started
        process.join(_LONGEST_END)
        if process.pid is not None and process.is_alive():
            session.end_all(process.pid)
            process.join()
        receive.close()
    if raised:
        raise answer
    return cast(Answer, answer)


def _answer(
    send: Connection,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C reaches it too
    session.start_guarded([send.fileno()])
    try:
        answer = (False, function(*arguments, **keywords))
    except Exception as error:
        answer = (True, error)
    except BaseException as error:
        # A plugin's sys.exit(0) must not end the command that asked as if all were well.
        answer = (True, RuntimeError(describe(error)))
    try:
        message = pickle.dumps(answer)
        pickle.loads(message)  # an exception may be written and not read
    except Exception:
        message = pickle.dumps((True, RuntimeError(describe(answer[1]))))
    send.send_bytes(message)
