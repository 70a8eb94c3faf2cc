"""Attainment surfaces of curves that are known by hand."""

import numpy as np
import pytest

from fairbench.leaderboard.attainment import STEPS, compute_fronts, compute_surfaces


def line(i_max: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([0.0, 4.0]), np.array([i_max, 0.0])


def test_the_median_of_three_lines_is_the_middle_one() -> None:
    found = compute_surfaces([line(1.0), line(3.0), line(2.0)], d_max=4.0)
    assert [level for level, _, _ in found] == [25, 50, 75]
    for (_, d, i), i_max in zip(found, (1.0, 2.0, 3.0), strict=True):
        assert i == pytest.approx(i_max * (1 - d / 4), abs=1e-9)
        assert (d[0], d[-1]) == (0, 4)
        assert len(d) == STEPS + 1


def test_the_median_is_taken_at_each_d_and_can_change_hands() -> None:
    bowed = np.array([0.0, 1.0, 4.0]), np.array([2.0, 0.2, 0.0])
    curves = [line(1.0), line(1.2), bowed]
    ((_, d, i),) = compute_surfaces(curves, d_max=4.0, levels=[50])
    at = np.array([np.interp(d, *curve) for curve in curves])
    assert i == pytest.approx(np.median(at, axis=0), abs=1e-9)
    assert len(set(at.argsort(axis=0)[1])) > 1


def test_of_two_curves_half_is_the_better_one() -> None:
    ((_, _, i),) = compute_surfaces([line(1.0), line(2.0)], d_max=4.0, levels=[50])
    assert i[0] == 1.0


def test_one_curve_is_its_own_surface_less_what_is_beaten() -> None:
    curve = np.array([0.0, 2.0, 4.0]), np.array([1.0, 0.0, 0.0])
    ((_, d, i),) = compute_surfaces([curve], d_max=4.0, levels=[50])
    assert d[-1] == 2.0  # nothing is gained by losing more
    assert i == pytest.approx(1 - d / 2)


def test_a_curve_between_two_steps_of_d_is_its_own_surface() -> None:
    curve = np.array([0.0, 0.013, 4.0]), np.array([1.0, 0.2, 0.0])
    ((_, d, i),) = compute_surfaces([curve], d_max=4.0, levels=[50])
    assert np.interp(0.013, d, i) == pytest.approx(0.2)
    assert np.trapezoid(i, d) == pytest.approx(np.trapezoid(curve[1], curve[0]))


def test_a_front_over_seeds_is_what_that_many_of_them_reach() -> None:
    """Three seeds of one point each: at A_s = .3 all have been met, at .2 two, at .1 one."""
    seeds = [
        (np.array([a_s]), np.array([a_y])) for a_s, a_y in ((0.1, 0.7), (0.2, 0.8), (0.3, 0.9))
    ]
    best, median, worst = compute_fronts(seeds)
    assert [(x, y) for x, y in zip(*best[1:], strict=True)] == [(0.1, 0.7), (0.2, 0.8), (0.3, 0.9)]
    assert [(x, y) for x, y in zip(*median[1:], strict=True)] == [(0.2, 0.7), (0.3, 0.8)]
    assert [(x, y) for x, y in zip(*worst[1:], strict=True)] == [(0.3, 0.7)]


def test_a_front_of_one_seed_leaves_out_what_another_point_beats() -> None:
    one = np.array([0.5, 0.3, 0.4]), np.array([0.9, 0.7, 0.6])
    ((_, a_s, a_y),) = compute_fronts([one], levels=[50])
    assert (a_s.tolist(), a_y.tolist()) == ([0.3, 0.5], [0.7, 0.9])
