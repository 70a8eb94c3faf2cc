"""Single-shot methods whose curves break one promise each."""

from __future__ import annotations

from fairbench.api import Knob, Point, Shots
from fairbench.api.method import Curve
from tests.support import wrong_encoders as encoders
from tests.support.right_method import Released, Right


class Line(Curve):
    """Moves the released columns by its knob."""

    knob = Knob("k", 0.0, 1.0)

    def at(self, point):
        return Released(point.values[0][1])


class RightCurve(Right):
    """It keeps every promise."""

    name = "right-curve"
    shots = Shots.SINGLE
    knobs = (Knob("k", 0.0, 1.0),)
    line = Line

    def fit(self, train, units, context):
        return [self.line() for _ in units]


class DecodesToLists(RightCurve):
    """It keeps every promise."""

    has_decoder = True

    class line(Line):
        def at(self, point):
            return encoders.DecodesToLists.released(point["k"])


class WiderThanDeclared(RightCurve):
    class line(Line):
        knob = Knob("k", 0.0, 2.0)


class PointsOutside(RightCurve):
    class line(Line):
        points = (Point.of(k=0.5), Point.of(k=2.0))


class PointsOfAnotherKnob(RightCurve):
    class line(Line):
        points = (Point.of(beta=0.5), Point.of(beta=1.0))


class PointsAreNumbers(RightCurve):
    class line(Line):
        points = (0.0, 0.5, 1.0)


class PointsAreGenerated(RightCurve):
    class line(Line):
        def __init__(self):
            self.points = (Point.of(k=k) for k in (0.0, 1.0))


class PointsAreAMethod(RightCurve):
    class line(Line):
        def points(self):
            return (Point.of(k=0.0), Point.of(k=1.0))


class LogarithmOfZero(RightCurve):
    knobs = (Knob("k", 0.0, 1.0, logarithmic=True),)

    class line(Line):
        knob = Knob("k", 0.0, 1.0, logarithmic=True)


class WithoutEnd(RightCurve):
    knobs = (Knob("k", 0.0, float("inf")),)

    class line(Line):
        knob = Knob("k", 0.0, float("inf"))
