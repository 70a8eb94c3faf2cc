"""AUFDC on curves whose area is known by hand, and what cannot be gamed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbench.api.metric import CurveEvaluation
from fairbench.metrics.aufdc import Aufdc, AufdcPaper, paper_area, strict_area
from fairbench.metrics.hull import lower_hull

Curve = list[tuple[float, float]]


def strict(points: Curve, validation: Curve | None = None) -> float:
    return strict_area(
        points,
        validation if validation is not None else points,
        i_max=1.0,
        d_max=1.0,
        i_max_validation=1.0,
        d_max_validation=1.0,
    )


@pytest.mark.parametrize(
    ("points", "area"),
    [
        ([], 0.5),  # release x to some, nothing to others
        ([(0.0, 1.0)], 0.5),  # identity
        ([(1.0, 0.0)], 0.5),  # constant
        ([(0.5, 0.5)], 0.5),  # on the line
        ([(0.9, 0.9)], 0.5),  # above it: worth nothing, costs nothing
        ([(0.5, 0.0)], 0.25),
        ([(0.0, 0.0)], 0.0),  # all of x and nothing of s
        ([(0.25, 0.25)], 0.25 * (1 + 0.25) / 2 + 0.75 * 0.25 / 2),
        ([(0.25, 0.25), (0.5, 0.125)], 0.25 * 0.625 + 0.25 * 0.1875 + 0.5 * 0.0625),
        ([(0.5, -0.3)], 0.25),  # a negative reading is floored
        ([(7.0, 0.0)], 0.5),  # worse than nothing at all
    ],
)
def test_strict_area_by_hand(points: Curve, area: float) -> None:
    assert strict(points) == pytest.approx(area)


def test_what_lies_left_of_a_point_without_distortion_on_validation_counts() -> None:
    assert strict([(0.5, 0.0)], [(0.0, 0.0)]) == pytest.approx(0.25)
    assert strict([(0.5, 0.0)], [(1e-9, 0.0)]) == pytest.approx(0.25)


coordinates = st.tuples(st.floats(0, 1.2), st.floats(-0.1, 1.2))


@given(st.lists(coordinates, max_size=12))
def test_strict_area_lies_between_zero_and_the_trivial_line(points: Curve) -> None:
    assert 0 <= strict(points) <= 0.5 + 1e-9


@given(st.lists(coordinates, min_size=1, max_size=10), coordinates)
def test_one_more_point_never_hurts_and_fewer_never_help(
    points: Curve, more: tuple[float, float]
) -> None:
    assert strict([*points, more]) <= strict(points) + 1e-9


@given(st.lists(coordinates, min_size=1, max_size=10), st.randoms())
def test_the_order_of_points_does_not_matter(points: Curve, random: object) -> None:
    shuffled = list(points)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert strict(shuffled) == pytest.approx(strict(points))


@given(st.lists(coordinates, min_size=2, max_size=12))
def test_the_hull_is_convex_and_below_every_point(points: Curve) -> None:
    d, i = np.array(points).T
    hull = lower_hull(d, i)
    assert (np.diff(d[hull]) > 0).all()
    for x, y in points:
        assert np.interp(x, d[hull], i[hull]) <= y + 1e-9


def test_luck_on_test_is_not_rewarded() -> None:
    """A point that validation does not choose adds nothing, however good it looks on test."""
    test = [(0.5, 0.25), (0.5, 0.0)]
    validation = [(0.5, 0.25), (0.5, 0.4)]
    assert strict(test, validation) == pytest.approx(strict([(0.5, 0.25)]))


def test_many_noisy_points_have_no_advantage_over_few() -> None:
    rng = np.random.default_rng(0)

    def noisy(n: int) -> float:
        base = [(d, 1 - d) for d in np.linspace(0.05, 0.95, n)]
        draw = [[(d, i + 0.05 * rng.normal()) for d, i in base] for _ in range(2)]
        return strict(draw[0], draw[1])

    few, many = (np.mean([noisy(n) for _ in range(200)]) for n in (8, 64))
    assert many > few - 0.02


@pytest.mark.parametrize(
    ("points", "area"),
    [
        ([(1.0, 0.0)], 0.0),  # a constant encoder scores best: the known weakness
        ([(0.0, 1.0)], 1.0),
        ([(0.0, 1.0), (1.0, 0.0)], 0.5),
        ([(0.2, 0.6), (0.6, 0.2)], 0.4 * 0.4 + 0.2 * 0.4),
        ([(0.2, 0.6), (0.6, 0.2), (0.7, 0.9)], 0.4 * 0.4 + 0.2 * 0.4),  # dominated: dropped
    ],
)
def test_paper_area_by_hand(points: Curve, area: float) -> None:
    assert paper_area(points, i_max=1.0, d_max=1.0) == pytest.approx(area)


def test_paper_area_is_normalised() -> None:
    points = [(0.2, 0.6), (0.6, 0.2)]
    scaled = [(10 * d, 3 * i) for d, i in points]
    assert paper_area(scaled, i_max=3.0, d_max=10.0) == pytest.approx(
        paper_area(points, i_max=1.0, d_max=1.0)
    )


def test_the_metrics_use_their_own_columns() -> None:
    point = {
        "distortion": 0.5,
        "mutual_information": 0.25,
        "distortion_validation": 0.5,
        "mutual_information_validation": 0.25,
    }
    point |= {
        "distortion_own_decoder": 0.6,
        "distortion_refitted_decoder": 0.5,
        "mutual_information_paper": 0.1,
        "distortion_permuted": 2.0,
    }
    reference = dict.fromkeys(
        (
            "mutual_information_max",
            "mutual_information_max_validation",
            "mutual_information_max_paper",
        ),
        1.0,
    )
    reference |= dict.fromkeys(("distortion_max", "distortion_max_validation"), 1.0)
    evaluation = CurveEvaluation([point], reference)
    found = {**Aufdc().compute(evaluation), **AufdcPaper().compute(evaluation)}
    assert found["aufdc"] == pytest.approx(strict([(0.5, 0.25)]))
    assert (found["distortion_min"], found["mutual_information_min"]) == (0.5, 0.25)
    assert found["aufdc_paper"] == pytest.approx(0.1 * (2.0 - 0.6) / 2.0)


def test_whether_x_tells_of_s_is_asked_without_the_bias_of_resampled_entropies() -> None:
    """Of few rows of many groups, resamples have less H(S); this is no lack of I(X;S)."""
    names = ("mutual_information_max", "mutual_information_max_validation")
    reference = dict.fromkeys(names, 0.05)
    reference |= dict.fromkeys(("distortion_max", "distortion_max_validation"), 1.0)
    point = {"distortion": 0.5, "mutual_information": 0.0}
    point |= {f"{name}_validation": value for name, value in point.items()}

    def area(spread: float) -> float | None:
        biased = 0.05 - 0.02 + np.linspace(-spread, spread, 500)
        ends = {"mutual_information_max": biased, "distortion_max": np.ones(500)}
        return Aufdc().compute(CurveEvaluation([point], reference, reference_replicates=ends))[
            "aufdc"
        ]

    assert area(0.04) == pytest.approx(0.25)
    assert area(0.06) is None
