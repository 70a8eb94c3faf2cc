"""Drawn hyperparameters are short numbers that their methods take."""

from __future__ import annotations

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from fairbench.registry import load_registry
from fairbench.runs.hyperparameters import validate_params
from fairbench.search.space import count_settings, declared_space, shortened, values_to_try

METHODS = load_registry().methods.classes
SEARCHED = [name for name, cls in METHODS.items() if declared_space(cls, {})]


def test_a_number_of_a_range_is_short_and_stays_within_it() -> None:
    wide = FloatDistribution(0.01, 1.0, log=True)
    assert shortened(wide, 0.123456) == 0.1235
    assert shortened(FloatDistribution(0.123444, 1.0), 0.123444) == 0.123444
    assert shortened(FloatDistribution(0.0, 1.0, step=0.015625), 0.984375) == 0.984375


def test_a_number_of_a_grid_is_one_setting_however_it_was_reached() -> None:
    grid = FloatDistribution(0.1, 0.9, step=0.1)
    drawn = {shortened(grid, 0.1 + i * 0.1) for i in range(9)}
    assert drawn == {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}
    assert shortened(FloatDistribution(1.0, 2.0, step=1e-6), 1.234567) == 1.234567


def test_choices_and_whole_numbers_stay_as_they_are() -> None:
    assert shortened(CategoricalDistribution([0.98765, 0.9]), 0.98765) == 0.98765
    assert shortened(CategoricalDistribution([True, None, "cosine"]), None) is None
    assert shortened(IntDistribution(1, 99_999), 12_345) == 12_345


def test_settings_are_counted_where_no_range_is_of_real_numbers() -> None:
    space = {
        "kind": CategoricalDistribution(["flat", "round", None]),
        "size": IntDistribution(8, 16, step=4),
        "rank": IntDistribution(1, 4, log=True),
        "share": FloatDistribution(0.1, 0.5, step=0.1),
        "fixed": FloatDistribution(0.3, 0.3),
    }
    assert count_settings(space) == 3 * 3 * 4 * 5
    assert count_settings({**space, "rate": FloatDistribution(0.1, 0.5)}) is None


@pytest.mark.parametrize("name", SEARCHED)
def test_what_is_drawn_of_a_space_is_what_the_method_takes(name: str) -> None:
    space, rng = declared_space(METHODS[name], {}), np.random.default_rng(0)
    for _ in range(20):
        drawn = {}
        for key, one in space.items():
            if isinstance(one, CategoricalDistribution):
                value = one.choices[rng.integers(len(one.choices))]
            elif isinstance(one, IntDistribution):
                value = int(rng.integers(one.low, one.high + 1))
            else:
                value = float(rng.uniform(one.low, one.high))
            drawn[key] = shortened(one, value)
        validate_params(METHODS[name], drawn)


@pytest.mark.parametrize(
    ("low", "high", "log"),
    [(0, 1000, False), (1, 1e5, False), (16, 4096, True), (1, 3, False), (0.2, 0.4, False)],
)
def test_of_a_range_of_reals_one_that_is_no_whole_number_is_tried(
    low: float, high: float, log: bool
) -> None:
    first, between, last = values_to_try(FloatDistribution(low, high, log=log))
    assert (first, last) == (low, high)
    assert low < between < high
    assert between != round(between)
