"""Seconds and memory that the Heritage release takes to load, measured on files of its size.

    python benchmarks/heritage_loading.py [--folder DIR]

Writes random files in the release's format and with its numbers of rows (2,668,990 claims of
113,000 members; about 300 MB, below DIR or the system's temporary folder, removed at the end) and
their zip. Loads each in a fresh process on one thread, and measures the whole of it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
TIME_LIMIT = 38
"""Yardsticks."""
MEMORY_LIMIT = 2
"""Gigabytes."""
ROWS = {"members": 113_000, "claims": 2_668_990, "drugs": 818_241, "labs": 361_484}


def main() -> int:
    parser = argparse.ArgumentParser(description="Loading of the Heritage release, timed.")
    parser.add_argument("--folder", type=Path, help="where to write the files")
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.load:
        load(given.load)
        return 0
    from figures import Figures  # not at the top: the loading, also of this file, would count it
    from fresh_process import spent_by

    sys.path.insert(0, str(ROOT))  # the files' generator is shared with the tests
    from tests.support.heritage_files import write_release

    with (
        Figures("heritage-loading") as figures,
        tempfile.TemporaryDirectory(dir=given.folder) as text,
    ):
        plain, zipped = Path(text) / "plain", Path(text) / "zipped"
        zipped.mkdir()
        write_release(plain, **ROWS)
        with zipfile.ZipFile(zipped / "HHP_release3.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(plain.iterdir()):
                archive.write(file, f"HHP_release3/{file.name}")
        for folder, title in ((plain, "a folder"), (zipped, "a zip")):
            single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
            command = [sys.executable, __file__, "--load", str(folder)]
            spent = spent_by(command, {**os.environ, **single})
            what = f"loading Health Heritage from {title}, {ROWS['claims']:,} claims"
            figures.seconds(what, spent.seconds, limit=TIME_LIMIT)
            figures.seconds(f"{what}: processor time", spent.processor)
            figures.other(f"{what}: peak memory", spent.gigabytes, "GB", limit=MEMORY_LIMIT)
    return figures.failed


def load(folder: Path) -> None:
    from fairbench_datasets.heritage import Heritage

    table = Heritage().load(folder)
    print(f"{len(table.s):,} members", flush=True)


if __name__ == "__main__":
    sys.exit(main())
