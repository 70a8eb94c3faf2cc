"""Whole runs as a user makes them: wall time, peak memory, and time by method and phase.

    FAIRBENCH_DATA=DIR python benchmarks/runs.py [--job main|paper|all] [--budget full|quick]

``main`` is sofair and latfr; ``paper`` all methods of the paper's comparison on its grids, some 165
points; ``all`` every method there is; each with the baselines that join every run, on
Adults-Gender, one seed. Limits on two cores are in JOBS. Results go to a temporary folder unless
--results is given.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pandas as pd
import psutil
from sqlalchemy import create_engine

PAPER = "sofair,sofair-nos,msfair,latfr,maxent-arl,beta-vae,cvib"

JOBS = {
    # methods, seconds by budget, gigabytes
    "main": ("sofair,latfr", {"full": 600.0, "quick": 90.0}, 3.0),
    "paper": (PAPER, {"full": 4500.0, "quick": 900.0}, 4.0),
    "all": ("all", {"full": 6000.0, "quick": 1200.0}, 4.0),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--job", choices=sorted(JOBS), default="main")
    parser.add_argument("--budget", choices=["full", "quick"], default="full")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=None)
    given = parser.parse_args()
    methods, limits, memory_limit = JOBS[given.job]
    with tempfile.TemporaryDirectory() as folder:
        results = given.results or Path(folder) / "results"
        command = [sys.executable, "-m", "fairbench.cli", "run", "--methods", methods]
        command += ["--dataset", "adults", "--budget", given.budget, "--results", str(results)]
        command += ["--seed-list", str(given.seed)]
        start = time.perf_counter()
        process = subprocess.Popen(command)
        peak = _Peak(process.pid)
        code = process.wait()
        seconds = time.perf_counter() - start
        memory = peak.stop() / 1e9
        limit = limits[given.budget]
        print(split(results).to_string(float_format="%.0f"))
        print(f"{given.job}, budget {given.budget}: {seconds:.0f} s (limit {limit:.0f} s)")
        print(f"exit code {code}")
        print(f"peak memory of all processes: {memory:.2f} GB (limit {memory_limit} GB)")
        start = time.perf_counter()
        subprocess.run(command, check=False, capture_output=True)
        print(f"the same command again: {time.perf_counter() - start:.1f} s")
        return int(code != 0 or seconds > limit or memory > memory_limit)


def split(results: Path) -> pd.DataFrame:
    """Seconds of one core by method and phase."""
    engine = create_engine(f"sqlite:///{results / 'fairbench.sqlite'}")
    units = pd.read_sql("SELECT key, method, costs FROM units", engine)
    points = pd.read_sql("SELECT unit, seconds FROM points", engine)
    costs = pd.json_normalize(units["costs"].map(json.loads).tolist())
    units = units.assign(train=costs["train_seconds"], encode=costs["encode_seconds"])
    points = points.merge(units, left_on="unit", right_on="key")
    table = units.groupby("method")[["train", "encode"]].sum()
    audited = points.groupby("method")["seconds"]
    table = table.assign(audit=audited.sum(), points=audited.size())
    table.loc["all"] = table.sum()
    return table


class _Peak:
    """Samples the memory of a process and all below it; shared pages count once (PSS)."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._peak = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(0.5):
            total = 0
            try:
                for process in [self._root, *self._root.children(recursive=True)]:
                    total += process.memory_full_info().pss
            except psutil.Error:
                continue  # a process ended while it was looked at
            self._peak = max(self._peak, total)

    def stop(self) -> int:
        self._ended.set()
        self._thread.join()
        return self._peak


if __name__ == "__main__":
    sys.exit(main())
