"""Which own rows take the place of published ones: those that are as complete."""

from dataclasses import replace
from pathlib import Path

import pytest

from fairbench.errors import ConfigError
from fairbench.leaderboard.against import compare_with, place_in
from fairbench.leaderboard.build import build_tables
from fairbench.leaderboard.ranking import difference
from fairbench.store.records import PointRecord, Record, UnitRecord
from fairbench.store.status import Status
from tests.leaderboard.test_board import REGISTRY, board_of, folded, on_real_data, selected


def without_points(records: list[Record]) -> list[Record]:
    """As a run leaves it that is killed before its first audit."""
    return [
        record.replace(status=Status.PENDING, read_points=None)
        if isinstance(record, UnitRecord)
        else record
        for record in on_real_data(records)
        if not isinstance(record, PointRecord)
    ]


def without_a_point(records: list[Record]) -> list[Record]:
    """One point of each method of several has failed."""
    seen: dict[str, int] = {}
    changed: list[Record] = []
    for record in on_real_data(records):
        if isinstance(record, PointRecord):
            seen[record.unit] = seen.get(record.unit, 0) + 1
            if seen[record.unit] == 2:
                record = record.replace(status=Status.FAILED, error="no", values=None)
        changed.append(record)
    return changed


def test_a_row_on_one_split_leaves_the_published_row_of_five(tmp_path: Path) -> None:
    board = board_of(tmp_path / "board", folded)
    compared = place_in(selected(tmp_path / "own"), board, REGISTRY)
    rows = {row.method: row for row in compared.table.leaderboard}
    assert rows["sofair"].replicated
    assert rows["sofair"].origin == "adults-gender-5"
    assert "sofair" not in {variant.method for variant in compared.own}
    told = [line for line in compared.refused if line.startswith("sofair")]
    assert told == [
        "sofair: it is measured on official; the published row, on 5 folds, stays",
    ]
    assert not any(line.startswith("drop-features") for line in compared.refused)


def test_a_row_of_which_nothing_is_measured_leaves_the_published_row(tmp_path: Path) -> None:
    board = board_of(tmp_path / "board", folded)
    own = selected(tmp_path / "own", without_points)
    compared = place_in(own, board, REGISTRY)
    rows = {row.method: row for row in compared.table.leaderboard}
    assert rows["latfr"].replicated
    assert "latfr: no point of it is measured (official)" in compared.refused
    with pytest.raises(ConfigError, match="None of your rows can be ranked"):
        compare_with(own, board, REGISTRY)


def test_a_row_with_failed_points_leaves_the_published_row(tmp_path: Path) -> None:
    board = board_of(tmp_path / "board")
    compared = place_in(selected(tmp_path / "own", without_a_point), board, REGISTRY)
    rows = {row.method: row for row in compared.table.leaderboard}
    assert rows["sofair"].complete
    assert any("sofair: it is measured on official, not all points" in r for r in compared.refused)


def test_a_row_that_is_as_complete_takes_the_place(tmp_path: Path) -> None:
    board = board_of(tmp_path / "board", folded)
    compared = compare_with(selected(tmp_path / "own", folded), board, REGISTRY)
    rows = {row.method: row for row in compared.table.leaderboard}
    assert rows["sofair"].replicated
    assert rows["sofair"].origin is None
    assert rows["drop-features"].origin == "adults-gender-5"


def test_baselines_alone_are_told_to_stay(tmp_path: Path) -> None:
    def baselines(records: list[Record]) -> list[Record]:
        kept = {u.key for u in records if isinstance(u, UnitRecord) and "baseline" in u.tags}
        return [
            one
            for one in on_real_data(records)
            if not isinstance(one, (UnitRecord, PointRecord))
            or (one.key if isinstance(one, UnitRecord) else one.unit) in kept
        ]

    board = board_of(tmp_path / "board", folded)
    with pytest.raises(ConfigError, match="baselines stay as published"):
        compare_with(selected(tmp_path / "own", baselines), board, REGISTRY)


def test_rows_of_two_versions_of_the_audit_have_no_difference(tmp_path: Path) -> None:
    (table,) = build_tables(selected(tmp_path, folded), REGISTRY)
    a, b = (
        next(entry for entry in table.entries if entry.row.method == name)
        for name in ("sofair", "latfr")
    )
    assert difference(a, b, "aufdc") is not None
    later = replace(b, row=replace(b.row, audit_version=99))
    assert difference(a, later, "aufdc") is None
