"""Labelled rows that auditors train on: equal rows grouped and weighted, some held out.

Quantised codes have few distinct rows; training on one weighted row equals training on its copies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats, Ints

Weights = npt.NDArray[np.float64]
Columns = Callable[[Floats], Floats]
"""Maps rows ``(n, d)`` to further columns ``(n, k)``."""

GROUPING_PAYS = 0.5
"""Share of distinct rows up to which rows are grouped."""


@dataclass(frozen=True)
class LabelledRows:
    """Labelled rows, each standing for ``weights`` equal ones."""

    x: Floats  # (n, d)
    labels: Ints  # (n,)
    weights: Weights  # (n,): positive whole numbers
    soft: Floats | None = None  # (n, classes): soft labels, a mean where rows are grouped

    @property
    def total(self) -> int:
        """Number of rows, copies counted."""
        return int(self.weights.sum())

    def repeated(self) -> Ints:
        """Return the number of each row as often as the row occurs, ``(total,)``."""
        return np.repeat(np.arange(len(self.labels)), self.weights.astype(np.int64))

    def seen_through(self, view: Callable[[Floats], Floats]) -> LabelledRows:
        """Return the same rows through a view."""
        return replace(self, x=view(self.x))


@dataclass(frozen=True)
class MemberRows:
    """Rows that one member of the ensemble learns from."""

    fit: LabelledRows
    # Held-out rows of the auditor training set, for early stopping, strengths of regularisation,
    # calibration and the weights of the blend
    held: LabelledRows
    prior: Weights  # (classes,): class prior, without zeros
    draws: int = 1  # draws of each row of z in ``fit``

    @property
    def classes(self) -> int:
        """Values of the labels."""
        return len(self.prior)

    def with_draws(self, fresh: Floats, labels: Ints, side: Ints) -> MemberRows:
        """Return the same rows with further draws of z to fit on, unless equal ones are grouped.

        ``fresh (m n, k)``: m draws of n rows, draw after draw; ``labels (n,)``; ``side``: numbers
        of the rows to fit on.
        """
        rows, fit = len(labels), self.fit
        if len(fit.labels) < fit.total:
            return self
        more = len(fresh) // rows
        chosen = np.concatenate([np.sort(side) + draw * rows for draw in range(more)])
        together = LabelledRows(
            np.concatenate([fit.x, fresh[chosen].astype(fit.x.dtype)]),
            np.concatenate([fit.labels, labels[chosen % rows]]),
            np.ones(len(fit.labels) + len(chosen)),
            None if fit.soft is None else np.tile(fit.soft[: len(side)], (self.draws + more, 1)),
        )
        return replace(self, fit=together, draws=self.draws + more)

    def ungrouped(self) -> MemberRows:
        """Return the same with every row to fit on by itself, with weight 1."""
        return self if self.fit.total == len(self.fit.labels) else self._of(self.fit.repeated())

    def thinned(self, most: int) -> MemberRows:
        """Return the same with ``most`` rows to fit on, evenly spaced, where there are more."""
        if self.fit.total <= most:
            return self
        all_rows = self.fit.repeated()
        return self._of(all_rows[np.arange(most) * len(all_rows) // most])

    def _of(self, kept: Ints) -> MemberRows:
        soft = None if self.fit.soft is None else self.fit.soft[kept]
        fit = LabelledRows(self.fit.x[kept], self.fit.labels[kept], np.ones(len(kept)), soft)
        return replace(self, fit=fit)

    def seen_through(self, view: Callable[[Floats], Floats]) -> MemberRows:
        """Return the same rows through a view."""
        fit, held = self.fit.seen_through(view), self.held.seen_through(view)
        return MemberRows(fit, held, self.prior, self.draws)


@dataclass(frozen=True)
class DistinctRows:
    """The distinct rows of an array, and the number of the one that each row equals."""

    rows: Floats  # (m, d)
    inverse: Ints  # (n,)


def deduplicate_rows(z: Floats) -> DistinctRows:
    """Group equal rows of ``(n, d)``; where few are equal, every row is its own group."""
    first, inverse = index_equal_rows(z)
    if len(first) > GROUPING_PAYS * len(z):
        return DistinctRows(z, np.arange(len(z)))
    return DistinctRows(z[first], inverse)


def index_equal_rows(z: Floats) -> tuple[Ints, Ints]:
    """Return the first row of each set of equal rows ``(m,)``, and the set of each row ``(n,)``."""
    _, first, inverse = np.unique(row_keys(z), return_index=True, return_inverse=True)
    return first, inverse


def row_keys(rows: npt.NDArray[Any]) -> npt.NDArray[np.void]:
    """Return each row as one opaque value, ``(n,)``, with -0.0 equal to 0.0."""
    return opaque(rows + 0 if rows.dtype.kind == "f" else rows)


def opaque(rows: npt.NDArray[Any]) -> npt.NDArray[np.void]:
    """Return the bytes of each row as one opaque value, ``(n,)``."""
    rows = np.ascontiguousarray(rows)
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()


def prior_of(labels: Ints, classes: int) -> Weights:
    """Return the class prior, with half a row added to each class so that none is impossible."""
    counts = np.bincount(labels, minlength=classes) + 0.5
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def held_out_rows(rows: int) -> int:
    """Return how many rows are held out: a tenth, of small tables up to a third."""
    return max(1, round(max(0.1 * rows, min(400, rows / 3))))


def split_held_out(rows: int, seed: int) -> tuple[Ints, Ints]:
    """Return the numbers of the rows to fit on and of those held out."""
    order = np.random.default_rng(seed).permutation(rows)
    held = held_out_rows(rows)
    return order[held:], order[:held]


def make_member_rows(
    z: Floats,
    labels: Ints,
    *,
    classes: int,
    seed: int = 0,
    draws: int = 1,
    soft: Floats | None = None,
    fit_and_held_out: tuple[Ints, Ints] | None = None,
) -> MemberRows:
    """Split the auditor training set into rows to fit on and rows held out, and group equal ones.

    ``z (n, k)``: ``draws`` draws of n / draws rows, draw after draw; all draws of a row are on one
    side. ``labels (n,)``. ``soft (n / draws, classes)``: soft labels of the rows.
    ``fit_and_held_out``: the numbers of the rows to fit on and of those held out, instead of a
    random tenth.
    """
    tiled = None if soft is None else np.tile(soft, (draws, 1))
    rows = len(z) // draws
    keys = deduplicate_rows(z)
    fit, held = (
        _sample(
            keys,
            np.concatenate([np.sort(part) + draw * rows for draw in range(draws)]),
            labels,
            classes,
            tiled,
        )
        for part in fit_and_held_out or split_held_out(rows, seed)
    )
    return MemberRows(fit, held, prior_of(labels, classes), draws)


def _sample(
    keys: DistinctRows, chosen: Ints, labels: Ints, classes: int, soft: Floats | None
) -> LabelledRows:
    mine = None if soft is None else soft[chosen]
    if len(keys.rows) == len(keys.inverse):
        return LabelledRows(keys.rows[chosen], labels[chosen], np.ones(len(chosen)), mine)
    pair = keys.inverse[chosen] * classes + labels[chosen]
    pairs, inverse, counts = np.unique(pair, return_inverse=True, return_counts=True)
    row, label = np.divmod(pairs, classes)
    if mine is not None:
        sums = np.zeros((len(pairs), classes))
        np.add.at(sums, inverse, mine)
        mine = (sums / counts[:, None]).astype(np.float32)
    return LabelledRows(keys.rows[row], label, counts.astype(np.float64), mine)
