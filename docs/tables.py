"""Write what is made from the published boards: ``python docs/tables.py``.

It writes the leaderboard of each board as CSV, and the generated tables of the pages. An author
chooses the rows of a table, this script fills in the figures. Descriptions of CSV columns come from
the code, between ``<!-- columns: NAME -->`` and ``<!-- end of columns -->``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from board_rows import LEADERBOARDS, read_table, rewrite_rows
from claims import format_claims
from fairbench.metrics.columns import (
    ACROSS_COLUMNS,
    ATTAINMENT_COLUMNS,
    COLUMNS,
    POINT_COLUMNS,
    PROVENANCE,
    REFERENCE_COLUMNS,
)
from fairbench.metrics.rows import describe_p_value, p_value_column
from fairbench.registry import Registry, load_registry
from fairbench.report.tables import TableFormat, render
from findings import format_findings
from image_claims import format_claims_of_images, format_images, format_quick_images
from own_parts import format_parts
from released import format_claims_of_bits, load_explained
from single_shot import format_single_shot
from verdict import format_verdict

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

BLOCK = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)
"""A table of a page."""

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


COLUMN_BLOCK = re.compile(
    r"(?P<start><!-- columns: (?P<name>\w+) -->\n\n)(?P<table>.*?)"
    r"(?P<end>\n<!-- end of columns -->)",
    re.DOTALL,
)
"""A generated table of column descriptions."""


GENERATED = re.compile(
    r"(?P<start><!-- (?P<name>[a-z -]+) -->\n)(?:(?!<!--).)*(?P<end><!-- end of (?P=name) -->)",
    re.DOTALL,
)
"""A part of a page that :data:`WRITERS` has a function for, by its name."""


# Columns of the CSVs, from the code.


def describe_columns() -> dict[str, Mapping[str, str]]:
    """Name of a block -> its columns and their descriptions, in the order of the CSV.

    Columns that every file begins with are described in the first block alone.
    """
    registry = load_registry()
    metrics: dict[str, dict[str, str]] = {"point": {}, "curve": {}}
    for metric in registry.metrics.classes.values():
        metrics[metric.level].update(metric.columns)
    return {
        "rows": {**COLUMNS, **describe_tests(registry)},
        "curve_metrics": metrics["curve"],
        "provenance": PROVENANCE,
        "points": {name: POINT_COLUMNS[name] for name in POINT_COLUMNS if name not in COLUMNS},
        "point_metrics": metrics["point"],
        "references": REFERENCE_COLUMNS,
        "attainment": {n: ATTAINMENT_COLUMNS[n] for n in ATTAINMENT_COLUMNS if n not in COLUMNS},
        "across": {name: ACROSS_COLUMNS[name] for name in ACROSS_COLUMNS if name not in COLUMNS},
    }


def describe_tests(registry: Registry) -> dict[str, str]:
    """Columns of tests against reference methods, and their descriptions."""
    return {
        p_value_column(name): describe_p_value(name)
        for name, method in registry.methods.classes.items()
        if method.tested_against
    }


def format_datasets() -> str:
    """Format all built-in datasets as a table of a page, by the module that they are from."""
    lines = ["| name | rows | what it is | licence or terms |", "|---|---|---|---|"]
    for dataset in load_registry().datasets.classes.values():
        if dataset.__module__.startswith("fairbench_datasets."):
            names = f"`{dataset.name}`" + "".join(f" (`{name}`)" for name in dataset.aliases)
            rows = f"{dataset.rows:,}" if dataset.rows else ""
            shown = "; for demonstration" if dataset.demonstration else ""
            terms = dataset.licence.partition(":")[0].partition(";")[0]
            lines.append(f"| {names} | {rows} | {dataset.summary}{shown} | {terms} |")
    return "\n".join(lines) + "\n"


def format_columns(columns: Mapping[str, str]) -> str:
    """Format descriptions of columns as a table of a page."""
    lines = ["| column | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {text} |" for name, text in columns.items()]
    return "\n".join(lines) + "\n"


# The published files.


def format_board(path: Path) -> str:
    """Format the leaderboard of a board as CSV."""
    return render([read_table(path.stem)], TableFormat.CSV)


def parse_beta(label: str) -> float:
    return float(label.partition("=")[2])


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


# Format of figures.


def format_figure(value: float, digits: int = 3) -> str:
    """Format .2309 as ``.231``: without a zero before the point, and never as -0."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{round(value, digits) + 0:.{digits}f}")


# Tables of a page.


class Table:
    """A table of a page: headings, and rows as lists of cells."""

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


def write_disparities(table: Table) -> None:
    """Write the largest disparity of any bit at the setting nearest to a beta."""
    for row in table.rows:
        bits = load_explained(row[0], "bits")
        settings = {parse_beta(label): label for label in bits["point"].unique()}
        for place, head in enumerate(table.heads[1:], start=1):
            beta = float(re.findall(r"[\d.]+", head)[0])
            nearest = settings[min(settings, key=lambda known: abs(known - beta))]
            row[place] = format_figure(bits.loc[bits["point"] == nearest, "disparity"].max(), 2)


def write_steps(table: Table) -> None:
    """Write the columns that each range of steps releases, with their correlations."""
    for place, name in enumerate(table.heads[1:], start=1):
        steps = load_explained(name, "information")
        for row in table.rows:
            labels = (
                f"{label} ({', '.join(format_figure(value, 2) for value in values)})"
                for label, values in collect_correlations(steps, row[0]).items()
            )
            row[place] = ", ".join(labels)


def find_writer(table: Table) -> Callable[[Table], None] | None:
    """Find the function that writes a table; ``None`` if it has no published figures."""
    first = table.rows[0][0]
    if first in STEPS:
        return write_steps
    if first == "seed 0":
        return write_disparities
    return None


WRITERS: dict[str, Callable[[], str]] = {
    "datasets": format_datasets,
    "single-shot": format_single_shot,
    "claims": format_claims,
    "claims of bits": format_claims_of_bits,
    "images": format_images,
    "quick images": format_quick_images,
    "claims of images": format_claims_of_images,
    "findings": format_findings,
    "verdict": format_verdict,
    "parts": format_parts,
}
"""What is written between ``<!-- NAME -->`` and ``<!-- end of NAME -->``."""


def _write(block: re.Match[str]) -> str:
    return f"{block['start']}\n{WRITERS[block['name']]()}\n{block['end']}"


def rewrite(page: Path) -> str:
    """Return the text of a page with its generated tables brought up to date."""

    def update(block: re.Match[str]) -> str:
        table = Table(block[0])
        write = find_writer(table)
        if write is None:
            return block[0]
        write(table)
        return str(table)

    columns = describe_columns()

    def describe(block: re.Match[str]) -> str:
        return block["start"] + format_columns(columns[block["name"]]) + block["end"]

    text = COLUMN_BLOCK.sub(describe, page.read_text(encoding="utf-8"))
    text = GENERATED.sub(_write, text)
    return BLOCK.sub(update, rewrite_rows(text))


def main() -> None:
    for board in sorted(LEADERBOARDS.glob("fairbench_boards/*.board")):
        (LEADERBOARDS / f"{board.stem}.csv").write_text(format_board(board), encoding="utf-8")
    for page in PAGES:
        text = rewrite(page)
        if text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
