"""The table of searches: what its columns say where a search did not go as most do."""

from collections.abc import Mapping
from pathlib import Path

import pytest

import tuned
from fairbench.leaderboard.ranking import LeaderboardEntry
from tests.support.rows import a_row, with_folds
from tuned import format_tuned

HEADS = "number,cells,blind,aufdc,state,seconds,curves,points,error"
DEFAULT_ALONE = {"funnel": LeaderboardEntry(a_row("funnel", 0.074))}


def cells(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    best: str,
    *trials: str,
    heads: str = HEADS,
    rows: Mapping[str, LeaderboardEntry] = DEFAULT_ALONE,
) -> list[str]:
    """The line of a search of funnel."""
    (folder / "d").mkdir()
    (folder / "d" / "funnel.csv").write_text("\n".join([heads, *trials]))
    (folder / "d" / "funnel.yaml").write_text(f"label: tuned\nfunnel: {best}\n")
    monkeypatch.setattr(tuned, "SEARCHES", folder)
    monkeypatch.setattr(tuned, "read_rows", lambda board: rows)
    (line,) = format_tuned(["d"], ["d-5"]).splitlines()[2:]
    return [cell.strip() for cell in line[1:-1].split("|")]


def test_a_search_is_shown_with_its_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = cells(
        *(tmp_path, monkeypatch, "{cells: 600, blind: 0.3}"),
        "0,1024,0.1,0.085,complete,1,2,16,",
        "1,600,0.3,0.08,complete,1,2,16,",
    )
    shown = ["`funnel`", "2", ".085", ".080", "cells 600, blind 0.3", ".074", "not yet", ""]
    assert line == shown


def test_the_first_trial_need_not_be_the_defaults_nor_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = cells(
        *(tmp_path, monkeypatch, "{cells: 600, blind: 0.3}"),
        "0,500,0.2,,diverged,1,1,8,diverged",
        "1,600,0.3,0.08,complete,1,2,16,",
    )
    assert line[1:4] == ["2", "none", ".080"]


def test_defaults_that_diverged_have_no_area(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = cells(
        *(tmp_path, monkeypatch, "{cells: 600, blind: 0.3}"),
        "0,1024,0.1,,diverged,1,0,3,diverged",
        "1,600,0.3,0.08,complete,1,2,16,",
    )
    assert line[1:3] == ["2", "none"]


def test_where_nothing_is_better_the_default_is_the_tuned_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = cells(
        *(tmp_path, monkeypatch, "{cells: 1024, blind: 0.1}"),
        "0,1024,0.1,0.085,complete,1,2,16,",
        "1,600,0.3,0.09,complete,1,2,16,",
    )
    assert line[2:] == [".085", ".085", "the default", ".074", ".074", ""]


def test_the_gain_is_paired_over_splits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Both areas differ by .1 from split to split, and their difference hardly does."""
    default, better = [0.3, 0.4, 0.5], [0.281, 0.38, 0.479]
    rows = {
        "funnel": with_folds("funnel", default, replicated=True),
        "funnel (tuned)": with_folds("funnel", better, params="cells=600", replicated=True),
    }
    line = cells(
        *(tmp_path, monkeypatch, "{cells: 600, blind: 0.3}"),
        "0,600,0.3,0.08,complete,1,2,16,",
        rows=rows,
    )
    assert line[-1] == ".020 [.016, .024]"


def test_what_a_search_held_fixed_is_part_of_its_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All trials had blind = .3, so none had the defaults."""
    line = cells(
        *(tmp_path, monkeypatch, "{cells: 1024, blind: 0.3}"),
        "0,1024,0.085,complete,1,2,16,",
        heads=HEADS.replace("blind,", ""),
    )
    assert line[2:5] == ["none", ".085", "cells 1024, blind 0.3"]
