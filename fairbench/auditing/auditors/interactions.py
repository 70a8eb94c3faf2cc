"""Interactions of bits: products of up to four columns that tell of s what no column tells alone.

A parity of three bits among 64 is invisible to boosted trees, which add one column at a time, and
hard for MLPs. With columns b of +-1 and the residual r of a linear auditor, the sums over rows of
r b_i b_j b_k are matrix products, so all products can be looked at, on rows to fit alone, and the
few that stand out are handed to the auditors as columns of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import LabelledRows, Training

_MOST_COLUMNS = 256
"""Columns screened; of wider views those that are most balanced between their two values."""
_MOST_FOUND = 24
"""Products handed on."""
_OPERATIONS = {2: 4e9, 3: 8e9, 4: 2e10}
"""Floating-point operations that an order may cost: its rows are a random part where they would
cost more."""
_SURE = 3.5
"""Standard errors by which a product must explain what the best auditor so far got wrong."""
_FEWEST_ROWS = 1000
"""An order that can afford fewer rows than this is not screened."""

Products = list[tuple[int, ...]]
Signs = npt.NDArray[np.float32]


def find_products(
    training: Training, residual: Floats, *, seed: int
) -> tuple[Products, MedianSigns]:
    """Screen products of two, three and four columns of a view.

    Parameters
    ----------
    training : Training
        Seen through the view.
    residual : ndarray, shape (n, classes)
        One-hot labels minus a linear auditor's probabilities, on ``training.fit``.
    seed : int
        For the part of the rows that costly orders look at.

    Returns
    -------
    products : list of tuple of int
        Numbers of ``split``'s columns.
    split : MedianSigns
        What turns columns into signs.
    """
    split = MedianSigns(training.fit)
    weighted = _residuals(training.fit, residual)
    order = np.random.default_rng(seed).permutation(len(training.fit.labels))
    found: list[tuple[float, tuple[int, ...]]] = []
    for size in (2, 3, 4):
        found += _screen(split, training.fit.x, weighted, order, size)
    found.sort(reverse=True)
    return [columns for _, columns in found[:_MOST_FOUND]], split


class MedianSigns:
    """Columns as signs: above their median or not, +1 or -1; a column of two values keeps them.

    Constant columns, and all but the most balanced of a very wide view, are left out.
    """

    def __init__(self, fit: LabelledRows) -> None:
        x = fit.x
        low, high = x.min(axis=0), x.max(axis=0)
        middle = np.median(x, axis=0)
        # A median that is the largest value would split nothing off.
        self.cut = np.where(middle >= high, (low + high) / 2, middle).astype(np.float32)
        above = (x > self.cut).mean(axis=0)
        balance = np.minimum(above, 1 - above)
        alive = np.flatnonzero(balance > 0.01)
        self.columns = np.sort(alive[np.argsort(-balance[alive], kind="stable")[:_MOST_COLUMNS]])
        self.cut = self.cut[self.columns]

    def __call__(self, x: Floats) -> Signs:
        """Map ``(n, d)`` to signs ``(n, columns)``."""
        signs: Signs = np.where(x[:, self.columns] > self.cut, 1, -1).astype(np.float32)
        return signs


def tell_more(products: Products, split: MedianSigns, held: LabelledRows, p: Floats) -> bool:
    """Whether products tell of held-out rows what an auditor's probabilities p do not."""
    signs = split(held.x)
    made = np.column_stack([signs[:, columns].prod(axis=1) for columns in products])
    residual = np.eye(p.shape[1], dtype=np.float32)[held.labels] - p
    weighted = residual * held.weights[:, None]
    error = np.sqrt((weighted * residual).sum(axis=0))
    stats = np.abs(made.T @ weighted) / np.maximum(error, 1e-9)
    return bool((stats > _SURE).any())


def product_columns(products: Products, split: MedianSigns) -> Callable[[Floats], Floats]:
    """Map rows ``(n, d)`` to ``(n, d + products)``: the products joined to the columns."""

    def apply(x: Floats) -> Floats:
        signs = split(x)
        made = [signs[:, columns].prod(axis=1) for columns in products]
        joined: Floats = np.column_stack([x, *made]).astype(np.float32)
        return joined

    return apply


def _residuals(fit: LabelledRows, residual: Floats) -> Signs:
    """Weighted and scaled so that a sum of independent signs over all rows has variance 1."""
    r = residual * fit.weights[:, None]
    if r.shape[1] == 2:
        r = r[:, 1:]  # the other is its negative
    scale = np.sqrt((r**2).sum(axis=0))
    scaled: Signs = np.divide(r, scale, out=np.zeros_like(r), where=scale > 0).astype(np.float32)
    return scaled


def _screen(
    split: MedianSigns, x: Floats, weighted: Signs, order: npt.NDArray[np.int64], size: int
) -> list[tuple[float, tuple[int, ...]]]:
    """Products of ``size`` columns beyond what the largest of so many sums of noise would be."""
    d, classes = len(split.columns), weighted.shape[1]
    if d < size:
        return []
    operations = {2: d**2, 3: d**3, 4: (d * (d - 1) / 2) ** 2}[size] * 2.0 * classes
    rows = min(len(x), int(_OPERATIONS[size] / operations))
    if rows < min(_FEWEST_ROWS, len(x)):
        return []
    part = order[:rows]
    signs = split(x[part])
    scale = math.sqrt(len(x) / rows)
    limit = math.sqrt(2 * math.log(max(2.0, math.comb(d, size) * classes))) + 1
    found: dict[tuple[int, ...], float] = {}
    for c in range(classes):
        r = weighted[part, c] * scale
        for stat, columns in _STATISTICS[size](signs, r, limit):
            found[columns] = max(stat, found.get(columns, 0.0))
    best = sorted(((stat, columns) for columns, stat in found.items()), reverse=True)
    # Rank by what a product explains of the rows it was looked for in: a z-score a row.
    return [(stat / math.sqrt(rows), columns) for stat, columns in best[:_MOST_FOUND]]


def _pairs(signs: Signs, r: Signs, limit: float) -> list[tuple[float, tuple[int, ...]]]:
    table = np.abs((signs * r[:, None]).T @ signs)
    i, j = np.nonzero(np.triu(table > limit, 1))
    return _strongest(table[i, j], np.stack([i, j], axis=1))


def _triples(signs: Signs, r: Signs, limit: float) -> list[tuple[float, tuple[int, ...]]]:
    found = []
    for i in range(signs.shape[1] - 2):
        later = signs[:, i + 1 :]
        with_i = later * (signs[:, i] * r)[:, None]
        table = np.abs(with_i.T @ later)
        j, k = np.nonzero(np.triu(table > limit, 1))
        columns = np.stack([np.full(len(j), i), j + i + 1, k + i + 1], axis=1)
        found += _strongest(table[j, k], columns)
    return found


def _quadruples(signs: Signs, r: Signs, limit: float) -> list[tuple[float, tuple[int, ...]]]:
    d = signs.shape[1]
    i, j = np.triu_indices(d, 1)
    products = signs[:, i] * signs[:, j]
    found = []
    # Every four columns are three pairs of pairs: keep the one whose first pair comes before.
    for start in range(0, len(i), 512):
        block = slice(start, start + 512)
        table = np.abs((products[:, block] * r[:, None]).T @ products)
        a, b = np.nonzero(table > limit)
        a = a + start
        kept = j[a] < i[b]
        a, b = a[kept], b[kept]
        columns = np.stack([i[a], j[a], i[b], j[b]], axis=1)
        found += _strongest(table[a - start, b], columns)
    return found


def _strongest(
    stats: npt.NDArray[np.float32], columns: npt.NDArray[np.int64]
) -> list[tuple[float, tuple[int, ...]]]:
    best = np.argsort(-stats, kind="stable")[:_MOST_FOUND]
    return [(float(stats[at]), tuple(int(c) for c in columns[at])) for at in best]


_STATISTICS = {2: _pairs, 3: _triples, 4: _quadruples}
