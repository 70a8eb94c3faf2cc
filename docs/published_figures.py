"""Figures of the published board that pages test claims by: over splits, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from board_rows import estimate_gap, name_rows, read_table
from fairbench.api import Track
from fairbench.data.splits import OFFICIAL
from fairbench.leaderboard.build import Tables
from fairbench.leaderboard.folds import estimate_over_folds
from fairbench.leaderboard.ranking import LeaderboardEntry
from fairbench.metrics.hull import strict_curve
from fairbench.metrics.limits import share_within_limit
from fairbench.metrics.operating import d_at
from fairbench.metrics.rows import DEFAULT, PointRow
from fairbench.stats.intervals import LEVEL, Estimate
from fairbench.store.status import Status

BOARD = "adults-gender-5"

TEST_LEVEL = 0.05
"""Level of each one-sided test, and of differences."""
RISE_MARGIN = 0.01
"""Nats by which I may rise along a curve that counts as monotonic."""
FALL_MARGIN = 0.01
"""Share of D_max by which D may fall along such a curve: points have no interval of D."""
_AXES = ("distortion", "mutual_information")
_ENDS = ("low", "high")


@dataclass(frozen=True)
class Rises:
    """Steps along curves towards the fair end, and at how many of them I rises."""

    steps: int
    seen: int
    clear: int  # beyond the noise of the test rows
    possible: int  # could be above RISE_MARGIN, or are not known


@dataclass(frozen=True)
class Falls:
    """Steps along curves towards the fair end, and at how many of them D falls."""

    steps: int
    seen: int
    clear: int  # by more than FALL_MARGIN


def count_rises(curves: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Rises:
    """Count the rises from each point of a curve to the next, of figures and their deviations.

    Limits are one-sided, at 5% for all steps of all curves together (Bonferroni); deviations are
    those of test rows, and as both points of a step have the same rows, they are cautious.
    """
    from scipy.special import ndtri

    steps = np.concatenate([np.diff(figures) for figures, _ in curves])
    spread = np.concatenate([np.hypot(wide[1:], wide[:-1]) for _, wide in curves])
    half = -float(ndtri(TEST_LEVEL / max(1, len(steps)))) * spread
    return Rises(
        steps=len(steps),
        seen=int((steps > 0).sum()),
        clear=int((steps > half).sum()),
        # So written, a figure that is missing (NaN) excludes nothing.
        possible=int((~(steps + half <= RISE_MARGIN)).sum()),
    )


def count_falls(curves: Sequence[Sequence[float]]) -> Falls:
    """Count the falls of D from each point of a curve to the next; D as a share of D_max."""
    steps = np.concatenate([np.diff(shares) for shares in curves])
    return Falls(
        steps=len(steps),
        seen=int((steps < 0).sum()),
        clear=int((steps < -FALL_MARGIN).sum()),
    )


def deviation(low: float, high: float) -> float:
    """Return the standard deviation of a normal figure whose 95% interval is known."""
    return (high - low) / (2 * NormalDist().inv_cdf((1 + LEVEL) / 2))


class Published:
    """The ranked default rows of a board's blind track, by method."""

    def __init__(self, table: Tables) -> None:
        self.table = table
        blind = (
            entry
            for entry in table.entries
            if entry.row.replicated
            and entry.row.params == DEFAULT
            and entry.row.track == Track.BLIND.value
        )
        self.rows = name_rows(blind, table.dataset)

    def of(self, method: str, column: str) -> Estimate:
        """Estimate a figure over the splits."""
        return _over_splits(self.rows[method].folds[column])

    def gap(self, a: str, b: str, column: str) -> Estimate:
        """Estimate the difference of a and b over the splits, paired."""
        return estimate_gap(self.rows[a], self.rows[b], column, names=f"{a} and {b} of {BOARD}")

    def least_share(self, method: str, column: str = "mutual_information_min") -> Estimate:
        """Estimate the least I(Z;S) of any point, as a share of the mean I(X;S)."""
        row: LeaderboardEntry = self.rows[method]
        most = row.row.mutual_information_max
        assert most is not None
        return _over_splits(row.folds[column] / most)

    def curves(self, method: str) -> Iterator[list[PointRow]]:
        """Yield a method's points on each split and seed, in the order of their knobs."""
        for _, curve in self._curves_of_splits(method):
            yield curve

    def _curves_of_splits(self, method: str) -> Iterator[tuple[str, list[PointRow]]]:
        curves: dict[tuple[str, int], list[PointRow]] = {}
        for point in self.table.points:
            if (point.method, point.params) != (method, DEFAULT) or point.split == OFFICIAL.name:
                continue
            if point.status == Status.DONE.value:
                curves.setdefault((point.split, point.seed), []).append(point)
        for (split, _), curve in sorted(curves.items()):
            yield split, sorted(curve, key=lambda p: p.point_number or 0)

    def _by_split(self, method: str, figure: Callable[[list[PointRow]], float]) -> np.ndarray:
        """Return a figure of curves on each split, as the mean over its seeds."""
        found: dict[str, list[float]] = {}
        for split, curve in self._curves_of_splits(method):
            found.setdefault(split, []).append(figure(curve))
        return np.array([np.mean(figures) for figures in found.values()])

    def distortion_gap(self, a: str, b: str, percent: int) -> Estimate:
        """Estimate by how much D of a exceeds that of b where so much of I(X;S) is left.

        As a share of D_max, on the strict curves of both.
        """
        one, other = (
            self._by_split(name, lambda points: distortion_at(points, percent / 100))
            for name in (a, b)
        )
        return _over_splits(one - other)

    def accuracy_of(self, method: str) -> float:
        """Mean over the splits of accuracy_y at the last setting."""
        return float(np.mean(self._by_split(method, _at_last("accuracy_y"))))

    def share_at_fair_end(self, method: str, column: str) -> Estimate:
        """Estimate an accuracy at the last setting, from a constant guess (0) to x (1)."""
        own, guess, most = (
            self._by_split(name, _at_last(column)) for name in (method, "constant", "identity")
        )
        return _over_splits((own - guess) / (most - guess))

    def share_within(self, method: str, column: str) -> float:
        """Return in what share of a method's curves a point keeps the limit of a column.

        In the others its figure in this column is that of a constant guess.
        """
        share = share_within_limit(column, self.rows[method].row.figures)
        assert share is not None
        return share

    def rises(self, method: str) -> Rises:
        """Count the rises of I towards the fair end, over all splits."""
        return count_rises(
            [
                (
                    [_number(p.figures["mutual_information"]) for p in points],
                    [
                        deviation(*(_number(p.figures[f"mutual_information_{e}"]) for e in _ENDS))
                        for p in points
                    ],
                )
                for points in self._to_fair_end(method)
            ]
        )

    def falls(self, method: str) -> Falls:
        """Count the falls of D towards the fair end, over all splits."""
        return count_falls(
            [
                [_number(p.figures["distortion"]) / _number(p.distortion_max) for p in points]
                for points in self._to_fair_end(method)
            ]
        )

    def _to_fair_end(self, method: str) -> Iterator[list[PointRow]]:
        """Yield its curves with a step, from the end that leaks more."""
        for points in self.curves(method):
            if len(points) < 2:
                continue
            ends = [_number(points[k].figures["mutual_information"]) for k in (0, -1)]
            yield points[::-1] if ends[0] < ends[1] else points


def distortion_at(points: Sequence[PointRow], share: float) -> float:
    """The least D, as a share of D_max, at which a curve comes to a share of I(X;S)."""
    first = points[0]
    ends = ("mutual_information_max", "distortion_max")
    i_max, d_max, i_max_validation, d_max_validation = (
        _number(getattr(first, f"{name}{of}")) for of in ("", "_validation") for name in ends
    )
    d, i = strict_curve(
        np.array([_number(p.figures["distortion"]) for p in points]),
        np.array([_number(p.figures["mutual_information"]) for p in points]),
        np.array([[_number(p.figures[f"{name}_validation"]) for name in _AXES] for p in points]),
        i_max=i_max,
        d_max=d_max,
        i_max_validation=i_max_validation,
        d_max_validation=d_max_validation,
    )
    return d_at(d, i, share * i_max) / d_max


def _at_last(column: str) -> Callable[[list[PointRow]], float]:
    """Return what reads a figure of a curve's last point."""
    return lambda points: _number(points[-1].figures[column])


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _over_splits(figures: np.ndarray) -> Estimate:
    return estimate_over_folds(figures)


def read_published(board: str = BOARD) -> Published:
    """Read a board."""
    return Published(read_table(board))
