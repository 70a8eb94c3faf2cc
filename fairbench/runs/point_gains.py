"""How much the figures that rank a row gain by each of its points.

A single point can make an area: one that leaks nothing at a small distortion. So a verification
looks at the points that matter first. What a curve loses without a point does not say how much that
point matters: of two points alike neither is missed. So gains are averaged over orders in which
the points of a curve might be added one by one (Shapley values, by sampled orders): points alike
share what they gain together.
"""

from __future__ import annotations

import enum
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from fairbench.api import Track
from fairbench.api.metric import CurveEvaluation
from fairbench.metrics.aufdc import Aufdc
from fairbench.metrics.certificate import certified_area
from fairbench.metrics.hull import chosen_vertices
from fairbench.metrics.operating import AccuracyAtLeakage
from fairbench.store.records import PointRecord, ReferenceRecord, UnitRecord

Gains = Mapping[str, float]
"""By key of a point: how much better a figure of its curve is by it; 0 or more."""

_ORDERS = 60
"""Orders that gains are averaged over. Of a curve of 8 points, and of three figures and 6 splits,
all gains take .4 s."""


def _area(evaluation: CurveEvaluation) -> float | None:
    return Aufdc().compute(evaluation)["aufdc"]


def _accuracy(evaluation: CurveEvaluation) -> float | None:
    found = AccuracyAtLeakage().compute(evaluation)["accuracy_y_at_leakage_10"]
    return None if found is None else -found


class GainedFigure(enum.Enum):
    """A figure of a curve that points gain something for."""

    AREA = "area"
    CERTIFIED_AREA = "certified area"
    ACCURACY = "accuracy at a leakage"
    AREA_LAST = "area, by the point that is added last"


_FIGURES: Mapping[GainedFigure, Callable[[CurveEvaluation], float | None]] = {
    GainedFigure.AREA: _area,
    GainedFigure.CERTIFIED_AREA: certified_area,
    GainedFigure.ACCURACY: _accuracy,
}
"""What ranks rows, or is shown beside it; lower is better."""

_WORST = {GainedFigure.AREA: 0.5, GainedFigure.CERTIFIED_AREA: 0.5, GainedFigure.ACCURACY: 0.0}
"""Of a curve without points."""


@dataclass(frozen=True)
class PointGains:
    """The gains by figure, those of the area by the last point added, and the points of hulls.

    ``ranked`` is the figure that ranks the row.
    """

    by_figure: Mapping[GainedFigure, Gains]
    ranked: GainedFigure
    vertices: frozenset[str]

    @classmethod
    def of(
        cls,
        units: Mapping[str, UnitRecord],
        points: Sequence[PointRecord],
        references: Mapping[tuple[str, int], ReferenceRecord],
        source: random.Random,
    ) -> PointGains:
        """Compute them; ``references`` by fingerprint of the data and seed."""
        curves: dict[tuple[str, int], list[PointRecord]] = defaultdict(list)
        for point in sorted(points, key=lambda one: one.key):
            unit = units[point.unit]
            curves[unit.fingerprint, unit.seed].append(point)
        found: dict[GainedFigure, Gains] = {}
        for name, measure in _FIGURES.items():
            gains: dict[str, float] = {}
            for key, own in curves.items():
                figure = _figure_of_some(own, references[key], measure, _WORST[name])
                gains |= _shared(own, figure, source)
            found[name] = gains
        # Where a single point is a little too good, this tells it better from the others.
        last: dict[str, float] = {}
        for key, own in curves.items():
            last |= _missed(
                own, _figure_of_some(own, references[key], _area, _WORST[GainedFigure.AREA])
            )
        aware = any(unit.track == Track.AWARE.value for unit in units.values())
        return cls(
            {**found, GainedFigure.AREA_LAST: last},
            GainedFigure.ACCURACY if aware else GainedFigure.AREA,
            frozenset(key for at, own in curves.items() for key in _vertices(own, references[at])),
        )

    def of_rank(self, point: PointRecord) -> float:
        """Return the gain by a point of what ranks the row."""
        return self.by_figure[self.ranked][point.key]

    def weights(self, points: Sequence[PointRecord], figure: GainedFigure | None) -> list[float]:
        """Return weights to draw points by: their gains, or, without a figure, all alike."""
        if figure is not None:
            gains = [self.by_figure[figure][point.key] for point in points]
            if any(gains):
                return gains
        return [1.0] * len(points)

    def of_hulls(self, points: Sequence[PointRecord]) -> list[float]:
        """Return weights to draw points by: those that areas are made of alike, and no others."""
        found = [float(point.key in self.vertices) for point in points]
        return found if any(found) else [1.0] * len(points)


def _figure_of_some(
    points: Sequence[PointRecord],
    reference: ReferenceRecord,
    measure: Callable[[CurveEvaluation], float | None],
    worst: float,
) -> Callable[[frozenset[int]], float]:
    """Return the function that gives the figure of a curve of some points, by their numbers."""

    @cache
    def figure(some: frozenset[int]) -> float:
        if not some:
            return worst
        figures = [points[number].figures for number in sorted(some)]
        found = measure(CurveEvaluation(figures, reference.figures))
        return worst if found is None else found

    return figure


def _shared(
    points: Sequence[PointRecord],
    figure: Callable[[frozenset[int]], float],
    source: random.Random,
) -> dict[str, float]:
    """Return the gain by each point when it is added to those before it, mean over orders."""
    numbers = range(len(points))
    gains = dict.fromkeys((point.key for point in points), 0.0)
    for _ in range(_ORDERS):
        order = source.sample(numbers, len(numbers))
        curves = [frozenset(order[:count]) for count in range(len(order) + 1)]
        for number, (before, after) in zip(order, pairwise(curves), strict=True):
            gains[points[number].key] += max(0.0, figure(before) - figure(after)) / _ORDERS
    return gains


def _missed(
    points: Sequence[PointRecord], figure: Callable[[frozenset[int]], float]
) -> dict[str, float]:
    """Return what the curve loses without each point."""
    whole = frozenset(range(len(points)))
    return {
        point.key: max(0.0, figure(whole - {number}) - figure(whole))
        for number, point in enumerate(points)
    }


def _vertices(points: Sequence[PointRecord], reference: ReferenceRecord) -> list[str]:
    """Return the keys of the points that the area of a curve is made of."""
    names = ("distortion_validation", "mutual_information_validation")
    known = np.array([[point.figures[name] for name in names] for point in points], np.float64)
    found = chosen_vertices(
        known,
        i_max=reference.figures["mutual_information_max_validation"],
        d_max=reference.figures["distortion_max_validation"],
    )
    return [points[number - 2].key for number in found if number >= 2]  # the first two are ends
