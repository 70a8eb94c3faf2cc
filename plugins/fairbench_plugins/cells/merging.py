"""Merging cells by the least distortion per nat: the path of the privacy funnel.

The objective stands in the package's docstring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairbench.api import Ints

Array = npt.NDArray[np.float64]

_TINY = 1e-9
"""Of squared errors and nats, times rows: less is rounding."""


@dataclass(frozen=True)
class Moments:
    """Rows of each cell and group, and their sums of x.

    Parameters
    ----------
    counts : ndarray, shape (cells, groups)
    sums : ndarray, shape (cells, groups, d)
    """

    counts: Array
    sums: Array

    def merged(self, into: Ints, cells: int) -> Moments:
        """Add up those of cells that are numbered alike."""
        counts = np.zeros((cells, *self.counts.shape[1:]))
        sums = np.zeros((cells, *self.sums.shape[1:]))
        np.add.at(counts, into, self.counts)
        np.add.at(sums, into, self.sums)
        return Moments(counts, sums)


@dataclass(frozen=True)
class Path:
    """Merges in their order.

    Parameters
    ----------
    pairs : ndarray, shape (merges, 2)
        Numbers of two cells; the second joins the first.
    distortion, information : ndarray, shape (merges + 1,)
        D, less that of the start, and I(S;Z) by counts, before the first merge and after each.
    """

    pairs: Ints
    distortion: Array
    information: Array


def merge_path(moments: Moments, blind: float) -> Path:
    """Merge cells until one is left, each time the pair with the least loss per nat saved.

    ``blind`` is w. After a merge only the pairs of the merged cell change, so a step is linear in
    cells but for one pass over the matrix of pairs.
    """
    terms = Terms.of(moments, blind)
    cells, rows = len(moments.counts), moments.counts.sum()
    left = np.arange(cells)  # numbers of the cells that terms and ratio have
    gone = np.zeros(cells, bool)
    ratio = np.full((cells, cells), np.inf)  # of a and b > a
    for a in range(cells - 1):
        ratio[a, a + 1 :] = _ratio(*terms.merge_costs(a))[a + 1 :]
    pairs = np.zeros((cells - 1, 2), np.int64)
    distortion, information = np.zeros(cells), np.zeros(cells)
    for step in range(cells - 1):
        a, b = divmod(int(ratio.argmin()), len(left))
        loss, saved = terms.only([a, b]).merge_costs(0)
        pairs[step] = left[[a, b]]
        distortion[step + 1] = distortion[step] + loss[1] / rows
        information[step + 1] = information[step] - saved[1] / rows
        terms.join(a, b)
        gone[b] = True
        ratio[b], ratio[:, b] = np.inf, np.inf
        fresh = _ratio(*terms.merge_costs(a))
        fresh[gone] = np.inf
        ratio[:a, a], ratio[a, a + 1 :] = fresh[:a], fresh[a + 1 :]
        if 2 * gone.sum() > len(gone):
            kept = np.flatnonzero(~gone)
            left, gone, ratio = left[kept], gone[kept], ratio[np.ix_(kept, kept)]
            terms = terms.only(kept)
    return Path(pairs, distortion, information - information[-1])  # nothing is left at the end


def _ratio(loss: Array, saved: Array) -> Array:
    """Loss per nat: of pairs that lose nothing, least for the one that saves most."""
    ratio: Array = (loss + _TINY) / np.maximum(saved, _TINY)
    return ratio


@dataclass
class Terms:
    """What D and I(S;Z) are summed up from, by cell.

    Groups, and last of all the rows of all of them, whose distortion has the weight w.

    Parameters
    ----------
    counts, squares : ndarray, shape (cells, groups + 1)
        Rows, and squared norms of means.
    means : ndarray, shape (cells, groups + 1, d)
    mixed : ndarray, shape (cells,)
        sum_s n_s ln n_s - n ln n: their sum is -H(S|Z) times rows.
    weights : ndarray, shape (groups + 1,)
    """

    counts: Array
    means: Array
    squares: Array
    mixed: Array
    weights: Array

    @classmethod
    def of(cls, moments: Moments, blind: float) -> Terms:
        """Those of some moments, with a weight w."""
        counts, sums = moments.counts, moments.sums
        counts = np.column_stack([counts, counts.sum(axis=1)])
        sums = np.concatenate([sums, sums.sum(axis=1, keepdims=True)], axis=1)
        means = sums / np.maximum(counts, 1)[:, :, None]
        weights = np.append(np.ones(counts.shape[1] - 1), blind)
        return cls(counts, means, (means**2).sum(axis=2), _mixed(counts), weights)

    def merge_costs(self, a: int) -> tuple[Array, Array]:
        """What a merge of cell ``a`` with each cell adds to D and takes off I(S;Z), times rows."""
        n, m = self.counts[a], self.counts
        # Ward's formula, n m / (n + m) ||difference of means||^2.
        products = np.einsum("cgd,gd->cg", self.means, self.means[a])
        gaps = np.maximum(self.squares[a] + self.squares - 2 * products, 0.0)
        loss = (n * m / np.maximum(n + m, 1) * gaps) @ self.weights
        return loss, np.maximum(self.mixed[a] + self.mixed - _mixed(n + m), 0.0)

    def join(self, a: int, b: int) -> None:
        """Make cell ``a`` the two of them."""
        share = self.counts[[a, b]] / np.maximum(self.counts[[a, b]].sum(axis=0), 1)
        self.means[a] = (share[:, :, None] * self.means[[a, b]]).sum(axis=0)
        self.counts[a] += self.counts[b]
        self.squares[a] = (self.means[a] ** 2).sum(axis=1)
        self.mixed[a] = _mixed(self.counts[a])

    def only(self, cells: Any) -> Terms:
        """A copy with some of the cells."""
        counts, means, squares, mixed = (
            part[cells] for part in (self.counts, self.means, self.squares, self.mixed)
        )
        return Terms(counts, means, squares, mixed, self.weights)


def _mixed(counts: Array) -> Array:
    from scipy.special import xlogy

    own, total = counts[..., :-1], counts[..., -1]
    mixed: Array = xlogy(own, own).sum(axis=-1) - xlogy(total, total)
    return mixed
