"""A command in a process of its own, and what it took: time, processor time, peak memory.

Linux hands the peak memory of a process on to the programs that it starts, and a benchmark has
loaded much by the time that it starts one. So this file runs as a small process in between.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Spent:
    """What a process took."""

    seconds: float
    processor: float  # seconds, of all its threads
    gigabytes: float  # resident, at its peak


def spent_by(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Spent:
    """Run a command; its failure is the caller's."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "spent.json"
        between = [sys.executable, "-I", "-S", __file__, str(answer), *command]
        subprocess.run(between, check=True, env=environment)
        return Spent(**json.loads(answer.read_text()))


def _run_between(answer: Path, command: Sequence[str]) -> int:
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    figures = {
        "seconds": time.perf_counter() - start,
        "processor": usage.ru_utime + usage.ru_stime,
        "gigabytes": usage.ru_maxrss * 1024 / 1e9,  # kilobytes on Linux
    }
    answer.write_text(json.dumps(figures))
    process.returncode = os.waitstatus_to_exitcode(status)  # else Popen waits for it again
    return int(process.returncode != 0)


if __name__ == "__main__":
    sys.exit(_run_between(Path(sys.argv[1]), sys.argv[2:]))
