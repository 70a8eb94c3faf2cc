"""The page of findings says what the rows of the board say."""

import re

import pytest

from fairbench.leaderboard.ranking import LeaderboardEntry
from fairbench.registry import load_registry
from findings import (
    REFERENCE,
    describe_mean_ranks,
    find_most_useful,
    format_findings,
    show_percent,
)
from published_figures import Published, read_published
from tests.support.rows import a_row
from tests.support.verdicts import a_verdict


@pytest.mark.thorough
def test_methods_are_ahead_or_behind_as_the_ranks_say() -> None:
    board = read_published()
    (section,) = re.findall(r"## 2\..*?(?=## 3)", format_findings(), re.DOTALL)
    text = " ".join(section.split())
    (ahead,) = re.findall(r"are clearly ahead of it \((.*?)\)", text)
    (behind,) = re.findall(r"\d clearly behind \((.*?)\)", text)
    learned = _learned(board)
    reference = board.rows[REFERENCE].row
    assert (reference.rank_low, reference.rank_high) != (None, None)
    for name in learned:
        low, high = board.gap(name, REFERENCE, "aufdc").interval()
        # Ranks are corrected for many pairs: what they tell apart, one interval tells apart too.
        assert high < 0 or f"`{name}`" not in ahead, name
        assert low > 0 or f"`{name}`" not in behind, name
    assert ahead
    assert behind
    assert "qleace" not in learned  # it sees s: another track
    assert f"Of {len(learned)} blind methods" in text


@pytest.mark.thorough
def test_a_certified_area_is_never_below_the_audited_one() -> None:
    (section,) = re.findall(r"## 4\..*?(?=## 5)", format_findings(), re.DOTALL)
    rows = re.findall(r"\| `\S+` \| (\.\d+) \| (\.\d+) \|", section)
    assert rows
    assert all(float(audited) < float(certified) for audited, certified in rows)


def _learned(board: Published) -> list[str]:
    classes = load_registry().methods.classes
    methods = (name for name in board.rows if not name.endswith("-ss"))  # twins are of others
    return [name for name in methods if not classes[name].baseline]


def test_the_most_useful_row_is_blind_and_of_a_method() -> None:
    def row(method: str, accuracy: float | None, **more: object) -> LeaderboardEntry:
        return LeaderboardEntry(a_row(method, 0.2, accuracy_y_at_leakage_10=accuracy, **more))

    rows = {
        "sofair": row("sofair", 0.7),
        "sofair (tuned)": row("sofair", 0.8, params="a=1"),
        "msfair": row("msfair", None),
        "latfr": row("latfr", 0.9, reached_leakage_10=0.0),  # that of a constant guess
        "qleace": row("qleace", 0.9, track="aware"),
        "drop-features": row("drop-features", 0.9),
    }
    assert find_most_useful(rows) == "sofair (tuned)"
    assert find_most_useful({"msfair": rows["msfair"], "latfr": rows["latfr"]}) is None


def test_rows_before_the_reference_are_told_with_their_labels() -> None:
    areas = {
        "kept-cells": 0.1,
        "paired-cells tasks": 0.15,
        "drop-features": 0.2,
        "drop-features other": 0.3,
    }
    text = " ".join(describe_mean_ranks(a_verdict(areas, tables=4)))
    before = "By the mean rank over them, `kept-cells`, `paired-cells` (tasks) come before"
    assert text.startswith(f"{before} `drop-features` (")
    # The tests are one-sided.
    assert "After adjustment for all 3 comparisons none is significantly better" in text


def test_rows_that_are_significantly_better_are_named() -> None:
    areas = {"kept-cells": 0.1, "drop-features": 0.2, "sofair": 0.3}
    text = " ".join(describe_mean_ranks(a_verdict(areas, tables=10)))
    assert "Significantly better at 5%" in text
    assert "`kept-cells` (p = .002); no other is shown to be better yet." in text


def test_without_the_reference_nothing_is_said_of_ranks() -> None:
    verdict = a_verdict({"kept-cells": 0.1, "sofair": 0.3}, tables=4)
    assert list(describe_mean_ranks(verdict)) == []


@pytest.mark.parametrize(("share", "shown"), [(0.07, "7%"), (-0.02, "0%"), (float("nan"), "none")])
def test_an_unknown_share_is_not_nothing(share: float, shown: str) -> None:
    assert show_percent(share) == shown
