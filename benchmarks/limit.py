"""How far merged cells are from the best blind encoder of the same cells, on Adults-Gender.

    python benchmarks/limit.py --data-root DIR [--cells 150 300 600] [--figure FILE.png]

The population is the encoder training set, cut into cells by k-means, with shares of the groups as
boosted trees estimate them. For each price the best of all encoders of these cells, random ones
too, is found by a linear programme (fairbench_plugins/merged_cells/limit.py), with a bound that no
encoder is below. Beside it stand the codes that ``merged-cells`` finds at that price. Nothing is
audited: D and I are those of the population. Areas are as in AUFDC: divided by D_max and by I(X;S),
that of the shares of single rows.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from figures import Figures
from inputs import load_real_adults

from fairbench.api import Role
from fairbench.metrics.hull import lower_hull
from fairbench_plugins.merged_cells.cells import cross_fitted, find_cells, nearest
from fairbench_plugins.merged_cells.joining import (
    Array,
    CellSums,
    explained,
    information,
    search,
)
from fairbench_plugins.merged_cells.limit import limit
from fairbench_plugins.merged_cells.merged import MergedCellsParams

PRICES = np.geomspace(2.0, 500.0, 12)


@dataclass(frozen=True)
class Curves:
    """D and I of both, ``(prices, 2)``, and what it took to find the limit."""

    best: Array
    merged: Array
    doubt: float  # the largest share of the objective
    seconds: float  # of the limit at all prices


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", type=Path, default=os.environ.get("FAIRBENCH_DATA"))
    parser.add_argument("--cells", type=int, nargs="+", default=[150, 300, 600])
    parser.add_argument("--figure", type=Path, help="draw the curves of the most cells")
    given = parser.parse_args()
    data = load_real_adults(given.data_root)
    rows = data.roles[Role.ENCODER_TRAIN]
    params = MergedCellsParams()
    shares = cross_fitted(rows.x, rows.s, 2, params.folds)
    x = rows.x.astype(np.float64)
    whole = CellSums.of(np.zeros(len(x), np.int64), 1, x, shares)
    squares, count = float((x**2).sum()), len(x)
    d_max = (squares - float(explained(whole.n, whole.x)[0])) / count
    i_max = float(information(shares).sum() - information(whole.n)[0]) / count
    print(f"D_max {d_max:.3f}, I(X;S) of the shares {i_max:.4f} nats")
    by_cells: dict[int, Curves] = {}
    with Figures("limit") as figures:
        for cells in given.cells:
            centres = find_cells(rows.x, cells, 0)
            sums = CellSums.of(nearest(centres, rows.x), len(centres), x, shares)
            curves = by_cells[cells] = measure(sums, x)
            what = f"{len(centres):,} cells of Adults-Gender"
            best, merged = (area(curve, d_max, i_max) for curve in (curves.best, curves.merged))
            figures.other(f"{what}: area of the limit", best, "")
            figures.other(f"{what}: area of merged cells", merged, "")
            figures.other(f"{what}: the limit as a share of that", best / merged, "ratio")
            figures.other(f"{what}: most of D + price I in doubt", 100 * curves.doubt, "%", limit=1)
            figures.seconds(f"{what}: the limit at {len(PRICES)} prices", curves.seconds)
        if given.figure is not None:
            draw(by_cells[max(by_cells)], (d_max, i_max), given.figure)
    return figures.failed


def measure(sums: CellSums, x: Array) -> Curves:
    """Find the limit and merged cells at all prices; the limit alone is timed."""
    squares, count = float((x**2).sum()), len(x)
    best, merged, doubt = [], [], 0.0
    start = time.perf_counter()
    points = limit(sums, squares, PRICES.tolist(), tolerance=1e-5)
    seconds = time.perf_counter() - start
    searched = search(sums, PRICES, MergedCellsParams().sweeps)
    for found, codes in zip(points, searched, strict=True):
        best.append((found.distortion, found.information))
        doubt = max(doubt, found.gap / (found.distortion + found.price * found.information))
        joined = sums.joined(codes)
        distortion = (squares - explained(joined.n, joined.x).sum()) / count
        leaked = (information(joined.n).sum() - information(sums.n.sum(0))) / count
        merged.append((distortion, leaked))
        print(
            f"  price {found.price:6.1f}: limit D {best[-1][0]:.3f} I {best[-1][1]:.4f}, "
            f"merged cells D {distortion:.3f} I {leaked:.4f}, in doubt {found.gap:.2g}",
            flush=True,
        )
    return Curves(np.array(best), np.array(merged), doubt, seconds)


def area(curve: Array, d_max: float, i_max: float) -> float:
    """Area below the lower convex hull with both ends, as a share of D_max I(X;S)."""
    d, i = ends(curve, d_max, i_max)
    return float(np.trapezoid(i, d) / (d_max * i_max))


def ends(curve: Array, d_max: float, i_max: float) -> tuple[Array, Array]:
    """Return the hull's D and I, from releasing x to releasing nothing."""
    d = np.concatenate([[0.0, d_max], np.minimum(curve[:, 0], d_max)])
    i = np.concatenate([[i_max, 0.0], np.maximum(curve[:, 1], 0.0)])
    hull = lower_hull(d, i)
    return d[hull], i[hull]


def draw(curves: Curves, most: tuple[float, float], target: Path) -> None:
    """Draw both curves."""
    import matplotlib.pyplot as plt

    from fairbench.report.style import styled

    with styled():
        figure, axes = plt.subplots(figsize=(6.4, 4))
        for curve, label in ((curves.merged, "merged cells"), (curves.best, "the limit")):
            axes.plot(*ends(curve, *most), marker="o", markersize=3, label=label)
        axes.set(xlabel="distortion D given s", ylabel="I(S; code), nats", xlim=0, ylim=0)
        axes.legend()
        figure.tight_layout()
        figure.savefig(target, dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    sys.exit(main())
