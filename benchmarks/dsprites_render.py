"""How fast images of dSprites are drawn on one thread.

    python benchmarks/dsprites_render.py [--all]

Prints images a second for 20,000 drawn at random, by shape and together: the median of five runs
beside the limit. With ``--all``, also the time and the memory of all 737,280, eight pixels a byte.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairbench_datasets.dsprites_unfair.render import FACTORS, SHAPES, render, render_packed

LIMIT = 20_000
IMAGES = 20_000


def rate(draw: Callable[..., NDArray[np.uint8]], latents: NDArray[np.int64]) -> float:
    draw(latents[:1000])
    times = []
    for _ in range(5):
        start = time.perf_counter()
        draw(latents)
        times.append(time.perf_counter() - start)
    return len(latents) / statistics.median(times)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true", help="also draw all 737,280")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    latents = np.stack([rng.integers(0, n, IMAGES) for n in FACTORS.values()], axis=1)
    speeds = []
    for draw in (render, render_packed):
        speeds.append(rate(draw, latents))
        print(f"{draw.__name__:14} all shapes {speeds[-1]:9,.0f} images a second (limit {LIMIT:,})")
        for shape, name in enumerate(SHAPES):
            latents_of = latents.copy()
            latents_of[:, 1] = shape
            print(f"{draw.__name__:14} {name:10} {rate(draw, latents_of):9,.0f} images a second")
    if arguments.all:
        every = np.stack(np.unravel_index(np.arange(737_280), tuple(FACTORS.values())), axis=1)
        start = time.perf_counter()
        packed = render_packed(every)
        seconds = time.perf_counter() - start
        print(f"all {len(packed):,} packed: {seconds:.1f} s, {packed.nbytes / 1e6:.0f} MB")
    return int(min(speeds) < LIMIT)


if __name__ == "__main__":
    sys.exit(main())
