"""How rows moved from one edition of a board to the next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fairbench.errors import ConfigError
from fairbench.leaderboard.board import Board
from fairbench.leaderboard.build import build_tables
from fairbench.metrics.rows import LeaderboardRow, Variant, named
from fairbench.registry import Registry


@dataclass(frozen=True)
class BoardChange:
    """One row in two editions; None where an edition does not have it.

    ``place``: its place among the ranked rows of its track, from 1, by the figure that ranks; where
    none is replicated, among the complete ones.
    """

    track: str
    variant: Variant
    before: LeaderboardRow | None
    now: LeaderboardRow | None
    place_before: int | None
    place_now: int | None

    @property
    def name(self) -> str:
        """Its method, with the name of its hyperparameters where they have one."""
        row = self.now or self.before
        return named(self.variant, row.label if row else None)


def compare_boards(before: Board, now: Board, registry: Registry) -> Iterator[BoardChange]:
    """Yield the rows of two editions, in the order of the later one; then those that retired.

    Raises ConfigError where they are of different datasets, budgets or audits.
    """
    first, second = before.info, now.info
    alike = ("dataset", "budget", "audit")
    if any(getattr(first, name) != getattr(second, name) for name in alike):
        raise ConfigError(
            f"The {first.title} and the {second.title} are of different things: "
            f"{first.dataset}, {first.budget}, {first.audit}; {second.dataset}, {second.budget}, "
            f"{second.audit}.",
            "Name two editions of one board.",
        )
    rows = [_rows(board, registry) for board in (before, now)]
    for key in dict.fromkeys((*rows[1], *rows[0])):
        track, variant = key
        old, place_before = rows[0].get(key, (None, None))
        new, place_now = rows[1].get(key, (None, None))
        yield BoardChange(track, variant, old, new, place_before, place_now)


Rows = dict[tuple[str, Variant], tuple[LeaderboardRow, int | None]]


def _rows(board: Board, registry: Registry) -> Rows:
    found: Rows = {}
    places: dict[str, int] = {}
    for table in build_tables(board.records(), registry):
        ranked = {row.track for row in table.leaderboard if row.replicated}
        for row in table.leaderboard:
            place = None
            counts = row.replicated if row.track in ranked else row.complete
            if counts and row.figures.get(str(row.ranked_by)) is not None:
                places[row.track] = place = places.get(row.track, 0) + 1
            found[row.track, row.variant] = row, place
    return found
