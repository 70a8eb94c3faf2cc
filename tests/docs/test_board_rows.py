"""Tables of a page that a directive fills with rows of published boards."""

import pytest

from board_rows import read_rows, read_table
from tables import rewrite

PAGE = "Before.\n\n<!-- rows: {} -->\n\nold\n\n<!-- end of rows -->\n\nAfter.\n"


def test_rows_are_in_the_order_of_their_areas() -> None:
    names = "identity, merged-cells (certifiable), drop-features"
    text = rewrite(PAGE.format(f"adults-gender-5: {names}"))
    lines = text.splitlines()
    assert lines[:4] == ["Before.", "", f"<!-- rows: adults-gender-5: {names} -->", ""]
    assert [line.split(" | ")[0] for line in lines[4:9]] == [
        "|",
        "|---|---|---|---|",
        "| `merged-cells` (certifiable)",
        "| `drop-features`",
        "| `identity`",
    ]
    assert lines[8].split(" | ")[1].startswith(".500")
    assert lines[8].endswith("none |")
    assert lines[9:] == ["", "<!-- end of rows -->", "", "After."]
    assert rewrite(text) == text


def test_of_several_boards_stand_the_areas() -> None:
    text = rewrite(PAGE.format("compas-race-5, compas-sex-race-5: sofair"))
    heads, _, row = text.splitlines()[4:7]
    assert heads == "| | AUFDC, `compas-race-5` | AUFDC, `compas-sex-race-5` |"
    area = read_rows("compas-race-5")["sofair"].row.figures["aufdc"]
    assert area is not None
    assert float(row.split(" | ")[1].split()[0]) == pytest.approx(area, abs=5e-4)


def test_fronts_have_the_best_at_the_strictest_limit_first() -> None:
    page = PAGE.replace("rows", "fronts")
    text = rewrite(page.format("adults-gender-5: latfr, sofair, drop-features"))
    lines = text.splitlines()[4:9]
    assert lines[0] == "| | A_y at 10% | A_y at 25% | A_y at 50% |"
    shown = [line.strip("| ").split(" | ") for line in lines[2:]]
    assert sorted(name for name, *_ in shown) == ["`drop-features`", "`latfr`", "`sofair`"]
    at_10 = [float(row[1]) for row in shown]
    assert at_10 == sorted(at_10, reverse=True)


def test_misses_are_the_points_with_the_largest_gap_the_largest_first() -> None:
    page = PAGE.replace("rows", "misses")
    text = rewrite(page.format("adults-gender-5: drop-features, constant, latfr"))
    rows = [line.strip("| ").split(" | ") for line in text.splitlines()[6:9]]
    assert [row[0].split("`")[1] for row in rows] == ["latfr", "drop-features", "constant"]
    gaps = [float(strict) - max(0.0, float(paper)) for _, _, paper, strict, *_ in rows]
    assert gaps == sorted(gaps, reverse=True)
    for row in rows:
        points = [
            point
            for point in read_table("adults-gender-5").points
            if (point.method, point.split) == (row[0].split("`")[1], row[1])
        ]
        assert any(
            float(row[3]) == pytest.approx(point.figures["mutual_information"], abs=5e-4)
            and float(row[5]) == pytest.approx(point.figures["distortion"], abs=5e-4)
            for point in points
        )


def test_a_block_without_a_table_yet_is_filled_and_nothing_after_it_is_lost() -> None:
    empty = "<!-- rows: adults-gender-5: sofair -->\n\n<!-- end of rows -->\n\nBetween.\n\n"
    text = rewrite(empty + PAGE.format("adults-gender-5: sofair"))
    assert text.count("| `sofair` |") == 2
    assert "Between." in text


def test_a_row_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="merged-cells \\(other\\)"):
        rewrite(PAGE.format("adults-gender-5: merged-cells (other)"))
