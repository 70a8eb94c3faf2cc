"""Patterns of columns that the other auditors hardly find, as further columns for them.

* Waves: s depends on a digit of a number, or on the hour of a time stamp. Boosted trees sort values
  into 255 bins, and bits show powers of two alone. The peaks of the periodogram of the residual
  along a column are the frequencies at which s repeats.
* Levels: a category of hundreds of values, each with a share of s of its own.
* Axes: a small difference between columns that are nearly equal. On principal axes of variance 1 it
  is as large as everything else.
* Covariances: columns with the same mean in all groups that differ in how they vary together.

Each is fitted on the rows to fit on, and used where it adds to the best auditor so far on held-out
rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats
from fairbench.auditing.auditors.blend import adds
from fairbench.auditing.auditors.samples import Columns, LabelledRows, MemberRows
from fairbench.auditing.auditors.simple import fit_logistic
from fairbench.auditing.auditors.views import FARTHEST
from fairbench.auditing.auditors.waves import (
    BINS,
    Place,
    choose_bin_count,
    frequencies,
    scale_by_rank,
    scale_by_value,
)

_Values = npt.NDArray[np.float64]

_PRIOR_ROWS = 3.0
"""Weight of the prior in each level, in rows."""
_FOLDS = 5
_SHRINKAGE = 0.1
"""Share of the identity in each group's covariance."""
_MAX_AXES, _MAX_COVARIANCES = 512, 128
"""Most columns of z for these."""
_ROWS_PER_CELL = 10
"""Mean rows per cell of a code from which counting reads all there is."""


def find_patterns(rows: MemberRows, common: Columns, p: Floats) -> Columns | None:
    """Return a map to the columns of all patterns that add to what an auditor finds.

    Parameters
    ----------
    rows : MemberRows
        z as released.
    common : callable
        Maps z to a common scale.
    p : ndarray, shape (held-out rows, classes)
        Probabilities of that auditor.

    Returns
    -------
    callable or None
        Maps z to z on the common scale with those columns beside it; None where there are none.
    """
    if counting_suffices(rows.fit):
        return None
    targets = _targets(rows)
    axes = _fit_axes(rows.fit, common)
    made = (
        _fit_waves(rows.fit, targets),
        _fit_levels(rows.fit, targets),
        axes,
        None if axes is None else _fit_covariances(rows.fit, axes, targets),
    )
    useful = [one for one in made if one is not None and _explains(one, rows, p)]
    if not useful:
        return None
    return lambda z: np.hstack([common(z), *(one(z) for one in useful)])


def counting_suffices(fit: LabelledRows) -> bool:
    """Whether z is a code of so few cells that counting reads all there is."""
    return fit.total >= _ROWS_PER_CELL * len(fit.labels)


def _targets(rows: MemberRows) -> _Values:
    """P(s | x) of each row to fit on where it is known, else its label, ``(n, classes)``."""
    if rows.fit.soft is not None:
        return rows.fit.soft.astype(np.float64)
    return np.eye(rows.classes)[rows.fit.labels]


def _explains(columns: Columns, rows: MemberRows, p: Floats) -> bool:
    """Whether logistic regression on columns adds to an auditor on held-out rows."""
    seen = rows.seen_through(columns)
    mean, scale = seen.fit.x.mean(axis=0), np.maximum(seen.fit.x.std(axis=0), 1e-6)
    seen = seen.seen_through(lambda made: (made - mean) / scale)
    if not np.ptp(seen.fit.x, axis=0).any():
        return False
    return adds(fit_logistic(seen)(seen.held.x), p, rows.held, rows.prior)


def _fit_waves(fit: LabelledRows, targets: _Values) -> Columns | None:
    """Sines and cosines at the peaks of each column's periodogram, by value and by rank."""
    weights = fit.weights[:, None]
    residual = (targets - (targets * weights).sum(axis=0) / fit.total) * weights
    if residual.shape[1] == 2:
        residual = residual[:, 1:]  # the other is its negative
    energy = (residual**2 / weights).sum(axis=0)
    tried = 2.0 * fit.x.shape[1] * len(energy)
    waves: list[tuple[int, Place, float]] = []
    for column in range(fit.x.shape[1]):
        values = fit.x[:, column].astype(np.float64)
        for place, most in (
            (scale_by_value(values), choose_bin_count(values)),
            (scale_by_rank(values), BINS),
        ):
            if place is not None:
                found = frequencies(place(values), residual, energy, bins=most, tried=tried)
                waves += [(column, place, frequency) for frequency in found]
    if not waves:
        return None

    def apply(z: Floats) -> Floats:
        made = []
        for column, place, frequency in waves:
            angle = 2 * np.pi * frequency * place(z[:, column].astype(np.float64))
            made += [np.sin(angle), np.cos(angle)]
        return np.column_stack(made).astype(np.float32)

    return apply


def _fit_levels(fit: LabelledRows, targets: _Values) -> Columns | None:
    """Log shares of the groups among the other rows with the same value, of each column.

    Of new rows, among all of them.
    """
    prior = np.average(targets, axis=0, weights=fit.weights)
    fold = np.random.default_rng(0).integers(0, _FOLDS, len(targets))
    tables: list[tuple[int, Floats, _Values]] = []
    own: list[_Values] = []
    for column in range(fit.x.shape[1]):
        levels, level = np.unique(fit.x[:, column], return_inverse=True)
        if not 2 < len(levels) < len(level) / 2:
            continue
        sums = np.zeros((_FOLDS, len(levels), len(prior)))
        np.add.at(sums, (fold, level), targets * fit.weights[:, None])
        total = sums.sum(axis=0)
        others = (total - sums)[fold, level]
        own.append(_log_shares(others, prior))
        seen = _log_shares(total, prior)
        unseen = _log_shares(np.zeros((1, len(prior))), prior)
        tables.append((column, levels, np.vstack([seen, unseen])))
    if not tables:
        return None
    fitted = np.hstack(own).astype(np.float32)

    def apply(z: Floats) -> Floats:
        if z is fit.x:  # a row must not see its own label
            return fitted
        made = []
        for column, levels, table in tables:
            place = np.minimum(np.searchsorted(levels, z[:, column]), len(levels) - 1)
            known = levels[place] == z[:, column]
            made.append(table[np.where(known, place, len(levels))])
        return np.hstack(made).astype(np.float32)

    return apply


def _log_shares(sums: _Values, prior: _Values) -> _Values:
    """Log of shares shrunk towards the prior, without those of the first group."""
    rows = sums.sum(axis=1, keepdims=True)
    shares: _Values = np.log((sums + _PRIOR_ROWS * prior) / (rows + _PRIOR_ROWS))[:, 1:]
    return shares


def _fit_axes(fit: LabelledRows, common: Columns) -> Columns | None:
    """Principal axes of z on the common scale, each at variance 1."""
    x = common(fit.x).astype(np.float64)
    if not 2 <= x.shape[1] <= _MAX_AXES:
        return None
    variances, axes = np.linalg.eigh(np.cov(x, rowvar=False, aweights=fit.weights))
    alive = variances > 1e-10 * variances.max()
    directions = axes[:, alive] / np.sqrt(variances[alive])
    return lambda z: _single(common(z).astype(np.float64) @ directions)


def _fit_covariances(fit: LabelledRows, axes: Columns, targets: _Values) -> Columns | None:
    """Log likelihood of z in each group, less that in the first, for Gaussian groups."""
    x = axes(fit.x).astype(np.float64)
    if x.shape[1] > _MAX_COVARIANCES:
        return None
    groups = [_gaussian(x, fit.weights * targets[:, k]) for k in range(targets.shape[1])]

    def apply(z: Floats) -> Floats:
        rows = axes(z).astype(np.float64)
        first, *others = (density(rows) for density in groups)
        return _single(np.column_stack([other - first for other in others]))

    return apply


def _single(columns: _Values) -> Floats:
    """Return columns at single precision, a few rows that lie far out nearer."""
    return np.clip(columns, -FARTHEST, FARTHEST).astype(np.float32)


def _gaussian(x: _Values, weights: _Values) -> Callable[[_Values], _Values]:
    """Log density of a Gaussian fitted to weighted rows, up to a constant."""
    total = max(float(weights.sum()), 1e-9)
    mean = weights @ x / total
    away = x - mean
    covariance = (away * weights[:, None]).T @ away / total
    covariance = (1 - _SHRINKAGE) * covariance + _SHRINKAGE * np.eye(x.shape[1])
    root = np.linalg.cholesky(covariance)
    logarithm = 2 * np.log(np.diagonal(root)).sum()

    def density(rows: _Values) -> _Values:
        scaled = np.linalg.solve(root, (rows - mean).T)
        result: _Values = -0.5 * ((scaled**2).sum(axis=0) + logarithm)
        return result

    return density
