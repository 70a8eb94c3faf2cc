"""Ranks over splits: rank sets, "better than the reference" and "could it be the best".

Input are areas of M methods on R splits whose test folds are disjoint. Methods are compared in
pairs on the same splits, so that what a split does to both cancels.

**Variance.** Training rows of two splits overlap, so their figures are correlated, and the variance
of the mean is larger than S^2 / R. With S^2 the sample variance over splits it is estimated as

    (1 / R + test rows / training rows) S^2

(Nadeau and Bengio, "Inference for the Generalization Error", Machine Learning 52, 2003), with
R - 1 degrees of freedom. Where figures are normal and any two splits have the correlation
test / (test + training), the mean over its standard error has exactly Student's distribution.

**Rank sets.** The set of method j is [1 + number significantly better, M - number significantly
worse]. It holds the true rank (all ranks that equal methods share) unless a pair (j, i) is put in
an order that is not its true one. So only the M - 1 pairs of j need a joint error of 5% (Mogstad,
Romano, Shaikh and Wilhelm, "Inference for Ranks with Applications to Mobility across
Neighbourhoods and Academic Achievement across Countries", Review of Economic Studies 91, 2024:
marginal confidence sets). Of any single method, the set holds the rank in 95% of tables.

**The critical value.** Pairs are tested in the order of their t statistics, the largest first, each
by Student's t at level 5% / (number of pairs not yet decided), in the direction that it has: Holm's
step-down max-t (for its error in the direction: Shaffer, Annals of Statistics 8, 1980; Finner,
Annals of Statistics 27, 1999). What else could be done with R = 5, by the simulations in
tests/stats/test_ranks_simulated.py with the spreads of Adults-Gender:

- The joint distribution of the t statistics gains almost nothing over Bonferroni's inequality,
  because each statistic has its own denominator with 4 degrees of freedom: where 16 methods are
  equal, sets by Bonferroni cover in 95.5%, so the exact value is hardly smaller. Besides, five
  splits cannot estimate 120 correlations.
- One variance for all methods has 60 degrees of freedom, but spreads over seeds differ a
  hundredfold: the noisiest method's sets then cover in 64%. Variances shrunk towards each other
  leave 91% for the worst method.
- Flipping signs gives 2^R = 32 arrangements: no two-sided p-value is below .0625.
- Stepping down helps: methods far apart are decided first and no longer count. Sets are 3.5 ranks
  wide on average, 4.9 by Bonferroni without it.

Better than the reference, and could it be the best (multiple comparisons with the best: Hsu, Annals
of Statistics 12, 1984), read the same adjusted p-values, one-sided at 5%.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.errors import InputError
from fairbench.stats.intervals import LEVEL, MIN_P, Estimate, holm

Array = npt.NDArray[np.float64]

_NO_VARIANCE = 1e-24
"""A variance of the size of rounding errors is 0."""

_NO_DIFFERENCE = 1e-12
"""A difference of the size of rounding errors is 0."""

_TOO_FEW = 2
"""Splits on which equal figures do not show that a figure hardly varies. Of eight equal methods
with accuracies on 1,000 test rows, some pair has equal differences in 30% of tables of two splits,
and in 2% of tables of three."""


@dataclass(frozen=True)
class RankOverSplits:
    """What the splits say about one method.

    Parameters
    ----------
    mean : float
        Mean over splits.
    low, high : float
        95% confidence interval of the expected figure, corrected for overlapping training sets. It
        is that of this method alone: intervals that overlap do not say that methods are equal.
    rank_low, rank_high : int
        The rank set: with 95% confidence, the rank is one of rank_low to rank_high; 1 is best.
    p_reference : float or None
        One-sided p-value of being better than the reference, adjusted over all methods; 1 where the
        mean is not better. None for the reference itself, or without one.
    p_best : float
        p-value of the hypothesis that no other method is better. Where rank_low is above 1 it is
        below 2.5%.
    may_be_best : bool
        Whether that hypothesis stands at 5%. The best method has True in about 95% of tables.
    """

    mean: float
    low: float
    high: float
    rank_low: int
    rank_high: int
    p_reference: float | None
    p_best: float
    may_be_best: bool


def estimate_over_splits(figures: npt.ArrayLike, *, test_over_train: float) -> Estimate:
    """Estimate the expected figure of a method from its figures on splits.

    For a paired difference of two methods, give the differences on each split. Two splits with one
    and the same figure have no interval: figures that count rows are equal by chance quite often.

    Parameters
    ----------
    figures : array of shape (R,)
        One figure per split; several seeds of a split averaged.
    test_over_train : float
        Test rows of a split over all its other rows: 1 / 4 with five folds.

    Raises
    ------
    InputError
        With fewer than two splits, or a figure that is not finite.
    """
    checked = _check(np.atleast_2d(np.asarray(figures, dtype=np.float64)), test_over_train)
    # The variance over splits stands where that over seeds does; it includes that of test rows.
    variance = float(_corrected_variance(checked, test_over_train)[0])
    splits = checked.shape[1]
    unknown = variance == 0 and splits == _TOO_FEW
    return Estimate(
        value=float(checked.mean()),
        rows=math.inf if unknown else 0.0,
        shared=0.0,
        seeds=variance,
        df=splits - 1,
    )


def rank_over_splits(
    figures: npt.ArrayLike,
    *,
    test_over_train: float,
    reference: int | None = None,
    lower_is_better: bool = True,
) -> list[RankOverSplits]:
    """Rank methods by their figures on the same splits; in the order of the input.

    Parameters
    ----------
    figures : array of shape (M, R)
        One row per method, one column per split; several seeds of a split averaged.
    test_over_train : float
        Test rows of a split over all its other rows: 1 / 4 with five folds.
    reference : int, optional
        Row of the method that others are tested against.
    lower_is_better : bool
        True for areas, False for accuracies.

    Raises
    ------
    InputError
        With fewer than two splits, a figure that is not finite, or a reference that is no row.
    """
    checked = _check(np.asarray(figures, dtype=np.float64), test_over_train)
    count = len(checked)
    if reference is not None and not 0 <= reference < count:
        raise InputError(
            f"The reference is row {reference} of {count} methods.",
            "Give the index of a row, from 0, or None.",
        )
    adjusted, gaps = _compare(checked if lower_is_better else -checked, test_over_train)
    better, worse = np.where(gaps < 0, adjusted, 1.0), np.where(gaps > 0, adjusted, 1.0)
    ranked = []
    for j, row in enumerate(checked):
        found = estimate_over_splits(row, test_over_train=test_over_train)
        low, high = found.interval()
        p_best = float(better[j].min())
        tested = reference is not None and j != reference
        ranked.append(
            RankOverSplits(
                mean=found.value,
                low=low,
                high=high,
                rank_low=1 + int((better[j] < (1 - LEVEL) / 2).sum()),
                rank_high=count - int((worse[j] < (1 - LEVEL) / 2).sum()),
                p_reference=float(better[reference, j]) if tested else None,
                p_best=p_best,
                may_be_best=p_best >= 1 - LEVEL,
            )
        )
    return ranked


def _check(figures: Array, test_over_train: float) -> Array:
    if figures.ndim != 2:
        raise InputError(
            f"Figures over splits have {figures.ndim} axes.",
            "Give one row per method and one column per split.",
        )
    if figures.shape[1] < 2:
        raise InputError(
            f"One split has no spread, and none has no mean: {figures.shape[1]} given.",
            "Ranks over splits need at least 2; use 5.",
        )
    if not np.isfinite(figures).all():
        bad = ", ".join(str(row) for row in np.flatnonzero(~np.isfinite(figures).all(axis=1)))
        raise InputError(
            f"Figures of methods in rows {bad} are not finite on all splits.",
            "Leave methods out that were not measured on every split.",
        )
    if not (math.isfinite(test_over_train) and test_over_train >= 0):
        raise InputError(
            f"Test rows over training rows cannot be {test_over_train}.",
            "With five folds it is 1 / 4; 0 for independent replicates.",
        )
    return figures


def _corrected_variance(figures: Array, test_over_train: float) -> Array:
    """Variance of the mean over splits, the last axis; 0 where it is a rounding error."""
    splits = figures.shape[-1]
    variance: Array = figures.var(axis=-1, ddof=1) * (1 / splits + test_over_train)
    return np.where(variance > _NO_VARIANCE, variance, 0.0)


def _compare(figures: Array, test_over_train: float) -> tuple[Array, Array]:
    """Compare all pairs: one-sided p-values in the observed direction, and mean differences.

    Both are ``(M, M)``. Element [j, i] of the first is adjusted over the pairs of j; of the second
    it is i - j.
    """
    from scipy.special import stdtr

    count, splits = figures.shape
    differences = figures[None, :, :] - figures[:, None, :]
    gaps = differences.mean(axis=-1)
    gaps[np.abs(gaps) < _NO_DIFFERENCE] = 0.0
    errors = np.sqrt(_corrected_variance(differences, test_over_train))
    # Without any variance a difference is certain, but on two splits.
    sizes = np.full(gaps.shape, 0.0 if splits == _TOO_FEW else math.inf)
    np.divide(np.abs(gaps), errors, out=sizes, where=errors > 0)
    sizes[gaps == 0] = 0.0
    tails = np.maximum(stdtr(splits - 1, -sizes), MIN_P)
    adjusted = np.ones((count, count))
    for j in range(count):
        others = np.arange(count) != j
        adjusted[j, others] = holm(list(tails[j, others]))
    return adjusted, gaps
