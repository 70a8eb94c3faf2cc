"""What commands about boards print and write: lists, rows, how rows moved, who submits."""

import re
from collections.abc import Iterable
from pathlib import Path

from fairbench.leaderboard.board import Board, make_board
from fairbench.leaderboard.board_file import to_bytes
from fairbench.leaderboard.select import read
from fairbench.registry import load_registry
from fairbench.store.database import Store
from fairbench.store.records import Record, UnitRecord
from fairbench.store.submission import read_submission
from tests.conftest import Call
from tests.support.runs import change_units, stored
from tests.support.submissions import submitted

FILE = "adults-gender-5.board"
SUBMIT = ("submit", "--method", "sofair", "--dataset", "adults-gender", "--against", FILE)


def write_edition(folder: Path, version: int, *, without: Iterable[str] = ()) -> Board:
    """Write an edition of the board of the committed run, without some methods."""

    def change(records: list[Record]) -> list[Record]:
        units = [one for one in records if isinstance(one, UnitRecord)]
        gone = {unit.key for unit in units if unit.method in without}
        kept = [one for one in records if not {one.key, getattr(one, "unit", None)} & gone]
        return change_units(kept, lambda unit: unit.replace(data_source="real"))

    records = read(stored(folder / f"store {version}", change))
    made = make_board(records, "adults-gender", load_registry(), version=version, budget="quick")
    (folder / f"adults-gender-{version}.board").write_bytes(to_bytes(made))
    return made


def cells(text: str) -> dict[str, list[str]]:
    """Of each line of a table its words, by the first of them."""
    return {words[0]: words[1:] for words in map(str.split, text.splitlines()) if words}


def test_installed_boards_are_listed_with_what_they_are_of(fairbench_here: Call) -> None:
    told = fairbench_here("board", "list")
    assert told.returncode == 0
    listed = {name: rest for name, *rest in (ln.split("\t") for ln in told.stdout.splitlines())}
    boards = load_registry().boards
    assert list(listed) == sorted(boards)
    for name, (dataset, budget, audit, splits, rows, _) in listed.items():
        assert dataset == boards[name].dataset == name.rpartition("-")[0]
        assert re.fullmatch(r"strict, version \d+", audit)
        assert (budget, splits) == ("full", "5")
        assert int(rows) >= 10


def test_a_board_is_shown_as_a_table(fairbench_here: Call, tmp_path: Path) -> None:
    write_edition(tmp_path, 5, without=["pca"])
    shown = fairbench_here("board", "show", FILE)
    assert shown.returncode == 0
    title, heads, *_ = shown.stdout.splitlines()
    assert title == "adults-gender, edition 5 · blind track · budget quick · quick audit"
    assert heads.split()[:2] == ["method", "AUFDC"]
    rows = cells(shown.stdout)
    assert rows["sofair"][:3] == [".247", "[.237,", ".257]"]
    assert rows["identity"][:3] == [".500", "[.490,", ".510]"]
    assert "pca" not in rows
    assert "One split" in shown.stdout


def test_changes_between_editions_are_printed_row_by_row(
    fairbench_here: Call, tmp_path: Path
) -> None:
    write_edition(tmp_path, 5, without=["latfr"])
    write_edition(tmp_path, 6, without=["pca"])
    told = fairbench_here("board", "changes", FILE, "adults-gender-6.board")
    assert told.returncode == 0
    lines = told.stdout.splitlines()
    for line, version in zip(lines, (5, 6), strict=False):
        assert line.startswith(f"board adults-gender, edition {version}: 20")
        assert line.endswith(", protocol 1, audit 2, one split")
    heads = ["method", "track", "AUFDC before", "now", "place before", "now"]
    assert re.split(r"\s{2,}", lines[2].strip()) == heads
    rows = cells("\n".join(lines[3:]))
    assert rows["drop-features"] == ["blind", "0.167", "0.167", "1", "1"]
    assert rows["latfr"] == ["blind", "-", "0.188", "-", "2", "new"]
    assert rows["sofair"] == ["blind", "0.247", "0.247", "2", "3"]
    assert rows["pca"] == ["blind", "0.393", "-", "4", "-", "retired"]
    assert len(rows) == 7


def test_a_submission_says_who_submits(fairbench_here: Call, tmp_path: Path) -> None:
    board = write_edition(tmp_path, 5)
    Store.in_folder(tmp_path / "own").put(submitted(board).records)
    words = (*SUBMIT, "--results", "own", "--submitter")
    refused = fairbench_here(*words, "x" * 201)
    assert refused.returncode == 2
    assert "submitter: at most 200 characters are allowed" in refused.stderr
    assert "--submitter is one line of at most 200 characters" in refused.stderr
    assert not list(tmp_path.glob("*.submission.*"))
    for name in ("Ann <ann@example.org>", "x" * 200):
        sent = fairbench_here(*words, name)
        assert sent.returncode == 0, sent.stderr
        (path,) = tmp_path.glob("*.submission.*")
        assert read_submission(path).info.submitter == name
