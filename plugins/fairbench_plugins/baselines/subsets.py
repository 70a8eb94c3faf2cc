"""All subsets of a table's sources: what each leaks, and what leaving the others out costs.

Both are conditional expectations given the sources kept: of s, and, with s known, of the columns
dropped. Nadaraya and Watson's kernel regression estimates them all from the same sums: the kernel
of a subset K is the product over its sources,

    k_K(x, x') = prod_{c in K} k_c(x_c, x'_c),    k_c = f + (1 - f) exp(-|x_c - x'_c|^2 / h^2),

so a walk over the subsets costs one product of two matrices for each. The floor f lets rows count
that differ in a source, so that many sources do not leave a row without neighbours. Kernels rank
subsets; the few that may be on the frontier are then measured by boosted trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from fairbench.api import Floats, Ints

MAX_SUBSETS = 4096
"""Subsets that are searched at most."""

_WIDTH = 0.3
"""h, in standard deviations: next to nothing between neighbouring codes of most categories."""
_FLOOR = 0.2
"""f. On Adults-Gender the log loss of s from all columns is best here (of .05, .2)."""
_MAX_PAIRS = 3_000_000
"""Pairs of a row that measures and a row that fits: entries of one kernel."""
_MAX_SUMS = 4_000_000_000
"""Pairs over all subsets: fewer rows where there are many subsets."""
_BLOCK = 64
"""Rows whose kernels are in the cache together: a third of the time of all rows at once."""
_FINALISTS = 3
"""Subsets of each size whose leakage boosted trees measure."""


@dataclass(frozen=True)
class Subset:
    """Sources that are dropped, as positions, and estimates of what that does.

    ``leakage`` is minus the log loss of s given the sources kept, nats: I up to a constant;
    ``distortion`` the squared error of the dropped columns, summed over them.
    """

    dropped: tuple[int, ...]
    leakage: float
    distortion: float


@dataclass(frozen=True)
class Split:
    """Rows of the training set that fit, and rows that measure; ``columns`` are each source's."""

    x_fit: Floats
    s_fit: Ints
    x_measure: Floats
    s_measure: Ints
    columns: Sequence[Sequence[int]]
    groups: int

    def within_budget(self) -> Split:
        """As many rows as the time for all subsets allows, the first of each part."""
        most = min(_MAX_PAIRS, _MAX_SUMS // 2 ** len(self.columns))
        share = min(1.0, (most / (len(self.s_fit) * len(self.s_measure))) ** 0.5)
        fit, measure = int(share * len(self.s_fit)), int(share * len(self.s_measure))
        return replace(
            self,
            x_fit=self.x_fit[:fit],
            s_fit=self.s_fit[:fit],
            x_measure=self.x_measure[:measure],
            s_measure=self.s_measure[:measure],
        )


def measure_subsets(split: Split, progress: Callable[[float], None]) -> list[Subset]:
    """Leakage and distortion of every subset by kernel regression, that of dropping none first.

    Rows that measure go through all subsets in blocks, whose kernels stay in the cache.
    """
    # Sorted by group: the rows that fit a group are a slice.
    fit, fit_of = np.argsort(split.s_fit, kind="stable"), _slices(split.s_fit, split.groups)
    x_fit = split.x_fit[fit]
    counts = np.array([rows.stop - rows.start for rows in fit_of]) + 1.0
    prior = (counts / counts.sum()).astype(np.float32)
    ones = np.ones(len(x_fit), np.float32)
    weighted = np.column_stack([ones, x_fit])
    # A group without rows to fit on has the mean of all rows.
    means = [weighted[r].mean(0) if r.stop > r.start else weighted.mean(0) for r in fit_of]
    subsets = _subsets(len(split.columns))
    out = [[c for source in gone for c in split.columns[source]] for gone in subsets]
    leakage, error = np.zeros(len(subsets)), np.zeros(len(subsets))

    def measure(rows: Ints, group: int) -> None:
        x, own = split.x_measure[rows], fit_of[group]
        kernels = [_kernel(x, x_fit, list(columns)) for columns in split.columns]
        for i, kernel in enumerate(_products(kernels)):
            sums = kernel[:, own] @ weighted[own]
            votes = (sums[:, 0] + prior[group]) / (kernel @ ones + 1)
            leakage[i] += np.log(votes, dtype=np.float64).sum()
            sums += np.float32(0.1) * means[group]
            guess = sums[:, 1:] / sums[:, :1]
            error[i] += ((guess - x) ** 2).sum(0)[out[i]].sum(dtype=np.float64)

    done, count = 0, len(split.s_measure)
    for group in range(split.groups):
        rows = np.flatnonzero(split.s_measure == group)
        for start in range(0, len(rows), _BLOCK):
            measure(rows[start : start + _BLOCK], group)
            done += len(rows[start : start + _BLOCK])
            progress(done / count)
    return [Subset(gone, leakage[i] / count, error[i] / count) for i, gone in enumerate(subsets)]


def _subsets(sources: int) -> list[tuple[int, ...]]:
    """Sources dropped, of all subsets in the order of :func:`_products`."""
    dropped: list[tuple[int, ...]] = [()]
    for source in range(sources):
        dropped = [more for gone in dropped for more in (gone, (*gone, source))]
    return dropped


def _products(kernels: list[Floats]) -> Iterator[Floats]:
    """Yield the product of each subset of kernels, all of them first and none last.

    Each is good until the next one is asked for.
    """
    room = [np.ones_like(kernels[0]), *(np.empty_like(kernel) for kernel in kernels)]

    def walk(depth: int, at: int) -> Iterator[Floats]:
        if depth == len(kernels):
            yield room[at]
            return
        np.multiply(room[at], kernels[depth], out=room[depth + 1])
        yield from walk(depth + 1, depth + 1)
        yield from walk(depth + 1, at)

    return walk(0, 0)


def best_of_each_size(
    split: Split,
    leakage: Callable[[tuple[int, ...]], float],
    progress: Callable[[float], None],
) -> list[tuple[int, ...]]:
    """Sources to drop, for 1 to all but one of them: nearest to the frontier of all subsets.

    Parameters
    ----------
    split : Split
    leakage : callable
        Minus the log loss of s given all sources but those dropped; more exact than a kernel's, and
        called for few subsets.
    progress : callable
        Given the share that is done.
    """
    measured = measure_subsets(split.within_budget(), lambda done: progress(0.5 * done))
    sources = len(split.columns)
    excess = excess_over_hull(measured)
    by_size: dict[int, list[int]] = {n: [] for n in range(sources + 1)}
    for i in np.argsort(excess, kind="stable"):
        by_size[len(measured[i].dropped)].append(int(i))
    finalists = [measured[i] for ranked in by_size.values() for i in ranked[:_FINALISTS]]
    for i, subset in enumerate(finalists):
        finalists[i] = replace(subset, leakage=leakage(subset.dropped))
        progress(0.5 + 0.5 * (i + 1) / len(finalists))
    excess = excess_over_hull(finalists)
    order = [finalists[i].dropped for i in np.argsort(excess, kind="stable")]
    return [next(d for d in order if len(d) == n) for n in range(1, sources)]


def excess_over_hull(subsets: Sequence[Subset]) -> Floats:
    """Distance of each subset from the lower convex hull of all, both axes scaled to [0, 1].

    The subsets that drop nothing and all sources must be there: they are the hull's ends. Leakage
    below that of dropping all is noise, and counts as none.
    """
    full = next(subset for subset in subsets if not subset.dropped)
    empty = max(subsets, key=lambda subset: len(subset.dropped))
    leaks = np.array([subset.leakage for subset in subsets]) - empty.leakage
    points = np.column_stack(
        [
            np.array([subset.distortion for subset in subsets]) / max(empty.distortion, 1e-12),
            np.maximum(leaks, 0.0) / max(full.leakage - empty.leakage, 1e-12),
        ]
    )
    hull: list[np.ndarray] = []
    for point in points[np.lexsort((points[:, 1], points[:, 0]))]:
        while len(hull) > 1 and _turn(hull[-2], hull[-1], point) <= 0:
            hull.pop()
        hull.append(point)
    excess = np.full(len(points), np.inf)
    for a, b in pairwise(hull):
        away = _turn(a, b, points) / max(float(np.hypot(*(b - a))), 1e-12)
        excess = np.minimum(excess, away)
    return excess


def _turn(a: np.ndarray, b: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Twice the area of the triangle a, b, point: positive above the line from a to b."""
    turn: np.ndarray = (b[0] - a[0]) * (points[..., 1] - a[1]) - (b[1] - a[1]) * (
        points[..., 0] - a[0]
    )
    return turn


def _kernel(x: Floats, other: Floats, columns: list[int]) -> Floats:
    """Kernel of one source, ``(rows of x, rows of other)``."""
    squares = np.zeros((len(x), len(other)), np.float32)
    for column in columns:
        squares += (x[:, column, None] - other[None, :, column]) ** 2
    kernel: Floats = _FLOOR + (1 - _FLOOR) * np.exp(-squares / _WIDTH**2)
    return kernel.astype(np.float32)


def _slices(s: Ints, groups: int) -> list[slice]:
    """Where each group's rows lie once rows are sorted by group."""
    ends = np.searchsorted(np.sort(s), np.arange(groups + 1))
    return [slice(int(a), int(b)) for a, b in pairwise(ends)]
