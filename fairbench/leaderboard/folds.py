"""Estimates over the folds of a table, whose training sets overlap."""

from __future__ import annotations

from fairbench.stats.intervals import Array, Estimate
from fairbench.stats.ranks import RankOverSplits, estimate_over_splits, rank_over_splits


def estimate_over_folds(figures: Array) -> Estimate:
    """Estimate the mean of figures ``(folds,)``, one of each fold of a table."""
    return estimate_over_splits(figures, test_over_train=_test_over_train(len(figures)))


def rank_over_folds(
    figures: Array, *, reference: int | None, lower_is_better: bool
) -> list[RankOverSplits]:
    """Rank rows by figures ``(rows, folds)``; ``reference`` is a row that all are compared with."""
    return rank_over_splits(
        figures,
        test_over_train=_test_over_train(figures.shape[1]),
        reference=reference,
        lower_is_better=lower_is_better,
    )


def _test_over_train(folds: int) -> float:
    """The rows of a fold over all other rows."""
    return 1 / (folds - 1)
