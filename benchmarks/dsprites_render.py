"""How fast images of dSprites are drawn on one thread.

    python benchmarks/dsprites_render.py [--all]

Times of 20,000 drawn at random, by shape and together, as bytes and packed: medians of five runs.
With ``--all``, also the time and the memory of all 737,280, eight pixels a byte.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from figures import Figures
from numpy.typing import NDArray

from fairbench_datasets.dsprites_unfair.render import FACTORS, SHAPES, render, render_packed

LIMIT = 0.62
"""Yardsticks, of images of all shapes."""
IMAGES = 20_000


def seconds(draw: Callable[..., NDArray[np.uint8]], latents: NDArray[np.int64]) -> float:
    draw(latents[:1000])
    times = []
    for _ in range(5):
        start = time.perf_counter()
        draw(latents)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="also draw all 737,280")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    latents = np.stack([rng.integers(0, n, IMAGES) for n in FACTORS.values()], axis=1)
    with Figures("dsprites-render") as figures:
        for draw, form in ((render, "a byte a pixel"), (render_packed, "eight pixels a byte")):
            for shape, name in enumerate(("all shapes", *SHAPES), -1):
                chosen = latents.copy()
                if shape >= 0:
                    chosen[:, 1] = shape
                spent = seconds(draw, chosen)
                figures.seconds(
                    f"dSprites: drawing {IMAGES:,} images of {name}, {form}",
                    spent,
                    limit=LIMIT if shape < 0 else None,
                    note=f"{IMAGES / spent:,.0f} images/s",
                )
        if arguments.all:
            every = np.stack(np.unravel_index(np.arange(737_280), tuple(FACTORS.values())), axis=1)
            start = time.perf_counter()
            packed = render_packed(every)
            what = f"dSprites: drawing all {len(packed):,} images, eight pixels a byte"
            figures.seconds(what, time.perf_counter() - start)
            figures.other(f"{what}: memory", packed.nbytes / 1e6, "MB")
    return figures.failed


if __name__ == "__main__":
    sys.exit(main())
