"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import BinaryIO

from fairbench.errors import StoreError


def write_file(path: Path, content: bytes) -> None:
    """Write a file whole, making its folder; StoreError where that cannot be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise StoreError(f"{path} cannot be written: it is a folder.")
        if path.exists() and not path.is_file():  # a pipe or a device, which a rename would replace
            path.write_bytes(content)
        else:
            write_atomically(path, content)
    except (FileExistsError, NotADirectoryError):
        raise StoreError(
            f"{path} cannot be written: {path.parent} is not a folder, or lies in a file."
        ) from None
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from None


def size_of(path: Path) -> int:
    """Return the size of a file, bytes; 0 where it is not there."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


def remove_file(path: Path) -> None:
    """Delete a file, if it is there; StoreError where that cannot be done."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path} cannot be deleted: {error.strerror}.") from None


def is_writable(folder: Path) -> bool:
    """Whether files can be written to a folder, which need not be there yet."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return os.access(there, os.W_OK)


def open_part(path: Path) -> BinaryIO:
    """Open a new file beside ``path``, to be renamed to it once it is whole. Raises OSError.

    It is not a temporary file of Python's: others may read it as far as the umask says.
    """
    return (path.parent / f"{uuid.uuid4().hex}.part").open("xb")


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside ``path``, then rename; on any failure nothing is left behind. Raises OSError."""
    stream = open_part(path)
    part = Path(stream.name)
    try:
        with stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
