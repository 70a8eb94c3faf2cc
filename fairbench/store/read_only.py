"""SQLite files that cannot be written: another user's results, a folder mounted to be read."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from fairbench.errors import StoreError


def is_read_only(path: Path) -> bool:
    """Whether a file cannot be written, or the folder, where SQLite writes more files beside it."""
    path = path.resolve()
    return not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def connect(path: Path) -> sqlite3.Connection:
    """Connect to read; sqlite3.OperationalError where the file cannot be read either.

    StoreError where it lacks one of its parts, which cannot be made there.
    """
    path = path.resolve()
    log, index = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    # Without its index SQLite would have to write one, unless it is told that nobody writes.
    has_log = log.exists() and log.stat().st_size > 0
    if has_log and not index.exists():
        raise StoreError(
            f"{path} cannot be read: its last changes lie in {log.name}, for which {index.name} "
            "has to be written there.",
            "Copy the results folder to where you can write, and name the copy with --results.",
        )
    alone = not index.exists()
    mode = "immutable=1" if alone else "mode=ro"
    return sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True, check_same_thread=False)
