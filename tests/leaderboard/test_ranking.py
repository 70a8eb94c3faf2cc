"""Ranks of replicated rows; rows that are not replicated stand below, without."""

import io
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from fairbench.cli import console
from fairbench.cli.console import notes_below, show_leaderboard
from fairbench.errors import ConfigError
from fairbench.leaderboard.ranking import LeaderboardEntry, check_names, compare, rank_rows
from fairbench.metrics.rows import LeaderboardRow
from fairbench.report.verdicts import describe_tests
from fairbench.stats.intervals import estimate
from tests.support.rows import a_row, one_split, with_folds

SPREAD = [-0.002, -0.001, 0.0, 0.001, 0.002]


def about(mean: float, order: tuple[int, ...] = (0, 1, 2, 3, 4)) -> list[float]:
    """Figures of five folds with this mean."""
    return [mean + SPREAD[k] for k in order]


def ranked(entries: list[LeaderboardEntry], *tested: str) -> list[LeaderboardRow]:
    return [entry.row for entry in rank_rows(entries, tested)]


def test_ranks_are_ranges_within_track_budget_and_audit() -> None:
    found = ranked(
        [
            with_folds("b", about(0.3)),
            with_folds("a", about(0.2)),
            with_folds("c", about(0.3005, (4, 2, 0, 1, 3))),
            with_folds("quick", about(0.1), budget="quick", audit="quick"),
            with_folds("aware", about(0.01), track="aware"),
        ]
    )
    assert [(r.method, r.rank, r.may_be_best) for r in found] == [
        ("a", "1", True),
        ("b", "2 to 3", False),
        ("c", "2 to 3", False),
        ("quick", "1", True),
        ("aware", "1", True),
    ]
    assert all(r.replicated and r.ranked_by == "aufdc" for r in found)


def test_a_dataset_for_demonstration_has_rows_and_no_ranks() -> None:
    why = {"demonstration": "too few rows"}
    found = ranked([with_folds("b", about(0.3), **why), with_folds("a", about(0.2), **why)])
    assert [(r.method, r.rank, r.replicated) for r in found] == [
        ("a", None, False),
        ("b", None, False),
    ]
    assert "For demonstration, without ranks: too few rows." in notes_below(found)


def test_rows_on_other_data_than_most_have_no_rank() -> None:
    found = ranked(
        [
            with_folds("a", about(0.2), fingerprint="as released"),
            with_folds("b", about(0.3), fingerprint="as released"),
            with_folds("c", about(0.1), fingerprint="drawn here", data_source="rendered"),
        ]
    )
    assert [(r.method, r.rank, r.replicated) for r in found] == [
        ("a", "1", True),
        ("b", "2", True),
        ("c", None, False),
    ]


def test_missing_evidence_gives_no_rank() -> None:
    """A row of one split stands below all ranked ones, however low its area."""
    found = ranked(
        [
            one_split("lucky", 1, aufdc=0.05),
            with_folds("whole", about(0.3)),
            with_folds("worse", about(0.4)),
            LeaderboardEntry(a_row("partial", 0.1, complete=False, splits="4 of 5 folds")),
            with_folds("other-folds", [0.1, 0.1, 0.1]),
            LeaderboardEntry(a_row("none", None)),
        ]
    )
    assert [(r.method, r.rank, r.replicated) for r in found] == [
        ("whole", "1", True),
        ("worse", "2", True),
        ("lucky", None, False),
        ("other-folds", None, False),
        ("none", None, False),
        ("partial", None, False),
    ]
    assert [r.may_be_best for r in found] == [True, False, None, None, None, None]


def test_others_are_tested_against_a_reference() -> None:
    found = ranked(
        [
            with_folds("better", about(0.1)),
            with_folds("like-it", about(0.1995, (4, 0, 3, 1, 2))),
            with_folds("plain", about(0.2)),
            with_folds("worse", about(0.3)),
            one_split("alone", 1, aufdc=0.1),
        ],
        "plain",
    )
    p = {r.method: r.cells()["p_plain"] for r in found}
    assert p["better"] < 0.001
    assert p["like-it"] > 0.2
    assert p["worse"] == 1.0
    assert p["plain"] is None
    assert p["alone"] is None


def test_without_the_reference_among_the_rows_there_is_no_test() -> None:
    (found,) = ranked([with_folds("a", about(0.1))], "plain")
    assert found.cells()["p_plain"] is None


def test_the_aware_track_goes_by_accuracy_at_a_limit() -> None:
    useful = {"accuracy_y_at_leakage_10": about(0.85)}
    fair = {"accuracy_y_at_leakage_10": about(0.75)}
    better = with_folds("useful", about(0.3), **useful, track="aware")
    worse = with_folds("fair", about(0.01), **fair, track="aware")
    found = ranked([worse, better])
    assert [(r.method, r.rank) for r in found] == [("useful", "1"), ("fair", "2")]
    assert {r.ranked_by for r in found} == {"accuracy_y_at_leakage_10"}
    # Without a task there is no accuracy to go by.
    bare = [with_folds(name, about(v), track="aware") for name, v in (("x", 0.3), ("y", 0.01))]
    assert [(r.method, r.ranked_by) for r in ranked(bare)] == [("y", "aufdc"), ("x", "aufdc")]


def test_replicated_rows_are_compared_over_splits() -> None:
    """What a split does to both cancels."""
    hard = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
    a = with_folds("a", list(0.2 + hard))
    b = with_folds("b", list(0.21 + hard + np.array(SPREAD) / 10))
    entries = rank_rows([a, b, one_split("c", 1, aufdc=0.1)], [])
    (found,) = compare(entries, "a", "b")
    assert found.difference is not None
    assert found.difference.value == pytest.approx(-0.01)
    assert found.difference.p_value() < 1e-4
    # One that is not replicated has nothing to be paired with.
    assert next(compare(entries, "a", "c")).difference is None


def test_a_name_of_all_rows_of_a_method_compares_none_with_itself() -> None:
    entries = [one_split("a", 1, aufdc=0.2), one_split("a", 2, aufdc=0.3, params="bits=4")]
    (found,) = compare(entries, "a", "a:bits=4")
    assert (found.a.params, found.b.params) == ("default", "bits=4")


def test_two_methods_are_compared_where_both_have_a_row() -> None:
    quick = {"budget": "quick", "audit": "quick"}
    entries = [
        one_split("a", 1, aufdc=0.2),
        one_split("b", 2, aufdc=0.3),
        one_split("b", 3, aufdc=0.25, params="bits=4"),
        one_split("a", 4, aufdc=0.4, **quick),
    ]
    found = list(compare(entries, "a", "b"))
    assert [(c.b.params, c.group.budget) for c in found] == [
        ("default", "full"),
        ("bits=4", "full"),
    ]
    assert found[0].difference is not None
    assert found[0].difference.value == pytest.approx(-0.1)
    assert found[0].difference.p_value() < 1e-6
    (named,) = compare(entries, "b:bits=4", "a")
    assert named.difference is not None
    assert named.difference.value == pytest.approx(0.05)
    elsewhere = [one_split("a", 1, aufdc=0.2), one_split("b", 2, aufdc=0.3, fingerprint="other")]
    assert next(compare(elsewhere, "a", "b")).difference is None
    older = [one_split("a", 1, aufdc=0.2), LeaderboardEntry(a_row("b", 0.3))]
    assert next(compare(older, "a", "b")).difference is None


def test_a_comparison_of_nobody_is_told() -> None:
    entries = [one_split("latfr", 1, aufdc=0.1), one_split("sofair", 2, aufdc=0.2)]
    with pytest.raises(ConfigError, match="no results of 'soair'"):
        check_names(entries, "latfr", "soair")
    with pytest.raises(ConfigError, match="with itself"):
        check_names(entries, "sofair", "sofair")


def test_hyperparameters_are_named_as_people_type_them() -> None:
    tuned = replace(one_split("sofair", 2, aufdc=0.2).row, params="rate=2.0 a=x", label="tuned")
    entries = [one_split("latfr", 1, aufdc=0.1), LeaderboardEntry(tuned, {})]
    for name in ("sofair", "sofair:tuned", "sofair:a=x rate=2", "sofair:rate=2.0 a=x"):
        check_names(entries, "latfr", name)
    # The same hyperparameters with and without a label, as in two editions of a board.
    entries.append(LeaderboardEntry(replace(tuned, label=None), {}))
    with pytest.raises(ConfigError, match="No row of sofair has the hyperparameters 'rate=3'"):
        check_names(entries, "latfr", "sofair:rate=3")


def with_intervals(entry: LeaderboardEntry) -> LeaderboardEntry:
    figures = dict(entry.row.figures)
    for column, sample in entry.samples.items():
        figures[f"{column}_low"], figures[f"{column}_high"] = estimate(sample).interval()
    over = "rows" if entry.samples else entry.row.interval_over
    return replace(entry, row=replace(entry.row, figures=figures, interval_over=over))


def shown(
    entries: list[LeaderboardEntry], capsys: pytest.CaptureFixture[str], *tested: str
) -> list[str]:
    show_leaderboard("toy", ranked([with_intervals(e) for e in entries], *tested))
    return capsys.readouterr().out.splitlines()


def test_the_table_shows_intervals_and_says_what_they_are_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    entries = [one_split("random-projection", 1, aufdc=0.2), one_split("b", 2, aufdc=0.4)]
    lines = shown(entries, capsys)
    assert "rank" not in lines[1]
    assert ".200 [.180, .220]" in lines[2]
    assert max(map(len, lines)) <= 80
    words = " ".join(lines)
    assert "over test rows alone" in words
    assert "--splits 5 gives them" in words
    old = LeaderboardEntry(a_row("older", 0.3, seeds=1, interval_over=None))
    lines = shown([old, one_split("new", 2, aufdc=0.2)], capsys)
    assert lines[3].split()[:2] == ["older", ".300"]
    assert any("'fairbench audit' measures them" in line for line in lines)


def test_the_table_has_a_block_of_rows_that_are_not_replicated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    entries = [
        with_folds("good", about(0.1)),
        with_folds("plain", about(0.2)),
        one_split("alone", 2, aufdc=0.05),
    ]
    lines = shown(entries, capsys, "plain")
    assert [line.split()[:2] for line in lines[2:4]] == [["1", "good"], ["2", "plain"]]
    assert lines[4].split() == ["--", "not", "replicated", "--"]
    assert lines[5].split()[:2] == ["-", "alone"]
    words = " ".join(lines)
    assert "ranks are over 5 folds" in words
    assert "Better than plain (5%): good." in words
    assert "Could be the best (5%): good." in words
    assert max(map(len, lines)) <= 80


def test_the_table_of_the_aware_track_shows_accuracy(capsys: pytest.CaptureFixture[str]) -> None:
    aware = one_split("centred", 1, aufdc=0.01, accuracy_y_at_leakage_10=0.85, track="aware")
    lines = shown([aware], capsys)
    assert "A_y at I<10%" in lines[1]
    assert ".850 [.830, .870]" in lines[2]
    assert lines[1].index("A_y at I<10%") < lines[1].index("AUFDC")


def test_what_ranks_is_never_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.StringIO()
    monkeypatch.setattr(console, "out", Console(file=text, width=40, soft_wrap=True))
    aware = one_split("centred", 1, aufdc=0.01, accuracy_y_at_leakage_10=0.85, track="aware")
    show_leaderboard("toy", ranked([with_intervals(aware)]))
    assert ".850 [.830, .870]" in text.getvalue()


def test_rows_with_one_label_show_the_hyperparameters_themselves(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A best.yaml of twenty trials and one of fifty are both ``tuned``."""
    rows = [
        a_row("m", 0.1, params="leaves=40", label="tuned"),
        a_row("m", 0.2, params="leaves=50", label="tuned"),
        a_row("n", 0.3, params="k=2", label="tuned"),
    ]
    show_leaderboard("toy", rows)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in printed if line.startswith(("m ", "n "))] == [
        *(["m", "leaves=40"], ["m", "leaves=50"], ["n", "tuned"])
    ]


def test_the_terminal_says_why_there_is_no_area() -> None:
    whole = a_row("a", None, mutual_information_max=0.01)
    assert "may be noise" in " ".join(notes_below([whole]))
    assert "may be noise" not in " ".join(notes_below([replace(whole, complete=False)]))


def test_where_no_setting_leaks_little_the_table_says_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    entries = [
        one_split("a", 1, aufdc=0.2, accuracy_y_at_leakage_10=0.81, reached_leakage_10=1.0),
        one_split("b", 2, aufdc=0.4, accuracy_y_at_leakage_10=0.76, reached_leakage_10=0.0),
    ]
    lines = shown(entries, capsys)
    assert lines[2].split()[-1] == "0.810"
    assert lines[3].split()[-1] == "none"


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_narrow_terminal_leaves_out_columns_but_never_a_name_or_an_interval(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = {
        "aufdc_certified": 0.312,
        "accuracy_y_at_leakage_10": 0.81,
        "distortion_min": 0.171,
        "mutual_information_min": 0.0001,
        "train_seconds": 197.27,
    }
    given = "adversary=0.98 adversary_hidden=[128,128] beta_max=150.0 restarts=4"
    entries = [
        one_split("conditional-quantile", 1, aufdc=0.2, **figures),
        one_split("conditional-quantile", 2, aufdc=0.3, params=given, **figures),
    ]
    text = io.StringIO()
    monkeypatch.setattr(console, "out", Console(file=text, width=width, soft_wrap=True))
    show_leaderboard("toy", ranked([with_intervals(e) for e in entries]))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert sum("conditional-quantile" in line for line in lines) == 2
    assert sum(".200 [.180, .220]" in line for line in lines) == 1
    words = " ".join(lines)
    assert ("train s" in lines[1]) == (width == 160)
    assert ("Left out for want of width" in words) == (width < 160)
    assert "restarts=4" in words  # hyperparameters are folded, not cut


@pytest.mark.parametrize("name", ["b", "a-name-" * 7 + "b"])
@pytest.mark.parametrize("width", range(52, 80, 3))
def test_no_rank_or_figure_is_cut_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, name: str, width: int
) -> None:
    text = io.StringIO()
    monkeypatch.setattr(console, "out", Console(file=text, width=width, soft_wrap=True))
    spread = [-0.02, -0.01, 0.0, 0.01, 0.02]
    alike = [with_folds(n, [0.4 + d for d in spread]) for n in ("identity", "constant")]
    figures = {"distortion_min": 0.171, "accuracy_y_at_leakage_10": 0.81}
    entries = [*alike, one_split(name, 3, aufdc=0.2, **figures)]
    show_leaderboard("toy", ranked([with_intervals(e) for e in entries]))
    lines = text.getvalue().splitlines()
    assert sum(line.startswith("1 to 2") for line in lines) == 2
    assert sum(".200 [.180, .220]" in line for line in lines) == 1
    assert sum("-- not replicated --" in line for line in lines) == 1


def test_a_method_of_which_one_row_alone_passes_is_named_with_its_hyperparameters() -> None:
    rows = [
        a_row("a", 0.1, params=params, may_be_best=best)
        for params, best in (("default", True), ("size=2", False))
    ]
    rows += [a_row("b", 0.1, params=params, may_be_best=True) for params in ("default", "size=2")]
    assert "Could be the best (5%): a (default), b." in describe_tests(rows)
