"""A curve in another domain, by hand."""

import numpy as np
import pytest

from fairbench.api.metric import CurveEvaluation
from fairbench.metrics.shift import ShiftOfCurve

REFERENCE = {"mutual_information_max": 1.0, "mutual_information_max_validation": 1.0}


def point(here: float, there: float, held: float | None = None) -> dict[str, float]:
    figures = {
        "mutual_information": here,
        "mutual_information_low": here - 0.01,
        "mutual_information_high": here + 0.01,
        "mutual_information_validation": here,
        "mutual_information_y_validation": here,
        "accuracy_y": 0.8,
        "demographic_parity_gap": 0.1,
        "shift_mutual_information": there,
        "shift_mutual_information_low": there - 0.01,
        "shift_mutual_information_high": there + 0.01,
        "shift_accuracy_y": 0.7,
        "shift_demographic_parity_gap": 0.25,
    }
    return figures if held is None else figures | {"shift_certificate_held": held}


def test_shares_of_points_and_mean_changes() -> None:
    points = [point(0.5, 0.505, 1.0), point(0.2, 0.3), point(0.05, 0.02, 0.5)]
    found = ShiftOfCurve().compute(CurveEvaluation(points, REFERENCE))
    assert found["shift_points_within"] == pytest.approx(1 / 3)
    assert found["shift_points_above"] == pytest.approx(1 / 3)
    assert found["shift_leakage_change"] == pytest.approx((0.005 + 0.1 - 0.03) / 3)
    assert found["shift_certificates_held"] == pytest.approx(0.75)
    assert found["shift_accuracy_y_change"] == pytest.approx(-0.1)
    assert found["shift_gap_change"] == pytest.approx(0.15)


def test_equal_leakage_in_both_domains_is_within_as_often_as_it_says() -> None:
    drawn = np.random.default_rng(0).normal(0.2, 0.01 / 1.96, (4000, 2))
    found = ShiftOfCurve().compute(CurveEvaluation([point(*row) for row in drawn], REFERENCE))
    # The half thousandth of tolerance adds a little.
    assert 0.945 < (found["shift_points_within"] or 0) < 0.975


def test_a_code_that_says_nothing_in_both_domains_is_within() -> None:
    nothing = point(-1e-5, 1e-8) | {
        "mutual_information_low": -3e-4,
        "mutual_information_high": -1e-7,
        "shift_mutual_information_low": 0.0,
        "shift_mutual_information_high": 1e-7,
    }
    found = ShiftOfCurve().compute(CurveEvaluation([nothing], REFERENCE))
    assert found["shift_points_within"] == 1


def test_without_a_shift_or_a_point_within_the_limit_there_is_nothing() -> None:
    plain = {k: v for k, v in point(0.5, 0.5).items() if not k.startswith("shift")}
    assert set(ShiftOfCurve().compute(CurveEvaluation([plain], REFERENCE)).values()) == {None}
    found = ShiftOfCurve().compute(CurveEvaluation([point(0.5, 0.5)], REFERENCE))
    assert found["shift_accuracy_y_change"] is None
