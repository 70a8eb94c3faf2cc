"""The tables of a collection as published, and own rows among them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fairbench.api import BoardFile, Collection, CollectionTable
from fairbench.leaderboard.across import compare_across
from fairbench.leaderboard.board_file import to_bytes
from fairbench.leaderboard.published_tables import tables_with_published
from fairbench.leaderboard.select import SelectedRecords
from fairbench.registry import Registry, load_registry
from fairbench.store.records import Record
from tests.conftest import Call
from tests.leaderboard.test_board import board_of, folded, mine, on_real_data, selected
from tests.support.installed_boards import installed
from tests.support.runs import change_units, five_folds

TWO = Collection(
    "two-v1",
    "a table with a board, and one without",
    (CollectionTable("adults-gender"), CollectionTable("compas-race")),
)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    """A board of five folds, of adults-gender alone."""
    path = tmp_path / "adults-gender-5.board"
    path.write_bytes(to_bytes(board_of(tmp_path / "published", folded)))
    registry = load_registry()
    registry.boards = installed(BoardFile("adults-gender", 5, path))
    return registry


def own_rows(change: Callable[[list[Record]], list[Record]]) -> Callable[..., list[Record]]:
    return lambda records: change(on_real_data(mine()(five_folds(records))))


def test_without_own_results_the_tables_are_the_published_ones(registry: Registry) -> None:
    found = tables_with_published(SelectedRecords({}, {}), TWO, registry)
    assert [table.dataset for table in found.tables] == ["adults-gender"]
    assert not found.own
    (verdict, *_), unranked = compare_across(found.tables, TWO, registry)
    assert not unranked
    assert verdict.missing == ("compas-race",)
    assert {"sofair", "latfr"} <= {row.method for row in verdict.rows}


def test_own_rows_stand_among_the_published_ones(registry: Registry, tmp_path: Path) -> None:
    own = selected(tmp_path / "own", own_rows(lambda records: records))
    found = tables_with_published(own, TWO, registry)
    assert {variant.method for variant in found.own} == {"mine"}
    (verdict, *_), _ = compare_across(found.tables, TWO, registry)
    areas = {row.method: row.mean_figure for row in verdict.rows}
    assert areas["mine"] == pytest.approx(areas["sofair"], rel=1e-5)


def test_own_rows_stand_alone_where_nothing_is_published(
    registry: Registry, tmp_path: Path
) -> None:
    def elsewhere(records: list[Record]) -> list[Record]:
        return change_units(records, lambda unit: unit.replace(dataset="compas-race"))

    found = tables_with_published(selected(tmp_path / "own", own_rows(elsewhere)), TWO, registry)
    assert [table.dataset for table in found.tables] == ["adults-gender", "compas-race"]
    assert "mine" in {variant.method for variant in found.own}


def test_rows_of_other_tables_are_nobodys_here(registry: Registry, tmp_path: Path) -> None:
    def elsewhere(records: list[Record]) -> list[Record]:
        return change_units(records, lambda unit: unit.replace(dataset="german-sex"))

    found = tables_with_published(selected(tmp_path / "own", own_rows(elsewhere)), TWO, registry)
    assert [table.dataset for table in found.tables] == ["adults-gender"]
    assert not found.own


def test_own_rows_that_do_not_fit_are_told_and_the_rest_stays(
    registry: Registry, tmp_path: Path
) -> None:
    def other_budget(records: list[Record]) -> list[Record]:
        return change_units(records, lambda unit: unit.replace(budget="full"))

    own = selected(tmp_path / "own", own_rows(other_budget))
    found = tables_with_published(own, TWO, registry)
    assert not found.own
    assert any("mine: its budget is full; the board's is quick" in line for line in found.refused)
    assert "sofair" in {row.method for row in found.tables[0].leaderboard}


@pytest.mark.slow
def test_the_published_verdict_needs_no_results(fairbench_here: Call, tmp_path: Path) -> None:
    done = fairbench_here("leaderboard", "--across", "--against", "published")
    assert done.returncode == 0, done.stderr
    assert "drop-features" in done.stdout
    assert "yours" not in done.stdout
    drawn = fairbench_here("plot", "across", "--against", "published", "--format", "png")
    assert drawn.returncode == 0, drawn.stderr


def test_without_results_the_command_says_that_there_are_published_ones(
    fairbench_here: Call,
) -> None:
    done = fairbench_here("leaderboard", "--across")
    assert done.returncode == 2
    assert "--against published" in done.stderr


def test_a_verdict_is_over_many_boards(fairbench_here: Call) -> None:
    done = fairbench_here("leaderboard", "--across", "--against", "adults-gender-5")
    assert done.returncode == 2
    assert "--across is over many boards, and adults-gender-5 is one." in done.stderr
    missing = fairbench_here(
        "leaderboard", "--across", "--against", "published", "--results", "none"
    )
    assert missing.returncode == 2
    assert "There are no results in none" in missing.stderr
