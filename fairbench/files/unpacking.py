"""Files that promise more than they hold: checked before anything of that size is allocated.

A compressed file of megabytes may unpack to terabytes, and the header of an npy file may name any
shape. What is refused here raises ValueError, as numpy does for damaged files.
"""

from __future__ import annotations

import gzip
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

MAX_RATIO = 100
"""Unpacked bytes per packed byte beyond which a large file is refused: numbers reach 30."""

ALWAYS = 2**28
"""Bytes that any file may unpack to: 256 MB."""


MAX_LINES = 2_000_000
"""Lines of a text file: reading empty ones by the hundred million takes minutes."""


def most_unpacked(packed: int) -> int:
    """Return the bytes that a compressed file of a size may unpack to."""
    return max(ALWAYS, MAX_RATIO * packed)


def read_lines(path: Path, *, longest: int, most: int | None) -> Iterator[bytes]:
    """Yield the lines of a text file, or of a gzip file, whose name ends in ``.gz``.

    Never more than a line is in memory. Raises ValueError for a line of more than ``longest``
    bytes, or a file of more than ``most`` (a compressed one: of more than its size allows), or of
    more than MAX_LINES lines. ``most`` None: any size, and any number of lines.
    Raises OSError, EOFError or zlib.error for a file that cannot be read.
    """
    limit = math.inf if most is None else most
    if path.suffix == ".gz" and most is not None:
        limit = min(most, most_unpacked(path.stat().st_size))
    total = 0
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as stream:
        number = 1
        while line := stream.readline(longest + 1):
            total += len(line)
            if len(line) > longest:
                raise ValueError(f"line {number} is longer than {longest:,} bytes")
            if most is not None and number > MAX_LINES:
                raise ValueError(f"it has more than {MAX_LINES:,} lines")
            if total > limit:
                raise ValueError(f"it unpacks to more than {limit:,.0f} bytes (line {number})")
            yield line
            number += 1


def check_arrays(stream: IO[bytes]) -> None:
    """Check that an npy or npz file holds what its headers promise; anything else is left alone.

    Raises ValueError, or zipfile.BadZipFile for a damaged npz file. The stream is rewound.
    """
    start = stream.read(len(np.lib.format.MAGIC_PREFIX))
    size = stream.seek(0, 2)
    stream.seek(0)
    if start == np.lib.format.MAGIC_PREFIX:
        _check_array(stream, size)
    elif start.startswith(b"PK"):
        _check_archive(stream, size)
    stream.seek(0)


def _check_array(stream: IO[bytes], size: int) -> None:
    """Compare the shape in an npy header with the bytes that follow; ``size`` includes both."""
    version = np.lib.format.read_magic(stream)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"npy files of version {version[0]}.{version[1]} are not read")
    shape, _, kind = readers[version](stream)
    if kind.hasobject:
        return  # pickled objects, which the reader refuses
    promised, there = math.prod(shape) * kind.itemsize, size - stream.tell()
    if promised > there:
        raise ValueError(f"its header promises {promised:,} bytes; it holds {size:,}")
    if promised < there:  # whoever holds the file has them, and nobody audits them
        raise ValueError(f"{there - promised:,} bytes stand behind its array")


def _check_archive(stream: IO[bytes], size: int) -> None:
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        # A member's bytes may stand in the file once and in its list a thousand times.
        unpacked = sum(member.file_size for member in members)
        if unpacked > most_unpacked(size):
            raise ValueError(f"it unpacks to {unpacked:,} bytes, from {size:,}")
        for member in members:
            if member.filename.endswith(".npy"):
                with archive.open(member) as inner:
                    _check_array(inner, member.file_size)
