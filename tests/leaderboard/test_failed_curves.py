"""A board says of a row whose curves failed in part what the store says of it."""

import hashlib
from pathlib import Path

from fairbench.leaderboard.board import make_board
from fairbench.leaderboard.board_file import from_bytes, to_bytes
from fairbench.leaderboard.build import build_tables
from fairbench.leaderboard.select import SelectedRecords
from fairbench.metrics.rows import LeaderboardRow
from fairbench.store.records import PointRecord, Record, ReferenceRecord, UnitRecord
from fairbench.store.status import Status
from tests.leaderboard.test_board import REGISTRY, folded, selected

FOLD = "fold 3 of 5"


def other(key: str) -> str:
    """The key of the same of another seed."""
    return hashlib.sha256(key.encode()).hexdigest()


def two_seeds_of_which_one_diverged(records: list[Record]) -> list[Record]:
    """Five folds, two seeds; of sofair the second one diverged on a fold."""
    records = folded(records)
    again: list[Record] = []
    lost: set[str] = set()
    for record in records:
        if isinstance(record, UnitRecord):
            unit = record.replace(key=other(record.key), seed=1)
            if (unit.method, unit.split) == ("sofair", FOLD):
                lost.add(unit.key)
                unit = unit.replace(status=Status.DIVERGED, error="loss nan", read_points=None)
            again.append(unit)
        elif isinstance(record, ReferenceRecord):
            again.append(record.replace(key=other(record.key), seed=1))
    for record in records:
        if isinstance(record, PointRecord) and other(record.unit) not in lost:
            again.append(record.replace(key=other(record.key), unit=other(record.unit)))
    return [*records, *again]


def row_of(records: SelectedRecords, method: str) -> LeaderboardRow:
    (table,) = build_tables(records, REGISTRY)
    return next(row for row in table.leaderboard if row.method == method)


def test_a_seed_that_failed_on_a_fold_makes_the_row_of_a_board_incomplete(tmp_path: Path) -> None:
    records = selected(tmp_path, two_seeds_of_which_one_diverged)
    board = make_board(records, "adults-gender", REGISTRY, version=5, budget="quick")
    assert board.incomplete == ["sofair"]
    published = from_bytes(to_bytes(board)).records()
    for one in (records, published):
        row = row_of(one, "sofair")
        assert not row.replicated
        assert "4 of 5 folds" in row.splits
        assert row_of(one, "latfr").replicated
