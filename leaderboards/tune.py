"""Tune methods alike, as a recipe says; keep every trial, and draw them.

python leaderboards/tune.py leaderboards/recipes/tuned.yaml --results DIR --data-root DIR

Each method is searched for the same time on one core. Its best trials are trained once more with
the full budget, and the best of these on the validation set is its tuned row. For each dataset the
folder ``experiments/tuned/DATASET`` gets ``METHOD.csv`` with all trials, ``METHOD.yaml`` with the
best hyperparameters and ``best-so-far.png``. A long job can end at any time: the same command goes
on, and methods whose files are there are not searched again.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from matplotlib.figure import Figure

from fairbench.metrics.rows import DEFAULT, Variant
from fairbench.registry import load_registry
from fairbench.report.identity import Identities
from fairbench.report.style import styled

HERE = Path(__file__).parent


def main() -> int:
    """Search all methods; return the exit code of the first command that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--results", type=Path, required=True, help="results folder to work in")
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--dry-run", action="store_true", help="print the spaces and estimates")
    given = parser.parse_args()
    recipe = yaml.safe_load(given.recipe.read_text(encoding="utf-8"))
    for dataset in recipe["datasets"]:
        folder = HERE / recipe.get("folder", "experiments/tuned") / dataset
        for method in recipe["methods"]:
            if (folder / f"{method}.yaml").exists():
                continue
            if code := search(method, dataset, recipe, given):
                return code
            if not given.dry_run:
                keep(given.results / "search" / f"{method}-{dataset}", folder, method)
                draw(folder)
    return 0


def search(method: str, dataset: str, recipe: dict[str, Any], given: argparse.Namespace) -> int:
    """Search one method; return the exit code."""
    words = ["search", "--method", method, "--dataset", dataset, "--require-real-data"]
    for option, value in recipe["search"].items():
        words += [f"--{option}", str(value)]
    words += ["--results", str(given.results), "--data-root", str(given.data_root)]
    words += ["--dry-run"] if given.dry_run else []
    command = [sys.executable, "-m", "fairbench.cli", *words]
    return subprocess.run(command, check=False).returncode


def keep(found: Path, folder: Path, method: str) -> None:
    """Copy what a search wrote."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(found / "trials.csv", folder / f"{method}.csv")
    shutil.copyfile(found / "best.yaml", folder / f"{method}.yaml")


def draw(folder: Path) -> None:
    """Draw the best area so far against the time of the trials, a line for each method."""
    paths = {Variant(path.stem, DEFAULT): path for path in sorted(folder.glob("*.csv"))}
    looks = Identities.of(load_registry()).looks(paths)
    with styled():
        figure = Figure(figsize=(7.0, 4.2), layout="constrained")
        axes = figure.subplots()
        for variant, look in looks.items():
            trials = pd.read_csv(paths[variant])
            axes.step(
                trials["seconds"].cumsum() / 60,
                trials["aufdc"].cummin().ffill(),
                where="post",
                color=look.colour,
                linestyle=look.line,
                label=variant.method,
            )
        axes.set_xlabel("minutes of one core")
        axes.set_ylabel("best AUFDC on the validation set so far")
        figure.legend(loc="outside right upper", fontsize=7)
        figure.savefig(folder / "best-so-far.png", dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    raise SystemExit(main())
