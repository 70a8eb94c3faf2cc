"""Whole runs as a user makes them: wall time, peak memory, and time by method and phase.

    python benchmarks/runs.py --data-root DIR [--job main|paper|all] [--budget full|quick]

``main`` is sofair and latfr; ``paper`` all methods of the paper's comparison on its grids, some 165
points; ``all`` every method there is; each with the baselines that join every run, on
Adults-Gender, one seed. Its simulated twin is refused. Limits are for two cores. Times of training,
encoding and auditing, that of x itself included, are wall times of jobs of one thread each, so they
add up to more than that of the run. Results go to a temporary folder unless --results is given.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import psutil
from figures import Figures
from sqlalchemy import create_engine

from fairbench.store.database import Store

PAPER = "sofair,sofair-nos,msfair,latfr,maxent-arl,beta-vae,cvib"

JOBS = {
    # methods; limits: yardsticks by budget, gigabytes
    "main": ("sofair,latfr", {"full": 380, "quick": 56}, 3),
    "paper": (PAPER, {"full": 2800, "quick": 560}, 4),
    "all": ("all", {"full": 3800, "quick": 750}, 4),
}
TITLES = {"main": "`sofair` and `latfr`", "paper": "the paper's methods", "all": "all methods"}
PHASES = {"train": "training", "encode": "encoding", "audit": "auditing"}
X_ITSELF = "x itself"
"""The row of references in :func:`split`: they belong to no method."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", type=Path, default=None)
    parser.add_argument("--job", choices=sorted(JOBS), default="main")
    parser.add_argument("--budget", choices=["full", "quick"], default="full")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=None)
    given = parser.parse_args()
    if given.results is not None and Store.is_in(given.results):
        # Only what is missing would run, and be published as the whole.
        parser.error(f"{given.results} has results already: name another folder with --results")
    methods, limits, memory_limit = JOBS[given.job]
    what = f"run of {TITLES[given.job]} on Adults-Gender, {given.budget} budget"
    with (
        Figures(f"runs-{given.job}-{given.budget}") as figures,
        tempfile.TemporaryDirectory() as folder,
    ):
        results = given.results or Path(folder) / "results"
        more = ["--seed-list", str(given.seed)]
        if given.data_root:
            more += ["--data-root", str(given.data_root)]
        run = run_whole(methods, given.budget, results, more)
        print(run.table.to_string(float_format="%.0f"))
        figures.seconds(
            f"{what}, one seed, with the baselines", run.seconds, limit=limits[given.budget]
        )
        figures.other(
            f"{what}: peak memory of all processes", run.gigabytes, "GB", limit=memory_limit
        )
        start = time.perf_counter()
        subprocess.run(run.command, check=True, capture_output=True)
        figures.seconds(f"{what}: the same command again", time.perf_counter() - start)
        for phase, name in PHASES.items():
            spent = float(run.table[phase]["all"])
            figures.seconds(f"{what}: {name}, summed over jobs of one thread", spent)
    return figures.failed


@dataclass(frozen=True)
class WholeRun:
    """What a whole run took."""

    command: list[str]
    seconds: float
    gigabytes: float  # peak of all processes
    table: pd.DataFrame  # seconds by method and phase, and the number of points; see split


def run_whole(
    methods: str,
    budget: str,
    results: Path,
    more: Sequence[str] = (),
    python: str = sys.executable,
) -> WholeRun:
    """Run methods on Adults-Gender with the fairbench of some Python; ``more``: further options."""
    command = [python, "-m", "fairbench", "run", "--methods", methods]
    # Its twin would be measured under the name of the real table.
    command += ["--dataset", "adults", "--require-real-data"]
    command += ["--budget", budget, "--results", str(results), *more]
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment_of(python))
    peak = _Peak(process.pid)
    code = process.wait()
    seconds = time.perf_counter() - start
    memory = peak.stop() / 1e9
    if code:
        sys.exit(f"The run ended with exit code {code}: its figures are not kept.")
    return WholeRun(command, seconds, memory, split(results))


def environment_of(python: str) -> dict[str, str]:
    """Return an environment in which a Python finds its own fairbench and no other.

    Without the folder that it is called from; and where it is not the Python of this process,
    without the paths that were given to that.
    """
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    if python != sys.executable:
        environment.pop("PYTHONPATH", None)
    return environment


def split(results: Path) -> pd.DataFrame:
    """Seconds by method and phase, and of x itself, summed over jobs of one thread."""
    engine = create_engine(f"sqlite:///{results / 'fairbench.sqlite'}")
    units = pd.read_sql("SELECT key, method, costs FROM units", engine)
    points = pd.read_sql("SELECT unit, seconds FROM points", engine)
    references = pd.read_sql('SELECT seconds FROM "references"', engine)
    costs = pd.json_normalize(units["costs"].map(json.loads).tolist())
    units = units.assign(train=costs["train_seconds"], encode=costs["encode_seconds"])
    points = points.merge(units, left_on="unit", right_on="key")
    table = units.groupby("method")[["train", "encode"]].sum()
    audited = points.groupby("method")["seconds"]
    table = table.assign(audit=audited.sum(), points=audited.size())
    itself = {"train": 0.0, "encode": 0.0, "audit": references["seconds"].sum(), "points": 0}
    table.loc[X_ITSELF] = pd.Series(itself)
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
