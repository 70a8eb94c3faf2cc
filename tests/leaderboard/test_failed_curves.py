"""A board says of a row whose curves failed in part what the store says of it."""

import hashlib
from pathlib import Path

from fairbench.leaderboard.against import place_in
from fairbench.leaderboard.board import make_board
from fairbench.leaderboard.board_file import from_bytes, to_bytes
from fairbench.leaderboard.build import build_tables
from fairbench.leaderboard.select import SelectedRecords
from fairbench.metrics.rows import LeaderboardRow
from fairbench.store.records import PointRecord, Record, ReferenceRecord, UnitRecord
from fairbench.store.status import Status
from tests.leaderboard.test_board import REGISTRY, board_of, folded, selected

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


def two_seeds_of_which_one_waits(records: list[Record]) -> list[Record]:
    """The same, where the second one is not trained yet on that fold."""
    return [
        record.replace(status=Status.PENDING, error=None)
        if isinstance(record, UnitRecord) and record.status is Status.DIVERGED
        else record
        for record in two_seeds_of_which_one_diverged(records)
    ]


def two_seeds(records: list[Record]) -> list[Record]:
    """Five folds, two seeds, all measured."""
    whole = folded(records)
    again: list[Record] = []
    for record in whole:
        if isinstance(record, PointRecord):
            again.append(record.replace(key=other(record.key), unit=other(record.unit)))
        elif isinstance(record, UnitRecord | ReferenceRecord):
            again.append(record.replace(key=other(record.key), seed=1))
    return [*whole, *again]


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


def test_a_seed_that_waits_on_a_fold_makes_the_row_of_a_board_incomplete(tmp_path: Path) -> None:
    """Its curve is not on the board: the row must not look complete without it."""
    records = selected(tmp_path, two_seeds_of_which_one_waits)
    board = make_board(records, "adults-gender", REGISTRY, version=5, budget="quick")
    assert board.incomplete == ["sofair"]
    row = row_of(from_bytes(to_bytes(board)).records(), "sofair")
    assert not row.replicated
    assert "4 of 5 folds" in row.splits


def test_against_a_board_a_failed_seed_is_not_left_out_of_the_mean(tmp_path: Path) -> None:
    board = board_of(tmp_path / "board", folded)
    own = selected(tmp_path / "own", two_seeds_of_which_one_diverged)
    compared = place_in(own, board, REGISTRY)
    assert f"sofair: no point of it is measured ({FOLD})" in compared.refused
    assert any("sofair: it is measured on official (4 of 5 folds)" in r for r in compared.refused)
    row = next(row for row in compared.table.leaderboard if row.method == "sofair")
    assert row.replicated
    assert row.origin == "adults-gender-5"  # the published one stays


def test_a_row_of_one_seed_leaves_the_published_row_of_two(tmp_path: Path) -> None:
    board = board_of(tmp_path / "board", two_seeds)
    compared = place_in(selected(tmp_path / "one", folded), board, REGISTRY)
    assert any(
        "on 5 folds with seeds: 1; the published row, on 5 folds with seeds: 2" in line
        for line in compared.refused
    )
    assert "sofair" not in {variant.method for variant in compared.own}
    again = place_in(selected(tmp_path / "two", two_seeds), board, REGISTRY)
    assert "sofair" in {variant.method for variant in again.own}
