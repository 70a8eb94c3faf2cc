"""The main job as a user runs it: wall time and peak memory of the whole process tree.

    FAIRBENCH_DATA=DIR python benchmarks/main_job.py [--budget full|quick]

Limits on two cores: full 600 s (aim 360) and 3 GB; quick 90 s. Results go to a temporary folder
unless --results is given; the leaderboard is printed at the end.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

LIMITS = {"full": 600.0, "quick": 90.0}
MEMORY_LIMIT_GB = 3.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", choices=sorted(LIMITS), default="full")
    parser.add_argument("--results", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = given.results or Path(folder) / "results"
        command = [sys.executable, "-m", "fairbench.cli", "run", "--methods", "sofair,latfr"]
        command += ["--dataset", "adults", "--budget", given.budget, "--results", str(results)]
        start = time.perf_counter()
        process = subprocess.Popen(command)
        peak = _Peak(process.pid)
        code = process.wait()
        seconds = time.perf_counter() - start
        memory = peak.stop()
        limit = LIMITS[given.budget]
        print(f"budget {given.budget}: {seconds:.0f} s (limit {limit:.0f} s), exit code {code}")
        print(f"peak memory of all processes: {memory / 1e9:.2f} GB (limit {MEMORY_LIMIT_GB} GB)")
        start = time.perf_counter()
        subprocess.run(command, check=False, capture_output=True)
        print(f"the same command again: {time.perf_counter() - start:.1f} s")
        return int(code != 0 or seconds > limit or memory > MEMORY_LIMIT_GB * 1e9)


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
