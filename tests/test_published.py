"""Published leaderboards say what their points say, and the pages say what the leaderboards say.

Each area is worked out again from the points; the files hold six digits. Tables of the pages that
have a column ``method`` are compared with the row of that name: see ``QUOTED``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import fairbench
from fairbench.metrics.aufdc import strict_area

FOLDER = Path(__file__).parent.parent / "leaderboards"
BOARDS = sorted(
    path.with_name(path.name.replace("-points", "")) for path in FOLDER.glob("*-points.csv")
)
ROW = ["method", "params", "track", "budget", "audit"]


def area(points: pd.DataFrame) -> float:
    """AUFDC of one seed's points."""
    first = points.iloc[0]
    return strict_area(
        list(zip(points["d"], points["i"], strict=True)),
        list(zip(points["d_selection"], points["i_selection"], strict=True)),
        i_max=first["i_max"],
        d_max=first["d_max"],
        i_max_selection=first["i_max_selection"],
        d_max_selection=first["d_max_selection"],
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
    by_seed = done.groupby([*ROW, "seed"])[done.columns].apply(area)
    means = by_seed.groupby(ROW).mean()
    told = board["aufdc"].dropna()
    assert len(told)
    pd.testing.assert_series_equal(
        told.astype(float).sort_index(),
        means[told.index].astype(float).sort_index(),
        check_names=False,
        rtol=1e-5,
    )
    for name in ("i_max", "d_max"):
        mean = done.groupby([*ROW, "seed"])[name].first().groupby(ROW).mean()
        for row, value in board[name].dropna().items():
            assert value == pytest.approx(mean[row], rel=1e-5)


ROOT = FOLDER.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

QUOTED = {
    "aufdc": ("aufdc", "aufdc_low", "aufdc_high"),
    "the paper's formula": ("aufdc_paper",),
    "strict": ("aufdc", "aufdc_low", "aufdc_high"),
}
"""Headings of tables in the pages, and the columns whose figures stand below them, in order.

A heading followed by a dataset in brackets is of that leaderboard; otherwise adults-gender."""

POINT = {"I by the paper's MLPs": "i_paper", "I by the strict family": "i", "D": "d"}
"""The same for tables with a column ``point``, which quote points of seed 0."""


def tables(page: Path) -> Iterator[list[dict[str, str]]]:
    """Tables of a page, as rows by heading."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        heads, _, *rows = (
            [cell.strip() for cell in x[1:-1].split("|")] for x in block.split("\n")[:-1]
        )
        yield [dict(zip(heads, row, strict=True)) for row in rows]


def numbers(cell: str) -> list[float]:
    """The figures of a cell, ``.231 [.222, .241]``."""
    return [float(found) for found in re.findall(r"-?\d*\.\d+", cell)]


def board(dataset: str) -> pd.DataFrame:
    found = fairbench.load_leaderboard(FOLDER / f"{dataset}.csv")
    return found[found["params"] == "default"].set_index("method")


def quotations() -> Iterator[tuple[str, str, float, float]]:
    """Where, what, the figure on the page, and that of the file."""
    for page in PAGES:
        for rows in tables(page):
            for row in rows:
                name = re.search(r"`([\w-]+)`", row.get("method", ""))
                for head, cell in row.items() if name else ():
                    what, _, dataset = head.rstrip(")").partition(" (")
                    if what in QUOTED:
                        told = board(dataset or "adults-gender").loc[name[1]]
                        for column, figure in zip(QUOTED[what], numbers(cell), strict=False):
                            yield page.name, f"{name[1]} {column}", figure, float(told[column])
