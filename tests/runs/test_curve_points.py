"""Where curves are read: evenly over distortion, whatever the knob does to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairbench.api import Floats, Ints, Knob, Point
from fairbench.api.method import Curve, Representation
from fairbench.data.prepared import Rows
from fairbench.runs.curve_points import listed_points, points_to_read
from fairbench.runs.plugin_values import ContractError

X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
ROWS = Rows(X, np.arange(300) % 2, {}, np.arange(300))


def read(curve: Curve, count: int | None) -> list[float]:
    """Values of the knob at the points that are chosen."""
    return [p["t"] for p in points_to_read(curve, ROWS, count)]


class Shrunk(Representation):
    """Released in full, decoded too small: D = share^2 E|x|^2."""

    def __init__(self, share: float, decodes: bool) -> None:
        self.share, self.decodes = share, decodes

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        return x

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        return ((1 - self.share) * z).astype(np.float32) if self.decodes else None


class Steep(Curve):
    """Nothing happens up to half of the knob; then all of it."""

    knob = Knob("t", 0.0, 2.0)

    def __init__(self, decodes: bool = True) -> None:
        self.decodes = decodes

    def at(self, point: Point) -> Representation:
        return Shrunk(max(0.0, point["t"] - 1.0), self.decodes)


def test_points_are_spread_evenly_over_distortion() -> None:
    points = read(Steep(), 9)
    assert (points[0], points[-1]) == (0.0, 2.0)
    distortion = np.array([max(0.0, t - 1.0) ** 2 for t in points])
    np.testing.assert_allclose(np.diff(distortion), 1 / 8, atol=0.01)


def test_no_point_is_wasted_on_a_plateau() -> None:
    assert sum(t < 1.0 for t in read(Steep(), 6)) == 1


def test_a_knob_of_which_less_is_fairer_is_read_as_well() -> None:
    class Turned(Steep):
        def at(self, point: Point) -> Representation:
            return super().at(Point.of(t=2.0 - point["t"]))

    # Of the plateau the end that is next to the rest counts.
    assert read(Turned(), 9) == pytest.approx([2.0 - t for t in read(Steep(), 9)], abs=1e-4)


def test_rounding_leads_to_no_value_outside_of_the_knob() -> None:
    class Odd(Steep):
        knob = Knob("t", 0.1234564, 1.7654358)  # to six digits .123456 and 1.76544

    points = read(Odd(), 5)
    assert (min(points), max(points)) == (0.1234564, 1.7654358)


def test_without_a_decoder_they_are_spread_over_the_knob() -> None:
    assert read(Steep(decodes=False), 5) == [0.0, 0.5, 1.0, 1.5, 2.0]


@pytest.mark.parametrize(
    ("given", "told"),
    [(np.full((300, 2), np.nan), "not finite"), (np.zeros((300, 1)), r"decode returned shape")],
)
def test_what_a_decoder_gives_at_any_setting_is_checked(given: Floats, told: str) -> None:
    class Broken(Shrunk):
        def decode(self, z: Floats, s: Ints) -> Floats | None:
            return given

    class BrokenAtOne(Steep):
        def at(self, point: Point) -> Representation:
            return Broken(0.5, True) if point["t"] == 1.0 else super().at(point)

    with pytest.raises(ContractError, match=told):
        read(BrokenAtOne(), 9)


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        (np.full((300, 2), np.nan), "encode returned values"),
        (np.zeros(300), "encode returned shape"),
    ],
)
def test_what_an_encoder_gives_at_any_setting_is_not_laid_to_its_decoder(
    codes: Floats, told: str
) -> None:
    class Broken(Shrunk):
        def encode(self, x: Floats, **_: Any) -> Floats:
            return codes

    class BrokenAtOne(Steep):
        def at(self, point: Point) -> Representation:
            return Broken(0.5, True) if point["t"] == 1.0 else super().at(point)

    with pytest.raises(ContractError, match=told):
        read(BrokenAtOne(), 9)


def test_a_curve_that_gives_no_representation_is_told_so() -> None:
    class Forgets(Steep):
        def at(self, point: Point) -> Representation:
            return None  # type: ignore[return-value]

    with pytest.raises(ContractError, match="at\\(point\\) of the curve returned a NoneType"):
        read(Forgets(), 9)


def test_sixteen_points_unless_told() -> None:
    assert len(read(Steep(), None)) == 16


@pytest.mark.parametrize(("count", "expected"), [(None, [1, 2, 3, 4, 5]), (3, [1, 3, 5])])
def test_a_curve_with_a_list_of_its_own_is_read_there(
    count: int | None, expected: list[int]
) -> None:
    curve = Steep()
    curve.points = tuple(Point.of(t=n) for n in range(1, 6))
    points = listed_points(curve, count)
    assert points is not None
    assert [p["t"] for p in points] == expected
