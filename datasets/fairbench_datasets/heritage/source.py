"""The release's files as text: from a folder, or from its zip without unpacking anything.

What a zip says of itself is not trusted: names are only compared, never used as paths; a file that
claims more than ``MAX_BYTES`` is refused before a byte of it is read; and ``zipfile`` reads no more
than was claimed, then compares the checksum.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TextIO

from fairbench.errors import DataError
from fairbench_datasets.reading import DAMAGED_ZIP

MAX_BYTES = 1_000_000_000
"""The release's largest file, Claims.csv, has about a fifth of it."""

URL = "https://foreverdata.org/1015/index.html"
AGAIN = f"Get the original release again: {URL}"
"""Hint of errors about a damaged file."""


@contextmanager
def open_text(source: Path, name: str) -> Iterator[tuple[str, TextIO]]:
    """Open one file of the release.

    ``source``: the folder that holds the file, or a zip that holds it at any depth. ``name``:
    ``Claims.csv``, ... Yields what to call it in messages, and its text. Raises DataError: it
    cannot be read, also where that shows only later, while it is being read.
    """
    where = f"{source / name}" if source.is_dir() else f"{name} in {source}"
    try:
        if source.is_dir():
            with (source / name).open("rb") as stream:
                yield where, _text(stream)
        else:
            with (
                zipfile.ZipFile(source) as archive,
                archive.open(_member(archive, source, name)) as stream,
            ):
                yield where, _text(stream)
    except DAMAGED_ZIP as error:
        raise DataError(
            f"{source} is not a zip file, or is damaged: {where} cannot be read ({error}).", AGAIN
        ) from error
    except OSError as error:
        raise DataError(f"{where} cannot be read: {error.strerror}.", "Check it.") from error


def size_of(source: Path, name: str) -> int:
    """Return the bytes of one file of the release, which has been read before."""
    if source.is_dir():
        return (source / name).stat().st_size
    with zipfile.ZipFile(source) as archive:
        return _member(archive, source, name).file_size


def _text(stream: IO[bytes]) -> TextIO:
    return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


def _member(archive: zipfile.ZipFile, path: Path, name: str) -> zipfile.ZipInfo:
    """The one file of that name in the zip, if it may be read."""
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    for entry in entries:
        if _leads_out(entry.filename):
            raise DataError(
                f"{path} is not the release: it holds a file that would be unpacked elsewhere, "
                f"{entry.filename!r}.",
                AGAIN,
            )
    named = [entry for entry in entries if PurePosixPath(entry.filename).name == name]
    if not named:
        inner = [e.filename for e in entries if e.filename.lower().endswith(".zip")]
        if inner:
            raise DataError(
                f"{path} holds no {name}, but another zip: {inner[0]!r}.",
                f"Unpack that zip, and put {name} and the others (or the inner zip) in its place.",
            )
        names = ", ".join(repr(e.filename) for e in entries[:5]) or "nothing"
        raise DataError(f"{path} holds no {name}; it holds {names}.", AGAIN)
    if len(named) > 1:
        both = " and ".join(repr(entry.filename) for entry in named[:2])
        raise DataError(f"{path} holds more than one {name}: {both}.", AGAIN)
    entry = named[0]
    if entry.flag_bits & 1:
        raise DataError(
            f"{path} is encrypted: {entry.filename!r} needs a password.",
            f"Unpack it, and put {name} and the others beside it.",
        )
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataError(
            f"{path} packs {entry.filename!r} in a way (number {entry.compress_type}) that is not "
            "read here.",
            f"Unpack it, and put {name} and the others beside it.",
        )
    if entry.file_size > MAX_BYTES:
        raise DataError(
            f"{path} claims that {entry.filename!r} has {entry.file_size:,} bytes; the release's "
            f"files have less than {MAX_BYTES:,}.",
            AGAIN,
        )
    return entry


def _leads_out(name: str) -> bool:
    """Whether a name in a zip is absolute or climbs out of the folder it is unpacked in."""
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or ":" in "".join(path.parts[:1])
