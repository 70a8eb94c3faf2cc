"""Methods compared over several tables: ranks, profiles, chances of improvement, signed ranks.

Input are figures of M methods on T tables, each table with a weight: variants of one table share
one, so that it does not count twice. Tables of one source ask the same people, and so agree more
than others do: **sources are the replicates** of intervals and tests, each with the weighted mean
of its tables. Taken one by one, tables that agree within sources as much as ours reject a true
hypothesis up to three times too often.

**Mean rank**: ranks on each table (equal figures share the mean of their ranks), averaged by
weight. **Profile**: share of the runs, by weight of their table, whose figure is at most a
threshold (Dolan and Moré, Mathematical Programming 91, 2002; as score distributions in Agarwal et
al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice", NeurIPS 2021).
**Probability of improvement**: that a run of a method is better than one of the reference on the
same table, averaged by weight (Agarwal et al.). **Signed ranks**: Wilcoxon's statistic with weights
(Demšar, "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7, 2006); its null
distribution flips the signs of all sources' differences, in all ways where there are at most 16.
**Intervals** are Student's, of a weighted mean: resampling so few sources covers 84% to 90% instead
of 95%. Ranks and chances are bounded, so for a method that is first, or last, on nearly all sources
Student's are too narrow, too: they cover as little as 80% of the first mean ranks among ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fairbench.stats.intervals import LEVEL, holm

Array = npt.NDArray[np.float64]

_EXACT = 16
"""Most sources whose signs are flipped in all ways."""

_SEED = 0

_ALIKE = 1e-12
"""Values that differ by less are equal: by rounding errors."""


def ranks_by_table(figures: Array) -> Array:
    """Rank ``(methods, tables)`` figures on each table: 1 is the lowest; ties share their mean."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(figures, axis=0), np.float64)


def weighted_mean(values: Array, weights: Array) -> Array:
    """Average over the last axis, the tables."""
    return np.asarray(np.average(values, axis=-1, weights=weights), np.float64)


def mean_by_source(values: Array, weights: Array, sources: Sequence[str]) -> tuple[Array, Array]:
    """Average values ``(..., tables)`` over the tables of each source, by weight.

    ``sources`` names the source of each table. Returns ``(..., sources)`` and the sources' weights,
    each the sum of its tables', in the order in which sources first occur.
    """
    places = [
        [place for place, name in enumerate(sources) if name == source]
        for source in dict.fromkeys(sources)
    ]
    means = [np.average(values[..., own], axis=-1, weights=weights[own]) for own in places]
    return np.stack(means, axis=-1), np.array([weights[own].sum() for own in places])


MIN_SOURCES = 5
"""Sources from which on there are intervals over them."""


def interval_over_sources(
    values: Array, weights: Array, bounds: tuple[float, float]
) -> tuple[Array, Array] | None:
    """Compute the 95% interval of the weighted mean over sources of ``(methods, sources)``.

    Student's t of a weighted mean, with sum(w)^2 / sum(w^2) in place of the number of sources; no
    end beyond ``bounds``, between which all values lie. None where there are fewer than five
    sources: their spread says nothing of others. NaN where all sources agree: that they have no
    spread says nothing of others, either.
    """
    from scipy.special import stdtrit

    if len(weights) < MIN_SOURCES:
        return None
    shares = weights / weights.sum()
    effective = 1 / float((shares**2).sum())
    means = weighted_mean(values, weights)
    variance = (shares**2 * (values - means[:, None]) ** 2).sum(axis=-1)
    variance *= effective / (effective - 1)
    half = float(stdtrit(effective - 1, (1 + LEVEL) / 2)) * np.sqrt(variance)
    half[np.ptp(values, axis=-1) < _ALIKE] = np.nan
    return np.clip(means - half, *bounds), np.clip(means + half, *bounds)


def profile(runs: Array, weights: Array, grid: Array) -> Array:
    """Return the share of runs at or below each threshold, by weight of their table.

    ``runs``: ``(methods, tables, runs)``; ``grid``: ``(thresholds,)``. Returns
    ``(methods, thresholds)``.
    """
    below = (runs[..., None] <= grid).mean(axis=2)  # (methods, tables, thresholds)
    return np.asarray(np.average(below, axis=1, weights=weights), np.float64)


def improvement(runs: Array, reference: Array) -> Array:
    """Return the chance that a run is lower than one of the reference on the same table.

    ``runs``, ``reference``: ``(tables, runs)``. Ties count half. Returns ``(tables,)``.
    """
    below = runs[:, :, None] < reference[:, None, :]
    equal = runs[:, :, None] == reference[:, None, :]
    return np.asarray((below + 0.5 * equal).mean(axis=(1, 2)), np.float64)


def signed_rank(differences: Array, weights: Array, *, two_sided: bool = False) -> float:
    """Return the p-value that differences ``(sources,)`` are centred at 0, against below it.

    Sources without a difference count for nothing.
    """
    from scipy.stats import permutation_test, rankdata

    kept = differences != 0
    differences, weights = differences[kept], weights[kept]
    if len(differences) < 2:  # one sign alone: heads or tails
        return 0.5 if len(differences) and differences[0] < 0 and not two_sided else 1.0
    sizes = weights * rankdata(np.abs(differences))

    def statistic(sample: Array, axis: int = -1) -> Array:
        return np.asarray((np.sign(sample) * sizes).sum(axis=axis))

    found = permutation_test(
        (differences,),
        statistic,
        permutation_type="samples",
        vectorized=True,
        n_resamples=2**_EXACT,
        alternative="two-sided" if two_sided else "less",
        rng=np.random.default_rng(_SEED),
    )
    return float(np.clip(found.pvalue, 0.0, 1.0))


def compare_all(figures: Array, weights: Array) -> Array:
    """Test every pair of methods ``(methods, sources)``: p-values ``(methods, methods)``.

    Two-sided, adjusted by Holm over all pairs; 1 on the diagonal.
    """
    count = len(figures)
    pairs = [(i, j) for i in range(count) for j in range(i)]
    raw = [signed_rank(figures[i] - figures[j], weights, two_sided=True) for i, j in pairs]
    adjusted = np.ones((count, count))
    for (i, j), p in zip(pairs, holm(raw), strict=True):
        adjusted[i, j] = adjusted[j, i] = p
    return adjusted


def least_adjusted_p(methods: int, sources: int) -> float:
    """Return the least p-value that tests of all pairs could find, after adjustment."""
    pairs = methods * (methods - 1) // 2
    # Two of all ways to give the differences their signs.
    return min(1.0, pairs * 2.0 ** (1 - sources))


def least_adjusted_p_against(methods: int, sources: int) -> float:
    """Return the least p-value that one-sided tests against one method could find, adjusted."""
    return min(1.0, methods * 2.0**-sources)


def indistinguishable_runs(mean_ranks: Array, p_values: Array) -> list[tuple[int, int]]:
    """Return the longest runs of neighbours by mean rank in which no pair differs significantly.

    ``mean_ranks (methods,)``, ``p_values (methods, methods)``. Each run is (first, last) of the
    methods sorted by mean rank; runs of one are left out.
    """
    order = np.argsort(mean_ranks, kind="stable")
    alike = p_values[np.ix_(order, order)] >= 1 - LEVEL
    found: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and alike[first : last + 1, last + 1].all():
            last += 1
        if last > first and not any(a <= first and last <= b for a, b in found):
            found.append((first, last))
    return found
