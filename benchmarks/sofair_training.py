"""How long SoFaiR's full training on Adults takes on one thread, by part.

    python benchmarks/sofair_training.py --data-root DIR [--iterations 27000]

Prints seconds (limit: 50 for 27,000 iterations), milliseconds a step, and the split of a step.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch

from fairbench.api import FitContext, Role, TrainingRows, Unit
from fairbench.data.prepare import load_dataset
from fairbench_datasets.adults import AdultsGender
from fairbench_plugins.sofair import Sofair

LIMIT = 50.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", type=Path, default=None)
    parser.add_argument("--iterations", type=int, default=27_000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    data = load_dataset(AdultsGender, root=given.data_root)
    rows = data.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, data.info)

    def fit(iterations: int) -> float:
        start = time.perf_counter()
        Sofair().fit(train, [Unit(0, None)], FitContext(iterations))
        return time.perf_counter() - start

    fit(200)  # warm up
    seconds = fit(given.iterations)
    limit = LIMIT * given.iterations / 27_000
    print(
        f"{given.iterations:,} iterations: {seconds:.1f} s (limit {limit:.1f} s), "
        f"{1e3 * seconds / given.iterations:.2f} ms a step"
    )
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profile:
        fit(500)
    print(profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=15))
    return int(seconds > limit)


if __name__ == "__main__":
    sys.exit(main())
