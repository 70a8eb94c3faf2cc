"""Published leaderboards say what their points say, and the pages say what the leaderboards say.

Each area is worked out again from the points; the files hold six digits. Tables of points and of
tuned rows are compared with the points of that name: see ``QUOTED_POINTS``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairbench
from fairbench.leaderboard.board_file import read_board
from fairbench.leaderboard.build import build_tables, write
from fairbench.metrics.aufdc import strict_area
from fairbench.registry import load_registry
from tables import (
    BLOCK,
    FOLDER,
    NAMED,
    PAGES,
    ROOT,
    STEPS,
    Table,
    collect_correlations,
    load_explained,
    load_published,
    parse_beta,
    rewrite,
)

BOARDS = sorted(
    path.with_name(path.name.replace("-points", "")) for path in FOLDER.glob("*-points.csv")
)
ROW = ["method", "params", "track", "budget", "audit"]


PAPER = "learning_rate=3e-05"
"""A hyperparameter of rows with the paper's printed settings; other rows with any are ``tuned``."""


def select_rows(name: str, method: str, variant: str | None) -> pd.DataFrame:
    """A method's rows of Adults-Gender; ``variant`` is None or ``tuned``."""
    table = load_published(name)
    of_method = table[table["method"] == method]
    if variant is None:
        return of_method[of_method["params"] == "default"]
    assert variant == "tuned", variant
    papers = of_method["params"].str.contains(PAPER, regex=False)
    return of_method[~papers & (of_method["params"] != "default")]


def compute_area(points: pd.DataFrame) -> float:
    """The AUFDC of one seed's points."""
    first = points.iloc[0]
    return strict_area(
        *(
            list(zip(points[f"distortion{of}"], points[f"mutual_information{of}"], strict=True))
            for of in ("", "_validation")
        ),
        i_max=first["mutual_information_max"],
        d_max=first["distortion_max"],
        i_max_validation=first["mutual_information_max_validation"],
        d_max_validation=first["distortion_max_validation"],
    )


def select_points(method: str, variant: str | None, seed: int) -> pd.DataFrame:
    """The audited points of one seed of Adults-Gender, in their order on the curve."""
    points = select_rows("adults-gender-points.csv", method, variant)
    return points[(points["seed"] == seed) & (points["status"] == "DONE")].sort_values(
        "point_number"
    )


def test_every_table_of_points_has_its_leaderboard() -> None:
    assert BOARDS
    assert all(path.exists() for path in BOARDS)


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.stem)
def test_a_published_leaderboard_is_what_its_points_give(path: Path) -> None:
    board = fairbench.load_leaderboard(path).set_index(ROW)
    points = fairbench.load_leaderboard(path.with_name(f"{path.stem}-points.csv"))
    done = points[points["status"] == "DONE"]
    counted = done.groupby(ROW).size()
    assert board["points"][board["points"] > 0].to_dict() == counted.to_dict()
    seeds = done.groupby(ROW)["seed"].nunique()
    assert board["seeds"][board["seeds"] > 0].to_dict() == seeds.to_dict()
    by_seed = done.groupby([*ROW, "seed"])[done.columns].apply(compute_area)
    means = by_seed.groupby(ROW).mean()
    told = board["aufdc"].dropna()
    if told.empty:  # only where x itself may tell nothing of s is there nothing to divide by
        released = done[done["method"] == "identity"]
        assert len(released)
        assert (released["mutual_information_low"] <= 0).any()
    pd.testing.assert_series_equal(
        told.astype(float).sort_index(),
        means[told.index].astype(float).sort_index(),
        check_names=False,
        rtol=1e-5,
    )
    for name in ("mutual_information_max", "distortion_max"):
        mean = done.groupby([*ROW, "seed"])[name].first().groupby(ROW).mean()
        for row, value in board[name].dropna().items():
            assert value == pytest.approx(mean[row], rel=1e-5)


ARCHIVE = sorted((FOLDER / "archive").glob("*.board"))


@pytest.mark.slow
@pytest.mark.parametrize("path", ARCHIVE, ids=lambda path: path.stem)
def test_the_published_boards_give_the_published_tables(path: Path, tmp_path: Path) -> None:
    board = read_board(path)
    tables = build_tables(board.records(), load_registry())
    written = write(tables, tmp_path)
    assert len(written) >= 2
    for ours in written:
        theirs = fairbench.load_leaderboard(FOLDER / ours.name)
        theirs = theirs.drop(columns="origin", errors="ignore")
        again = fairbench.load_leaderboard(ours)
        new = set(again.columns) - set(theirs.columns)  # of metrics that have come since: empty
        assert not any(name.startswith("aufdc") for name in new)
        pd.testing.assert_frame_equal(again[theirs.columns], theirs, rtol=1e-4, atol=1e-5)


QUOTED_POINTS = {
    "I by the paper's MLPs": "mutual_information_paper",
    "I by the strict auditors": "mutual_information",
    "D": "distortion",
}
"""Headings of the pages' tables of points, which are all of seed 0."""


def tables(page: Path) -> Iterator[list[dict[str, str]]]:
    """Tables of a page, as rows by heading."""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        table = Table(block)
        yield [dict(zip(table.heads, row, strict=True)) for row in table.rows]


def figures(cell: str) -> list[str]:
    """The figures of a cell, such as ``.231 [.222, .241]``."""
    return re.findall(r"-?\d*\.?\d+", cell)


def as_printed(figure: str, value: float) -> bool:
    """Whether a figure is a value, to as many digits as it has."""
    digits = len(figure.partition(".")[2])
    return abs(float(figure) - value) <= 0.5001 * 10.0**-digits


def point_of(method: str, variant: str | None, point: str) -> pd.Series:
    points = select_rows("adults-gender-points.csv", method, variant)
    wanted = {name: float(value) for name, value in re.findall(r"(\w+) = ([\d.]+)", point)}
    (found,) = (
        row
        for _, row in points[points["seed"] == 0].iterrows()
        if {
            k: float(v)
            for k, _, v in (x.partition("=") for x in row["point"].split(",") if "=" in x)
        }
        == wanted
    )
    return found


def quoted(
    column: str, headings: Collection[str], beside: set[str]
) -> Iterator[tuple[str, re.Match[str], dict[str, str]]]:
    """Rows of the pages' tables that have one of the headings, not only ``beside``; their names."""
    for page in PAGES:
        for row in (row for table in tables(page) for row in table):
            if column in row and {*row} & ({*headings} - beside):
                named = NAMED.match(row[column])
                assert named, f"{page.name}: {row[column]}"
                yield f"{page.name}: {named[0]}", named, row


def test_pages_quote_points_as_the_table_has_them() -> None:
    wrong, seen = [], 0
    for where, named, row in quoted("point", QUOTED_POINTS, {"D"}):
        told = point_of(named[1], named[2], named[3] or "")
        for head in {*row} & {*QUOTED_POINTS}:
            (figure,) = figures(row[head])
            seen += 1
            if not as_printed(figure, float(told[QUOTED_POINTS[head]])):
                wrong.append(f"{where}: {head} {figure}, {told[QUOTED_POINTS[head]]}")
    assert seen > 20
    assert not wrong, "\n".join(wrong)


def test_pages_quote_areas_of_other_tables_as_their_files_have_them() -> None:
    stems = {path.stem for path in BOARDS}
    wrong, seen = [], 0
    for where, named, row in quoted("method", stems, set()):
        for name in {*row} & stems:
            board = fairbench.load_leaderboard(FOLDER / f"{name}.csv")
            of_method = board[(board["method"] == named[1]) & (board["params"] == "default")]
            told = of_method["aufdc"].dropna()
            seen += 1
            if row[name] in ("", "-"):
                right = told.empty
            else:
                right = len(told) == 1 and as_printed(row[name].strip("*"), float(told.iloc[0]))
            if not right:
                wrong.append(f"{where}: {name} {row[name]}, {told.to_list()}")
    assert seen > 40
    assert not wrong, "\n".join(wrong)


def test_tuned_rows_stand_beside_the_default_at_as_many_points() -> None:
    seen = 0
    for where, named, row in quoted("method", {"default, seed 0", "tuned, seed 0"}, set()):
        default, tuned = (select_points(named[1], variant, 0) for variant in (None, "tuned"))
        if set(tuned["point"]) <= set(default["point"]):
            beside = default[default["point"].isin(tuned["point"])]
        else:  # the knob itself was tuned: as many points, spread as evenly
            places = np.linspace(0, len(default) - 1, len(tuned)).round().astype(int)
            beside = default.iloc[places]
        assert len(beside) == len(tuned) == int(row["points"])
        assert as_printed(row["default, seed 0"], compute_area(beside)), (
            f"{where}: {compute_area(beside)}"
        )
        assert as_printed(row["tuned, seed 0"], compute_area(tuned)), (
            f"{where}: {compute_area(tuned)}"
        )
        seen += 1
    assert seen >= 7


def test_pages_tables_are_those_that_are_written_from_the_files() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert rewrite(page) == text, f"{page.name}: give `python docs/tables.py`"


PUBLISHED_SEEDS = [f"seed {number}" for number in range(5)]
"""What pages call the seeds of Adults-Gender."""


def test_what_comes_back_is_what_the_page_says() -> None:
    page = ROOT / "docs" / "reproduction.md"
    (table,) = (rows for rows in tables(page) if rows[0].get("") in STEPS)
    assert [row[""] for row in table] == list(STEPS)
    for row in table:
        assert [head for head in row if head] == PUBLISHED_SEEDS
        for name in PUBLISHED_SEEDS:
            told = {
                called: [float(figure) for figure in figures(values)]
                for called, values in re.findall(r"([a-z ]+?) \(([^)]*)\)", row[name])
            }
            wanted = collect_correlations(load_explained(name, "information"), row[""])
            assert {key.strip(): value for key, value in told.items()} == wanted, (name, row[""])


def test_disparities_are_what_the_page_says() -> None:
    page = ROOT / "docs" / "reproduction.md"
    (table,) = (rows for rows in tables(page) if rows[0].get("") == "seed 0")
    assert [row[""] for row in table] == [*PUBLISHED_SEEDS, "Adults-Gender-Race, seed 0"]
    correlations = []
    for row in table:
        bits = load_explained(row[""], "bits")
        by_bit = bits.pivot(index=["dimension", "bit"], columns="point")
        settings = {parse_beta(label): label for label in bits["point"].unique()}
        for head in (head for head in row if head):
            (beta,) = figures(head)
            nearest = settings[min(settings, key=lambda known: abs(known - float(beta)))]
            most = by_bit["disparity"][nearest].max()
            assert as_printed(row[head], most), (row[""], head)
        before = by_bit["kept"].drop(columns=settings[0.0]).mean(axis=1)
        correlations.append(before.corr(by_bit["disparity"][settings[0.0]], method="spearman"))
    text = page.read_text(encoding="utf-8")
    (said,) = re.findall(r"a rank correlation of ([^:]*): none is negative", text)
    for figure, value in zip(figures(said), correlations, strict=True):
        assert as_printed(figure, value)
