"""A linear programme that grows: each solution starts from the one before.

HiGHS keeps the basis while columns come and go and costs change, so that a few steps of the primal
simplex are left to do. Solved from nothing each time, the programmes of limit.py took ten to twenty
times as long.
"""

from __future__ import annotations

import numpy as np

from fairbench.api import Ints
from fairbench_plugins.merged_cells.joining import Array


class CoverProgramme:
    """Least cost of columns, in amounts of 0 or more, that add up to one in each row.

    A column has entries in at most two rows. Columns are numbered in the order they were added in,
    without those that were dropped.
    """

    def __init__(self, rows: int) -> None:
        import highspy

        self._solver = highspy.Highs()  # type: ignore[no-untyped-call]
        self._solver.setOptionValue("output_flag", False)
        self._solver.setOptionValue("threads", 1)
        self._solver.setOptionValue("solver", "simplex")
        # The primal one: after new columns and costs the solution before is still feasible.
        self._solver.setOptionValue("simplex_strategy", 4)
        ones, none = np.ones(rows), np.zeros(0)
        starts = np.zeros(rows, np.int32)
        self._solver.addRows(rows, ones, ones, 0, starts, none.astype(np.int32), none)
        self._optimal, self._most = highspy.HighsModelStatus.kOptimal, highspy.kHighsInf

    def add(self, rows: Ints, parts: Array, costs: Array) -> None:
        """Add columns: ``rows (n, 2)``, entries ``parts (n, 2)`` and ``costs (n,)``.

        Where both rows of a column are the same, the second part is left out.
        """
        count = len(rows)
        taken = np.column_stack([np.ones(count, np.bool_), rows[:, 0] != rows[:, 1]])
        starts = np.concatenate([[0], np.cumsum(taken.sum(1))[:-1]]).astype(np.int32)
        places = rows[taken].astype(np.int32)
        none, most = np.zeros(count), np.full(count, self._most)
        self._solver.addCols(count, costs, none, most, len(places), starts, places, parts[taken])

    def reprice(self, costs: Array) -> None:
        """Change the costs of all columns."""
        self._solver.changeColsCost(len(costs), np.arange(len(costs), dtype=np.int32), costs)

    def drop(self, columns: Ints) -> None:
        """Take columns out, by their numbers in ascending order."""
        self._solver.deleteCols(len(columns), columns.astype(np.int32))

    def solve(self) -> tuple[Array, Array]:
        """Return how much of each column is used, and the price of one unit of each row.

        Raises RuntimeError where there is no solution.
        """
        self._solver.run()
        status = self._solver.getModelStatus()
        if status != self._optimal:
            reason = self._solver.modelStatusToString(status)
            raise RuntimeError(f"the linear programme was not solved: {reason}")
        solution = self._solver.getSolution()
        return np.asarray(solution.col_value), np.asarray(solution.row_dual)
