"""What Ray's scheduling costs over the inline executor, for short jobs.

    python benchmarks/executors.py [--jobs 20] [--workers 2]

The first time is of an executor that has just started, whose workers have yet to load what jobs
need; the second of the same executor once they have.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairbench.runs.executors.base import Executor, Failed, Finished
from fairbench.runs.executors.inline import InlineExecutor
from fairbench.runs.executors.ray import RayExecutor


@dataclass(frozen=True)
class Short:
    """A job of a moment, with as much data as a small table has."""

    id: str
    data: bytes
    title: str = "short"
    estimate: float = 0.1

    def run(self, progress: Callable[[float, str], None]) -> Any:
        time.sleep(0.1)
        return len(self.data)


def seconds(executor: Executor, jobs: int) -> float:
    """Wall time of so many jobs."""
    started = time.perf_counter()
    for number in range(jobs):
        executor.submit(Short(f"job {number}", bytes(2_000_000)))  # type: ignore[arg-type]
    ended = 0
    for event in executor.events():
        if isinstance(event, Failed):
            raise SystemExit(f"{event.job.title}: {event.status}: {event.error}")
        ended += isinstance(event, Finished)
    assert ended == jobs
    return time.perf_counter() - started


def more_per_job(one: float, other: float, jobs: int, workers: int) -> float:
    """Return seconds that a job costs beyond another way: each worker does its share of them."""
    return workers * (one - other) / jobs


def main() -> int:
    from figures import Figures  # not at the top: workers load this module, and need none of it

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    work = f"{0.1 * options.jobs / options.workers:.1f} s of work"
    spent = {}
    with Figures("executors") as figures:
        for name in ("inline", "Ray"):
            executor: Executor
            if name == "inline":  # which starts with its first job
                executor = InlineExecutor(workers=options.workers, timeout=None)
            else:
                started = time.perf_counter()
                executor = RayExecutor(workers=options.workers, timeout=None)
                figures.seconds("Ray executor: start", time.perf_counter() - started)
            what = f"{name} executor: {options.jobs} jobs of 0.1 s on {options.workers} workers"
            figures.seconds(f"{what}, the first time", seconds(executor, options.jobs), note=work)
            spent[name] = seconds(executor, options.jobs)
            figures.seconds(f"{what}, again", spent[name], note=work)
            executor.stop()
        over = more_per_job(spent["Ray"], spent["inline"], options.jobs, options.workers)
        figures.seconds("what a job under Ray costs beyond one inline, once warm", over)
    return figures.failed


if __name__ == "__main__":
    import executors  # jobs travel by the name of their module, and __main__ is another one there

    sys.exit(executors.main())
