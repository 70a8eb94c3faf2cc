"""Certificates: finite-sample upper bounds on what any classifier of z can do, where z is discrete.

Auditors give lower bounds of leakage; a certificate gives upper bounds. On held-out rows it bounds,
for any classifier h of z, the demographic-parity gap

    max over groups a, b of |P(h(z) = 1 | a) - P(h(z) = 1 | b)|,

and I(Z;S). Both use one idea: the set of codes that separates two groups best in the population is
a single fixed set, and in the sample it cannot separate them better than the sample's best set. So
the plug-in figure falls short of the truth only by the error of one fixed set's shares, whatever
the number of codes, sets and pairs. docs/certificate.md has the derivation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats, Ints
from fairbench.api.metric import Certificate
from fairbench.auditing.auditors.samples import opaque
from fairbench.errors import InputError
from fairbench.stats.information_bound import SHARES, bound_information, shares_radius
from fairbench.stats.scores import entropy_of_counts

Array = npt.NDArray[np.float64]

_MAX_SINGLE = 0.5
"""Share of rows with a unique code from which z has too many values. The share estimates how often
a new row brings a new code (Good and Turing), and new codes count as fully unfair."""

_FEW_CELLS = 16
"""Most cells for which both are also bounded cell by cell, which is sharper for a (nearly) constant
z and loose for many cells."""

_PER_CELL = 0.1
"""Part of each bound's error rate that the bound cell by cell then uses."""


def certify(
    z_cells: Floats, z: Floats, s: Ints, *, groups: int, confidence: float = 0.95
) -> Certificate | None:
    """Bound what any classifier of z can do, from rows that neither trained nor chose anything.

    The bounds hold for the population that the certifying rows are drawn from, independently of
    each other and of the encoder's training. Two codes are equal where their bytes are.

    Parameters
    ----------
    z_cells : ndarray, shape (m, k)
        Representations of other rows, whose distinct codes are the cells.
    z : ndarray, shape (n, k)
        Representations of the certifying rows: one draw per row, also of a stochastic encoder.
    s : ndarray of int64, shape (n,)
        Their groups, 0 to ``groups`` - 1.
    groups : int
        Number of groups of the population, those without certifying rows included.
    confidence : float
        Probability, over the certifying rows, with which each bound holds.

    Returns None where half or more of the rows of ``z_cells`` have a unique code.

    Raises
    ------
    InputError
        With fewer than two groups, or without certifying rows.
    """
    if groups < 2:
        raise InputError("With one group there is nothing to certify.", "Give rows of two or more.")
    if not len(z):
        raise InputError("There are no certifying rows.", "Give rows that trained nothing.")
    # By bytes, so that even 0.0 and -0.0 differ, as they do to the holder of z.
    known, occurrences = np.unique(opaque(z_cells.astype(z.dtype)), return_counts=True)
    if (occurrences == 1).sum() >= _MAX_SINGLE * len(z_cells):
        return None
    counts, overflow = _table(known, opaque(z), s, groups)
    miss = 1 - confidence
    rows = counts.sum(axis=0) + overflow
    plug_in = _plug_in_information(counts, rows)
    return Certificate(
        gap=_widest_gap(counts, rows, miss),
        information=_most_information(counts, rows, plug_in, miss),
        confidence=confidence,
        cells=len(known),
        overflow=float(overflow.sum() / len(s)),
        rows=len(s),
        groups=groups,
        least_group=int(rows.min()),
        plug_in=plug_in,
    )


def worst_certificate(certificates: Iterable[Certificate | None]) -> Certificate | None:
    """Return the largest bounds of several draws of the same rows; None where one has none.

    Each bound fails with the same probability, so the largest covers each draw as its own does.
    The plug-in estimate is the largest, too, which need not be that of the largest bound: with few
    cells I(Z;S) is bounded in two ways.
    """
    found = list(certificates)
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    worst = max(known, key=lambda one: one.information)
    return replace(
        worst,
        gap=max(one.gap for one in known),
        plug_in=max((one.plug_in for one in known if one.plug_in is not None), default=None),
    )


def _table(
    known: npt.NDArray[np.void], z: npt.NDArray[np.void], s: Ints, groups: int
) -> tuple[Array, Array]:
    """Count certifying rows by cell and group ``(cells, groups)``, and the overflow by group."""
    _, first, cell = np.unique(np.concatenate([known, z]), return_index=True, return_inverse=True)
    is_known = (first < len(known))[cell[len(known) :]]
    rows = np.bincount(cell[len(known) :] * groups + s, minlength=len(first) * groups)
    table = rows.reshape(-1, groups)[first < len(known)].astype(np.float64)
    return table, np.bincount(s[~is_known], minlength=groups).astype(np.float64)


def _widest_gap(counts: Array, rows: Array, miss: float) -> float:
    """Bound the largest total variation between two groups' codes.

    The widest pair in the population is one fixed pair, so each pair's bound may use all of
    ``miss``, and their maximum still fails with at most that probability.
    """
    if (rows == 0).any():
        return 1.0
    few = len(counts) <= _FEW_CELLS
    by_cell = _PER_CELL * miss if few else 0.0
    first, second = np.triu_indices(len(rows), 1)
    plug_in = _apart(counts / rows, first, second)
    gaps = plug_in + _shortfall(rows[first], rows[second], miss - by_cell)
    if few:
        # For all cells of two groups at once, whichever the pair.
        least = _least_shares(counts, rows, by_cell / (2 * len(counts)))
        gaps = np.minimum(gaps, _apart(least, first, second))
    return float(min(1.0, gaps.max()))


def _apart(shares: Array, first: Ints, second: Ints) -> Array:
    """Return 1 minus the overlap of two groups over the cells; the overflow has no overlap."""
    # A pair at a time: 18 groups and thousands of cells all at once are too much.
    common = [
        np.minimum(shares[:, a], shares[:, b]).sum() for a, b in zip(first, second, strict=True)
    ]
    return 1.0 - np.array(common)


def _least_shares(counts: Array, rows: Array, miss: float) -> Array:
    """Return Clopper-Pearson lower limits of shares by cell and group; each fails with ``miss``."""
    from scipy.stats import beta

    least: Array = np.where(counts > 0, beta.ppf(miss, counts, rows - counts + 1), 0.0)
    return least


def _shortfall(n: Array, m: Array, miss: float) -> Array:
    """Bound by how much a fixed set's gap, of groups of n and m rows, exceeds its plug-in estimate.

    The smaller of McDiarmid's inequality and of the normal one of Zubkov and Serov; both depend on
    the numbers of rows alone, so that the choice costs nothing. Shapes ``(pairs,)``.
    """
    mcdiarmid = np.sqrt((1 / n + 1 / m) * np.log(1 / miss) / 2)
    normal = _positive_parts_quantile(0.5 / np.sqrt(n), 0.5 / np.sqrt(m), miss) + 1 / n + 1 / m
    least: Array = np.minimum(mcdiarmid, normal)
    return least


def _positive_parts_quantile(first: Array, second: Array, miss: float) -> Array:
    """Return c with P(first U+ + second V+ > c) = miss for independent standard normal U, V.

    In polar coordinates U = r cos t, V = r sin t the sum is r times a function of t alone, and
    P(r > x) = exp(-x^2 / 2). Bisection keeps the upper end, so that c errs to the safe side.
    """
    cos, sin, weight = _quarter()
    both = np.outer(first, cos) + np.outer(second, sin)
    # The quarters in which only U, or only V, is positive: each has the same angles.
    alone = np.outer(first, cos), np.outer(second, cos)
    size = np.hypot(first, second)
    low: Array = np.zeros_like(size)
    high: Array = size * np.sqrt(-2 * np.log(miss))
    for _ in range(30):
        c = (low + high) / 2
        square = -0.5 * c[:, None] ** 2
        tail = np.exp(square / both**2) + sum(np.exp(square / part**2) for part in alone)
        above = tail @ weight > miss
        low, high = np.where(above, c, low), np.where(above, high, c)
    return high


@cache
def _quarter() -> tuple[Array, Array, Array]:
    """Return cosines, sines and weights (a quarter in all) of nodes over a quarter turn."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    angle = np.pi / 4 * (nodes + 1)
    return np.cos(angle), np.sin(angle), weights / 8


def _most_information(counts: Array, rows: Array, plug_in: float, miss: float) -> float:
    """Bound I(Z;S), nats.

    The plug-in estimate is the mean, over the rows, of ln p(s|z) / p(s) by the best p for these
    rows; the true p, of which I is the expectation, is no better there.
    """
    n, groups = int(rows.sum()), len(rows)
    shares_miss = SHARES * miss
    # Gibbs: H(S) <= -E ln(share), whose expectation moves with the shares by total variation.
    most = float(np.log(groups))
    if rows.min() > 0:
        spread = np.sqrt(shares_radius(n, groups, shares_miss) / 2)
        most = min(most, entropy_of_counts(rows) + float(spread * np.log(rows.max() / rows.min())))
    by_cell = 0.0
    if len(counts) <= _FEW_CELLS:
        by_cell = _PER_CELL * miss
        # The overlap of all groups is a part of z that carries no information on s.
        most *= 1 - float(_least_shares(counts, rows, by_cell / counts.size).min(axis=1).sum())
    bound = bound_information(
        plug_in,
        rows=n,
        groups=groups,
        least_group=int(rows.min()),
        miss=miss - by_cell,
        shares_miss=shares_miss,
    )
    return min(most, bound)


def _plug_in_information(counts: Array, rows: Array) -> float:
    """Return the plug-in estimate of I(Z;S), nats; codes of the overflow determine s."""
    total = counts.sum(axis=1)
    inside = counts[counts > 0]
    conditional = float((total[total > 0] * np.log(total[total > 0])).sum())
    conditional = (conditional - float((inside * np.log(inside)).sum())) / rows.sum()
    return float(max(entropy_of_counts(rows) - conditional, 0.0))
