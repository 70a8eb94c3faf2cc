"""How much the figures that rank a row gain by each of its points.

A single point can make an area: one that leaks nothing at a small distortion. So a verification
looks at the points that matter first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairbench.api import Track
from fairbench.api.metric import CurveEvaluation
from fairbench.metrics.aufdc import Aufdc
from fairbench.metrics.certificate import certified_area
from fairbench.metrics.operating import AccuracyAtLeakage
from fairbench.store.records import PointRecord, ReferenceRecord, UnitRecord

Gains = Mapping[str, float]
"""By key of a point: how much better a figure of its curve is than without it; 0 or more."""


def _area(evaluation: CurveEvaluation) -> float | None:
    return Aufdc().compute(evaluation)["aufdc"]


def _accuracy(evaluation: CurveEvaluation) -> float | None:
    found = AccuracyAtLeakage().compute(evaluation)["accuracy_y_at_leakage_10"]
    return None if found is None else -found


_FIGURES: Mapping[str, Callable[[CurveEvaluation], float | None]] = {
    "area": _area,
    "certified area": certified_area,
    "accuracy": _accuracy,
}
"""What ranks rows, or is shown beside it; lower is better."""

_WORST = {"area": 0.5, "certified area": 0.5, "accuracy": 0.0}
"""Of a curve without points."""


@dataclass(frozen=True)
class PointGains:
    """The gains by figure, and the figure that ranks the row."""

    by_figure: Sequence[Gains]
    ranked: int

    @classmethod
    def of(
        cls,
        units: Mapping[str, UnitRecord],
        points: Sequence[PointRecord],
        references: Mapping[tuple[str, int], ReferenceRecord],
    ) -> PointGains:
        """Compute them; ``references`` by fingerprint of the data and seed."""
        curves: dict[tuple[str, int], list[PointRecord]] = defaultdict(list)
        for point in points:
            unit = units[point.unit]
            curves[unit.fingerprint, unit.seed].append(point)
        found: list[dict[str, float]] = []
        for name, measure in _FIGURES.items():
            gains: dict[str, float] = {}
            for key, own in curves.items():
                gains |= _gains(own, references[key], measure, _WORST[name])
            found.append(gains)
        aware = any(unit.track == Track.AWARE.value for unit in units.values())
        return cls(found, list(_FIGURES).index("accuracy" if aware else "area"))

    def of_rank(self, point: PointRecord) -> float:
        """Return the gain by a point of what ranks the row."""
        return self.by_figure[self.ranked][point.key]

    def weights(self, points: Sequence[PointRecord], figure: int) -> list[float]:
        """Return weights to draw points by, of the figure of a number; alike for a higher one."""
        if figure < len(self.by_figure):
            gains = [self.by_figure[figure][point.key] for point in points]
            if any(gains):
                return gains
        return [1.0] * len(points)


def _gains(
    points: Sequence[PointRecord],
    reference: ReferenceRecord,
    measure: Callable[[CurveEvaluation], float | None],
    worst: float,
) -> dict[str, float]:
    def figure(some: Sequence[PointRecord]) -> float:
        if not some:
            return worst
        found = measure(CurveEvaluation([one.figures for one in some], reference.figures))
        return worst if found is None else found

    whole = figure(points)
    return {
        point.key: max(0.0, figure([one for one in points if one is not point]) - whole)
        for point in points
    }
