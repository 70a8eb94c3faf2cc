"""Standard streams that are closed or full: messages may be lost, results are not."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import Any


def secure() -> None:
    """Make sure that there are three standard streams, and that messages never end a command.

    A file that is opened while a standard descriptor is closed takes its number, and gets what is
    printed. So closed ones are opened on the null device. Errors on the error stream are ignored.
    Of the output, that nobody reads it any more is: the command goes on, to its own exit code.
    Other errors of the output, such as a full disk, are the caller's.
    """
    with contextlib.suppress(OSError):
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            os.set_inheritable(descriptor, True)
        os.close(descriptor)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):  # names may have letters that it lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout = _Unread(sys.stdout)
    sys.stderr = _Unfailing(sys.stderr)


def abandon_output() -> None:
    """Send what is still to be printed nowhere, so that Python's exit does not fail on it."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)


class _Wrapped:
    """A stream, all but its writes as they are."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Unread(_Wrapped):
    """An output whose writes do not fail where its reader has ended, as ``head`` does."""

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except BrokenPipeError:
            abandon_output()
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            abandon_output()


class _Unfailing(_Wrapped):
    """A stream whose writes never fail."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()
