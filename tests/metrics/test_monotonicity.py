"""How far a curve follows its knob."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from fairbench.api.metric import CurveEvaluation
from fairbench.metrics.monotonicity import Monotonicity


def monotonicity(leakage: list[float], distortion: list[float]) -> float | None:
    points = [
        {"mutual_information": i, "distortion": d} for i, d in zip(leakage, distortion, strict=True)
    ]
    return Monotonicity().compute(CurveEvaluation(points, {}))["monotonicity"]


def test_a_curve_in_order_has_one_whichever_way_the_knob_turns() -> None:
    assert monotonicity([0.3, 0.2, 0.1], [1, 2, 3]) == pytest.approx(1)
    assert monotonicity([0.1, 0.2, 0.3], [3, 2, 1]) == pytest.approx(1)


def test_one_step_out_of_order_counts() -> None:
    # Of six pairs of points five are in order for I, all for D.
    assert monotonicity([0.4, 0.2, 0.3, 0.1], [1, 2, 3, 4]) == pytest.approx((4 / 6 + 1) / 2)


@pytest.mark.parametrize(("leakage", "distortion"), [([0.1, 0.2], [2, 1]), ([0.1] * 4, [1] * 4)])
def test_where_nothing_moves_there_is_none(leakage: list[float], distortion: list[float]) -> None:
    assert monotonicity(leakage, distortion) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 9)), min_size=3, max_size=9))
def test_it_lies_between_zero_and_one(points: list[tuple[float, float]]) -> None:
    value = monotonicity([i for i, _ in points], [d for _, d in points])
    assert value is None or 0 <= value <= 1 + 1e-9


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=9))
def test_of_one_knob_it_is_kendalls_tau(points: list[tuple[int, int]]) -> None:
    i, d = zip(*points, strict=True)
    value = monotonicity([float(v) for v in i], [float(v) for v in d])
    expected = np.mean([abs(kendalltau(range(len(i)), v).statistic) for v in (i, d)])
    assert value == (None if np.isnan(expected) else pytest.approx(expected))


def test_of_two_knobs_each_counts_where_it_is_turned_alone() -> None:
    """A grid in whose list of points D goes up and down, though each knob moves it one way."""
    knobs = [{"beta": b, "lambda": k} for b in (1.0, 2.0, 3.0) for k in (10.0, 1.0)]
    points = [
        {"distortion": s["beta"] + s["lambda"], "mutual_information": 9 - s["beta"] - s["lambda"]}
        for s in knobs
    ]
    found = Monotonicity().compute(CurveEvaluation(points, {}, knobs=knobs))
    assert found["monotonicity"] == pytest.approx(1)
    points[0]["distortion"] = 99.0  # against beta at lambda = 10: two of its six pairs
    found = Monotonicity().compute(CurveEvaluation(points, {}, knobs=knobs))
    assert found["monotonicity"] == pytest.approx(np.mean([1, 1, (4 - 2) / 6, 1]))


def test_settings_must_be_as_many_as_points() -> None:
    with pytest.raises(ValueError, match="3 points have 1 settings"):
        CurveEvaluation([{}] * 3, {}, knobs=[{"beta": 1.0}])
