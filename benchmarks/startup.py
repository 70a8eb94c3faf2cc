"""How long the command line takes to answer: ``fairbench --help`` and ``fairbench list methods``.

    python benchmarks/startup.py

Prints the median of seven runs of each, in seconds, and the limit (1 s).
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

LIMIT = 1.0


def main() -> int:
    worst = 0.0
    for words in (["--help"], ["list", "methods"], ["run", "--help"]):
        times = []
        for _ in range(7):
            start = time.perf_counter()
            command = [sys.executable, "-m", "fairbench.cli", *words]
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - start)
        median = statistics.median(times)
        worst = max(worst, median)
        print(f"fairbench {' '.join(words):14} {median:.2f} s (limit {LIMIT} s)")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
