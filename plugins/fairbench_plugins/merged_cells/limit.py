"""The limit: the least information at each distortion that any blind encoder of cells can reach.

A population is given as types, cells of x: how many of each group a type has, and their means. An
encoder maps a type to a code, possibly at random. What it costs at a price lambda per nat,

    sum over codes c of  f(c) = D(c) + lambda I(c),

is a sum over codes of a function of the sub-population q of a code (how much of each type it has)
that is homogeneous of degree one. So the best encoder is a linear programme: columns are
sub-populations, and they must add up to the whole population. Its dual has a price for each type;
any prices at which no sub-population costs less than its types do give a lower bound.

A sub-population that costs least can be found exactly, although there are infinitely many. For
fixed reconstructions of a code, one per group, and a fixed share of the groups in it, its cost is
linear in q, with two constraints: q has a mass of one, and this share. So one of the cheapest has
no more types than there are groups, and new reconstructions only make it cheaper: **an optimal code
mixes at most as many types as there are groups**. Of two groups these are pairs of types and the
share of each, which can be searched.

Notation: ``n`` are rows of a type or code by group ``(types, 2)``, ``x`` their sums
``(types, 2, d)``; costs are in squared units of x, summed over rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbench.api import Ints
from fairbench_plugins.merged_cells.joining import Array, CellSums, explained, information

_SHARES = 1 / (1 + np.exp(-np.linspace(-6.0, 6.0, 25)))
"""Shares of the first type of a pair that are tried at first."""
_NEAR = 1e-3
"""Reduced cost, of one unit of price, below which the share of a pair is refined."""
_GOLDEN = (np.sqrt(5.0) - 1) / 2
_REFINEMENTS = 20
_TOLERANCE = 1e-7
"""Reduced cost per row, in units of the cost per row, at which the search ends."""
_MOST_ROUNDS = 60
_TINY = 1e-300


@dataclass(frozen=True)
class LimitPoint:
    """The best encoder at one price.

    ``distortion`` and ``information`` are means over rows, in squared units of x and in nats.
    No encoder of these types has D + price I below ``bound``.
    """

    price: float
    distortion: float
    information: float
    bound: float

    @property
    def gap(self) -> float:
        """How far the encoder may be from the best one, in D + price I."""
        return self.distortion + self.price * self.information - self.bound


@dataclass(frozen=True)
class _Columns:
    """Sub-populations: parts ``a`` of type ``t`` and ``b`` of type ``u``, each of one row."""

    t: Ints
    u: Ints
    a: Array
    b: Array

    def joined(self, other: _Columns) -> _Columns:
        """Both together."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Columns(*(np.concatenate(pair) for pair in pairs))


def limit(sums: CellSums, squares: float, price: float) -> LimitPoint:
    """Find the least D + ``price`` I of all encoders of a population of two groups.

    ``squares``: sum of the squared norms of all rows, from which ``sums`` are. Raises ValueError
    for more than two groups.
    """
    if sums.n.shape[1] != 2:
        raise ValueError("the limit is computed for two groups")
    present = sums.n.sum(1) > 0
    sums = CellSums(sums.n[present], sums.x[present])
    rows = float(sums.n.sum())
    pricing = _Pricing(sums, price)
    types = np.arange(len(sums.n))
    columns = _Columns(types, types, 1 / pricing.mass, np.zeros(len(types)))
    for _ in range(_MOST_ROUNDS):
        used, prices = _solve(pricing, columns)
        found, least = pricing.columns(prices)
        if least > -_TOLERANCE * max(1.0, price):
            break
        columns = columns.joined(found)
    # The prices of all types less what the cheapest sub-population undercuts them by.
    undercut = min(least, 0.0)
    constant = squares - price * float(information(sums.n.sum(0)))
    bound = (float(prices.sum()) + undercut * rows + constant) / rows
    n, x = pricing.mixed(columns)
    distortion = (squares - float(used @ explained(n, x))) / rows
    leaked = (float(used @ information(n)) - float(information(sums.n.sum(0)))) / rows
    return LimitPoint(price, distortion, leaked, bound)


def _solve(pricing: _Pricing, columns: _Columns) -> tuple[Array, Array]:
    """Solve the programme of some columns; return how much each is used, and types' prices."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    count = len(columns.t)
    at = np.concatenate([columns.t, columns.u])
    parts = np.concatenate([columns.a, columns.b])
    shape = (len(pricing.mass), count)
    held: Any = coo_array((parts, (at, np.tile(np.arange(count), 2))), shape=shape)
    solved = linprog(
        pricing.cost(columns), A_eq=held.tocsc(), b_eq=np.ones(shape[0]), method="highs"
    )
    if solved.status != 0:
        raise RuntimeError(f"the linear programme was not solved: {solved.message}")
    return np.asarray(solved.x), np.asarray(solved.eqlin.marginals)


class _Pricing:
    """Costs of sub-populations at one price, and the search for the cheapest."""

    def __init__(self, sums: CellSums, price: float) -> None:
        self.sums, self.price = sums, price
        self.mass = sums.n.sum(1)
        self.share = sums.n / self.mass[:, None]  # of each group in a type
        means = sums.x / np.maximum(sums.n, _TINY)[..., None]
        # (2, types, types): squared distances of the means of a group
        self.apart = np.stack([_squared_distances(means[:, group]) for group in (0, 1)])
        self.entropy = -information(self.share)

    def mixed(self, columns: _Columns) -> tuple[Array, Array]:
        """Rows by group and sums of x of columns."""
        n, x, a, b = self.sums.n, self.sums.x, columns.a[:, None], columns.b[:, None]
        sums = a[..., None] * x[columns.t] + b[..., None] * x[columns.u]
        return a * n[columns.t] + b * n[columns.u], sums

    def cost(self, columns: _Columns) -> Array:
        """Cost of each column, but for the squares of its rows."""
        n, x = self.mixed(columns)
        return np.asarray(self.price * information(n) - explained(n, x))

    def columns(self, prices: Array) -> tuple[_Columns, float]:
        """For each type the pair that undercuts the prices most, if any; and by how much a row."""
        alone = self.price * information(self.sums.n) - explained(self.sums.n, self.sums.x)
        over = (alone - prices) / self.mass  # of a row of each type by itself: 0 or more
        count = len(over)
        best, at = np.full((count, count), np.inf), np.zeros((count, count))
        everyone = np.arange(count)
        for share in _SHARES:
            undercut = self._reduced(everyone[:, None], everyone[None], share, over)
            lower = undercut < best
            best[lower], at[lower] = undercut[lower], share
        np.fill_diagonal(best, np.inf)
        # Where it is far above zero, no share between two of the grid is below.
        t, other = np.nonzero(best < _NEAR * max(1.0, self.price))
        share, value = self._refine(t, other, at[t, other], over)
        best[t, other], at[t, other] = value, share
        u = best.argmin(1)
        least = float(min(best.min(initial=0.0), over.min(initial=0.0)))
        t = everyone[best[everyone, u] < 0]
        u = u[t]
        share = at[t, u]
        return _Columns(t, u, share / self.mass[t], (1 - share) / self.mass[u]), least

    def _reduced(self, t: Ints, u: Ints, share: Array | float, over: Array) -> Array:
        """Reduced cost per row of pairs of types, ``share`` of the rows from the first."""
        first, second = share * over[t], (1 - share) * over[u]
        lost, mixed = 0.0, []
        for group in (0, 1):
            a, b = share * self.share[t, group], (1 - share) * self.share[u, group]
            lost = lost + a * b / np.maximum(a + b, _TINY) * self.apart[group][t, u]
            mixed.append(a + b)
        entropy = -sum(p * np.log(np.maximum(p, _TINY)) for p in mixed)
        hidden = entropy - share * self.entropy[t] - (1 - share) * self.entropy[u]
        return np.asarray(first + second + lost - self.price * hidden)

    def _refine(self, t: Ints, u: Ints, share: Array, over: Array) -> tuple[Array, Array]:
        """Search between the neighbours of shares by golden sections; return shares and costs."""
        logit = np.log(share / (1 - share))
        low, high = logit - 0.5, logit + 0.5

        def at(position: Array) -> Array:
            return self._reduced(t, u, 1 / (1 + np.exp(-position)), over)

        for _ in range(_REFINEMENTS):
            left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            lower = at(left) < at(right)
            low, high = np.where(lower, low, left), np.where(lower, right, high)
        position = (low + high) / 2
        return 1 / (1 + np.exp(-position)), at(position)


def _squared_distances(means: Array) -> Array:
    squares = (means**2).sum(1)
    return np.asarray(np.maximum(squares[:, None] + squares - 2 * means @ means.T, 0.0))
