"""Interactions of bits: products of up to four columns that predict s where no column does alone.

A parity of three bits among 64 is invisible to boosted trees, which add one column at a time, and
hard for MLPs. With columns b of +-1 and the residual r of a linear auditor, the sums over rows of
r b_i b_j b_k are matrix products, so all products can be screened, on training rows alone, and the
few that stand out are given to the auditors as extra columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats
from fairbench.auditing.auditors.samples import LabelledRows, MemberRows

_MAX_COLUMNS = 256
"""Most columns screened; of wider views those most balanced between their two values."""
_MAX_PRODUCTS = 24
"""Most products returned."""
_OPERATIONS = {2: 4e9, 3: 8e9, 4: 2e10}
"""Most floating-point operations by order; beyond, a random part of the rows is screened."""
_SURE = 3.5
"""Standard errors by which a product must explain the residual of the best auditor so far."""
_MIN_ROWS = 1000
"""Rows below which an order is not screened."""

Products = list[tuple[int, ...]]
Signs = npt.NDArray[np.float32]


def find_products(
    training: MemberRows, residual: Floats, *, seed: int
) -> tuple[Products, MedianSigns]:
    """Screen products of two, three and four columns of a view.

    ``training``: rows as the view gives them. ``residual (n, classes)``: one-hot labels minus a
    linear auditor's probabilities, on ``training.fit``. ``seed``: for the random part of the rows
    in costly orders.
    """
    to_signs = MedianSigns(training.fit)
    weighted = _residuals(training.fit, residual)
    order = np.random.default_rng(seed).permutation(len(training.fit.labels))
    products: list[tuple[float, tuple[int, ...]]] = []
    for size in (2, 3, 4):
        products += _screen(to_signs, training.fit.x, weighted, order, size)
    products.sort(reverse=True)
    return [columns for _, columns in products[:_MAX_PRODUCTS]], to_signs


class MedianSigns:
    """Map columns to signs: +1 above their median, else -1; a column of two values keeps them.

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
        self.columns = np.sort(alive[np.argsort(-balance[alive], kind="stable")[:_MAX_COLUMNS]])
        self.cut = self.cut[self.columns]

    def __call__(self, x: Floats) -> Signs:
        """Map ``(n, d)`` to signs ``(n, columns)``."""
        signs: Signs = np.where(x[:, self.columns] > self.cut, 1, -1).astype(np.float32)
        return signs


def improve_on(products: Products, to_signs: MedianSigns, held: LabelledRows, p: Floats) -> bool:
    """Return whether products explain residuals of an auditor's probabilities on held-out rows."""
    signs = to_signs(held.x)
    made = np.column_stack([signs[:, columns].prod(axis=1) for columns in products])
    residual = np.eye(p.shape[1], dtype=np.float32)[held.labels] - p
    weighted = residual * held.weights[:, None]
    error = np.sqrt((weighted * residual).sum(axis=0))
    stats = np.abs(made.T @ weighted) / np.maximum(error, 1e-9)
    return bool((stats > _SURE).any())


def product_columns(products: Products, to_signs: MedianSigns) -> Callable[[Floats], Floats]:
    """Return a map of rows ``(n, d)`` to ``(n, d + products)``: the columns and the products."""

    def apply(x: Floats) -> Floats:
        signs = to_signs(x)
        made = [signs[:, columns].prod(axis=1) for columns in products]
        joined: Floats = np.column_stack([x, *made]).astype(np.float32)
        return joined

    return apply


def _residuals(fit: LabelledRows, residual: Floats) -> Signs:
    """Weight and scale, so that a sum of independent signs over all rows has variance 1."""
    r = residual * fit.weights[:, None]
    if r.shape[1] == 2:
        r = r[:, 1:]  # the other is its negative
    scale = np.sqrt((r**2).sum(axis=0))
    scaled: Signs = np.divide(r, scale, out=np.zeros_like(r), where=scale > 0).astype(np.float32)
    return scaled


def _screen(
    to_signs: MedianSigns, x: Floats, weighted: Signs, order: npt.NDArray[np.int64], size: int
) -> list[tuple[float, tuple[int, ...]]]:
    """Find products of ``size`` columns with sums beyond the largest expected of noise."""
    d, classes = len(to_signs.columns), weighted.shape[1]
    if d < size:
        return []
    operations = {2: d**2, 3: d**3, 4: (d * (d - 1) / 2) ** 2}[size] * 2.0 * classes
    rows = min(len(x), int(_OPERATIONS[size] / operations))
    if rows < min(_MIN_ROWS, len(x)):
        return []
    part = order[:rows]
    signs = to_signs(x[part])
    scale = math.sqrt(len(x) / rows)
    limit = math.sqrt(2 * math.log(max(2.0, math.comb(d, size) * classes))) + 1
    stats: dict[tuple[int, ...], float] = {}
    for c in range(classes):
        for stat, columns in _STATISTICS[size](signs, weighted[part, c] * scale, limit):
            stats[columns] = max(stat, stats.get(columns, 0.0))
    best = sorted(((stat, columns) for columns, stat in stats.items()), reverse=True)
    # Rank orders screened on different numbers of rows by z-score per root of rows.
    return [(stat / math.sqrt(rows), columns) for stat, columns in best[:_MAX_PRODUCTS]]


def _pairs(signs: Signs, r: Signs, limit: float) -> list[tuple[float, tuple[int, ...]]]:
    table = np.abs((signs * r[:, None]).T @ signs)
    i, j = np.nonzero(np.triu(table > limit, 1))
    return _strongest(table[i, j], np.stack([i, j], axis=1))


def _triples(signs: Signs, r: Signs, limit: float) -> list[tuple[float, tuple[int, ...]]]:
    triples = []
    for i in range(signs.shape[1] - 2):
        later = signs[:, i + 1 :]
        with_i = later * (signs[:, i] * r)[:, None]
        table = np.abs(with_i.T @ later)
        j, k = np.nonzero(np.triu(table > limit, 1))
        columns = np.stack([np.full(len(j), i), j + i + 1, k + i + 1], axis=1)
        triples += _strongest(table[j, k], columns)
    return triples


def _quadruples(signs: Signs, r: Signs, limit: float) -> list[tuple[float, tuple[int, ...]]]:
    i, j = np.triu_indices(signs.shape[1], 1)
    products = signs[:, i] * signs[:, j]
    quadruples = []
    # Every four columns are three pairs of pairs: keep the one whose first pair comes before.
    for start in range(0, len(i), 512):
        block = slice(start, start + 512)
        table = np.abs((products[:, block] * r[:, None]).T @ products)
        a, b = np.nonzero(table > limit)
        a = a + start
        kept = j[a] < i[b]
        a, b = a[kept], b[kept]
        columns = np.stack([i[a], j[a], i[b], j[b]], axis=1)
        quadruples += _strongest(table[a - start, b], columns)
    return quadruples


def _strongest(
    stats: npt.NDArray[np.float32], columns: npt.NDArray[np.int64]
) -> list[tuple[float, tuple[int, ...]]]:
    best = np.argsort(-stats, kind="stable")[:_MAX_PRODUCTS]
    return [(float(stats[at]), tuple(int(c) for c in columns[at])) for at in best]


_STATISTICS = {2: _pairs, 3: _triples, 4: _quadruples}
