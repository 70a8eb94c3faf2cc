"""What a process does with memory that it has freed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="glibc alone has these settings")

START = """
import os
import numpy as np
from fairbench.training.freed_memory import give_back_freed_memory, keep_freed_memory

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6
"""
ONE_LARGE_BLOCK = """
rows = np.ones(25_000_000, dtype=np.float32)
before = resident()
del rows
print(before - resident())
"""
BETWEEN_BLOCKS = """
rows = [np.ones(2_500, dtype=np.float32) for _ in range(10_000)]
before = resident()
rows = rows[::100]
freed = before - resident()
give_back_freed_memory()
print(before - resident() - freed)
"""


def run(script: str, **settings: str) -> str:
    """Return what a fresh process prints."""
    # A test that trained on images in this process has set some.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    words = [sys.executable, "-c", START + script]
    done = subprocess.run(words, env=plain | settings, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_large_block_is_given_back_unless_memory_is_kept() -> None:
    assert float(run(ONE_LARGE_BLOCK)) > 90
    assert float(run("keep_freed_memory()" + ONE_LARGE_BLOCK)) < 10


def test_processes_that_a_job_starts_keep_theirs_too() -> None:
    start = "import subprocess, sys; keep_freed_memory()\n"
    child = repr(START + ONE_LARGE_BLOCK)
    kept = run(f"{start}subprocess.run([sys.executable, '-c', {child}])")
    assert float(kept) < 10


def test_what_the_environment_sets_stays() -> None:
    script = "keep_freed_memory()" + ONE_LARGE_BLOCK
    assert float(run(script, MALLOC_MMAP_MAX_="100", MALLOC_TRIM_THRESHOLD_="100000")) > 90


def test_what_lies_between_blocks_in_use_is_given_back_when_asked() -> None:
    assert float(run(BETWEEN_BLOCKS)) > 50
