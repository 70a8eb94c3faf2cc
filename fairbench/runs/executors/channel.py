"""Messages from a job's process to its driver, over a channel that the job may spoil.

A plugin can write anything to any descriptor of its process. So each message has a mark, a length
and a checksum before it, and is unpickled only where all three fit; whatever else arrives is told
as garbage. Reading never blocks: half a message holds up its own job alone.

Messages are pickles. This is no border of trust: who runs a plugin runs its code.
"""

from __future__ import annotations

import os
import pickle
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

_HEAD = struct.Struct("!8sQI")
_MARK = b"\x89fairb\r\n"
_PART, _PARTS = 1 << 20, 64
"""Bytes per read, and reads before other jobs have their turn."""


class GarbledError(Exception):
    """What arrived is no message."""


def drain(descriptor: int, size: int, take: Callable[[bytes], None]) -> bool:
    """Hand what has arrived at a descriptor to ``take``, ``size`` bytes at most at a time.

    After so many reads other jobs have their turn. Returns False where the other side is gone.
    """
    for _ in range(_PARTS):
        try:
            part = os.read(descriptor, size)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not part:
            return False
        take(part)
    return True


class Sender:
    """Sends messages; several threads may."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, message: Any) -> None:
        """Send a message; raises what pickle does, or OSError where nobody reads."""
        content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        head = _HEAD.pack(_MARK, len(content), zlib.crc32(content))
        with self._lock:
            for part in (head, content):
                rest = memoryview(part)
                while rest:
                    rest = rest[os.write(self._connection.fileno(), rest[: 1 << 30]) :]


class Receiver:
    """Receives messages as they come; the connection must not be read in another way."""

    def __init__(self, connection: Connection) -> None:
        self._descriptor = connection.fileno()
        self._bytes = bytearray()
        os.set_blocking(self._descriptor, False)

    def read(self) -> bool:
        """Take in what has arrived; False: the other side is gone."""
        return drain(self._descriptor, _PART, self._bytes.extend)

    @property
    def has_part(self) -> bool:
        """Whether the beginning of a message has arrived, and its end has not."""
        return bool(self._bytes)

    def messages(self) -> Iterator[Any]:
        """Yield the messages that have arrived whole; GarbledError at what is none."""
        while len(self._bytes) >= _HEAD.size:
            mark, length, checksum = _HEAD.unpack_from(self._bytes)
            if mark != _MARK:
                raise GarbledError("bytes that are no message")
            end = _HEAD.size + length
            if len(self._bytes) < end:
                return
            content = bytes(memoryview(self._bytes)[_HEAD.size : end])
            del self._bytes[:end]
            if zlib.crc32(content) != checksum:
                raise GarbledError("a message with other bytes in it")
            try:
                message = pickle.loads(content)
            # Of a class that is not here, or that raises when it is made.
            except Exception as error:
                name = type(error).__name__
                raise GarbledError(f"a message that cannot be read ({name})") from error
            yield message
        if self._bytes and not _MARK.startswith(bytes(self._bytes[: len(_MARK)])):
            raise GarbledError("bytes that are no message")
