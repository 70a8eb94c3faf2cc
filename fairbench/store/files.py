"""Files beside the store, named by their content and never half-written.

Representations are one file per unit; encoders are another, see
:mod:`fairbench.store.encoders`.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fairbench.errors import StoreError
from fairbench.files import remove_file, write_atomically
from fairbench.files.paths import CONTENT_NAME, PART_NAME, within
from fairbench.files.unpacking import check_arrays

FOLDER = "representations"


def save(results: Path, arrays: Mapping[str, np.ndarray]) -> str:
    """Write arrays under the results folder; return the file's name, the sha256 of its bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: arrays[name] for name in sorted(arrays)})
    return write(results / FOLDER, buffer.getvalue(), "npz")


def write(folder: Path, content: bytes, ending: str) -> str:
    """Write a file named by the sha256 of its bytes, unless it is there whole; return its name."""
    name = f"{hashlib.sha256(content).hexdigest()}.{ending}"
    target = within(folder, name)
    if read(target) is not None:
        return name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(target, content)
    except OSError as error:
        raise StoreError(
            f"{target.name} cannot be written to {folder}: {error.strerror}.",
            "Free some disk space (fairbench clean --dry-run lists what can go), then resume with "
            "the same command.",
        ) from error
    return name


def read(path: Path) -> bytes | None:
    """Read a file back; None where it is gone or its content is not what its name says."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == path.stem else None


def exists(results: Path, name: str | None) -> bool:
    """Whether a file is there; its content is checked when it is loaded."""
    return name is not None and is_own(name) and (results / FOLDER / name).is_file()


def is_own(name: str) -> bool:
    """Whether a name is one that :func:`write` gives: others lead nowhere."""
    return CONTENT_NAME.fullmatch(name) is not None


def load(results: Path, name: str) -> dict[str, np.ndarray] | None:
    """Load the arrays of a representation; None where the file is gone or damaged."""
    content = read(results / FOLDER / name) if is_own(name) else None
    if content is None:
        return None
    try:
        check_arrays(io.BytesIO(content))
    except (ValueError, zipfile.BadZipFile):
        return None
    with np.load(io.BytesIO(content)) as arrays:
        # Files of version 0.1 call the validation role by its earlier name.
        return {name.replace("/selection", "/validation"): arrays[name] for name in arrays.files}


def load_few(results: Path, name: str, wanted: Sequence[str]) -> dict[str, np.ndarray] | None:
    """Load some arrays of a representation, without reading the whole file.

    They are checked by the checksums in the file alone. None where the file or any of them is gone
    or damaged.
    """
    if not is_own(name):
        return None
    try:
        with np.load(results / FOLDER / name) as arrays:
            return {one: arrays[one] for one in wanted}
    # What is damaged may say that it is compressed, or encrypted, in a way that nobody knows.
    except (OSError, KeyError, ValueError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile):
        return None


def drop(results: Path, name: str) -> None:
    """Delete a file, if it is there and named by its content.

    Raises StoreError where it is a link that leads out of the folder, or cannot be deleted.
    """
    if is_own(name):
        remove_file(within(results / FOLDER, name))


def files(folder: Path) -> list[Path]:
    """List what fairbench wrote to a folder, leftovers of interrupted writes included.

    Other files, and links, are left out: the folder may be one that somebody else uses too.
    """
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.glob("*")
        if path.is_file()
        and not path.is_symlink()
        and (CONTENT_NAME.fullmatch(path.name) or PART_NAME.fullmatch(path.name))
    )
