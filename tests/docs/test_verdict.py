"""The verdict over published boards, as a page shows it."""

import re

import pytest

from board_rows import read_rows
from tables import rewrite
from verdict import format_verdict, read_verdicts


@pytest.mark.thorough
def test_each_table_has_the_areas_of_its_board() -> None:
    verdict = read_verdicts()["aufdc"]
    assert "adults-gender" in verdict.tables
    for row, figures in zip(verdict.rows, verdict.figures, strict=True):
        for table, figure in zip(verdict.tables, figures.tolist(), strict=True):
            rows = read_rows(f"{table}-5").values()
            (entry,) = (entry for entry in rows if entry.row.variant == row.variant)
            assert figure == pytest.approx(entry.row.figures["aufdc"])


@pytest.mark.thorough
def test_rows_are_in_the_order_of_their_mean_ranks() -> None:
    lines = [line for line in format_verdict().splitlines() if re.match(r"\| `[\w-]+`.* \d", line)]
    ranks = [float(line.split(" | ")[1].split()[0]) for line in lines]
    assert len(ranks) == len(read_verdicts()["aufdc"].rows)
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("between", ["\n", "\n\n", "\nold\n"])
def test_it_is_written_where_a_page_has_a_place_for_it(between: str) -> None:
    page = f"Before.\n\n<!-- verdict -->{between}<!-- end of verdict -->\n\nAfter.\n"
    assert rewrite(page).split(format_verdict()) == [
        "Before.\n\n<!-- verdict -->\n\n",
        "\n\n<!-- end of verdict -->\n\nAfter.\n",
    ]
