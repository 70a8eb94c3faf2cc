"""How long the command line takes to answer: ``fairbench --help`` and ``fairbench list methods``.

    python benchmarks/startup.py

Medians of seven runs of each.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from figures import Figures

LIMIT = 0.6
"""Yardsticks."""


def main() -> int:
    with Figures("startup") as figures:
        for words in (["--help"], ["list", "methods"], ["run", "--help"]):
            times = []
            for _ in range(7):
                start = time.perf_counter()
                command = [sys.executable, "-m", "fairbench", *words]
                subprocess.run(command, check=True, capture_output=True)
                times.append(time.perf_counter() - start)
            figures.seconds(f"`fairbench {' '.join(words)}`", statistics.median(times), limit=LIMIT)
    return figures.failed


if __name__ == "__main__":
    sys.exit(main())
