"""What is compared of a point that is measured again, and what may differ."""

from collections.abc import Callable
from dataclasses import replace
from itertools import cycle

import pytest

from fairbench.leaderboard.board import Board
from fairbench.registry import load_registry
from fairbench.runs.verification import SubmittedRow
from fairbench.runs.verified_figures import (
    LIMITS,
    FigureKind,
    RetrainedFigure,
    kind_of,
    mean_advantages,
)
from fairbench.store.records import PointRecord, Record, ReferenceRecord, UnitRecord
from tests.support.submissions import changed, submitted


def compared(row: SubmittedRow, figure: str, submitted: float, again: float) -> RetrainedFigure:
    """One figure of a point, as it was submitted and as it is measured again."""
    drawn = row.points[0]
    then, now = ({**drawn.figures, figure: value} for value in (submitted, again))
    (found,) = (
        one
        for one in row.compare(drawn.replace(values=then), drawn.replace(values=now))
        if one.figure == figure
    )
    return found


@pytest.mark.parametrize(
    ("figure", "within", "beyond"),
    [  # I(X;S) is .32992 nats, D_max 8.7057
        ("mutual_information", 0.0164, 0.0166),
        ("mutual_information_validation", 0.0164, 0.0166),
        ("certified_mutual_information", 0.0494, 0.0496),
        ("distortion", 0.174, 0.175),
        ("accuracy_y", 0.0199, 0.0201),
        ("certified_rows", 0.0, 1.0),
    ],
)
def test_a_figure_may_differ_by_a_share_of_that_of_x(
    board: Board, figure: str, within: float, beyond: float
) -> None:
    row = SubmittedRow(submitted(board), board)
    for sign in (1, -1):
        assert compared(row, figure, 0.5, 0.5 + sign * within).agrees
        assert not compared(row, figure, 0.5, 0.5 + sign * beyond).agrees


def test_that_of_x_is_the_boards_whatever_the_submission_says(board: Board) -> None:
    ends = {"mutual_information_max": 99.0, "distortion_max": 999.0}

    def flatter(record: Record) -> Record:
        if not isinstance(record, ReferenceRecord):
            return record
        return record.replace(values={**record.figures, **ends})

    row = SubmittedRow(changed(submitted(board), flatter), board)
    assert not compared(row, "mutual_information", 0.5, 0.5166).agrees
    assert not compared(row, "distortion", 0.5, 0.675).agrees


def test_where_x_says_little_of_s_auditors_may_differ_by_their_noise(board: Board) -> None:
    references = [
        one.replace(values={**one.figures, "mutual_information_max": 0.01})
        for one in board.references
    ]
    row = SubmittedRow(submitted(board), replace(board, references=references))
    assert compared(row, "mutual_information", 0.001, 0.0069).agrees
    assert not compared(row, "mutual_information", 0.001, 0.0071).agrees


def spread_over_splits(figure: str, values: tuple[float, ...]) -> Callable[[Record], Record]:
    """Give every setting of every method these values on its splits, in turn."""
    settings: dict[tuple[str, str], cycle[float]] = {}

    def change(record: Record) -> Record:
        if not isinstance(record, PointRecord):
            return record
        in_turn = settings.setdefault((record.unit[2:], record.label), cycle(values))
        return record.replace(values={**record.figures, figure: next(in_turn)})

    return change


@pytest.mark.parametrize(
    ("values", "within", "beyond"),
    [((0.50, 0.53), 0.029, 0.031), ((0.5, 0.9), 0.039, 0.041)],
    ids=["two standard deviations", "never more"],
)
def test_a_figure_that_differs_between_splits_may_differ_more(
    folded: Board, values: tuple[float, float], within: float, beyond: float
) -> None:
    """Of a row that differs so on a board whose rows do."""
    change = spread_over_splits("accuracy_y", values)
    noisy = replace(folded, points=[change(one) for one in folded.points])
    whole = changed(submitted(folded), spread_over_splits("accuracy_y", values))
    row = SubmittedRow(whole, noisy)
    assert compared(row, "accuracy_y", 0.5, 0.5 + within).agrees
    assert not compared(row, "accuracy_y", 0.5, 0.5 + beyond).agrees


def test_a_submission_cannot_widen_what_is_allowed(folded: Board) -> None:
    """Nor does a board whose rows differ allow a row more than it differs itself."""
    change = spread_over_splits("accuracy_y", (0.5, 0.9))
    noisy = replace(folded, points=[change(one) for one in folded.points])
    whole = submitted(folded)
    for row in (
        SubmittedRow(changed(whole, spread_over_splits("accuracy_y", (0.5, 0.9))), folded),
        SubmittedRow(changed(whole, spread_over_splits("accuracy_y", (0.5, 0.5))), noisy),
    ):
        assert not compared(row, "accuracy_y", 0.5, 0.521).agrees


def test_figures_moved_to_and_fro_over_splits_are_noticed(folded: Board) -> None:
    """Moved by 5% of I(X;S) on average, and by 7% more or less in turn, to look like noise."""
    whole = submitted(folded, "drop-features")
    i_max = max(one.figures["mutual_information_max"] for one in folded.references)
    split = {one.key: one.split for one in whole.records if isinstance(one, UnitRecord)}

    def move(record: Record) -> Record:
        if not isinstance(record, PointRecord):
            return record
        sign = 1 if int(split[record.unit][5], 36) % 2 else -1
        names = ("mutual_information", "mutual_information_validation")
        moved = {name: record.figures[name] - (0.05 + sign * 0.07) * i_max for name in names}
        return record.replace(values={**record.figures, **moved})

    row = SubmittedRow(changed(whole, move), folded)
    true = {one.key: one for one in SubmittedRow(whole, folded).points}
    for seed in range(5):
        found = [one for p in row.draw(3, seed) for one in row.compare(p, true[p.key])]
        assert not all(one.agrees for one in (*found, *mean_advantages(found)))


MORE = {
    "accuracy_s": 0.71,
    "auc_y": 0.8,
    "balanced_accuracy_y_married": 0.7,
    "mutual_information_queries_256": 0.2,
    "mutual_information_paper": 0.25,
    "mutual_information_with_y": 0.2,
    "distortion_permuted": 9.0,
    "equalized_odds_gap": 0.2,
    "certified_parity_gap": 0.3,
    "certified_codes": 40.0,
    "distinct_codes": 800.0,
    "plug_in_rate": 3.0,
    "shift_accuracy_y": 0.8,
    "shift_mutual_information": 0.2,
    "transfer_mean": 0.7,
    "theirs": 12.0,
}
"""Figures that rank nothing, one of a metric of a plugin's among them."""


@pytest.mark.parametrize("figure", MORE)
def test_figures_that_rank_nothing_are_compared_too(board: Board, figure: str) -> None:
    row = SubmittedRow(submitted(board), board)
    drawn = row.points[0]
    true = drawn.replace(values={**drawn.figures, **MORE})
    assert all(one.agrees for one in row.compare(true, true))
    for forged in (0.0, None):
        sent = drawn.replace(values={**true.figures, figure: forged})
        differ = {one.figure for one in row.compare(sent, true) if not one.agrees}
        left_out_of_a_plugin = figure == "theirs" and forged is None
        assert differ == (set() if left_out_of_a_plugin else {figure})


def test_a_figure_that_is_not_measured_here_does_not_agree(board: Board) -> None:
    row = SubmittedRow(submitted(board), board)
    drawn = row.points[0]
    sent = drawn.replace(values={**drawn.figures, "theirs": 12.0})
    differ = {one.figure for one in row.compare(sent, drawn) if not one.agrees}
    assert differ == {"theirs"}


def test_a_warning_may_be_told_without_need_and_not_be_left_out(board: Board) -> None:
    row = SubmittedRow(submitted(board), board)
    assert compared(row, "needs_more_rows", 1.0, 0.0).agrees
    assert not compared(row, "needs_more_rows", 0.0, 1.0).agrees


def test_every_kind_of_figure_has_limits() -> None:
    assert set(LIMITS) == set(FigureKind)
    assert all(one.least <= one.most for one in LIMITS.values())


def test_no_figure_of_the_suite_is_of_an_unknown_kind() -> None:
    metrics = load_registry().metrics.classes.values()
    columns = [name for one in metrics if one.level == "point" for name in one.columns]
    assert len(columns) > 40
    assert [name for name in columns if kind_of(name) is FigureKind.OTHER] == []


def test_a_point_that_gives_nothing_again_agrees_in_nothing(board: Board) -> None:
    row = SubmittedRow(submitted(board), board)
    drawn = row.points[0]
    found = row.compare(drawn, drawn.replace(values={}))
    told = {figure for figure, value in drawn.figures.items() if value is not None}
    assert {"mutual_information", "distortion", "accuracy_y", "auc_y"} <= told
    assert {one.figure for one in found if not one.agrees} == told
