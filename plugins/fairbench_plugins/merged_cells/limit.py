"""The limit: the least information at each distortion that any blind encoder of cells can reach.

A population is given as types, cells of x: how many of each group a type has, and their means. An
encoder maps a type to a code, possibly at random. What it costs at a price lambda per nat,

    sum over codes c of  f(c) = D(c) + lambda I(c),

is a sum over codes of a function of the sub-population q of a code (how much of each type it has)
that is homogeneous of degree one. So the best encoder is a linear programme: columns are
sub-populations, and they must add up to the whole population. Its dual has a price for each type;
any prices at which no sub-population costs less than its types do give a lower bound.

A sub-population that costs least can be found exactly, although there are infinitely many. For
fixed reconstructions of a code, one per group, and fixed shares of the groups in it, its cost is
linear in q, with as many constraints as there are groups: q has a mass of one, and these shares. So
one of the cheapest has no more types than there are groups, and new reconstructions only make it
cheaper: **an optimal code mixes at most as many types as there are groups**. Of two groups these
are pairs of types and the share of each, which can be searched. Of more groups pairs are searched
too; what they give is an encoder, but may not be the best.

Notation: ``n`` are rows of a type or code by group ``(types, groups)``, ``x`` their sums
``(types, groups, d)``; costs are in squared units of x, summed over rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairbench.api import Ints
from fairbench_plugins.merged_cells.joining import Array, CellSums, explained, information
from fairbench_plugins.merged_cells.programme import CoverProgramme

_SHARES = 1 / (1 + np.exp(-np.linspace(-5.0, 5.0, 11)))
"""Shares of the first type of a pair that are tried at first."""
_GOLDEN = (np.sqrt(5.0) - 1) / 2
_REFINEMENTS = 16
_NEAR = 1e-3
"""Reduced cost per row, of one unit of price, below which the share of a pair is refined."""
_KEPT = 1e-3
"""The same up to which an unused column stays for the next price."""
_MAX_ROUNDS = 60
_AT_ONCE = 50_000
"""Pairs whose costs are computed together: what they are made of stays in the cache."""
_TINY = 1e-300


@dataclass(frozen=True)
class Codes:
    """Sub-populations of at most two types: parts ``a`` of type ``t`` and ``b`` of type ``u``."""

    t: Ints
    u: Ints
    a: Array
    b: Array

    def joined(self, other: Codes) -> Codes:
        """Both together."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Codes(*(np.concatenate(pair) for pair in pairs))

    def taken(self, chosen: Any) -> Codes:
        """Some of them."""
        return Codes(*(array[chosen] for array in vars(self).values()))

    def scaled(self, factor: Array) -> Codes:
        """As many times as large."""
        return Codes(self.t, self.u, factor * self.a, factor * self.b)

    def sums(self, types: CellSums) -> CellSums:
        """Rows by group and sums of x of each."""
        a, b = self.a[:, None], self.b[:, None]
        x = a[..., None] * types.x[self.t] + b[..., None] * types.x[self.u]
        return CellSums(a * types.n[self.t] + b * types.n[self.u], x)


@dataclass(frozen=True)
class LimitPoint:
    """The best encoder at one price: the parts of each type that are in each of its ``codes``.

    ``distortion`` and ``information`` are means over rows, in squared units of x and in nats. No
    encoder of these types has D + price I below ``bound``; of more than two groups there is none.
    """

    price: float
    distortion: float
    information: float
    bound: float | None
    codes: Codes

    @property
    def gap(self) -> float:
        """How far the encoder may be from the best one, in D + price I."""
        assert self.bound is not None
        return self.distortion + self.price * self.information - self.bound


def limit(
    sums: CellSums,
    squares: float,
    prices: Sequence[float],
    *,
    tolerance: float = 1e-4,
    pairs: tuple[Ints, Ints] | None = None,
) -> list[LimitPoint]:
    """Find the least D + price I of all encoders of a population, at each price.

    ``squares``: sum of the squared norms of all rows, from which ``sums`` are; every type has rows.
    ``tolerance``: nats that the encoder may be worth more than the best one. ``pairs``: the pairs
    of types that a code may mix, by default all; bounds are of encoders that mix no others.
    """
    mass = sums.n.sum(1)
    types = np.arange(len(mass))
    alone = Codes(types, types, 1 / mass, np.zeros(len(types)))
    t, u = np.triu_indices(len(mass), 1) if pairs is None else pairs
    candidates = _Pairs(sums, t, u)
    columns = _Columns(len(mass))
    found: list[LimitPoint] = []
    for price in prices:
        pricing = _Pricing(sums, candidates, float(price))
        columns.reprice(pricing)
        if not found:
            columns.add(alone, pricing)
        found.append(_at_price(pricing, columns, squares, tolerance))
    return found


class _Columns:
    """The sub-populations that are known so far, and the programme of them."""

    def __init__(self, types: int) -> None:
        none, nothing = np.zeros(0, np.int64), np.zeros(0)
        self.codes = Codes(none, none, nothing, nothing)
        self._programme = CoverProgramme(types)

    def add(self, codes: Codes, pricing: _Pricing) -> None:
        rows, parts = np.column_stack([codes.t, codes.u]), np.column_stack([codes.a, codes.b])
        self._programme.add(rows, parts, pricing.cost(codes))
        self.codes = self.codes.joined(codes)

    def reprice(self, pricing: _Pricing) -> None:
        self._programme.reprice(pricing.cost(self.codes))

    def keep(self, chosen: npt.NDArray[np.bool_]) -> None:
        self._programme.drop(np.flatnonzero(~chosen))
        self.codes = self.codes.taken(chosen)

    def solve(self) -> tuple[Array, Array]:
        """Return how much each is used, and types' prices."""
        return self._programme.solve()


def _at_price(pricing: _Pricing, columns: _Columns, squares: float, tolerance: float) -> LimitPoint:
    """Solve one price from some columns; of these and new ones keep what the next may need."""
    sums, price = pricing.sums, pricing.price
    rows, unit = float(sums.n.sum()), max(1.0, price)
    for again in reversed(range(_MAX_ROUNDS)):
        used, types = columns.solve()
        more, least = pricing.cheapest(types)
        if least > -tolerance * unit or not again:
            break
        columns.add(more, pricing)
    known = columns.codes
    codes = known.taken(used > 0).scaled(used[used > 0])
    code_sums = codes.sums(sums)
    of_all = float(information(sums.n.sum(0)))
    distortion = (squares - float(explained(code_sums.n, code_sums.x).sum())) / rows
    leaked = (float(information(code_sums.n).sum()) - of_all) / rows
    bound = None
    if sums.n.shape[1] == 2:
        # The prices of all types less what the cheapest sub-population undercuts them by.
        bound = (float(types.sum()) + min(least, 0.0) * rows + squares - price * of_all) / rows
    over = pricing.cost(known) - known.a * types[known.t] - known.b * types[known.u]
    columns.keep((used > 0) | (over < _KEPT * unit) | (known.t == known.u))
    return LimitPoint(price, distortion, leaked, bound, codes)


class _Pairs:
    """Pairs of types ``t`` and ``u``, and what joining them costs at the shares that are tried."""

    def __init__(self, sums: CellSums, t: Ints, u: Ints) -> None:
        self.t, self.u = t, u
        self.apart = _squared_distances(sums, t, u)
        self.share = (sums.n / sums.n.sum(1, keepdims=True)).T  # of each group in a type
        self.entropy = -information(self.share.T)
        self.lost, self.hidden = np.empty((2, len(t), len(_SHARES)))
        for start in range(0, len(t), _AT_ONCE):
            some = np.arange(start, min(start + _AT_ONCE, len(t)))
            joining = self.joining(some)
            for i, share in enumerate(_SHARES):
                self.lost[some, i], self.hidden[some, i] = joining.of(share)

    def joining(self, pairs: Ints) -> _Joining:
        """Gather what the costs of joining some of them are made of."""
        t, u = self.t[pairs], self.u[pairs]
        shares = self.share[:, t], self.share[:, u]
        return _Joining(*shares, self.entropy[t], self.entropy[u], self.apart[:, pairs])


@dataclass(frozen=True)
class _Joining:
    """Pairs of types: shares of the groups ``(groups, pairs)`` and entropy ``(pairs,)`` of each.

    ``apart (groups, pairs)``: squared distances of the means of each group.
    """

    first: Array
    second: Array
    first_entropy: Array
    second_entropy: Array
    apart: Array

    def of(self, share: Array | float) -> tuple[Array, Array]:
        """Distortion added and nats hidden per row, ``share`` of the rows from the first types."""
        lost: Any = 0.0
        entropy: Any = 0.0
        for first, second, apart in zip(self.first, self.second, self.apart, strict=True):
            a, b = share * first, (1 - share) * second
            both = np.maximum(a + b, _TINY)
            lost = lost + a * b / both * apart
            entropy = entropy - both * np.log(both)
        return lost, entropy - share * self.first_entropy - (1 - share) * self.second_entropy


class _Pricing:
    """Costs of sub-populations at one price, and the search for the cheapest pairs of types."""

    def __init__(self, sums: CellSums, pairs: _Pairs, price: float) -> None:
        self.sums, self.price, self.pairs = sums, price, pairs
        self.mass = sums.n.sum(1)
        self.nearly = _NEAR * max(1.0, price)
        self.alone = price * information(sums.n) - explained(sums.n, sums.x)
        joined = pairs.lost - price * pairs.hidden
        lowest = joined.min(1)
        # Pairs that joining can make cheaper at all.
        self.numbers = np.flatnonzero(lowest < self.nearly)
        self.t, self.u = pairs.t[self.numbers], pairs.u[self.numbers]
        self.joined, self.lowest = joined[self.numbers], lowest[self.numbers]

    def cost(self, columns: Codes) -> Array:
        """Cost of each column, but for the squares of its rows."""
        of = columns.sums(self.sums)
        return np.asarray(self.price * information(of.n) - explained(of.n, of.x))

    def cheapest(self, prices: Array) -> tuple[Codes, float]:
        """For each type the pair that undercuts the prices most, if any; and by how much a row."""
        over = (self.alone - prices) / self.mass  # of a row of each type by itself: 0 or more
        first, second = over[self.t], over[self.u]
        # The others cost too much at every share.
        tried = np.flatnonzero(self.lowest + np.minimum(first, second) < self.nearly)
        values = _SHARES * first[tried, None] + (1 - _SHARES) * second[tried, None]
        values += self.joined[tried]
        number = values.argmin(1)
        best, at = np.full(len(self.t), np.inf), np.full(len(self.t), 0.5)
        best[tried], at[tried] = values[np.arange(len(tried)), number], _SHARES[number]
        near = tried[best[tried] < self.nearly]
        at[near], best[near] = self._refine(near, at[near], over)
        chosen = set[int]()
        order = near[best[near] < 0]
        order = order[np.argsort(best[order], kind="stable")]
        for side in (self.t, self.u):
            _, where = np.unique(side[order], return_index=True)
            chosen |= set(order[where].tolist())
        pairs = np.array(sorted(chosen), np.int64)
        t, u, share = self.t[pairs], self.u[pairs], at[pairs]
        least = float(min(best.min(initial=0.0), over.min(initial=0.0)))
        return Codes(t, u, share / self.mass[t], (1 - share) / self.mass[u]), least

    def _refine(self, pairs: Ints, share: Array, over: Array) -> tuple[Array, Array]:
        """Search between the neighbours of shares by golden sections; return shares and costs."""
        logit = np.log(share / (1 - share))
        step = 10.0 / (len(_SHARES) - 1)
        low, high = logit - step, logit + step
        first, second = over[self.t[pairs]], over[self.u[pairs]]
        joining = self.pairs.joining(self.numbers[pairs])

        def at(position: Array) -> Array:
            share = 1 / (1 + np.exp(-position))
            lost, hidden = joining.of(share)
            return np.asarray(share * first + (1 - share) * second + (lost - self.price * hidden))

        for _ in range(_REFINEMENTS):
            left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            lower = at(left) < at(right)
            low, high = np.where(lower, low, left), np.where(lower, right, high)
        position = (low + high) / 2
        return 1 / (1 + np.exp(-position)), at(position)


def _squared_distances(sums: CellSums, t: Ints, u: Ints) -> Array:
    """Squared distances of the means of each group in pairs of types, ``(groups, pairs)``."""
    means = sums.x / np.maximum(sums.n, _TINY)[..., None]
    out = np.zeros((sums.n.shape[1], len(t)))
    for column in np.moveaxis(means, -1, 0):
        out += np.square(column[t] - column[u]).T
    return out
