"""Strata: people who are alike in the columns that tell little of s, which codes never mix.

Cells of k-means over all columns blur those that tasks need. Where a column tells little of s, it
can be released as it is: rows are grouped by all such columns, and cells are made of the other
columns, in each group by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats, Ints
from fairbench_plugins.merged_cells.cells import find_cells, nearest
from fairbench_plugins.merged_cells.joining import Array, information

_BINS = 32
_ROWS_A_STRATUM = 30
"""Training rows per stratum, on average: where more values are distinct, strata are k-means'."""
_MAX_STRATA = 600
_MAX_CELLS = 60
"""Cells of a stratum: pairs of cells are searched within it."""
_APART = 1000.0
"""Scale of the kept columns: the nearest cell of a row is in the nearest stratum."""


@dataclass(frozen=True)
class Strata:
    """Cells by stratum."""

    centres: Floats  # (cells, d)
    stratum: Ints  # (cells,)
    scale: Floats  # (d,): of the columns, where distances to centres are compared

    def pairs(self) -> tuple[Ints, Ints]:
        """Return all pairs of cells of one stratum."""
        firsts, seconds = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for number in np.unique(self.stratum):
            cells = np.flatnonzero(self.stratum == number)
            t, u = np.triu_indices(len(cells), 1)
            firsts.append(cells[t])
            seconds.append(cells[u])
        return np.concatenate(firsts), np.concatenate(seconds)

    def taken(self, cells: Ints) -> Strata:
        """Some of the cells."""
        return Strata(self.centres[cells], self.stratum[cells], self.scale)


def column_shares(x: Floats, shares: Array) -> Array:
    """Return I(column; S) of each column alone, as a share of I(X;S), ``(d,)``.

    By P(s | x) of the rows ``(n, groups)`` and its means in quantiles of the column.
    """
    prior = float(information(shares.sum(0)))
    most = float(information(shares).sum()) - prior
    out = np.zeros(x.shape[1])
    for j, column in enumerate(x.T):
        edges = np.unique(np.quantile(column, np.linspace(0, 1, _BINS + 1)[1:-1]))
        within = np.zeros((len(edges) + 1, shares.shape[1]))
        np.add.at(within, np.searchsorted(edges, column, side="left"), shares)
        out[j] = (float(information(within).sum()) - prior) / max(most, 1e-9)
    return out


def kept_columns(x: Floats, shares: Array, keep: float) -> npt.NDArray[np.bool_]:
    """Return which columns tell less of s than a share ``keep`` of I(X;S), ``(d,)``.

    Never the one that tells most: of a parity each column alone tells nothing.
    """
    told = column_shares(x, shares)
    kept: npt.NDArray[np.bool_] = told < keep
    kept[told.argmax()] = False
    return kept


def find_strata(x: Floats, kept: npt.NDArray[np.bool_], rows_a_cell: int, seed: int) -> Strata:
    """Cut rows ``(n, d)`` into strata by the ``kept`` columns, and these into cells."""
    columns = x[:, kept]
    groups = _cells(columns, min(_MAX_STRATA, len(x) // _ROWS_A_STRATUM), seed)
    of_rows = nearest(groups, columns)
    centres, stratum = [], []
    for number in np.unique(of_rows):
        rows = x[of_rows == number]
        cells = _cells(rows, min(_MAX_CELLS, len(rows) // rows_a_cell), seed)
        cells[:, kept] = groups[number]
        centres.append(cells)
        stratum.append(np.full(len(cells), number))
    scale = np.where(kept, _APART, 1.0).astype(np.float32)
    return Strata(np.concatenate(centres), np.concatenate(stratum), scale)


def _cells(x: Floats, most: int, seed: int) -> Floats:
    """Return the distinct rows, or where there are too many, centres of k-means."""
    distinct = np.unique(x, axis=0)
    return distinct if len(distinct) <= most else find_cells(x, max(1, most), seed)
