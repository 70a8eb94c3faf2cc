"""The search for codes: joining cells at the least distortion per nat, then moving single ones.

The objective stands in merged.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats, Ints

Array = npt.NDArray[np.float64]

_NOTHING = 1e-9


@dataclass(frozen=True)
class CellSums:
    """Sums over the rows of cells, or of codes, by group."""

    n: Array  # (cells, groups): rows, by P(s | x)
    x: Array  # (cells, groups, d): sums of x

    @classmethod
    def of(cls, cells: Ints, count: int, x: Array, shares: Array) -> CellSums:
        """Sum up rows x ``(n, d)`` with shares of groups ``(n, groups)`` by cell ``(n,)``."""
        n = np.zeros((count, shares.shape[1]))
        sums = np.zeros((count, shares.shape[1], x.shape[1]))
        np.add.at(n, cells, shares)
        for group in range(shares.shape[1]):
            np.add.at(sums[:, group], cells, shares[:, [group]] * x)
        return cls(n, sums)

    def joined(self, codes: Ints) -> CellSums:
        """Return the sums of codes ``(cells,)``, numbered from 0."""
        count = int(codes.max()) + 1
        n, x = np.zeros((count, self.n.shape[1])), np.zeros((count, *self.x.shape[1:]))
        np.add.at(n, codes, self.n)
        np.add.at(x, codes, self.x)
        return CellSums(n, x)

    def means_by_code(self, codes: Ints) -> tuple[Floats, Floats]:
        """Return what codes ``(prices, cells)`` release and decode to.

        ``(prices, cells, d)`` and ``(prices, cells, groups, d)``, for the code of each cell.
        """
        released, decoded = [], []
        for one in codes:
            mean, means = self.joined(one).means()
            released.append(mean[one])
            decoded.append(means[one])
        return np.array(released), np.array(decoded)

    def means(self) -> tuple[Floats, Floats]:
        """Return the mean of x in each code ``(codes, d)``, and by group ``(codes, groups, d)``.

        The codes are all there are.
        """
        by_group = self.x.sum(0) / np.maximum(self.n.sum(0), _NOTHING)[:, None]
        shift = by_group - self.x.sum((0, 1)) / self.n.sum()
        mean = self.x.sum(1) / np.maximum(self.n.sum(1), _NOTHING)[:, None]
        # A code with next to nobody of a group decodes to its mean, moved as the group is.
        guess = mean[:, None] + shift
        by_code = (self.x + guess) / (self.n[..., None] + 1.0)
        return mean.astype(np.float32), by_code.astype(np.float32)


def information(n: Array) -> Array:
    """Return sum_s n_s log(n_s / sum n) of each code ``(..., groups)``: rows times -H(S | code)."""
    total = n.sum(-1)
    return np.asarray(_xlogx(n).sum(-1) - _xlogx(total))


def _xlogx(n: Array) -> Array:
    safe = np.maximum(n, _NOTHING)
    return np.where(n > _NOTHING, n * np.log(safe), 0.0)


def explained(n: Array, x: Array) -> Array:
    """Return sum_s ||sum of x||^2 / n_s of each code: what its means explain of the squares."""
    return np.asarray(((x**2).sum(-1) / np.maximum(n, _NOTHING)).sum(-1))


def search(sums: CellSums, prices: Array, sweeps: int, code_cost: float = 0.0) -> list[Ints]:
    """Return the code of each cell at each price, numbered from 0 without gaps.

    ``code_cost``: nats, times rows, that each code counts for beside what it says of s.
    """
    joins, rates = merge(sums, code_cost)
    found = []
    for price in prices:
        codes = cut(len(sums.n), joins, int(np.searchsorted(rates, price)))
        codes = exchange(sums, codes, float(price), sweeps, code_cost)
        found.append(np.unique(codes, return_inverse=True)[1])
    return found


def merge(sums: CellSums, code_cost: float = 0.0) -> tuple[list[tuple[int, int]], Array]:
    """Join the pair that adds least distortion per nat removed, until one code is left.

    Returns the pairs, the second joined to the first, and the highest rate up to each.
    """
    n, x = sums.n.copy(), sums.x.copy()
    count, rows = len(n), n.sum()
    rate = np.full((count, count), np.inf, np.float32)

    def rates(code: int, others: Ints) -> Array:
        both_n, both_x = n[code] + n[others], x[code] + x[others]
        lost = explained(n[[code]], x[[code]]) + explained(n[others], x[others])
        lost = np.maximum(lost - explained(both_n, both_x), 0.0)
        hidden = information(n[[code]]) + information(n[others]) - information(both_n) + code_cost
        return np.asarray(lost / np.maximum(hidden, _NOTHING * rows))

    for code in range(count - 1):
        others = np.arange(code + 1, count)
        rate[code, others] = rate[others, code] = rates(code, others)
    partner = rate.argmin(axis=1)
    best = rate[np.arange(count), partner]
    alive = np.ones(count, bool)
    joins: list[tuple[int, int]] = []
    paid = []
    for _ in range(count - 1):
        a = int(best.argmin())
        b = int(partner[a])
        joins.append((a, b))
        paid.append(float(best[a]))
        n[a] += n[b]
        x[a] += x[b]
        alive[b] = False
        rate[b, :] = rate[:, b] = best[b] = np.inf
        others = np.flatnonzero(alive)
        others = others[others != a]
        if not len(others):
            break
        fresh = rates(a, others).astype(np.float32)
        rate[a, others] = rate[others, a] = fresh
        partner[a], best[a] = others[fresh.argmin()], fresh.min()
        stale = others[(partner[others] == a) | (partner[others] == b)]
        partner[stale] = rate[stale].argmin(axis=1)
        best[stale] = rate[stale, partner[stale]]
        nearer = others[fresh < best[others]]
        partner[nearer], best[nearer] = a, rate[a, nearer]
    return joins, np.maximum.accumulate(np.array(paid))


def cut(count: int, joins: Sequence[tuple[int, int]], many: int) -> Ints:
    """Return the code of each cell after so many joins."""
    parent = np.arange(count)
    for a, b in joins[:many]:
        parent[b] = a
    while (above := parent[parent]).tolist() != parent.tolist():
        parent = above
    return np.unique(parent, return_inverse=True)[1]


def exchange(
    sums: CellSums, codes: Ints, price: float, sweeps: int, code_cost: float = 0.0
) -> Ints:
    """Move single cells to the code where D + price I falls most, until no move lowers it.

    I includes the cost of codes, which one without cells does not have.
    """
    joined, codes = sums.joined(codes), codes.copy()
    n, x = joined.n, joined.x
    empty = _NOTHING * n.sum()  # what rounding may leave of a code without cells

    def cost(n: Array, x: Array) -> Array:
        leak = information(n) + code_cost * (n.sum(-1) > empty)
        return np.asarray(price * leak - explained(n, x))

    costs = cost(n, x)
    for _ in range(sweeps):
        moved = 0
        for cell in range(len(codes)):
            own_n, own_x, old = sums.n[cell], sums.x[cell], codes[cell]
            left_n, left_x = np.maximum(n[old] - own_n, 0.0), x[old] - own_x
            change = cost(n + own_n, x + own_x) - costs
            change += cost(left_n, left_x) - costs[old]
            change[old] = 0.0
            new = int(change.argmin())
            if change[new] < -_NOTHING * len(codes):
                n[old], x[old] = left_n, left_x
                n[new] += own_n
                x[new] += own_x
                codes[cell] = new
                costs[old], costs[new] = cost(n[old], x[old]), cost(n[new], x[new])
                moved += 1
        if not moved:
            break
    return codes
