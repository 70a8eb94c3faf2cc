"""Names that become files: what they may be, and that they stay inside their folder."""

from __future__ import annotations

import re
from pathlib import Path

from fairbench.errors import StoreError

FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
"""Names of methods and datasets, of which names of files are made."""

TWIN_ENDING = "-simulated"
"""Ending of the name of a simulated twin's leaderboard and files."""

TAKEN_ENDINGS = (TWIN_ENDING, "-points", "-attainment")
"""Endings of leaderboard files, which names of datasets must not have."""

SHIFT_MARK = "-shift-"
"""What stands between a dataset and a column in the name of a shift, and in no other's."""

MAX_NAME_LENGTH = 80
"""Of names of datasets and methods: characters."""

CONTENT_NAME = re.compile(r"[0-9a-f]{64}\.(npz|safetensors)")
"""Names of files that are called by the sha256 of their bytes."""

PART_NAME = re.compile(r"[0-9a-f]{32}\.part")
"""Names of files that are being written; an interrupted write leaves one."""


def twin_name(dataset: str) -> str:
    """Name of the leaderboard and files of a dataset's simulated twin."""
    return dataset + TWIN_ENDING


def is_file_name(name: str) -> bool:
    """Whether a name is safe as the name of a file: letters, digits, ``-``, ``_`` and ``.``."""
    return FILE_NAME.fullmatch(name) is not None


def split_paths(text: str) -> tuple[str, ...]:
    """Split names and paths at commas; the path of a file may have commas of its own."""
    found, parts = list[str](), text.split(",")
    while parts:
        ends = range(2, len(parts) + 1)
        end = max((e for e in ends if Path(",".join(parts[:e]).strip()).is_file()), default=1)
        found.append(",".join(parts[:end]).strip())
        parts = parts[end:]
    return tuple(name for name in found if name)


def within(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder, to be written or deleted.

    Raises StoreError where the name is not a safe one, or leads out of the folder: names come from
    records, which others may have written, and a link in the folder may point anywhere.
    """
    path = folder / name
    base = folder.resolve()
    if not is_file_name(name) or path.resolve().parent != base:
        raise StoreError(
            f"{name!r} is no name of a file in {folder}.",
            "Nothing was written or deleted. Names of datasets and methods have letters, digits, "
            "'-', '_' and '.' alone.",
        )
    return path
