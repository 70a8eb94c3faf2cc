"""Boards as fairbench's own plugin registers them."""

from __future__ import annotations

from fairbench.api import BoardFile
from fairbench.registry import DISTRIBUTION
from fairbench.registry.catalogue import NamedValues


def installed(*files: BoardFile) -> NamedValues[BoardFile]:
    boards = NamedValues(BoardFile)
    for one in files:
        boards.add(one, f"boards ({DISTRIBUTION})")
    return boards
