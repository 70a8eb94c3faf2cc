"""The order in which SoFaiR's bits are released, against chance, in cases that are known."""

import numpy as np
import pytest
from bit_claims import ORDER, SEEDS, count_in_order, order_p_value, place


def test_a_column_has_the_place_of_the_step_that_releases_it() -> None:
    assert place(np.array([0.0, 0.0, 0.7, 0.0])) == 2
    assert place(np.array([0.3, 0.0, 0.3])) == 1
    assert place(np.array([0.8, 0.4])) == pytest.approx(0.2)  # weights .64 and .16


def test_pairs_in_order() -> None:
    assert count_in_order([1, 2, 3, 4]) == 6
    assert count_in_order([4, 3, 2, 1]) == 0
    assert count_in_order([2, 2]) == 0


@pytest.mark.parametrize(
    ("pairs", "columns", "seeds", "chance"),
    [(1, 2, 1, 1 / 2), (6, 4, 1, 1 / 24), (2, 2, 2, 1 / 4), (12, 4, 2, 1 / 24**2), (0, 4, 5, 1.0)],
)
def test_chance_of_orders(pairs: int, columns: int, seeds: int, chance: float) -> None:
    assert order_p_value(pairs, columns, seeds) == pytest.approx(chance)


def test_random_orders_are_seldom_called_the_papers() -> None:
    rng = np.random.default_rng(0)
    columns, seeds = len(ORDER), len(SEEDS)
    p_values = [
        order_p_value(
            sum(count_in_order(list(rng.random(columns))) for _ in range(seeds)), columns, seeds
        )
        for _ in range(1000)
    ]
    assert np.mean(np.array(p_values) < 0.05) < 0.06
