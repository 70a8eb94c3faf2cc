"""AUFDC of Adults-Gender, seed 0, under audit versions 4 and 5, and where the difference is from.

    fairbench run --dataset adults-gender --methods ... --results new
    fairbench leaderboard --results new
    python benchmarks/audit_versions.py new/leaderboards/adults-gender-points.csv

Version 4 are the published points of seed 0; version 5 those of the file that is named. Where every
point of version 5 has its counterpart, only these points count, and the figures of version 4 are
replaced one kind after another by those of version 5: first I_max and D_max, then I of the points,
then D. Each column is what the area changes by; together they are the whole change. Where the
points are others (a method that has changed, or a curve that is read elsewhere), the areas of the
whole curves are compared.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from tabulate import tabulate

import fairbench
from fairbench.metrics.aufdc import strict_area

PUBLISHED = Path(__file__).parents[1] / "leaderboards" / "adults-gender-points.csv"

ENDS = {
    "i_max": "mutual_information_max",
    "d_max": "distortion_max",
    "i_max_validation": "mutual_information_max_validation",
    "d_max_validation": "distortion_max_validation",
}
SAME = 0.05
"""Largest change of D, as a share of D_max, of one and the same code."""

I_OF_POINTS = ("mutual_information", "mutual_information_validation")
D_OF_POINTS = ("distortion", "distortion_validation")


def load_points(path: Path) -> dict[str, pd.DataFrame]:
    """Read seed 0's points of each method's default row, by method, indexed by their label."""
    points = fairbench.load_leaderboard(path)
    chosen = points[(points["seed"] == 0) & (points["status"] == "DONE")]
    if "split" in chosen:
        chosen = chosen[chosen["split"] == "official"]
    default = chosen["params"].isin(["default", 'grid="paper"'])
    return {
        str(method): rows.set_index("point").sort_values("point_number")
        for method, rows in chosen[default].groupby("method")
    }


def area_of(points: pd.DataFrame) -> float:
    """Compute the AUFDC of one curve."""
    ends: Mapping[str, float] = {name: float(points[c].iloc[0]) for name, c in ENDS.items()}
    return strict_area(
        list(zip(points[D_OF_POINTS[0]], points[I_OF_POINTS[0]], strict=True)),
        list(zip(points[D_OF_POINTS[1]], points[I_OF_POINTS[1]], strict=True)),
        **ends,
    )


def is_same(old: pd.DataFrame, new: pd.DataFrame) -> bool:
    """Whether points with the same labels are the same codes, by their distortion."""
    gaps = (old["distortion"] - new["distortion"]).abs()
    return bool(gaps.max() <= SAME * new["distortion_max"].iloc[0])


def compare(old: pd.DataFrame, new: pd.DataFrame) -> list[float]:
    """Return the areas of both versions, and the changes by ends, by I and by D."""
    steps = [old.copy()]
    for columns in (tuple(ENDS.values()), I_OF_POINTS, D_OF_POINTS):
        step = steps[-1].copy()
        for column in columns:
            step[column] = new[column]
        steps.append(step)
    areas = [area_of(step) for step in steps]
    changes = [after - before for before, after in itertools.pairwise(areas)]
    return [areas[0], areas[-1], *changes]


def main() -> None:
    """Print the table."""
    old, new = load_points(PUBLISHED), load_points(Path(sys.argv[1]))
    rows: list[list[object]] = []
    for method in sorted(old.keys() & new.keys(), key=lambda name: area_of(new[name])):
        both = new[method].index
        found: list[object] = [area_of(old[method]), area_of(new[method])]
        if both.isin(old[method].index).all() and is_same(old[method].loc[both], new[method]):
            found = [*compare(old[method].loc[both], new[method])]
        rows.append([f"`{method}`", len(both), *found])
    heads = ["method", "points", "version 4", "version 5", "by I_max", "by I", "by D"]
    formats = ("", "", ".3f", ".3f", "+.3f", "+.3f", "+.3f")
    print(tabulate(rows, headers=heads, tablefmt="github", floatfmt=formats))


if __name__ == "__main__":
    main()
