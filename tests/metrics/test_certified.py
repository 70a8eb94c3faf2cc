"""The certified area: closed forms, what records it needs, and that its bounds hold at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbench.api.metric import Certificate, CurveEvaluation
from fairbench.auditing.certificate import certify
from fairbench.metrics.aufdc import strict_area
from fairbench.metrics.certificate import AufdcCertified
from fairbench.stats.information_bound import bound_information

ROWS = {"rows": 10_000, "groups": 2, "least_group": 3000}
ENDS = {"mutual_information_max": 0.5, "distortion_max": 8.0}
REFERENCE = {**ENDS, **{f"{name}_validation": value for name, value in ENDS.items()}}

Point = dict[str, float | None]


def certified(d: float, plug_in: float | None, d_validation: float | None = None) -> Point:
    """A point by its D and the plug-in estimate of its certificate; None: no certificate."""
    known = {"certified_rows": 10_000, "certified_groups": 2, "certified_smallest_group": 3000}
    return {
        "distortion": d,
        "distortion_validation": d if d_validation is None else d_validation,
        "certified_mutual_information": None if plug_in is None else 0.2,
        "certified_plug_in_information": plug_in,
        **(known if plug_in is not None else dict.fromkeys(known)),
    }


def area(*points: Point) -> float | None:
    return AufdcCertified().compute(CurveEvaluation(points, REFERENCE))["aufdc_certified"]  # type: ignore[arg-type]


def bound(plug_in: float, of: int) -> float:
    return bound_information(plug_in, miss=0.05 / of, **ROWS)


def test_one_point_by_hand() -> None:
    i = bound(0.1, 1)
    by_hand = (4.0 * (0.5 + i) / 2 + 4.0 * i / 2) / (8.0 * 0.5)
    assert area(certified(4.0, 0.1)) == pytest.approx(by_hand)
    assert 0.1 < i < 0.13


def test_each_of_several_is_bounded_at_a_share_of_the_error() -> None:
    points = [(2.0, 0.2), (4.0, 0.05), (6.0, 0.01)]
    curve = [(d, bound(plug_in, 3)) for d, plug_in in points]
    expected = strict_area(
        curve, curve, i_max=0.5, d_max=8.0, i_max_validation=0.5, d_max_validation=8.0
    )
    assert area(*(certified(d, plug_in) for d, plug_in in points)) == pytest.approx(expected)


def test_points_without_a_certificate_count_for_nothing_and_cost_nothing() -> None:
    assert area(certified(1.0, None), certified(3.0, None)) == 0.5
    assert area(certified(1.0, None), certified(4.0, 0.1)) == area(certified(4.0, 0.1))


def test_the_trivial_codes_score_a_half() -> None:
    assert area(certified(0.0, 0.49)) == pytest.approx(0.5)  # identity
    assert area(certified(8.0, 0.0)) == pytest.approx(0.5)  # constant


def test_records_that_lack_the_numbers_have_no_area() -> None:
    """Their bound, at 95% for each point by itself, does not hold for all points at once."""
    before = {**certified(4.0, None), "certified_mutual_information": 0.1}
    assert area(before) is None
    assert area(before, certified(4.0, 0.1)) is None
    assert area({"distortion": 4.0, "distortion_validation": 4.0}) is None


def test_where_x_tells_nothing_there_is_no_area() -> None:
    nothing = REFERENCE | {"mutual_information_max": -0.01}
    evaluation = CurveEvaluation([certified(4.0, 0.1)], nothing)  # type: ignore[list-item]
    assert AufdcCertified().compute(evaluation) == {"aufdc_certified": None}


def test_distortion_chooses_on_validation_and_is_measured_on_test() -> None:
    """A point whose D is only low on test joins no hull."""
    honest, lucky = certified(4.0, 0.1), certified(0.5, 0.1, 7.5)
    assert area(honest, lucky) == pytest.approx(
        (4.0 * (0.5 + bound(0.1, 2)) / 2 + 4.0 * bound(0.1, 2) / 2) / 4.0
    )


drawn = st.lists(st.tuples(st.floats(0, 8), st.floats(0, 0.6)), min_size=1, max_size=8)


@given(drawn)
def test_it_lies_between_the_area_of_plug_in_estimates_and_a_half(
    points: list[tuple[float, float]],
) -> None:
    found = area(*(certified(d, plug_in) for d, plug_in in points))
    plug_in = strict_area(
        points, points, i_max=0.5, d_max=8.0, i_max_validation=0.5, d_max_validation=8.0
    )
    assert found is not None
    assert plug_in - 1e-9 <= found <= 0.5 + 1e-9


@given(st.floats(0, 0.5), st.integers(2, 64))
def test_more_points_at_once_cost_more(plug_in: float, points: int) -> None:
    assert bound(plug_in, points) > bound(plug_in, 1) > plug_in


def test_the_bound_is_that_of_the_certificate_at_its_own_level() -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 4000)
    z = ((rng.integers(0, 40, 4000) + 5 * s) % 40).astype(np.float32)[:, None]
    found = certify(z, z, s, groups=2)
    assert isinstance(found, Certificate)
    assert found.groups is not None
    assert found.least_group is not None
    assert found.plug_in is not None
    again = bound_information(
        found.plug_in,
        rows=found.rows,
        groups=found.groups,
        least_group=found.least_group,
        miss=1 - found.confidence,
    )
    assert again == pytest.approx(found.information, rel=1e-9)


def test_a_group_without_rows_is_not_bounded() -> None:
    assert bound_information(0.1, rows=100, groups=3, least_group=0, miss=0.05) == np.inf


def test_the_bounds_of_a_curve_hold_at_once() -> None:
    """Of twenty independent points none fails, in all but 5% of draws; plug-in estimates do."""
    rng = np.random.default_rng(1)
    n, points, draws = 2000, 20, 200
    joint = np.array([[0.3, 0.2], [0.2, 0.3]])
    truth = float((joint * np.log(joint / 0.25)).sum())
    failed = plug_in_failed = 0
    for _ in range(draws):
        share = rng.multinomial(n, joint.ravel(), points).reshape(points, 2, 2) / n
        rows, columns = share.sum(axis=2, keepdims=True), share.sum(axis=1, keepdims=True)
        plug_in = (share * np.log(share / (rows * columns))).sum(axis=(1, 2))
        least = (rows.min(axis=(1, 2)) * n).round().astype(int)
        lowest = min(
            bound_information(i, rows=n, groups=2, least_group=group, miss=0.05 / points)
            for i, group in zip(plug_in.tolist(), least.tolist(), strict=True)
        )
        failed += lowest < truth
        plug_in_failed += plug_in.min() < truth
    assert failed / draws <= 0.05
    assert plug_in_failed / draws > 0.95
