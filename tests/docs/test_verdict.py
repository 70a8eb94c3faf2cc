"""The verdict over published boards, as a page shows it."""

import re

import pytest

import tables
from board_rows import read_rows
from tests.support.verdicts import a_verdict
from verdict import describe_verdict, format_verdict, read_verdicts


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
def test_it_is_written_where_a_page_has_a_place_for_it(
    between: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(tables.WRITERS, "verdict", lambda: "SoFaiR wins.")
    page = f"Before.\n\n<!-- verdict -->{between}<!-- end of verdict -->\n\nAfter.\n"
    between = "<!-- verdict -->\n\nSoFaiR wins.\n\n<!-- end of verdict -->"
    assert tables.rewrite(page) == f"Before.\n\n{between}\n\nAfter.\n"


def test_all_rows_with_the_least_p_value_are_named() -> None:
    """Holm's adjustment makes equal what were different p-values."""
    areas = {"kept-cells": 0.1, "paired-cells tasks": 0.15, "drop-features": 0.2, "sofair": 0.3}
    text = " ".join(describe_verdict(a_verdict(areas, tables=10)))
    assert "wins, ties and losses against `drop-features`" in text
    named = "smallest adjusted p-value is .003 (`kept-cells`, `paired-cells` (tasks)), the smallest"
    assert f"{named} that is possible." in text
    assert "Without" not in text


def test_without_a_reference_nothing_is_said_of_comparisons() -> None:
    text = " ".join(describe_verdict(a_verdict({"kept-cells": 0.1, "sofair": 0.3}, tables=3)))
    assert "Here are the areas. The tables come from 3 sources: tables of one" in text


def test_a_table_without_replicated_rows_is_named_as_such() -> None:
    verdict = a_verdict({"kept-cells": 0.1, "drop-features": 0.3}, tables=3, known=4)
    text = " ".join(describe_verdict(verdict))
    assert "So far 3 of the 4 entries" in text
    assert "Without replicated rows: `table-3`." in text
