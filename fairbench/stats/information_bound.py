"""An upper bound of I(Z;S) by its plug-in estimate, at any level; proof in docs/certificate.md.

It needs four numbers of a discrete z, not its counts, so that a stored figure can be bounded later
at the level that a family of statements asks for.
"""

from __future__ import annotations

import math

import numpy as np

SHARES = 0.1
"""Part of the bound's error rate that the groups' unknown shares use."""


def bound_information(
    plug_in: float,
    *,
    rows: int,
    groups: int,
    least_group: int,
    miss: float,
    shares_miss: float | None = None,
) -> float:
    """Bound I(Z;S), nats: it is above the bound with probability ``miss`` at most.

    Parameters
    ----------
    plug_in : float
        Plug-in estimate of I(Z;S) on the certifying rows, nats, where a code that was not known
        beforehand counts as if it determined s.
    rows, groups, least_group : int
        Certifying rows, groups of the population, and certifying rows of the smallest group.
    miss : float
        Probability with which the bound may fail.
    shares_miss : float, optional
        Part of it that the groups' shares use; default: a tenth.

    Returns infinity where a group has no rows.
    """
    if least_group == 0:
        return math.inf
    shares_miss = SHARES * miss if shares_miss is None else shares_miss
    radius = shares_radius(rows, groups, shares_miss)
    mean = max(plug_in, 0.0) + radius
    # Chernoff: E exp(-t i) <= 1 - (t - r) I for i = ln p(s|z)/p(s), at most ln 1/least share.
    t = np.linspace(0.02, 0.98, 97)
    top = _most_information(least_group / rows, radius)
    r = (np.expm1(-t * top) + t * top) / (np.expm1(-top) + top)
    bound = -np.expm1(math.log(miss - shares_miss) / rows - t * mean) / (t - r)
    return float(bound.min())


def shares_radius(rows: int, groups: int, miss: float) -> float:
    """Return the radius, nats, that KL(sample shares || true shares) exceeds with chance ``miss``.

    Agrawal 2020, "Finite-sample concentration of the multinomial in relative entropy": the chance
    is at most e^-x (e x / k)^k for x = rows * KL > k = groups - 1.
    """
    k = groups - 1
    x = 4.0 * (k - math.log(miss))
    for _ in range(40):  # falls to the solution from above: stopping early errs to the safe side
        x = k * (1 + math.log(x / k)) - math.log(miss)
    return float(x / rows)


def _most_information(share: float, radius: float) -> float:
    """Return ln 1/q, of the least q with kl(share || q) <= radius, for Bernoulli shares in (0, 1).

    It is searched on a logarithmic scale: with many groups q can be tiny.
    """
    rest = (1 - share) * math.log1p(-share)
    low, high = 0.0, (radius - rest) / share  # of ln share/q, at which kl is above the radius
    for _ in range(60):
        u = (low + high) / 2
        kl = share * u + rest - (1 - share) * math.log1p(-share * math.exp(-u))
        low, high = (u, high) if kl <= radius else (low, u)
    return high - math.log(share)  # above the solution: on the safe side
