"""The published boards that fairbench brings along: files written by ``fairbench board export``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairbench.api import BoardFile
from fairbench.hookspecs import hookimpl


@hookimpl
def register_boards() -> Sequence[BoardFile]:
    """Every file in this folder: ``<dataset>-<version>.board``."""
    found = []
    for path in sorted(Path(__file__).parent.glob("*.board")):
        dataset, _, version = path.stem.rpartition("-")
        found.append(BoardFile(dataset, int(version), path))
    return found
