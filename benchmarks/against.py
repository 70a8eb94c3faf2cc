"""Whole runs of this checkout against those of an earlier commit, one after the other.

    python benchmarks/against.py --data-root DIR [--commit 5fd4c33] [--job main] [--repeats 1]

``quick`` and ``main`` are SoFaiR and LATFR on the paper's grid, with the baselines that join every
run, at a tenth of the iterations and at all of them; ``all`` is every method that the earlier
commit has (two hours). That commit is checked out beside this one and runs with the same libraries.
Figures are ratios of this checkout to the commit: wall time, seconds of training and of an audit
per point in jobs of one thread each, peak memory. The limit of times is one half; memory may not
grow. A machine whose speed drifts by a fifth within minutes, as shared ones do, needs --repeats 3
or more.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from figures import Figures
from runs import WholeRun, run_whole

HERE = Path(__file__).parents[1]
JOBS = {
    # name: methods, budget
    "quick": ("sofair,latfr", "quick"),
    "main": ("sofair,latfr", "full"),
    "all": ("all", "full"),
}
TITLES = {
    "quick": "`sofair` and `latfr`, quick budget",
    "main": "`sofair` and `latfr`, full budget",
    "all": "all methods, full budget",
}
LIMITS = {
    "wall time, s": 0.5,
    "training, s": None,
    "audit of a point, s": 0.5,
    "peak memory, GB": 1.0,
}
"""Largest ratios."""
GRIDS = "latfr: {grid: paper}\n"
"""The earlier commit has no other grid than the paper's."""


@contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[str]:
    """Give the Python of an environment with an earlier commit and this environment's libraries."""
    tree = folder / "earlier"
    git = ["git", "-C", str(HERE), "worktree"]
    subprocess.run([*git, "add", "--detach", str(tree), commit], check=True, capture_output=True)
    try:
        venv.create(folder / "venv", with_pip=True)
        python = str(folder / "venv" / "bin" / "python")
        own = subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        # After its own packages, so that the earlier fairbench is found first.
        Path(own, "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
        install = [python, "-m", "pip", "install", "-q", "--no-deps", str(tree)]
        subprocess.run(install, check=True)
        yield python
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", type=Path, default=os.environ.get("FAIRBENCH_DATA"))
    parser.add_argument("--commit", default="5fd4c33")
    parser.add_argument("--job", choices=sorted(JOBS), default="main")
    parser.add_argument("--repeats", type=int, default=1, help="pairs of runs, in turns")
    given = parser.parse_args()
    if given.data_root is None:
        parser.error("give the folder of Adults' files with --data-root DIR")
    os.environ["FAIRBENCH_DATA"] = str(given.data_root)
    methods, budget = JOBS[given.job]
    with tempfile.TemporaryDirectory() as made, Figures(f"against-{given.job}") as figures:
        folder = Path(made)
        params = folder / "params.yaml"
        params.write_text(GRIDS)
        pairs = []
        with checked_out(given.commit, folder) as earlier:
            if methods == "all":
                methods = _methods_of(earlier)
            for i in range(given.repeats):
                results = [folder / f"{i}-{when}" for when in ("before", "now")]
                before = run_whole(methods, budget, results[0], python=earlier)
                now = run_whole(methods, budget, results[1], ["--params", str(params)])
                pairs.append((before, now))
        compare(figures, TITLES[given.job], given.commit, pairs)
    return figures.failed


def _methods_of(python: str) -> str:
    """Return the methods that some Python's fairbench has, separated by commas."""
    code = "from fairbench.registry import load_registry as r; print(','.join(r().methods.classes))"
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    words = [python, "-c", code]
    found = subprocess.run(words, env=environment, check=True, capture_output=True, text=True)
    return found.stdout.strip()


def compare(
    figures: Figures, title: str, commit: str, runs: Sequence[tuple[WholeRun, WholeRun]]
) -> None:
    """Add the ratios of a job: medians over pairs of runs, one after the other."""
    pairs = [(measured(before), measured(now)) for before, now in runs]
    for what, limit in LIMITS.items():
        ratio = statistics.median(now[what] / before[what] for before, now in pairs)
        earlier, present = (
            statistics.median(run[what] for run in side) for side in zip(*pairs, strict=True)
        )
        note = f"{earlier:.3g} at {commit}, {present:.3g} now"
        figures.other(f"{title}: {what}", ratio, "ratio", limit=limit, note=note)


def measured(run: WholeRun) -> dict[str, float]:
    """What is compared of a run, by the names of the figures."""
    spent = run.table.loc["all"].astype(float)
    return {
        "wall time, s": run.seconds,
        "training, s": spent["train"],
        "audit of a point, s": spent["audit"] / spent["points"],
        "peak memory, GB": run.gigabytes,
    }


if __name__ == "__main__":
    sys.exit(main())
