"""How long SoFaiR's full training on Adults takes on one thread, by part.

    python benchmarks/sofair_training.py --data-root DIR [--iterations 27000]

Measures the whole training, first where its steps have to be compiled and then where they were, and
prints what a plain step is made of.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import torch
from figures import Figures
from inputs import load_real_adults

from fairbench.api import FitContext, Role, TrainingRows, Unit
from fairbench_plugins.sofair import Sofair

LIMIT = 31
"""Yardsticks, of 27,000 iterations."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", type=Path, default=None)
    parser.add_argument("--iterations", type=int, default=27_000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    data = load_real_adults(given.data_root)
    rows = data.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, data.info)

    def fit(iterations: int) -> float:
        start = time.perf_counter()
        Sofair().fit(train, [Unit(0, None)], FitContext(iterations))
        return time.perf_counter() - start

    with Figures("sofair-training") as figures:
        fit(200)  # warm up
        title = f"SoFaiR on Adults, {given.iterations:,} iterations on one thread"
        with tempfile.TemporaryDirectory() as empty:
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = empty
            figures.seconds(f"{title}, compiled for the first time", fit(given.iterations))
            seconds = fit(given.iterations)
        figures.seconds(title, seconds, limit=LIMIT * given.iterations / 27_000)
        thousand = 1000 * seconds / given.iterations
        figures.seconds("SoFaiR on Adults, 1,000 iterations of these on one thread", thousand)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profile:
        fit(500)
    print(profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=15))
    return figures.failed


if __name__ == "__main__":
    sys.exit(main())
