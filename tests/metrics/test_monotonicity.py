"""How far a curve follows its knob."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
