"""Figures of a row: means over the seeds and splits of its curves, and their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairbench.api.metric import Metric
from fairbench.leaderboard.folds import estimate_over_folds
from fairbench.leaderboard.measured import MeasuredCurve, MetricProblems, compute, mean_of, resample
from fairbench.leaderboard.row_curves import RowCurves
from fairbench.registry import declared_columns
from fairbench.stats.intervals import Array, Sample, estimate

AUDITOR_SD = 0.01
"""Standard deviation of an area over trainings of the same auditors, as a share of it: on Adults,
.003 of I for x itself and .012 for random projections of it."""


@dataclass(frozen=True)
class RowFigures:
    """Figures of a row by column, and what intervals and ranks are made of.

    Parameters
    ----------
    values : mapping of str to (float or None)
        Means, and ends of intervals.
    samples : mapping of str to Sample
        Bootstrap replicates by column; empty for a row of several splits.
    folds : mapping of str to ndarray, shape (folds,)
        Values of each fold by column; empty for a row that is not replicated.
    """

    values: Mapping[str, float | None]
    samples: Mapping[str, Sample]
    folds: Mapping[str, Array]


def compute_figures(
    of_row: RowCurves,
    measured: Sequence[MeasuredCurve],
    metrics: Sequence[type[Metric]],
    problems: MetricProblems,
) -> RowFigures:
    """Compute all columns of a row; metrics that raise go to ``problems``."""
    splits = list(dict.fromkeys(one.split for one in measured))
    figures: dict[str, float | None] = {}
    samples: dict[str, Sample] = {}
    folds: dict[str, Array] = {}
    for metric in metrics:
        values = [compute(metric, one.evaluation, one.method, problems) for one in measured]
        for column in declared_columns(metric).names:
            # Several seeds of a split count as one.
            of_split = [
                _mean_of_seeds(
                    [
                        found.get(column)
                        for found, one in zip(values, measured, strict=True)
                        if one.split == split
                    ],
                    all_known=bool(of_row.folds),
                )
                for split in splits
            ]
            known = [value for value in of_split if value is not None]
            # A mean over some of the folds would be a figure of other data than the row's.
            whole = not of_row.folds or len(known) == of_row.folds
            figures[column] = mean_of(known) if whole else None
            if of_row.folds and whole:
                folds[column] = np.array(known)
        if len(splits) == 1 and not of_row.folds:
            samples |= _make_samples(metric, values, measured, problems)
    for column, sample in samples.items():
        figures[f"{column}_low"], figures[f"{column}_high"] = _interval(column, sample)
    declared = {column for metric in metrics for column in declared_columns(metric).names}
    for column, of_folds in folds.items():
        if f"{column}_low" in declared:
            ends = estimate_over_folds(of_folds).interval()
            figures[f"{column}_low"], figures[f"{column}_high"] = _clipped(column, *ends)
    return RowFigures(figures, samples, folds)


def _mean_of_seeds(values: Sequence[float | None], *, all_known: bool) -> float | None:
    """Return the mean over the seeds of a split; None where one lacks it, if all have to have it.

    Rows over folds are compared in pairs: a mean without a seed would be of other models.
    """
    return None if all_known and None in values else mean_of(values)


def _interval(column: str, sample: Sample) -> tuple[float, float] | tuple[None, None]:
    """The 95% confidence interval of a figure; none where a replicate is not defined."""
    if not np.isfinite(sample.replicates).all():
        return None, None
    return _clipped(column, *estimate(sample).interval())


def _clipped(column: str, low: float, high: float) -> tuple[float, float] | tuple[None, None]:
    if not np.isfinite(low):
        return None, None
    if column == "aufdc":  # beyond 1 where a point leaks more on the test set than x is read to
        return max(low, 0.0), high
    if column.startswith("accuracy_y"):
        return max(low, 0.0), min(high, 1.0)
    return low, high


def _make_samples(
    metric: type[Metric],
    values: Sequence[Mapping[str, float | None]],
    measured: Sequence[MeasuredCurve],
    problems: MetricProblems,
) -> dict[str, Sample]:
    """Columns of a metric with replicates of every seed."""
    resampled = [resample(metric, one, problems) for one in measured]
    samples = {}
    for column in declared_columns(metric).names:
        figures = [value.get(column) for value in values]
        rows = [replicates[column] for replicates in resampled if column in replicates]
        known = [figure for figure in figures if figure is not None]
        same = len({len(replicates) for replicates in rows}) == 1
        if same and len(known) == len(rows) == len(measured):
            auditor_sd = AUDITOR_SD * known[0] if column == "aufdc" else 0.0
            samples[column] = Sample(np.array(known), np.stack(rows), auditor_sd)
    return samples
