"""What a job prints: its start as it comes, its end when it has ended, nothing in between.

It is read as fast as it is printed, so that no job waits, and memory does not grow with it.
"""

from __future__ import annotations

import os
from collections import deque
from multiprocessing.connection import Connection

from fairbench.runs.executors.channel import drain
from fairbench.store.secrets import redact_text
from fairbench.store.text import escape

MAX_AT_EITHER_END = 250_000
"""Bytes that are kept of the start of an output, and of its end."""

_TAIL_LINES, _TAIL_LINE = 10, 200
_PART = 1 << 16


class JobOutput:
    """Reads what one job prints."""

    def __init__(self, connection: Connection) -> None:
        self._descriptor = connection.fileno()
        self._room = MAX_AT_EITHER_END
        self._start, self._end = bytearray(), bytearray()
        self._left_out = 0
        self._told: deque[str] = deque(maxlen=_TAIL_LINES)
        os.set_blocking(self._descriptor, False)

    def read(self) -> bool:
        """Take in what was printed; False: nobody can print any more."""
        return drain(self._descriptor, _PART, self._keep)

    def _keep(self, part: bytes) -> None:
        self._start += part[: self._room]
        self._end += part[self._room :]
        self._room = max(self._room - len(part), 0)
        if (surplus := len(self._end) - MAX_AT_EITHER_END) > MAX_AT_EITHER_END:
            del self._end[:surplus]
            self._left_out += surplus

    def news(self) -> str:
        """Whole lines of the start that have come since this was last asked."""
        lines, newline, rest = self._start.rpartition(b"\n")
        self._start = bytearray(rest)
        return self._as_text(lines + newline)

    def rest(self) -> str:
        """All that is left; to be asked once the job has ended."""
        if (surplus := len(self._end) - MAX_AT_EITHER_END) > 0:
            del self._end[:surplus]
            self._left_out += surplus
        if not self._left_out:
            return self._as_text(self._start + self._end)
        text = self._as_text(self._start)
        mark = f"\n[... {self._left_out:,} bytes left out ...]\n"
        return text + mark + self._as_text(self._end)

    def tail(self) -> str:
        """The last lines that were handed out, shortened."""
        return "\n".join(line[:_TAIL_LINE] for line in self._told)

    def _as_text(self, content: bytes | bytearray) -> str:
        # Progress bars go back to the start of their line; in a file each is a line.
        text = content.decode("utf-8", errors="backslashreplace").replace("\r\n", "\n")
        text = escape(redact_text(text.replace("\r", "\n")))
        self._told += [line for line in text.splitlines()[-_TAIL_LINES:] if line.strip()]
        return text
