"""The bound of I(Z;S) holds at any number of groups, however small one of them is."""

import math

import pytest

from fairbench.stats.information_bound import _most_information, bound_information


@pytest.mark.parametrize("miss", [0.05, 1e-6])
@pytest.mark.parametrize("groups", [2, 18, 45, 400])
@pytest.mark.parametrize("least", [1, 2, 50])
def test_a_bound_of_many_groups_is_a_number_above_the_estimate(
    groups: int, least: int, miss: float
) -> None:
    bound = bound_information(0.01, rows=4000, groups=groups, least_group=least, miss=miss)
    assert 0.01 < bound < math.inf


def test_the_smallest_groups_share_decides_how_much_one_row_may_tell() -> None:
    bounds = [
        bound_information(0.01, rows=4000, groups=20, least_group=least, miss=0.05)
        for least in (1, 2, 5, 20, 200)
    ]
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.parametrize("share", [0.001, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("radius", [1e-4, 0.01, 0.5, 3.0])
def test_the_smallest_share_lies_on_the_radius(share: float, radius: float) -> None:
    information = _most_information(share, radius)
    log_ratio = information + math.log(share)  # of the share to the smallest one, in logarithms
    rest = (1 - share) * (math.log1p(-share) - math.log1p(-math.exp(-information)))
    assert share * log_ratio + rest == pytest.approx(radius)
    assert log_ratio > 0


def test_without_rows_of_a_group_nothing_is_bounded() -> None:
    assert bound_information(0.01, rows=100, groups=3, least_group=0, miss=0.05) == math.inf
