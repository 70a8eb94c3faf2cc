"""Representations on disk: one compressed file a unit, named by its content, never half-written."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fairbench.atomic import write_atomically
from fairbench.errors import StoreError

FOLDER = "representations"


def save(results: Path, arrays: Mapping[str, np.ndarray]) -> str:
    """Write arrays under the results folder; returns the file's name, the sha256 of its bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: arrays[name] for name in sorted(arrays)})
    content = buffer.getvalue()
    name = f"{hashlib.sha256(content).hexdigest()}.npz"
    folder = results / FOLDER
    target = folder / name
    if target.exists():
        return name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(target, content)
    except OSError as error:
        raise StoreError(
            f"A representation cannot be written to {folder}: {error.strerror}.",
            "Free some disk space (fairbench clean tells what can go); the same command resumes.",
        ) from error
    return name


def exists(results: Path, name: str | None) -> bool:
    """Whether a file is there; what it holds is seen when it is loaded."""
    return name is not None and (results / FOLDER / name).is_file()


def load(results: Path, name: str) -> dict[str, np.ndarray] | None:
    """Read a file back; None where it is gone or its content is not what its name says."""
    path = results / FOLDER / name
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if f"{hashlib.sha256(content).hexdigest()}.npz" != name:
        return None
    with np.load(io.BytesIO(content)) as arrays:
        return dict(arrays)


def drop(results: Path, name: str) -> None:
    """Delete a file, if it is there."""
    (results / FOLDER / name).unlink(missing_ok=True)


def files(results: Path) -> list[Path]:
    """All files of the folder, leftovers of interrupted writes included."""
    folder = results / FOLDER
    return sorted(p for p in folder.glob("*") if p.is_file()) if folder.is_dir() else []
