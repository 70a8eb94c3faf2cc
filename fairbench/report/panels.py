"""Tables cut into panels: what may be drawn in one frame, because it is ranked together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairbench.leaderboard.attainment import fronts
from fairbench.leaderboard.build import Tables
from fairbench.store.database import Row

RANKED_TOGETHER = ("track", "budget", "audit")


@dataclass(frozen=True)
class Panel:
    """One ranking of one dataset.

    Parameters
    ----------
    dataset : str
        Name of the dataset's table; a twin's ends in ``-simulated``.
    track, budget, audit : str
        What is ranked together.
    rows : tuple of dict
        Of the leaderboard, best first, incomplete ones last.
    points : tuple of dict
        Of those methods: measured points alone, in the order of their curves.
    surfaces : tuple of dict
        Attainment surfaces of their curves over seeds: what AUFDC is the area under.
    failures : tuple of dict
        Models and points of those methods that were tried and gave nothing.
    """

    dataset: str
    track: str
    budget: str
    audit: str
    rows: tuple[Row, ...]
    points: tuple[Row, ...]
    surfaces: tuple[Row, ...]
    failures: tuple[Row, ...] = ()

    @property
    def title(self) -> str:
        """The dataset and what sets the panel apart."""
        return f"{self.dataset} · {self.track} · {self.budget} budget · {self.audit} audit"

    @property
    def names(self) -> dict[tuple[str, str], str]:
        """What each row is called: its method, and its parameters where they are needed."""
        methods = [row["method"] for row in self.rows]
        found = {}
        for row in self.rows:
            alone = methods.count(row["method"]) == 1
            label = row["method"] if alone else f"{row['method']} ({row['params']})"
            found[(row["method"], row["params"])] = label
        return found

    @property
    def baselines(self) -> list[str]:
        """Names of the rows that are baselines."""
        names = self.names
        return [
            names[(row["method"], row["params"])]
            for row in self.rows
            if "baseline" in row["tags"].split()
        ]

    def curves(self) -> dict[str, list[list[Row]]]:
        """Points by name, a list a seed, each in the order of its knobs."""
        names = self.names
        found: dict[str, dict[int, list[Row]]] = {name: {} for name in names.values()}
        for point in self.points:
            name = names[(point["method"], point["params"])]
            found[name].setdefault(point["seed"], []).append(point)
        return {name: [seeds[s] for s in sorted(seeds)] for name, seeds in found.items()}

    def surface(self, row: Row, level: float) -> tuple[list[float], list[float]]:
        """D and I of one row's attainment surface; 50 is the median, and of one seed its curve."""
        own = [
            found
            for found in self.surfaces
            if found["level"] == level
            and (found["method"], found["params"]) == (row["method"], row["params"])
        ]
        return [found["distortion"] for found in own], [
            found["mutual_information"] for found in own
        ]

    def front(self, row: Row, level: float) -> tuple[list[float], list[float]]:
        """A_s and A_y of the corners of one row's front; over seeds its attainment surface.

        As with curves, a row that is not complete has none.
        """
        name = self.names[(row["method"], row["params"])]
        seeds = [
            (
                np.array([p["accuracy_s"] for p in points]),
                np.array([p["accuracy_y"] for p in points]),
            )
            for points in self.curves()[name]
            if all(p.get("accuracy_y") is not None for p in points)
        ]
        if not seeds or not row["complete"] or (len(seeds) == 1 and level != 50):
            return [], []
        ((_, a_s, a_y),) = fronts(seeds, levels=(level,))
        return a_s.tolist(), a_y.tolist()

    def front_band(self, row: Row) -> tuple[list[float], list[float], list[float]]:
        """A_s, and A_y that three quarters and that one quarter of the seeds attain from there on.

        Empty for a single seed, and where the three quarters attain nothing yet.
        """
        best, worst = self.front(row, 25), self.front(row, 75)
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
    def simulated(self) -> bool:
        """Whether the rows come from an embedded twin."""
        return any(row["data_source"] == "simulated" for row in self.rows)

    @property
    def most_seeds(self) -> int:
        """Seeds of the row that has most."""
        return max((row["seeds"] for row in self.rows), default=0)

    @property
    def shortfalls(self) -> list[str]:
        """A line for each row that is not complete: what is missing, and what became of it."""
        return [self._shortfall(row) for row in self.rows if not row["complete"]]

    def _shortfall(self, row: Row) -> str:
        of = (row["method"], row["params"])
        missing, seeds = row["points_missing"], row["seeds_missing"]
        parts = []
        if missing:
            parts.append(f"{missing} of {missing + row['points']} points missing")
        if seeds and row["seeds"]:
            parts.append(f"{seeds} of {seeds + row['seeds']} seeds without any")
        statuses = Counter(f["status"] for f in self.failures if (f["method"], f["params"]) == of)
        became = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
        said = "; ".join(parts) or "x itself is not measured yet"
        return f"{self.names[of]}: {said}" + (f" ({became})" if became else "")


def panels(table: Tables) -> list[Panel]:
    """The panels of a dataset, in the order of its leaderboard."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in table.leaderboard:
        found.setdefault(_place(row), []).append(row)
    measured: dict[tuple[str, str, str], list[Row]] = {}
    for point in table.points:
        if point["status"] == "DONE":
            measured.setdefault(_place(point), []).append(point)
    surfaces: dict[tuple[str, str, str], list[Row]] = {}
    for found_row in table.attainment:
        surfaces.setdefault(_place(found_row), []).append(found_row)
    failed: dict[tuple[str, str, str], list[Row]] = {}
    for failure in table.failures:
        failed.setdefault(_place(failure), []).append(failure)
    return [
        Panel(
            table.dataset,
            *place,
            tuple(rows),
            tuple(measured.get(place, ())),
            tuple(surfaces.get(place, ())),
            tuple(failed.get(place, ())),
        )
        for place, rows in found.items()
    ]


def _place(row: Row) -> tuple[str, str, str]:
    track, budget, audit = (str(row[name]) for name in RANKED_TOGETHER)
    return track, budget, audit


def all_names(shown: Sequence[Panel]) -> list[str]:
    """Names over several panels, in order of appearance, so that looks can be shared."""
    return list(dict.fromkeys(name for panel in shown for name in panel.names.values()))
