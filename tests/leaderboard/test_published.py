"""Published leaderboards say what their points say, and the pages say what the leaderboards say.

Each area is worked out again from the points of its board.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bit_claims import load_explained

from bit_tables import RACE_LABEL, SEED_LABELS, STEPS, collect_correlations, parse_beta
from board_rows import LEADERBOARDS, read_table
from fairbench.metrics.aufdc import strict_area
from fairbench.metrics.rows import PointRow
from tables import PAGES, ROOT, format_board, rewrite

BOARDS = sorted(LEADERBOARDS.glob("fairbench_boards/*.board"))


def compute_area(points: list[PointRow]) -> float:
    """The AUFDC of one curve."""
    first = points[0]
    ends = {
        "i_max": first.mutual_information_max,
        "d_max": first.distortion_max,
        "i_max_validation": first.mutual_information_max_validation,
        "d_max_validation": first.distortion_max_validation,
    }
    return strict_area(
        *(
            [(p.figures[f"distortion{of}"], p.figures[f"mutual_information{of}"]) for p in points]
            for of in ("", "_validation")
        ),
        **{name: math.nan if value is None else value for name, value in ends.items()},
    )


@pytest.mark.thorough
@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.stem)
def test_a_published_area_is_what_its_points_give(path: Path) -> None:
    table = read_table(path.stem)
    assert table.entries
    for entry in table.entries:
        curves: dict[tuple[str, int], list[PointRow]] = {}
        for point in table.points:
            if point.variant == entry.row.variant and point.counted and point.status == "DONE":
                curves.setdefault((point.split, point.seed), []).append(point)
        areas = [compute_area(points) for points in curves.values()]
        assert entry.row.figures["aufdc"] == pytest.approx(np.mean(areas), rel=1e-5)
        splits = len(entry.folds["aufdc"]) if entry.row.replicated else 1
        assert len(areas) == splits * entry.row.seeds


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if path.stem == "compas-race-5" else pytest.mark.thorough)
        for path in BOARDS
    ],
    ids=lambda path: path.stem,
)
def test_each_board_has_its_table_as_csv(path: Path) -> None:
    published = pd.read_csv(LEADERBOARDS / f"{path.stem}.csv")
    again = pd.read_csv(io.StringIO(format_board(path)))
    pd.testing.assert_frame_equal(published, again, rtol=1e-4, atol=1e-5)


def test_the_published_boards_are_found() -> None:
    assert "adults-gender-5" in {path.stem for path in BOARDS}


def test_there_is_no_csv_without_a_board() -> None:
    assert {path.stem for path in LEADERBOARDS.glob("*.csv")} == {path.stem for path in BOARDS}


def tables(page: Path) -> Iterator[list[dict[str, str]]]:
    """Tables of a page, as rows by heading."""
    for block in re.findall(r"(?:^\|.*\|\n)+", page.read_text(encoding="utf-8"), re.MULTILINE):
        lines = ([cell.strip() for cell in line[1:-1].split("|")] for line in block.splitlines())
        heads, _, *rows = lines
        yield [dict(zip(heads, row, strict=True)) for row in rows]


def figures(cell: str) -> list[str]:
    """The figures of a cell, such as ``.231 [.222, .241]``."""
    return re.findall(r"-?\d*\.?\d+", cell)


def as_printed(figure: str, value: float) -> bool:
    """Whether a figure is a value, to as many digits as it has."""
    digits = len(figure.partition(".")[2])
    return abs(float(figure) - value) <= 0.5001 * 10.0**-digits


@pytest.mark.thorough
def test_pages_tables_are_those_that_are_written_from_the_files() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert rewrite(text) == text, f"{page.name}: give `python docs/tables.py`"


def test_what_comes_back_is_what_the_page_says() -> None:
    page = ROOT / "docs" / "reproduction.md"
    (table,) = (rows for rows in tables(page) if rows[0].get("") in STEPS)
    assert [row[""] for row in table] == list(STEPS)
    for row in table:
        assert [head for head in row if head] == [*SEED_LABELS]
        for name in SEED_LABELS:
            told = {
                called: [float(figure) for figure in figures(values)]
                for called, values in re.findall(r"([a-z ]+?) \(([^)]*)\)", row[name])
            }
            wanted = collect_correlations(load_explained(name, "information"), row[""])
            assert {key.strip(): value for key, value in told.items()} == wanted, (name, row[""])


def test_disparities_are_what_the_page_says() -> None:
    page = ROOT / "docs" / "reproduction.md"
    (table,) = (rows for rows in tables(page) if rows[0].get("") == "seed 0")
    assert [row[""] for row in table] == [*SEED_LABELS, RACE_LABEL]
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
    (said,) = re.findall(r"rank correlations of the two are ([^:]*): none is negative", text)
    for figure, value in zip(figures(said), correlations, strict=True):
        assert as_printed(figure, value)
