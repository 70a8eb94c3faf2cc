"""Checkpoint files of unfinished training: one per stack, checked when read, deleted at the end."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from fairbench.files import write_atomically
from fairbench.files.paths import PART_NAME

FOLDER = "checkpoints"

_NAME = re.compile(r"[0-9a-f]{64}\.checkpoint")
_MAGIC = b"fairbench checkpoint 1\n"
_DIGEST = hashlib.sha256().digest_size


class DamagedError(Exception):
    """A checkpoint's content is not what was written."""


class ForeignError(Exception):
    """A checkpoint was not written here: a plugin saves what it likes at the path it is given."""


def path_of(results: Path, packing: Sequence[str], device: str) -> Path:
    """File of a stack, named by its units in order and its device, as sums differ by device."""
    name = hashlib.sha256("\n".join([device, *packing]).encode()).hexdigest()
    return results.resolve() / FOLDER / f"{name}.checkpoint"


def make_folder(results: Path) -> None:
    """Make the folder; without it, as on a machine that does not share it, none are written."""
    # A full disk costs the ability to continue, not the run.
    with contextlib.suppress(OSError):
        (results / FOLDER).mkdir(parents=True, exist_ok=True)


def write(path: Path, content: bytes) -> None:
    """Replace a checkpoint; on a full disk the earlier one stays."""
    if path.parent.is_dir():
        digest = hashlib.sha256(content).digest()
        with contextlib.suppress(OSError):
            write_atomically(path, _MAGIC + digest + content)


def read(path: Path) -> bytes | None:
    """Content of a checkpoint; None where there is none.

    Raises DamagedError where it was altered, and ForeignError where it was never :func:`write`'s.
    """
    try:
        whole = path.read_bytes()
    except FileNotFoundError:
        return None
    except IsADirectoryError as error:
        raise ForeignError(str(error)) from error
    except OSError as error:
        raise DamagedError(str(error)) from error
    # The mark of a file that ends early is the beginning of it.
    if not _MAGIC.startswith(whole[: len(_MAGIC)]):
        raise ForeignError("it does not begin as checkpoints of neural methods do")
    start = len(_MAGIC) + _DIGEST
    content = whole[start:]
    if whole[:start] != _MAGIC + hashlib.sha256(content).digest():
        raise DamagedError("its content is not what was written")
    return content


def drop(path: Path | None) -> None:
    """Delete a checkpoint if there is one."""
    if path is not None:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def review(paths: Sequence[Path]) -> list[str]:
    """Delete damaged checkpoints; returns a line for the user about each that exists."""
    messages = []
    for path in paths:
        continues = f"Training continues from the checkpoint {path}."
        try:
            if read(path) is not None:
                messages.append(continues)
        except ForeignError:  # only its plugin can tell whether it is whole
            messages.append(continues)
        except DamagedError as error:
            drop(path)
            text = f"Warning: the checkpoint {path} is damaged ({error}): training restarts."
            messages.append(text)
    return messages


def files(results: Path) -> list[Path]:
    """List checkpoints, leftovers of interrupted writes included, and no other files."""
    names = (_NAME, PART_NAME)
    return sorted(
        path
        for path in (results / FOLDER).glob("*")
        if path.is_file() and any(name.fullmatch(path.name) for name in names)
    )
