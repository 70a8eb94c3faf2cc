"""Where curves are read: evenly over distortion, whatever the knob does to it."""

from __future__ import annotations

import numpy as np
import pytest

from fairbench.api import Floats, Ints, Knob, Point
from fairbench.api.method import Curve, Representation
from fairbench.runs.curve_points import points_to_read

X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
S = np.zeros(300, np.int64)


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
    points = points_to_read(Steep(), X, S, 9)
    assert (points[0]["t"], points[-1]["t"]) == (0.0, 2.0)
    distortion = np.array([max(0.0, p["t"] - 1.0) ** 2 for p in points])
    np.testing.assert_allclose(np.diff(distortion), 1 / 8, atol=0.01)


def test_no_point_is_wasted_on_a_plateau() -> None:
    points = points_to_read(Steep(), X, S, 6)
    assert sum(p["t"] < 1.0 for p in points) == 1


def test_without_a_decoder_they_are_spread_over_the_knob() -> None:
    points = points_to_read(Steep(decodes=False), X, S, 5)
    assert [p["t"] for p in points] == [0.0, 0.5, 1.0, 1.5, 2.0]


def test_sixteen_points_unless_told() -> None:
    assert len(points_to_read(Steep(), X, S, None)) == 16


@pytest.mark.parametrize(("count", "expected"), [(None, [1, 2, 3, 4, 5]), (3, [1, 3, 5])])
def test_a_curve_with_a_list_of_its_own_is_read_there(
    count: int | None, expected: list[int]
) -> None:
    curve = Steep()
    curve.points = tuple(Point.of(t=n) for n in range(1, 6))
    assert [p["t"] for p in points_to_read(curve, X, S, count)] == expected
