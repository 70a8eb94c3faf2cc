"""The tables of a collection as published, with own rows among them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fairbench.api.collection import Collection
from fairbench.leaderboard.against import place_in
from fairbench.leaderboard.boards import PUBLISHED, find_board
from fairbench.leaderboard.build import Tables, build_tables
from fairbench.leaderboard.select import SelectedRecords
from fairbench.metrics.rows import Variant
from fairbench.registry import Registry


@dataclass(frozen=True)
class PublishedTables:
    """Tables of published boards, with own rows.

    Parameters
    ----------
    own : frozenset of Variant
        Rows that are of no board, on some table at least.
    refused : tuple of str
        A line for each own row that cannot stand in a board, with the reason.
    """

    tables: tuple[Tables, ...]
    own: frozenset[Variant]
    refused: tuple[str, ...]


def tables_with_published(
    own: SelectedRecords, collection: Collection, registry: Registry
) -> PublishedTables:
    """Build the tables of a collection from its newest published boards and own records.

    Where a table has no board, own rows stand alone.
    """
    published = {board.dataset for board in registry.boards.values()}
    names = list(_names(collection))
    boards = [find_board(PUBLISHED, registry, name) for name in names if name in published]
    compared = [place_in(own, board, registry) for board in boards]
    without = set(names) - published
    alone = [table for table in build_tables(own, registry) if table.dataset in without]
    rows_alone = {row.variant for table in alone for row in table.leaderboard}
    refused = [f"{one.board.info.title}: {line}" for one in compared for line in one.refused]
    return PublishedTables(
        tables=(*(one.table for one in compared), *alone),
        own=frozenset(rows_alone.union(*(one.own for one in compared))),
        refused=tuple(refused),
    )


def _names(collection: Collection) -> Iterator[str]:
    for table in collection.tables:
        yield table.dataset
        if table.unseen is not None:
            yield table.unseen
