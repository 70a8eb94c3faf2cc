"""Tables of what SoFaiR's bits say of s, and of what each step of beta releases (Figures 5, 6).

``python docs/bit_tables.py`` draws the figures beside the files of ``fairbench explain``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from bit_claims import FOLDER, SEEDS, load_explained, name_explained
from numpy.typing import NDArray

from fairbench.models.bits import BitTable, Step
from fairbench.report.bits import bits_figure, information_figure
from fairbench.report.format import format_figure
from fairbench.report.style import styled
from markdown_parts import make_table

SEED_LABELS = tuple(f"seed {seed}" for seed in SEEDS)
RACE_LABEL = "Adults-Gender-Race, seed 0"

BETAS = {"beta = 1.25": 1.25, "1": 1.0, ".8": 0.8, ".5": 0.5, "0": 0.0}
"""Heading of the table of disparities -> beta."""

STEPS = {"beta > 1.1": 1.1, "1.1 to .9": 0.9, ".9 to .7": 0.7, ".7 to .45": 0.45, "to 0": 0.0}
"""Row of the table of steps -> lower end of the betas at which its steps start."""

COLUMN_LABELS = {
    "education-num": "education",
    "workclass": "work class",
    "hours-per-week": "hours",
    "marital-status": "marital status",
    "capital-loss": "capital loss",
    "capital-gain": "capital gain",
}


def format_disparities() -> str:
    """Format the largest disparity of any bit at the settings nearest to some betas."""
    rows = ([label, *_disparities(label)] for label in (*SEED_LABELS, RACE_LABEL))
    return make_table([None, *BETAS], rows)


def _disparities(label: str) -> list[str]:
    bits = load_explained(label, "bits")
    settings: Mapping[float, str] = {parse_beta(point): point for point in bits["point"].unique()}
    nearest = [settings[min(settings, key=lambda known: abs(known - b))] for b in BETAS.values()]
    return [_two_digits(bits.loc[bits["point"] == point, "disparity"].max()) for point in nearest]


def format_steps() -> str:
    """Format the columns that each range of steps releases, with their correlations."""
    steps = [load_explained(label, "information") for label in SEED_LABELS]
    rows = ([row, *(_released(of_seed, row) for of_seed in steps)] for row in STEPS)
    return make_table([None, *SEED_LABELS], rows)


def _released(steps: pd.DataFrame, row: str) -> str | None:
    labels = (
        f"{label} ({', '.join(map(_two_digits, values))})"
        for label, values in collect_correlations(steps, row).items()
    )
    return ", ".join(labels) or None


def collect_correlations(steps: pd.DataFrame, row: str) -> dict[str, list[float]]:
    """Collect correlations of .2 or more, by column, of the steps in a row of the table."""
    ends = [math.inf, *STEPS.values()]
    place = list(STEPS).index(row)
    last = steps.index[-1]
    correlations: dict[str, list[float]] = {}
    for number, step in steps.iterrows():
        within = ends[place + 1] < parse_beta(step["from"]) <= ends[place]
        if (number == last) != (row == "to 0") or not (within or number == last):
            continue
        best: dict[str, float] = {}
        for column in steps.columns[3:]:
            label = COLUMN_LABELS.get(column, column)
            best[label] = max(best.get(label, 0.0), round(step[column], 2))
        for label, value in sorted(best.items(), key=lambda of: -of[1]):
            if value >= 0.2:
                correlations.setdefault(label, []).append(value)
    return correlations


def parse_beta(label: str) -> float:
    return float(label.partition("=")[2])


def _two_digits(value: float) -> str:
    return format_figure(value, decimals=2).removeprefix("0")


def main() -> None:
    """Draw the bits and what is released, of all models that have a published file."""
    for label in (*SEED_LABELS, RACE_LABEL):
        name = name_explained(label)
        dataset, _, seed = name.partition("-sofair-seed")
        title = f"sofair on {dataset}, seed {seed}"
        bits, steps = (load_explained(label, kind) for kind in ("bits", "information"))
        with styled():
            for kind, figure in (
                ("bits", bits_figure(_bit_tables(bits), title)),
                ("information", information_figure(_steps(steps), title)),
            ):
                figure.savefig(FOLDER / f"{name}-{kind}.png", dpi=200, metadata={"Software": None})


def _bit_tables(bits: pd.DataFrame) -> list[BitTable]:
    return [
        BitTable(str(point), *(_map_of(own, column) for column in ("kept", "ones", "disparity")))
        for point, own in bits.groupby("point", sort=False)
    ]


def _map_of(bits: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """A line per dimension of z, a column per bit."""
    return bits.pivot_table(column, "dimension", "bit").to_numpy()


def _steps(steps: pd.DataFrame) -> list[Step]:
    return [Step(one["from"], one["to"], one["bits"], dict(one[3:])) for _, one in steps.iterrows()]


if __name__ == "__main__":
    main()
