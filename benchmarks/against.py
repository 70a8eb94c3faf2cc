"""Whole runs of this checkout against those of an earlier commit, one after the other.

    python benchmarks/against.py --data-root DIR [--commit 5fd4c33] [--job main] [--repeats 1]
    python benchmarks/against.py --data-root DIR --job all --keep FILE

``quick`` and ``main`` are SoFaiR and LATFR on the paper's grid, with the baselines that join every
run, at a tenth of the iterations and at all of them; ``all`` is every method that the earlier
commit has, one after the other, each by both (an hour and a half). With --keep, what is measured of
a method goes to a file, and the same command later goes on with the next one, on another machine
too. The earlier commit is checked out beside this one and runs with the same libraries.
Figures are ratios of this checkout to the commit: wall time, seconds of training and of an audit
per point in jobs of one thread each, peak memory. The limit of times is one half; memory may not
grow. A machine whose speed drifts by a fifth within minutes, as shared ones do, needs --repeats 3
or more.
"""

from __future__ import annotations

import argparse
import json
import operator
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path

import yaml
from figures import Figures
from runs import X_ITSELF, WholeRun, environment_of, run_whole

from fairbench.registry import load_registry

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
BASELINES = ("identity", "constant", "random-projection", "pca", "drop-features")
"""They join every run."""
PAPER_GRID = {"grid": "paper"}
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
    parser.add_argument("--keep", type=Path, help="of --job all: file of what is measured so far")
    given = parser.parse_args()
    if given.data_root is None:
        parser.error("give the folder of Adults' files with --data-root DIR")
    if given.keep is not None and given.repeats > 1:
        # Each repeat would find in the file what the first has measured, and measure nothing.
        parser.error("--keep goes with --repeats 1: the file has one pair of runs for each method")
    os.environ["FAIRBENCH_DATA"] = str(given.data_root)
    methods, budget = JOBS[given.job]
    with tempfile.TemporaryDirectory() as made, Figures(f"against-{given.job}") as figures:
        folder = Path(made)
        pairs = []
        with checked_out(given.commit, folder) as earlier:
            for i in range(given.repeats):
                both = Both(earlier, folder / str(i), budget)
                if methods == "all":
                    pairs.append(both.one_by_one(_methods_of(earlier), given.keep))
                else:
                    pairs.append(both.run(methods))
        compare(figures, TITLES[given.job], given.commit, pairs)
    return figures.failed


@dataclass(frozen=True)
class Spent:
    """What runs took: seconds, and gigabytes at most."""

    wall: float
    training: float
    audits: float
    points: int
    memory: float

    @classmethod
    def of(cls, run: WholeRun, row: str) -> Spent:
        """Of a run; times of jobs are those of a row of its table, without those of x itself."""
        train, audit, points = (float(run.table[c][row]) for c in ("train", "audit", "points"))
        if row == "all":
            audit -= float(run.table["audit"][X_ITSELF])  # which is none of the points
        return cls(run.seconds, train, audit, int(points), run.gigabytes)

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            wall=self.wall + other.wall,
            training=self.training + other.training,
            audits=self.audits + other.audits,
            points=self.points + other.points,
            memory=max(self.memory, other.memory),
        )


Pair = tuple[Spent, Spent]
"""At the earlier commit, and now."""


@dataclass(frozen=True)
class Both:
    """Runs by two checkouts in turns, each with a results folder of its own."""

    earlier: str  # its Python
    folder: Path
    budget: str

    def run(self, methods: str, row: str = "all") -> Pair:
        """Run methods by both; times of jobs are those of a row of the tables."""
        before = run_whole(methods, self.budget, self.folder / "before", python=self.earlier)
        # Parameters of a method that is not in the run are an error.
        grids = {name: PAPER_GRID for name in methods.split(",") if _has_grids(name)}
        params = self.folder / "params.yaml"
        params.write_text(yaml.safe_dump(grids))
        more = ["--params", str(params)] if grids else []
        now = run_whole(methods, self.budget, self.folder / "now", more)
        return Spent.of(before, row), Spent.of(now, row)

    def one_by_one(self, methods: Sequence[str], keep: Path | None) -> Pair:
        """Run methods one after the other, but for those in the file; return the sums."""
        done: dict[str, Pair] = {}
        if keep is not None and keep.exists():
            kept = json.loads(keep.read_text())
            done = {name: (Spent(**a), Spent(**b)) for name, (a, b) in kept.items()}
        # The baselines join the first run; later ones find them in the results folder.
        baselines = self.run("constant")
        done.setdefault("baselines", baselines)
        for method in methods:
            if method not in done and method not in BASELINES:
                done[method] = self.run(method, method)
                if keep is not None:
                    plain = {name: [asdict(a), asdict(b)] for name, (a, b) in done.items()}
                    keep.write_text(json.dumps(plain, indent=1))
        before, now = (reduce(operator.add, side) for side in zip(*done.values(), strict=True))
        return before, now


def _has_grids(method: str) -> bool:
    """Whether a method of this checkout has a longer grid than the paper's too."""
    return "grid" in load_registry().methods[method].Params.model_fields


def _methods_of(python: str) -> list[str]:
    """Return the methods that some Python's fairbench has."""
    code = "from fairbench.registry import load_registry as r; print(','.join(r().methods.classes))"
    words = [python, "-c", code]
    found = subprocess.run(
        words, env=environment_of(python), check=True, capture_output=True, text=True
    )
    return found.stdout.strip().split(",")


def compare(figures: Figures, title: str, commit: str, pairs: Sequence[Pair]) -> None:
    """Add the ratios of a job: medians over pairs of runs, one after the other."""
    for what, limit in LIMITS.items():
        values = [(_value(what, before), _value(what, now)) for before, now in pairs]
        ratio = statistics.median(now / before for before, now in values)
        earlier, present = (statistics.median(side) for side in zip(*values, strict=True))
        note = f"{earlier:.3g} at {commit}, {present:.3g} now"
        figures.other(f"{title}: {what}", ratio, "ratio", limit=limit, note=note)


def _value(what: str, spent: Spent) -> float:
    """What is compared, by the names of the figures."""
    return {
        "wall time, s": spent.wall,
        "training, s": spent.training,
        "audit of a point, s": spent.audits / spent.points,
        "peak memory, GB": spent.memory,
    }[what]


if __name__ == "__main__":
    sys.exit(main())
