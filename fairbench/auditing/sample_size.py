"""Sample size: how much more information auditors would find with more rows.

Fast members of the ensemble are fitted to an eighth, a quarter, a half and all of the auditor
training set, and I is estimated on the same test rows. Where z takes many values, the estimate
grows with the rows: if the rows of a value, n on average, are as good an estimate of P(s | z) as
the prior is from n = m on, the estimate is a share n / (n + m) of I. This curve is fitted and
extrapolated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fairbench.api import Ints, Role
from fairbench.api.metric import Prediction, SampleSize
from fairbench.auditing.auditors.samples import held_out_rows
from fairbench.auditing.config import AuditConfig, Member
from fairbench.auditing.ensemble import audit
from fairbench.auditing.sample import AuditSample
from fairbench.stats.bootstrap import entropy_of, one_hot, resampled_means
from fairbench.stats.intervals import percentile_interval
from fairbench.stats.scores import entropy, log_loss
from fairbench.stats.seeds import derive_seed

_MEMBERS = frozenset({Member.SOFT_TREES, Member.COUNTING, Member.SOFT_COUNTING, Member.LOGISTIC})
_WITHOUT_SOFT_LABELS = frozenset({Member.BOOSTED_TREES, Member.COUNTING, Member.LOGISTIC})
_SHARES = (8, 4, 2, 1)
"""One in so many rows."""
_REPEATS = 2
"""Disjoint parts of the rows that are fitted for each share."""
_MIN_ROWS = 320
"""Rows of the auditor training set from which on an eighth of them is tried."""
_RATIOS = np.concatenate([[0.0], np.geomspace(0.01, 1.0, 60)])
"""Candidates of m, as shares of all rows: at most twice what all rows read is extrapolated, since
parts read too little where a tenth of them is too few to calibrate with."""
_RESAMPLES = 200
_MIN_EXCESS, _MIN_EXCESS_SHARE = 0.005, 0.1
"""Nats, and share of the estimate, by which the extrapolation must exceed it to be reported."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Curve:
    """Readings by number of rows."""

    rows: Array  # (4,): rows that members are fitted to, as shares of the most
    losses: Array  # (4, repeats, n): log loss of each test row, nats


def extrapolate(
    sample: AuditSample, read: Prediction, *, config: AuditConfig, seed: int
) -> SampleSize | None:
    """Extrapolate I(Z;S) to infinitely many rows; None where there are too few to take parts of.

    Parameters
    ----------
    sample : AuditSample
        Of one draw.
    read : Prediction
        Of the test rows, draw after draw, by the auditor that the whole ensemble chose. Its I(Z;S)
        is the reading; the extrapolation is never below it.
    """
    if len(sample.labels[Role.AUDITOR_TRAIN]) < _MIN_ROWS:
        return None
    curve = _curve(sample, config, seed)
    test = sample.labels[Role.TEST]
    losses = log_loss(read.probabilities, read.labels).reshape(-1, len(test)).mean(axis=0)
    reading = entropy(test) - float(losses.mean())
    limit = float(_limit(curve.rows, entropy(test) - curve.losses.mean(axis=(1, 2))[None])[0])
    resampled, readings = _resampled(curve, losses, test, seed)
    limits = _limit(curve.rows, resampled)
    low, high = percentile_interval(limits)
    # By the same resamples: both share the noise of the test rows.
    least_gap, _ = percentile_interval(limits - readings)
    return SampleSize(
        extrapolated=max(reading, limit),
        low=max(reading, low),
        high=max(reading, high),
        needs_more_rows=least_gap > 0
        and limit - reading > max(_MIN_EXCESS, _MIN_EXCESS_SHARE * reading),
    )


def _curve(sample: AuditSample, config: AuditConfig, seed: int) -> _Curve:
    known = sample.labels[Role.AUDITOR_TRAIN]
    order = _mixed(known, np.random.default_rng(derive_seed(seed, "order")))
    fast = _WITHOUT_SOFT_LABELS if sample.soft is None else _MEMBERS
    members = tuple(member for member in config.members if member in fast)
    settings = replace(config.with_fast_trees(), members=members, interactions=False)

    def losses(rows: Ints) -> Array:
        found = audit(sample.part(rows), config=settings, seed=seed).strict.test
        return log_loss(found.probabilities, found.labels)

    sizes = [len(known) // share for share in _SHARES]
    fitted = np.array([size - held_out_rows(size) for size in sizes], np.float64)
    by_size = []
    for share, size in zip(_SHARES, sizes, strict=True):
        parts = [losses(order[k * size : (k + 1) * size]) for k in range(min(share, _REPEATS))]
        by_size.append(parts if len(parts) == _REPEATS else parts * _REPEATS)
    return _Curve(fitted / fitted[-1], np.array(by_size))


def _mixed(labels: Ints, rng: np.random.Generator) -> Ints:
    """Return the numbers of all rows in an order whose parts have all groups in equal shares."""
    place = np.empty(len(labels))
    for group in np.unique(labels):
        rows = np.flatnonzero(labels == group)
        place[rows] = (rng.permutation(len(rows)) + rng.random()) / len(rows)
    return np.argsort(place)


def _resampled(curve: _Curve, read: Array, test: Ints, seed: int) -> tuple[Array, Array]:
    """Resample test rows, and the parts of the auditor training set.

    ``read (n,)``: losses of the reading, nats. Returns the curve's I(Z;S) ``(resamples, 4)`` and
    the reading's ``(resamples,)``, nats.
    """
    sizes, repeats, n = curve.losses.shape
    columns = np.column_stack([curve.losses.reshape(sizes * repeats, n).T, read, one_hot(test)])
    means = resampled_means(columns, resamples=_RESAMPLES)
    losses = means[:, : sizes * repeats].reshape(-1, sizes, repeats)
    entropies = entropy_of(means[:, sizes * repeats + 1 :])
    entropies += entropy(test) - entropies.mean()  # of resamples it is too small
    # Readings vary with the part about as 1 / rows. Two of them differ by twice one's variance.
    apart = np.diff(curve.losses.mean(axis=2), axis=1)[:-1, 0]
    at_all = np.sqrt(np.mean(curve.rows[:-1] * apart**2) / 2)
    parts = np.array([_REPEATS] * (sizes - 1) + [1])
    noise = np.random.default_rng(derive_seed(seed, "noise")).normal(size=(_RESAMPLES, sizes))
    noise *= at_all / np.sqrt(curve.rows * parts)
    information = entropies[:, None] - losses.mean(axis=2) + noise
    return information, entropies - means[:, sizes * repeats]


def _limit(rows: Array, readings: Array) -> Array:
    """Fit limit * n / (n + m) by least squares to each row of readings ``(b, 4)``."""
    shape = rows / (rows + _RATIOS[:, None])  # (candidates, 4)
    limit = (readings @ shape.T) / (shape**2).sum(axis=1)  # (b, candidates)
    errors = ((readings[:, None] - limit[:, :, None] * shape) ** 2).sum(axis=2)
    best: Array = limit[np.arange(len(readings)), errors.argmin(axis=1)]
    return best
