"""Group gaps by hand and by closed form."""

from types import SimpleNamespace

import numpy as np
import pytest

from fairbench.api.metric import Prediction
from fairbench.metrics.gaps import MIN_ROWS, GroupGaps, odds_gap, opportunity_gap, parity_gap


def rows(*cells: tuple[int, int, int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """predicted, y, s from (predicted, y, s, how many)."""
    table = np.array([cell[:3] for cell in cells for _ in range(cell[3])])
    return table[:, 0], table[:, 1], table[:, 2]


# Group 0: 6 of 10 positive, 4 of them found, 1 false alarm of 4; group 1: 4 of 8, 3 and 2 of 4.
BY_HAND = rows(
    (1, 1, 0, 4), (0, 1, 0, 2), (1, 0, 0, 1), (0, 0, 0, 3),
    (1, 1, 1, 3), (0, 1, 1, 1), (1, 0, 1, 2), (0, 0, 1, 2),
)  # fmt: skip


def test_the_three_gaps_by_hand() -> None:
    predicted, y, s = BY_HAND
    assert parity_gap(predicted, s) == pytest.approx(5 / 8 - 5 / 10)
    assert opportunity_gap(predicted, y, s) == pytest.approx(3 / 4 - 4 / 6)
    assert odds_gap(predicted, y, s) == pytest.approx(2 / 4 - 1 / 4)


def test_a_perfect_prediction_has_the_gap_of_the_base_rates_and_no_other() -> None:
    _, y, s = BY_HAND
    assert parity_gap(y, s) == pytest.approx(6 / 10 - 4 / 8)
    assert odds_gap(y, y, s) == 0
    assert opportunity_gap(y, y, s) == 0


def test_a_prediction_of_s_is_as_unfair_as_can_be() -> None:
    _, y, s = BY_HAND
    assert parity_gap(s, s) == odds_gap(s, y, s) == opportunity_gap(s, y, s) == 1


def test_of_several_groups_the_widest_pair_and_of_several_classes_the_widest_class() -> None:
    s = np.repeat([0, 1, 2], 10)
    predicted = np.concatenate([np.repeat([0, 1, 2], k) for k in ([5, 5, 0], [3, 5, 2], [1, 5, 4])])
    assert parity_gap(predicted, s) == pytest.approx(0.4)
    y = np.zeros(30, np.int64)
    assert odds_gap(predicted, y, s) == pytest.approx(0.4)


def test_groups_without_rows_or_with_too_few_are_left_out() -> None:
    s = np.array([0] * 4 + [2] * 4 + [3])
    predicted = np.array([1, 1, 0, 0, 1, 0, 0, 0, 1])
    assert parity_gap(predicted, s) == 0.75
    assert parity_gap(predicted, s, least=2) == 0.25
    assert parity_gap(predicted, s, least=5) is None


def test_without_positives_in_two_groups_there_is_no_opportunity_to_compare() -> None:
    s, y = np.array([0, 0, 1, 1]), np.array([1, 0, 0, 0])
    predicted = np.array([1, 0, 1, 0])
    assert opportunity_gap(predicted, y, s) is None
    assert odds_gap(predicted, y, s) == 0.5
    assert opportunity_gap(predicted, np.zeros(4, np.int64), s) is None


def test_independent_predictions_have_small_gaps() -> None:
    rng = np.random.default_rng(0)
    s, y, predicted = (rng.integers(0, 2, 100_000) for _ in range(3))
    for gap in (parity_gap(predicted, s), odds_gap(predicted, y, s)):
        assert gap is not None
        assert gap < 0.02


def evaluation(draws: int, people: int) -> SimpleNamespace:
    """Two groups; the main task is told from s, the further one has three classes."""
    s = np.tile(np.repeat([0, 1], people), draws)
    three = np.arange(len(s)) % 3
    return SimpleNamespace(
        s=s,
        draws=draws,
        downstream={
            "main": Prediction(np.eye(2, dtype=np.float32)[s], np.arange(len(s)) % 2),
            "further": Prediction(np.eye(3, dtype=np.float32)[three], three),
        },
    )


def test_columns_by_task() -> None:
    found = GroupGaps().compute(evaluation(1, 3 * MIN_ROWS))  # type: ignore[arg-type]
    assert (
        found["demographic_parity_gap"]
        == found["equalized_odds_gap"]
        == found["equal_opportunity_gap"]
        == 1
    )
    assert found["demographic_parity_gap_further"] == pytest.approx(0)
    assert found["equalized_odds_gap_further"] == 0
    assert found["equal_opportunity_gap_further"] is None


def test_draws_of_a_person_are_no_further_people() -> None:
    found = GroupGaps().compute(evaluation(3, MIN_ROWS - 1))  # type: ignore[arg-type]
    assert found["demographic_parity_gap"] is None
