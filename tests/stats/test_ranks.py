"""Ranks over splits against closed forms, and inputs at the edge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from fairbench.errors import InputError
from fairbench.stats.ranks import RankOverSplits, estimate_over_splits, rank_over_splits

FIVE_FOLDS = 1 / 4

# Three methods far apart, in the order 1, 0, 2; noise of .001 over splits.
NOISE = 0.001 * np.random.default_rng(0).normal(size=(3, 5))
APART = np.array([[0.3], [0.1], [0.5]]) + NOISE


def test_without_overlap_the_interval_is_students() -> None:
    figures = [0.21, 0.25, 0.22, 0.24, 0.20]
    found = estimate_over_splits(figures, test_over_train=0)
    assert found.interval() == pytest.approx(stats.ttest_1samp(figures, 0).confidence_interval())


def test_overlapping_training_sets_widen_the_interval_by_nadeau_and_bengio() -> None:
    """(1/5 + 1/4) S^2 in place of S^2 / 5: half as wide again."""
    figures = np.array([0.21, 0.25, 0.22, 0.24, 0.20])
    found = estimate_over_splits(figures, test_over_train=FIVE_FOLDS)
    half = stats.t.ppf(0.975, 4) * figures.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    assert found.interval() == pytest.approx((figures.mean() - half, figures.mean() + half))
    alone = estimate_over_splits(figures, test_over_train=0)
    assert found.half_width(0.05) / alone.half_width(0.05) == pytest.approx(1.5)


def test_of_two_methods_it_is_the_paired_t_test() -> None:
    a, b = np.array([0.21, 0.25, 0.22, 0.24, 0.20]), np.array([0.20, 0.25, 0.20, 0.235, 0.198])
    of_a, of_b = rank_over_splits([a, b], test_over_train=0, reference=0)
    known = stats.ttest_rel(b, a, alternative="less").pvalue
    assert of_b.p_reference == pytest.approx(known)
    assert of_a.p_best == pytest.approx(known)
    assert estimate_over_splits(b - a, test_over_train=0).p_value() == pytest.approx(
        2 * known, rel=1e-6
    )
    assert of_a.p_reference is None
    assert of_b.p_best == 1


def test_methods_far_apart_have_one_rank_each() -> None:
    ranked = rank_over_splits(APART, test_over_train=FIVE_FOLDS, reference=0)
    assert [(r.rank_low, r.rank_high) for r in ranked] == [(2, 2), (1, 1), (3, 3)]
    assert [r.may_be_best for r in ranked] == [False, True, False]
    p = [r.p_reference for r in ranked]
    assert p[0] is None
    assert p[1] is not None
    assert p[1] < 1e-4
    assert p[2] == 1


def test_of_accuracies_higher_is_better() -> None:
    ranked = rank_over_splits(APART, test_over_train=FIVE_FOLDS, lower_is_better=False)
    assert [(r.rank_low, r.rank_high) for r in ranked] == [(2, 2), (3, 3), (1, 1)]
    assert [r.mean for r in ranked] == pytest.approx(list(APART.mean(axis=1)))


def test_missing_evidence_earns_no_rank() -> None:
    """A noisy method keeps all ranks, and takes none from those that are known well."""
    noisy = [0.08, 0.68, 0.30, 0.55, 0.25]
    ranked = rank_over_splits([*APART, noisy], test_over_train=FIVE_FOLDS)
    assert (ranked[3].rank_low, ranked[3].rank_high) == (1, 4)
    assert [(r.rank_low, r.rank_high) for r in ranked[:3]] == [(2, 3), (1, 2), (3, 4)]


def test_methods_far_apart_do_not_cost_near_ones_their_evidence() -> None:
    """Step-down: a pair that alone is told apart stays so among methods that are far away."""
    noise = 0.001 * np.array([-1.0, 0.5, 0.0, 0.7, -0.2])
    pair = [0.2 + noise, 0.203 - noise]
    p_alone = stats.ttest_rel(*pair, alternative="less").pvalue
    assert 0.025 / 11 < p_alone < 0.025  # Bonferroni's correction over 11 pairs would lose it
    far = [0.4 + 0.01 * k + np.roll(noise, k) for k in range(10)]
    ranked = rank_over_splits([*pair, *far], test_over_train=0)
    assert [(r.rank_low, r.rank_high) for r in ranked[:2]] == [(1, 1), (2, 2)]


def test_equal_differences_on_two_splits_show_nothing() -> None:
    """One row in a thousand, on both halves: accuracies are equal on two splits quite often."""
    figures = [[0.800, 0.810], [0.801, 0.811]]
    one, other = rank_over_splits(figures, test_over_train=1, reference=0, lower_is_better=False)
    assert (one.rank_low, one.rank_high) == (other.rank_low, other.rank_high) == (1, 2)
    assert one.may_be_best
    assert other.p_reference == pytest.approx(0.5)
    gap = estimate_over_splits([0.001, 0.001], test_over_train=1)
    assert gap.p_value() == 1
    assert gap.interval() == (-np.inf, np.inf)
    assert estimate_over_splits([0.5, 0.5, 0.5], test_over_train=1).interval() == (0.5, 0.5)


def test_accuracies_of_equal_methods_seldom_leave_one_out_of_a_rank_set() -> None:
    """Of eight methods that err on the same rows but for 5%: the true set of each is 1 to 8."""
    rng, rows, missed = np.random.default_rng(0), 1000, 0
    for _ in range(400):
        right = rng.random((2, rows)) < 0.8
        flips = rng.random((8, 2, rows)) < 0.05
        figures = np.where(flips, rng.random((8, 2, rows)) < 0.8, right).mean(axis=-1)
        ranked = rank_over_splits(figures, test_over_train=1, lower_is_better=False)
        missed += (ranked[0].rank_low, ranked[0].rank_high) != (1, 8)
    assert missed <= 0.05 * 400


def test_one_method_has_rank_1() -> None:
    (alone,) = rank_over_splits([[0.3, 0.2, 0.25]], test_over_train=0.5, reference=0)
    assert (alone.rank_low, alone.rank_high, alone.p_reference) == (1, 1, None)
    assert alone.may_be_best
    assert rank_over_splits(np.empty((0, 5)), test_over_train=0.25) == []


def test_identical_rows_share_all_ranks() -> None:
    same = np.tile(APART[0], (3, 1))
    for one in rank_over_splits(same, test_over_train=FIVE_FOLDS, reference=1)[::2]:
        assert (one.rank_low, one.rank_high, one.p_reference, one.p_best) == (1, 3, 1, 1)


def test_without_any_variance_figures_decide() -> None:
    """Constants are what they are, and equal ones are equal up to rounding."""
    figures = np.array([[0.5] * 5, [0.1 + 0.2] * 5, [0.3] * 5])
    ranked = rank_over_splits(figures, test_over_train=FIVE_FOLDS, reference=0)
    assert [(r.rank_low, r.rank_high) for r in ranked] == [(3, 3), (1, 2), (1, 2)]
    assert (ranked[0].low, ranked[0].high) == (0.5, 0.5)
    assert ranked[1].p_reference == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ([[0.1], [0.2]], "at least 2"),
        (np.empty((2, 0)), "at least 2"),
        ([[0.1, np.nan], [0.2, 0.3]], "rows 0 are not finite"),
        ([0.1, 0.2], "axes"),
    ],
)
def test_what_cannot_be_ranked_is_refused(figures: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rank_over_splits(np.asarray(figures), test_over_train=FIVE_FOLDS)


def test_a_wrong_reference_or_ratio_is_refused() -> None:
    with pytest.raises(InputError, match="row 3 of 3"):
        rank_over_splits(APART, test_over_train=FIVE_FOLDS, reference=3)
    with pytest.raises(InputError, match="cannot be -1"):
        rank_over_splits(APART, test_over_train=-1)
    with pytest.raises(InputError, match="at least 2"):
        estimate_over_splits([0.3], test_over_train=FIVE_FOLDS)


tables = st.tuples(st.integers(1, 8), st.integers(2, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(0, 1).map(lambda x: round(x, 3)))
)


@given(tables, st.randoms())
def test_every_table_has_a_coherent_reading(figures: np.ndarray, random: object) -> None:
    ranked = rank_over_splits(figures, test_over_train=FIVE_FOLDS, reference=0)
    order = np.argsort([r.mean for r in ranked], kind="stable")
    for place, k in enumerate(order, start=1):
        one = ranked[k]
        assert one.low <= one.mean <= one.high
        assert 1 <= one.rank_low <= place  # the rank that the means give is in the set
        assert place <= one.rank_high + sum(np.isclose(r.mean, one.mean) for r in ranked) - 1
        assert one.may_be_best == (one.p_best >= 0.05)
        if one.rank_low > 1:
            assert one.p_best < 0.025
    assert ranked[order[0]].may_be_best


@given(tables)
def test_order_scale_and_shift_of_the_input_do_not_matter(figures: np.ndarray) -> None:
    def sets(ranked: list[RankOverSplits]) -> list[tuple[int, int, bool]]:
        return [(r.rank_low, r.rank_high, r.may_be_best) for r in ranked]

    known = sets(rank_over_splits(figures, test_over_train=FIVE_FOLDS))
    assert sets(rank_over_splits(figures[::-1], test_over_train=FIVE_FOLDS)) == known[::-1]
    assert sets(rank_over_splits(2 * figures, test_over_train=FIVE_FOLDS)) == known
    mirrored = rank_over_splits(-figures, test_over_train=FIVE_FOLDS, lower_is_better=False)
    assert sets(mirrored) == known
