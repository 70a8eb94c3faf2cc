"""Tables cut into panels: rows that are ranked together, and so may be drawn in one frame."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from fairbench.api import DataSource
from fairbench.leaderboard.attainment import compute_fronts
from fairbench.leaderboard.build import Tables
from fairbench.metrics.pareto import choose_front
from fairbench.metrics.rows import (
    DEFAULT,
    AttainmentRow,
    FailureRow,
    LeaderboardRow,
    PointRow,
    RankingGroup,
    TableRow,
    Variant,
)
from fairbench.report.format import settings_of
from fairbench.report.identity import Identities
from fairbench.report.style import Look

T = TypeVar("T", bound=TableRow)


@dataclass(frozen=True)
class Front:
    """What is worth most at an A_s: accuracy on the main task, or on unseen ones."""

    # Of a point: the value on the test set, None where there is none
    value: Callable[[PointRow], float | None]
    # Of a curve: the points that its front is made of, chosen on the validation set
    chosen: Callable[[Sequence[PointRow]], list[PointRow]]


def _chosen_by_transfer(points: Sequence[PointRow]) -> list[PointRow]:
    of = [
        {
            "accuracy_s_validation": point.figures.get("accuracy_s_validation"),
            "transfer_mean_validation": point.transfer_mean_validation,
        }
        for point in points
    ]
    chosen = choose_front(of, "transfer_mean_validation")
    return [point for point, is_on in zip(points, chosen, strict=True) if is_on]


OF_TASK = Front(
    lambda point: point.figures.get("accuracy_y"),
    lambda points: [point for point in points if point.on_front],
)
"""A_y of the main task."""

OF_UNSEEN_TASKS = Front(lambda point: point.transfer_mean, _chosen_by_transfer)
"""Mean accuracy on unseen tasks, relative to x."""


@dataclass(frozen=True)
class Panel:
    """One ranking of one dataset.

    Parameters
    ----------
    dataset : str
        Name of the dataset's table; a twin's ends in ``-simulated``.
    group : RankingGroup
        Track, budget and audit.
    rows : tuple of LeaderboardRow
        Ranked ones first, best first; then those not replicated.
    points : tuple of PointRow
        Measured points that those rows are made of, in the order of their curves.
    surfaces : tuple of AttainmentRow
        Attainment surfaces of their curves over splits and seeds; AUFDC is the
        mean of the areas under each of them.
    failures : tuple of FailureRow
        Models and points of those methods that were tried and gave no figures.
    identities : Identities
        What methods look like.
    highlighted : tuple of str
        Methods that figures are about; the others are faint. Empty: all.
    ranks : int
        Number of rows that the ranks are among, also those that are not shown.
    """

    dataset: str
    group: RankingGroup
    rows: tuple[LeaderboardRow, ...]
    points: tuple[PointRow, ...]
    surfaces: tuple[AttainmentRow, ...]
    failures: tuple[FailureRow, ...] = ()
    identities: Identities = field(default_factory=Identities)
    highlighted: tuple[str, ...] = ()
    ranks: int = 0

    def only(self, methods: Sequence[str]) -> Panel:
        """The panel with the rows of some methods alone."""

        def of_them(rows: tuple[T, ...]) -> tuple[T, ...]:
            return tuple(row for row in rows if row.variant.method in methods)

        return replace(
            self,
            ranks=self.ranks or len(self.ranked),
            rows=of_them(self.rows),
            points=of_them(self.points),
            surfaces=of_them(self.surfaces),
            failures=of_them(self.failures),
        )

    @property
    def title(self) -> str:
        """The dataset and what sets the panel apart."""
        group = self.group
        return f"{self.dataset} · {group.track} · {group.budget} budget · {group.audit} audit"

    @property
    def names(self) -> dict[Variant, str]:
        """Name of each row: its method, and where it has several the label or hyperparameters."""
        methods = Counter(row.method for row in self.rows)
        settings = settings_of(self.rows)

        def name(row: LeaderboardRow) -> str:
            alone = methods[row.method] == 1
            return row.method if alone else f"{row.method} ({settings[row.variant]})"

        return {row.variant: name(row) for row in self.rows}

    @cached_property
    def curves(self) -> Mapping[str, list[list[PointRow]]]:
        """Points by name, one list per split and seed, each in the order of its knobs."""
        names = self.names
        curves: dict[str, dict[tuple[str, int], list[PointRow]]] = {
            name: {} for name in names.values()
        }
        for point in self.points:
            key = (point.split, point.seed)
            curves[names[point.variant]].setdefault(key, []).append(point)
        return {name: [own[key] for key in sorted(own)] for name, own in curves.items()}

    def surface(self, row: LeaderboardRow, level: float) -> tuple[list[float], list[float]]:
        """D and I of one row's attainment surface; 50 is the median, and of one seed its curve."""
        own = self._vertices.get((row.variant, level), [])
        return [vertex.distortion for vertex in own], [vertex.mutual_information for vertex in own]

    @cached_property
    def _vertices(self) -> Mapping[tuple[Variant, float], list[AttainmentRow]]:
        """Vertices of the attainment surfaces, by row and level."""
        vertices: dict[tuple[Variant, float], list[AttainmentRow]] = defaultdict(list)
        for vertex in self.surfaces:
            vertices[vertex.variant, vertex.level].append(vertex)
        return dict(vertices)

    def front(
        self, row: LeaderboardRow, level: float, front: Front = OF_TASK
    ) -> tuple[list[float], list[float]]:
        """A_s and A_y of the corners of one row's front; over seeds its attainment surface.

        Of the points that the validation set puts on their curve's front, as they are on test.

        As with curves, a row that is not complete has none.
        """
        own = [front.chosen(points) for points in self.curves[self.names[row.variant]]]
        seeds = [
            (
                np.array([point.figures["accuracy_s"] for point in points]),
                np.array([front.value(point) for point in points]),
            )
            for points in own
            if points
        ]
        if not seeds or not row.complete or (len(seeds) == 1 and level != 50):
            return [], []
        (surface,) = compute_fronts(seeds, levels=(level,))
        return surface.x.tolist(), surface.y.tolist()

    def front_band(
        self, row: LeaderboardRow, front: Front = OF_TASK
    ) -> tuple[list[float], list[float], list[float]]:
        """A_s, and A_y that three quarters and that one quarter of the seeds attain from there on.

        Empty for a single seed, and where the three quarters attain nothing yet.
        """
        best, worst = self.front(row, 25, front), self.front(row, 75, front)
        if not best[0] or not worst[0]:
            return [], [], []
        grid = np.array(sorted({*best[0], *worst[0]}))
        grid = grid[grid >= max(best[0][0], worst[0][0])]
        high, low = (
            np.array(a_y)[np.searchsorted(a_s, grid, side="right") - 1]
            for a_s, a_y in (best, worst)
        )
        return grid.tolist(), low.tolist(), high.tolist()

    @property
    def demonstration(self) -> str | None:
        """Why its rows have no ranks; None where they may."""
        return self.rows[0].demonstration if self.rows else None

    def measures(self, column: str) -> bool:
        """Whether any row has a figure in a column."""
        return any(row.value(column) is not None for row in self.rows)

    @property
    def simulated(self) -> bool:
        """Whether the rows come from an embedded twin."""
        return any(row.data_source == DataSource.SIMULATED for row in self.rows)

    @property
    def most_curves(self) -> int:
        """Curves, over splits and seeds, of the row that has most."""
        return max((len(curves) for curves in self.curves.values()), default=0)

    @property
    def most_points(self) -> int:
        """Points of the longest curve."""
        return max((len(own) for of_row in self.curves.values() for own in of_row), default=0)

    @property
    def ranked(self) -> tuple[LeaderboardRow, ...]:
        """Replicated rows."""
        return tuple(row for row in self.rows if row.replicated)

    @property
    def not_replicated(self) -> tuple[LeaderboardRow, ...]:
        """Rows without a rank."""
        return tuple(row for row in self.rows if not row.replicated)

    @property
    def ends(self) -> tuple[float, float] | None:
        """D of releasing nothing and I of releasing x, as curves have it; None where unknown.

        Curves are medians over splits and seeds, so I is one, too.
        """
        for row in self.rows:
            found = [
                points[0].mutual_information_max
                for points in self.curves[self.names[row.variant]]
                if points
            ]
            known = [value for value in found if value is not None]
            if known and row.distortion_max is not None:
                # Of an even number the lower one, as attainment surfaces have it.
                return row.distortion_max, float(np.quantile(known, 0.5, method="inverted_cdf"))
        return None

    @property
    def shortfalls(self) -> list[str]:
        """A line for each row that is not complete: what is missing, and the statuses."""
        return [self._shortfall(row) for row in self.rows if not row.complete]

    def _shortfall(self, row: LeaderboardRow) -> str:
        missing, seeds = row.points_missing, row.seeds_missing
        parts = []
        if missing:
            parts.append(f"{missing} of {missing + row.points} points missing")
        if seeds and row.seeds:
            parts.append(f"{seeds} of {seeds + row.seeds} seeds without any")
        statuses = Counter(f.status for f in self.failures if f.variant == row.variant)
        counts = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
        text = "; ".join(parts) or "x itself is not measured yet"
        return f"{self.names[row.variant]}: {text}" + (f" ({counts})" if counts else "")


def panels(table: Tables, identities: Identities | None = None) -> list[Panel]:
    """Cut the tables of a dataset into panels, in the order of its leaderboard."""
    identities = identities or Identities()
    points = _by_group(p for p in table.points if p.status == "DONE" and p.counted)
    surfaces, failures = _by_group(table.attainment), _by_group(table.failures)
    return [
        Panel(
            table.dataset,
            group,
            tuple(rows),
            tuple(points[group]),
            tuple(surfaces[group]),
            tuple(failures[group]),
            identities,
        )
        for group, rows in _by_group(table.leaderboard).items()
    ]


def _by_group(rows: Iterable[T]) -> dict[RankingGroup, list[T]]:
    groups: dict[RankingGroup, list[T]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    return groups


def looks_of(shown: Sequence[Panel]) -> dict[Variant, Look]:
    """Looks of all rows of several panels."""
    if not shown:
        return {}
    # A method's default row comes first, so that its line is solid wherever it is.
    rows = sorted(
        (row.variant for panel in shown for row in panel.rows), key=lambda v: v.params != DEFAULT
    )
    return shown[0].identities.looks(rows)
