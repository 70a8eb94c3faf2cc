"""The growing programme against one that is solved from nothing."""

import numpy as np
import pytest
from scipy.optimize import linprog

from fairbench_plugins.merged_cells.programme import CoverProgramme

ROWS = 6


def test_a_programme_that_grew_gives_what_one_from_nothing_does() -> None:
    rng = np.random.default_rng(0)
    programme = CoverProgramme(ROWS)
    alone = np.arange(ROWS)
    rows, parts = np.column_stack([alone, alone]), np.ones((ROWS, 2))
    costs = rng.uniform(1, 2, ROWS)
    programme.add(rows, parts, costs)
    for _ in range(4):
        new = np.sort(rng.permuted(np.tile(alone, (8, 1)), axis=1)[:, :2])
        programme.add(new, more := rng.uniform(0.2, 1, (8, 2)), paid := rng.uniform(1, 2, 8))
        rows, parts = np.concatenate([rows, new]), np.concatenate([parts, more])
        costs = np.concatenate([costs, paid])
        assert_solved(programme, rows, parts, costs)
        programme.reprice(costs := rng.uniform(1, 2, len(costs)))
        assert_solved(programme, rows, parts, costs)
        gone = rng.permuted(np.arange(len(rows)) >= ROWS) & (np.arange(len(rows)) >= ROWS)
        programme.drop(np.flatnonzero(gone))
        rows, parts, costs = rows[~gone], parts[~gone], costs[~gone]
        assert_solved(programme, rows, parts, costs)


def assert_solved(
    programme: CoverProgramme, rows: np.ndarray, parts: np.ndarray, costs: np.ndarray
) -> None:
    used, prices = programme.solve()
    held = np.zeros((ROWS, len(rows)))
    held[rows[:, 0], np.arange(len(rows))] = parts[:, 0]
    other = rows[:, 0] != rows[:, 1]
    held[rows[other, 1], np.flatnonzero(other)] = parts[other, 1]
    least = linprog(costs, A_eq=held, b_eq=np.ones(ROWS)).fun
    np.testing.assert_allclose(held @ used, 1, atol=1e-9)
    assert used.min() >= -1e-9
    assert costs @ used == pytest.approx(least)
    assert prices.sum() == pytest.approx(least)
    assert (costs - prices @ held).min() >= -1e-7


def test_a_programme_without_a_solution_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    programme = CoverProgramme(2)
    programme.add(np.zeros((1, 2), int), np.ones((1, 2)), np.ones(1))
    with pytest.raises(RuntimeError, match="was not solved: Infeasible"):
        programme.solve()
    assert capfd.readouterr() == ("", "")
