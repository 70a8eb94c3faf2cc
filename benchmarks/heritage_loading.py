"""Seconds and memory that the Heritage release takes to load, measured on files of its size.

    python benchmarks/heritage_loading.py [--folder DIR]

Writes random files in the release's format and with its numbers of rows (2,668,990 claims of
113,000 members; about 300 MB, below DIR or the system's temporary folder, removed at the end) and
their zip. Loads each in a fresh process on one thread and prints seconds and peak memory beside
the limits; exits with 1 if one is passed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAX_SECONDS = 60.0
MAX_GIGABYTES = 2.0
ROWS = {"members": 113_000, "claims": 2_668_990, "drugs": 818_241, "labs": 361_484}


def main() -> int:
    parser = argparse.ArgumentParser(description="Loading of the Heritage release, timed.")
    parser.add_argument("--folder", type=Path, help="where to write the files")
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.load:
        load(given.load)
        return 0
    sys.path.insert(0, str(ROOT))  # the files' generator is shared with the tests
    from tests.support.heritage_files import write_release

    worst = False
    with tempfile.TemporaryDirectory(dir=given.folder) as text:
        plain, zipped = Path(text) / "plain", Path(text) / "zipped"
        zipped.mkdir()
        write_release(plain, **ROWS)
        with zipfile.ZipFile(zipped / "HHP_release3.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(plain.iterdir()):
                archive.write(file, f"HHP_release3/{file.name}")
        for folder in (plain, zipped):
            command = [sys.executable, __file__, "--load", str(folder)]
            single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
            done = subprocess.run(
                command, check=True, stdout=subprocess.PIPE, env={**os.environ, **single}
            )
            measured = json.loads(done.stdout)
            seconds, gigabytes = measured["seconds"], measured["gigabytes"]
            print(
                f"{folder.name:7} {seconds:5.1f} s (limit {MAX_SECONDS:.0f}; "
                f"{measured['processor']:.1f} s of processor time), "
                f"{gigabytes:.2f} GB (limit {MAX_GIGABYTES:.0f}), {measured['rows']:,} members"
            )
            worst |= seconds > MAX_SECONDS or gigabytes > MAX_GIGABYTES
    return int(worst)


def load(folder: Path) -> None:
    """Load in this process and print what it took; imports count too."""
    start = time.perf_counter()
    from fairbench_datasets.heritage import Heritage

    table = Heritage().load(folder)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # kilobytes on Linux
    measured = {"seconds": seconds, "gigabytes": peak / 1e9, "rows": len(table.s)}
    print(json.dumps({**measured, "processor": time.process_time()}))


if __name__ == "__main__":
    sys.exit(main())
