"""Published leaderboards say what their points say, and the pages say what the leaderboards say.

Each area is worked out again from the points; the files hold six digits. Tables of the pages that
have a column ``method`` are compared with the row of that name: see ``QUOTED``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
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
    "by the paper's formula": ("aufdc_paper",),
    "rank": ("rank",),
    "seeds": ("seeds",),
    "a tenth": ("a_y_at_s10",),
    "a quarter": ("a_y_at_s25",),
    "half": ("a_y_at_s50",),
}
"""Headings of the pages' tables of methods, and the columns whose figures stand below, in order."""

QUOTED_POINTS = {
    "I by the paper's MLPs": "i_paper",
    "I by the strict family": "i",
    "D": "d",
}
"""Headings of the pages' tables of points, which are all of seed 0."""

VARIANTS = {"tuned": "restarts", "paper": "learning_rate"}
"""What pages call rows whose parameters are not the default, and one that only they have."""

NAMED = re.compile(r"^\**`([\w-]+)`\**(?: \((\w+)\))?(?:, (.*))?$")
"""A method, which row of it, and a point: all that is named."""

PRINTED = re.compile(
    r"^ +(?P<rank>\d+)  (?P<method>[\w-]+)(?: \((?P<variant>\w+)\))? +(?P<aufdc>\S+ \[.*?\])"
    r" +(?P<paper>\S+) +\S+ +\S+$",
    re.MULTILINE,
)
"""A line of the table that ``fairbench run`` prints."""


def tables(page: Path) -> Iterator[list[dict[str, str]]]:
    """Tables of a page, as rows by heading."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        lines = block.rstrip("\n").split("\n")
        heads, _, *rows = ([c.strip() for c in re.split(r"(?<!\\)\|", x[1:-1])] for x in lines)
        yield [dict(zip(heads, row, strict=True)) for row in rows]


def figures(cell: str) -> list[str]:
    """The figures of a cell, such as ``.231 [.222, .241]``."""
    return re.findall(r"-?\d*\.?\d+", cell)


def as_printed(figure: str, value: float) -> bool:
    """Whether a figure is a value, to as many digits as it has."""
    digits = len(figure.partition(".")[2])
    return abs(float(figure) - value) <= 0.5001 * 10.0**-digits


def rows_of(name: str, method: str, variant: str | None) -> pd.DataFrame:
    """Rows of one of the published files of Adults-Gender."""
    table = fairbench.load_leaderboard(FOLDER / name)
    of_method = table[table["method"] == method]
    if variant is None:
        return of_method[of_method["params"] == "default"]
    return of_method[of_method["params"].str.contains(VARIANTS[variant])]


def row_of(method: str, variant: str | None) -> pd.Series:
    ((_, found),) = rows_of("adults-gender.csv", method, variant).iterrows()
    return found


def point_of(method: str, variant: str | None, point: str) -> pd.Series:
    points = rows_of("adults-gender-points.csv", method, variant)
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
            if {*row} & ({*headings} - beside):
                named = NAMED.match(row[column])
                assert named, f"{page.name}: {row[column]}"
                yield f"{page.name}: {named[0]}", named, row


def test_pages_quote_methods_as_the_table_has_them() -> None:
    wrong, seen = [], 0
    for where, named, row in quoted("method", QUOTED, {"rank", "seeds"}):
        told = row_of(named[1], named[2])
        for head in {*row} & {*QUOTED}:
            for column, figure in zip(QUOTED[head], figures(row[head]), strict=True):
                seen += 1
                if not as_printed(figure, float(told[column])):
                    wrong.append(f"{where}: {column} {figure}, {told[column]}")
    assert seen > 40
    assert not wrong, "\n".join(wrong)


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


def test_the_readme_shows_the_published_table() -> None:
    lines = list(PRINTED.finditer((ROOT / "README.md").read_text(encoding="utf-8")))
    board = fairbench.load_leaderboard(FOLDER / "adults-gender.csv")
    blind = board[board["track"] == "blind"]
    assert len(lines) == len(blind)
    for line in lines:
        told = row_of(line["method"], line["variant"])
        columns = ("aufdc", "aufdc_low", "aufdc_high")
        for column, figure in zip(columns, figures(line["aufdc"]), strict=True):
            assert as_printed(figure, float(told[column])), f"{line[0]}: {column} {told[column]}"
        assert int(line["rank"]) == told["rank"]
