"""Certified areas of the published Adults-Gender, by bounds of each point and by simultaneous ones.

    python benchmarks/certified_areas.py

The published records are of version 4 of the audit, which stored each point's 95% bound and not
what a bound at another level is made of. But the bound rises with the plug-in estimate, and all
else is known of Adults' test file: so the estimate is recovered by bisection, never too low. Where
a code has so few cells that another bound may have been the smaller, the stored bound itself stands
for the estimate, which it is never below.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairbench
from fairbench.api.metric import CurveEvaluation
from fairbench.metrics.certificate import ERROR, certified_area
from fairbench.metrics.columns import REFERENCE_COLUMNS
from fairbench.metrics.hull import strict_curve
from fairbench.stats.information_bound import bound_information

POINTS = Path(__file__).parents[1] / "leaderboards" / "adults-gender-points.csv"

ROWS, WOMEN = 16_281, 5_421
"""Of Adults' test file: all rows, and those of the smaller group."""

FEW_CELLS = 16
"""Most cells of a code that is also bounded cell by cell; see docs/certificate.md."""


def recover_plug_in(stored: float, cells: float) -> float:
    """Return the plug-in estimate, nats, that a 95% bound is of, or more."""
    if cells <= FEW_CELLS:
        return stored
    low, high = 0.0, np.log(2)
    for _ in range(40):
        middle = (low + high) / 2
        bound = bound_information(middle, rows=ROWS, groups=2, least_group=WOMEN, miss=ERROR)
        low, high = (low, middle) if bound >= stored else (middle, high)
    return float(high)


def complete(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return a point's figures with what its bound is made of."""
    figures = {name: None if pd.isna(value) else value for name, value in point.items()}
    stored = figures["certified_mutual_information"]
    if stored is not None:
        figures["certified_plug_in_information"] = recover_plug_in(
            stored, figures["certified_codes"]
        )
    return figures | {
        "certified_rows": ROWS,
        "certified_groups": 2,
        "certified_smallest_group": WOMEN,
    }


def area_by_point(evaluation: CurveEvaluation) -> float:
    """Compute the area by each point's 95% bound, as if they held all at once."""
    known = [p for p in evaluation.points if p["certified_mutual_information"] is not None]
    reference = evaluation.reference
    i_max, d_max = reference["mutual_information_max"], reference["distortion_max"]
    bound = np.minimum([p["certified_mutual_information"] for p in known], i_max)
    d, i = strict_curve(
        np.array([p["distortion"] for p in known], dtype=np.float64),
        bound,
        np.column_stack([[p["distortion_validation"] for p in known], bound]),
        i_max=i_max,
        d_max=d_max,
        i_max_validation=i_max,
        d_max_validation=reference["distortion_max_validation"],
    )
    return float(np.trapezoid(i, d) / (d_max * i_max))


def main() -> None:
    table = fairbench.load_leaderboard(POINTS)
    table = table[(table["status"] == "DONE") & (table["track"] == "blind")]
    areas = []
    for (method, params, _), curve in table.groupby(["method", "params", "seed"]):
        points = [complete(row) for row in curve.to_dict("records")]
        reference = {name: points[0][name] for name in REFERENCE_COLUMNS}
        evaluation = CurveEvaluation(points, reference)
        bounded = any(p["certified_mutual_information"] is not None for p in points)
        by_point = area_by_point(evaluation) if bounded else 0.5
        areas.append((method, params[:30], by_point, certified_area(evaluation)))
    names = ["method", "params", "by point", "simultaneous"]
    means = pd.DataFrame(areas, columns=names).groupby(names[:2])
    found = means.mean().assign(seeds=means.size()).sort_values("simultaneous")
    print(found.to_string(float_format="{:.4f}".format))


if __name__ == "__main__":
    main()
