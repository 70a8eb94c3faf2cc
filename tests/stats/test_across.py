"""Comparisons over tables: closed forms and properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t, wilcoxon

from fairbench.stats.across import (
    compare_all,
    improvement,
    indistinguishable_runs,
    interval_over_sources,
    least_adjusted_p,
    least_adjusted_p_against,
    mean_by_source,
    profile,
    ranks_by_table,
    signed_rank,
    weighted_mean,
)

ONES = np.ones(10)


def test_equal_figures_share_their_rank() -> None:
    figures = np.array([[0.1, 0.2], [0.1, 0.1], [0.3, 0.3]])
    ranks = ranks_by_table(figures)
    assert ranks.tolist() == [[1.5, 2], [1.5, 1], [3, 3]]
    assert weighted_mean(ranks, np.array([1.0, 3.0])).tolist() == [1.875, 1.125, 3]


def test_two_tables_of_half_a_weight_count_as_one() -> None:
    ranks = np.array([[1.0, 2.0, 2.0], [2.0, 1.0, 1.0]])
    assert weighted_mean(ranks, np.array([1.0, 0.5, 0.5])).tolist() == [1.5, 1.5]


def test_tables_of_a_source_become_their_weighted_mean() -> None:
    values = np.array([[1.0, 2.0, 4.0], [0.0, 3.0, 6.0]])
    means, weights = mean_by_source(values, np.array([0.5, 2.0, 1.5]), ["a", "b", "a"])
    assert means.tolist() == [[3.25, 2.0], [4.5, 3.0]]
    assert weights.tolist() == [2.0, 2.0]


FAR = (-1e9, 1e9)


def test_with_equal_weights_the_interval_is_students() -> None:
    values = np.random.default_rng(0).normal(size=(1, 10))
    ends = interval_over_sources(values, ONES, FAR)
    assert ends is not None
    known = t.interval(0.95, 9, values.mean(), values.std(ddof=1) / np.sqrt(10))
    assert np.concatenate(ends) == pytest.approx(known)
    assert interval_over_sources(values[:, :4], ONES[:4], FAR) is None


def test_no_end_of_an_interval_is_impossible() -> None:
    ranks = np.array([[1.0, 1.0, 1.0, 1.0, 3.0]])
    ends = interval_over_sources(ranks, np.ones(5), (1, 3))
    assert ends is not None
    assert ends[0] == 1


def test_sources_that_all_agree_have_no_interval() -> None:
    values = np.array([[1.0] * 5, [0.1 * 3] * 4 + [0.3], [1.0, 1, 1, 1, 2]])
    ends = interval_over_sources(values, np.array([1, 0.5, 1, 2, 1]), (0, 3))
    assert ends is not None
    for end in ends:
        assert np.isnan(end).tolist() == [True, True, False]


@pytest.mark.parametrize("weights", [np.ones(5), np.ones(7), np.array([1, 1, 2, 1, 1, 1, 1])])
def test_intervals_hold_the_mean_as_often_as_they_say(weights: np.ndarray) -> None:
    """Sources of half the weight vary more, as they have fewer tables: the hard case is equal."""
    drawn = np.random.default_rng(1).normal(size=(4000, len(weights)))
    ends = interval_over_sources(drawn, weights.astype(float), FAR)
    assert ends is not None
    assert np.mean((ends[0] <= 0) & (ends[1] >= 0)) == pytest.approx(0.95, abs=0.012)


def test_so_few_sources_can_tell_no_pair_apart() -> None:
    assert least_adjusted_p(10, 7) == pytest.approx(45 / 64)
    assert least_adjusted_p(2, 7) == pytest.approx(1 / 64)
    ahead_on_all = signed_rank(-np.ones(7), np.ones(7))
    assert least_adjusted_p_against(14, 7) == pytest.approx(14 * ahead_on_all)


def test_a_profile_counts_runs_by_the_weight_of_their_table() -> None:
    runs = np.array([[[0.1, 0.3], [0.2, 0.2]]])
    found = profile(runs, np.array([1.0, 3.0]), np.array([0.05, 0.1, 0.2, 0.3]))
    assert found[0].tolist() == pytest.approx([0, 0.125, 0.875, 1])


def test_improvement_counts_pairs_of_runs_and_half_the_ties() -> None:
    runs = np.array([[0.1, 0.2], [0.5, 0.5]])
    reference = np.array([[0.15, 0.3], [0.5, 0.5]])
    assert improvement(runs, reference).tolist() == [0.75, 0.5]


def test_with_equal_weights_it_is_wilcoxons_test() -> None:
    d = np.array([-0.5, -0.2, 0.1, -0.35, -0.01, -0.4, 0.3, -0.45])
    assert signed_rank(d, np.ones(8)) == pytest.approx(wilcoxon(d, alternative="less").pvalue)
    assert signed_rank(d, np.ones(8), two_sided=True) == pytest.approx(wilcoxon(d).pvalue)


def test_all_sources_won_is_as_certain_as_their_number_allows() -> None:
    assert signed_rank(-np.arange(1.0, 11), ONES) == pytest.approx(2**-10)
    assert signed_rank(np.zeros(10), ONES) == 1.0


def test_a_source_with_a_small_weight_hardly_counts() -> None:
    d = np.array([-0.1, -0.2, -0.3, -0.4, -0.5, 9.0])
    weights = np.array([1, 1, 1, 1, 1, 0.01])
    assert signed_rank(d, weights) < 0.05 < signed_rank(d, np.ones(6))


@pytest.mark.thorough
@given(st.integers(0, 10_000))
def test_tests_do_not_reject_more_often_than_they_may(seed: int) -> None:
    """Over all signs of given sizes, p <= t in at most a share t of them."""
    rng = np.random.default_rng(seed)
    sizes, weights = rng.random(5) + 0.1, rng.random(5) + 0.1
    signs = np.array([[1 if (k >> i) & 1 else -1 for i in range(5)] for k in range(32)])
    p = np.array([signed_rank(row * sizes, weights) for row in signs])
    for level in (1 / 32, 0.1, 0.25, 0.5):
        assert (p <= level).mean() <= level + 1e-9


def test_groups_are_the_widest_runs_that_no_pair_tells_apart() -> None:
    apart = np.ones((4, 4))
    apart[0, 2] = apart[2, 0] = apart[0, 3] = apart[3, 0] = apart[1, 3] = apart[3, 1] = 0.01
    ranks = np.array([1.0, 2, 3, 4])
    assert indistinguishable_runs(ranks, apart) == [(0, 1), (1, 2), (2, 3)]
    assert indistinguishable_runs(ranks, np.ones((4, 4))) == [(0, 3)]
    assert indistinguishable_runs(ranks, np.eye(4)) == []


def test_clear_differences_are_found_among_ten_sources() -> None:
    rng = np.random.default_rng(0)
    figures = np.array([0.1, 0.2, 0.3])[:, None] + 0.01 * rng.normal(size=(3, 10))
    p = compare_all(figures, ONES)
    assert (p[~np.eye(3, dtype=bool)] < 0.05).all()
