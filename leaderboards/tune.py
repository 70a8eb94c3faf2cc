"""Tune methods alike, as a recipe says; keep every trial, and draw them.

python leaderboards/tune.py leaderboards/recipes/tuned.yaml --results DIR --data-root DIR

Each method is searched for the same processor time. Its best trials are then trained once more,
with the full budget and beyond that time; the best of these on the validation set is its tuned row.
For each dataset the folder ``experiments/tuned/DATASET`` gets ``METHOD.csv`` with all trials,
``METHOD.yaml`` with the best hyperparameters and ``best-so-far.png``. A long job can end at any
time: the same command goes on, and methods whose files are there are not searched again.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import recipe
from matplotlib.figure import Figure
from sklearn.isotonic import isotonic_regression

from fairbench.metrics.rows import DEFAULT, Variant
from fairbench.registry import load_registry
from fairbench.report.figure_files import write_png
from fairbench.report.identity import Identities
from fairbench.report.style import styled

HERE = Path(__file__).parent

_LINES = 30
"""Names of methods that have room above each other in the figure."""

_STOPPED = (130, 143)
"""Exit codes of a command that was interrupted or terminated."""


def main() -> int:
    """Search all methods; return 1 if one could not be searched, and go on with the others."""
    given = recipe.arguments(__doc__)
    searches = recipe.read(recipe.Searches, given.recipe)
    failed = []
    for dataset in searches.datasets:
        folder = HERE / searches.folder / dataset
        for method in searches.methods:
            if not (folder / f"{method}.yaml").exists():
                options = searches.options(dataset)
                code = search(method, dataset, options, given)
                if code < 0 or code in _STOPPED:
                    return code
                if code:
                    failed.append(f"{method} on {dataset}")
                elif not given.dry_run:
                    found = given.results / "search" / f"{method}-{dataset}"
                    keep(found, folder, method, options)
            if not given.dry_run and any(folder.glob("*.csv")):
                write_figure(folder)
    if failed:
        print("could not be searched: " + ", ".join(failed), file=sys.stderr)
    return 1 if failed else 0


def search(method: str, dataset: str, options: Mapping[str, Any], given: argparse.Namespace) -> int:
    """Search one method; return the exit code."""
    words = ["search", "--method", method, "--dataset", dataset, "--require-real-data"]
    words += _words(options)
    words += ["--results", str(given.results), "--data-root", str(given.data_root)]
    words += ["--dry-run"] if given.dry_run else []
    return recipe.fairbench(*words)


def keep(found: Path, folder: Path, method: str, options: Mapping[str, Any]) -> None:
    """Copy what a search wrote; of its command the options of the recipe, without the machine's."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(found / "trials.csv", folder / f"{method}.csv")
    words = ["fairbench search --method", method, "--dataset", folder.name, *_words(options)]
    _, *lines = (found / "best.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    # Last, and at once: where it is, the method is done.
    unfinished = folder / f".{method}.yaml"
    unfinished.write_text(f"# {' '.join(words)}\n{''.join(lines)}", encoding="utf-8")
    unfinished.replace(folder / f"{method}.yaml")


def _words(options: Mapping[str, Any]) -> list[str]:
    named = ((f"--{option.replace('_', '-')}", str(value)) for option, value in options.items())
    return [word for pair in named for word in pair]


def write_figure(folder: Path) -> None:
    """Draw the searches of a folder into a file of it."""
    write_png(draw(folder), folder / "best-so-far.png", dpi=150)


def draw(folder: Path) -> Figure:
    """Draw the best area so far against the time of the trials, a line for each method."""
    paths = {Variant(path.stem, DEFAULT): path for path in sorted(folder.glob("*.csv"))}
    looks = Identities.of(load_registry()).looks(paths)
    with styled():
        figure = Figure(figsize=(7.0, 4.2), layout="constrained")
        axes = figure.subplots()
        ends = {}
        for variant, look in looks.items():
            trials = pd.read_csv(paths[variant])
            minutes = trials["seconds"].cumsum() / 60
            best = trials["aufdc"].cummin().ffill()
            axes.step(
                minutes,
                best,
                where="post",
                color=look.colour,
                linestyle=look.line,
                marker=look.marker,
                markevery=[0, -1],
            )
            ends[variant] = (minutes.iloc[-1], best.iloc[-1])
        low, high = axes.get_ylim()
        heights = spread([end for _, end in ends.values()], (high - low) / _LINES)
        for (variant, end), height in zip(ends.items(), heights, strict=True):
            line = {"arrowstyle": "-", "color": looks[variant].colour, "linewidth": 0.6}
            axes.annotate(
                variant.method,
                end,
                (1.02, height),
                textcoords=axes.get_yaxis_transform(),
                va="center",
                fontsize=7,
                arrowprops=line,
            )
        axes.set_xlabel("minutes of processor time")
        axes.set_ylabel("best AUFDC on the validation set so far")
    return figure


def spread(values: Sequence[float], gap: float) -> list[float]:
    """Return the places closest to some values that keep their order and lie a gap apart."""
    order = np.argsort(values, kind="stable")
    steps = gap * np.arange(len(values))
    places = np.empty(len(values))
    places[order] = isotonic_regression(np.asarray(values)[order] - steps) + steps
    return places.tolist()


if __name__ == "__main__":
    raise SystemExit(main())
