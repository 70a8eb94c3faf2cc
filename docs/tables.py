"""Writes the tables of the pages anew from the published files: ``python docs/tables.py``.

Which rows a page has and what it says of them is written by hand; their figures are not, but for
those of seed 0, which more seeds do not change. ``tests/test_published.py`` checks those too.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import fairbench
from fairbench.metrics.aufdc import strict_area

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "leaderboards"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

QUOTED = {
    "aufdc": ("aufdc", "aufdc_low", "aufdc_high"),
    "by the paper's formula": ("aufdc_paper",),
    "rank": ("rank",),
    "seeds": ("seeds",),
    "a tenth": ("accuracy_y_at_accuracy_s_10",),
    "a quarter": ("accuracy_y_at_accuracy_s_25",),
    "half": ("accuracy_y_at_accuracy_s_50",),
}
"""Headings of the pages' tables of methods, and the columns whose figures stand below, in order."""

NAMED = re.compile(r"^\**`([\w-]+)`\**(?: \((\w+)\))?(?:, (.*))?$")
"""A method, which row of it, and a point: all that is named."""

BLOCK = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)
"""A table of a page."""

PAPER = "learning_rate=3e-05"
"""A parameter of the rows that pages call ``paper``; other rows with parameters are ``tuned``."""

BY_SEED = {"SoFaiR": "sofair", "MSFaiR": "msfair", "SoFaiR-NOS": "sofair-nos"}
"""Rows of the tables by seed and of median curves."""

STEPS = {"beta > 1.1": 1.1, "1.1 to .9": 0.9, ".9 to .7": 0.7, ".7 to .45": 0.45, "to 0": 0.0}
"""Rows of the table of what comes back, and where the settings end that those steps start from."""

COLUMNS_CALLED = {
    "education-num": "education",
    "workclass": "work class",
    "hours-per-week": "hours",
    "marital-status": "marital status",
    "capital-loss": "capital loss",
    "capital-gain": "capital gain",
}


# The published files.


@functools.cache
def published(name: str) -> pd.DataFrame:
    """A published file, read once; not to be changed."""
    return fairbench.load_leaderboard(FOLDER / name)


def rows_of(name: str, method: str, variant: str | None) -> pd.DataFrame:
    """Rows of one of the published files of Adults-Gender; ``variant`` as pages call it."""
    table = published(name)
    of_method = table[table["method"] == method]
    if variant is None:
        return of_method[of_method["params"] == "default"]
    papers = of_method["params"].str.contains(PAPER, regex=False)
    if variant == "paper":
        return of_method[papers]
    assert variant == "tuned", variant
    return of_method[~papers & (of_method["params"] != "default")]


def row_of(method: str, variant: str | None) -> pd.Series:
    ((_, found),) = rows_of("adults-gender.csv", method, variant).iterrows()
    return found


def area(points: pd.DataFrame) -> float:
    """AUFDC of one seed's points."""
    first = points.iloc[0]
    return strict_area(
        list(zip(points["distortion"], points["mutual_information"], strict=True)),
        list(
            zip(
                points["distortion_validation"],
                points["mutual_information_validation"],
                strict=True,
            )
        ),
        i_max=first["mutual_information_max"],
        d_max=first["distortion_max"],
        i_max_selection=first["mutual_information_max_validation"],
        d_max_selection=first["distortion_max_validation"],
    )


def points_of(method: str, variant: str | None, seed: int) -> pd.DataFrame:
    """Audited points of one seed, in their order on the curve."""
    points = rows_of("adults-gender-points.csv", method, variant)
    return points[(points["seed"] == seed) & (points["status"] == "DONE")].sort_values(
        "point_number"
    )


def explained(name: str, kind: str) -> pd.DataFrame:
    """A file of ``fairbench explain``: ``name`` is what a page calls it, such as ``seed 0``."""
    of_race, _, seed = name.rpartition("seed ")
    dataset = "adults-gender-race" if of_race else "adults-gender"
    return pd.read_csv(FOLDER / "figures" / f"{dataset}-sofair-seed{seed}-{kind}.csv")


def beta_of(label: str) -> float:
    return float(label.partition("=")[2])


def coming_back(steps: pd.DataFrame, row: str) -> dict[str, list[float]]:
    """Correlations of .2 or more, by column, of the steps that a row of the page's table is of."""
    ends = [math.inf, *STEPS.values()]
    place = list(STEPS).index(row)
    last = steps.index[-1]
    found: dict[str, list[float]] = {}
    for number, step in steps.iterrows():
        within = ends[place + 1] < beta_of(step["from"]) <= ends[place]
        if (number == last) != (row == "to 0") or not (within or number == last):
            continue
        best: dict[str, float] = {}
        for column in steps.columns[3:]:
            called = COLUMNS_CALLED.get(column, column)
            best[called] = max(best.get(called, 0.0), round(step[column], 2))
        for called, value in sorted(best.items(), key=lambda of: -of[1]):
            if value >= 0.2:
                found.setdefault(called, []).append(value)
    return found


# Figures as pages have them.


def figure(value: float, digits: int = 3) -> str:
    """To so many digits, and never -0."""
    return f"{round(value, digits) + 0:.{digits}f}"


def printed(value: float, digits: int = 3) -> str:
    """``.231`` for .2309: no zero before the point."""
    return re.sub(r"^(-?)0\.", r"\1.", figure(value, digits))


def interval(row: pd.Series) -> str:
    return f"{printed(row['aufdc'])} [{printed(row['aufdc_low'])}, {printed(row['aufdc_high'])}]"


# Tables of a page.


class Table:
    """A table of a page: its headings, and rows as lists of cells."""

    def __init__(self, block: str) -> None:
        lines = block.rstrip("\n").split("\n")
        cells = [[c.strip() for c in re.split(r"(?<!\\)\|", line[1:-1])] for line in lines]
        self.heads, _, *self.rows = cells

    def __str__(self) -> str:
        rule = "|".join(["", *["---"] * len(self.heads), ""])
        lines = [
            f"| {' | '.join(row)} |".replace("|  |", "| |") for row in [self.heads, *self.rows]
        ]
        return "\n".join([lines[0], rule, *lines[1:]]) + "\n"

    def column(self, head: str) -> list[str]:
        return [row[self.heads.index(head)] for row in self.rows]


def requoted(table: Table) -> None:
    """Methods' figures, as :data:`QUOTED` says; in the order of the leaderboard where ranked."""
    told = [row_of(*_named(cell)) for cell in table.column("method")]
    for row, found in zip(table.rows, told, strict=True):
        for place, head in enumerate(table.heads):
            if head == "aufdc":
                row[place] = interval(found)
            elif head in ("rank", "seeds"):
                row[place] = str(found[head])
            elif head in QUOTED:
                row[place] = printed(found[QUOTED[head][0]])
    if "rank" in table.heads:
        order = np.argsort([found["aufdc"] for found in told], kind="stable")
        table.rows = [table.rows[place] for place in order]


def _named(cell: str) -> tuple[str, str | None]:
    named = NAMED.match(cell)
    assert named, cell
    return named[1], named[2]


def across_datasets(table: Table) -> None:
    """Areas of default rows, a column a dataset; by the first dataset's."""
    boards = [published(f"{name}.csv") for name in table.heads[1:]]
    areas = {}
    for row in table.rows:
        method, _ = _named(row[0])
        found = [
            b.loc[(b["method"] == method) & (b["params"] == "default"), "aufdc"] for b in boards
        ]
        areas[row[0]] = [math.nan if of.empty else float(of.iloc[0]) for of in found]
        row[1:] = ["-" if math.isnan(value) else printed(value) for value in areas[row[0]]]
    table.rows.sort(key=lambda row: areas[row[0]][0])


def by_seed(table: Table) -> None:
    """Areas of each seed."""
    seeds = int(row_of("sofair", None)["seeds"])
    table.heads = ["", *(f"seed {seed}" for seed in range(seeds))]
    for row in table.rows:
        row[1:] = [printed(area(points_of(BY_SEED[row[0]], None, s))) for s in range(seeds)]


def median_curves(table: Table) -> None:
    """The least distortion at which the median of the seeds' curves tells a given information."""
    for row in table.rows:
        surface = rows_of("adults-gender-attainment.csv", BY_SEED[row[0]], None)
        median = surface[surface["level"] == 50].sort_values("mutual_information")
        for place, head in enumerate(table.heads[1:], start=1):
            row[place] = f"{np.interp(float(head), median['i'], median['d']):.2f}"


def disparities(table: Table) -> None:
    """The largest disparity of a bit at the settings nearest to a beta."""
    for row in table.rows:
        bits = explained(row[0], "bits")
        settings = {beta_of(label): label for label in bits["point"].unique()}
        for place, head in enumerate(table.heads[1:], start=1):
            beta = float(re.findall(r"[\d.]+", head)[0])
            nearest = settings[min(settings, key=lambda known: abs(known - beta))]
            row[place] = printed(bits.loc[bits["point"] == nearest, "disparity"].max(), 2)


def steps_back(table: Table) -> None:
    """What comes back with each range of steps: columns, and their correlations."""
    for place, name in enumerate(table.heads[1:], start=1):
        steps = explained(name, "information")
        for row in table.rows:
            told = (
                f"{called} ({', '.join(printed(value, 2) for value in values)})"
                for called, values in coming_back(steps, row[0]).items()
            )
            row[place] = ", ".join(told)


def writer_of(table: Table) -> Callable[[Table], None] | None:
    """Who writes a table; ``None`` for one that has no figures of the published files."""
    first = table.rows[0][0]
    datasets = {path.stem for path in FOLDER.glob("*.csv")}
    if table.heads[0] == "method" and {*table.heads[1:]} <= datasets:
        return across_datasets
    if "method" in table.heads and {*table.heads} & ({*QUOTED} - {"rank", "seeds"}):
        return requoted
    if first in BY_SEED:
        return median_curves if table.heads[0] == "D at I =" else by_seed
    if first in STEPS:
        return steps_back
    if first == "seed 0":
        return disparities
    return None


def rewritten(page: Path) -> str:
    """The text of a page with its tables as the published files have them."""

    def anew(block: re.Match[str]) -> str:
        table = Table(block[0])
        write = writer_of(table)
        if write is None:
            return block[0]
        write(table)
        return str(table)

    return BLOCK.sub(anew, page.read_text(encoding="utf-8"))


def main() -> None:
    for page in PAGES:
        text = rewritten(page)
        if text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
