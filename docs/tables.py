"""Write what is made from the published boards: ``python docs/tables.py``.

It writes the leaderboard of each board as CSV, and the generated parts of the pages. These stand
between ``<!-- NAME: LIST: LIST -->`` and ``<!-- end of NAME -->``: what :data:`WRITERS` has by this
name writes them. An author chooses what a table is of by lists: of the name of a block of
``columns``; of boards and of their rows, each ``METHOD`` or ``METHOD (LABEL)``. A single figure
inside a sentence has marks of the same form (:mod:`inline_figures`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bit_claims import format_claims_of_bits
from tuned_rival import format_rival

from bit_tables import format_disparities, format_steps
from board_rows import (
    LEADERBOARDS,
    format_areas,
    format_comparison,
    format_fronts,
    format_misses,
    format_rows,
    format_told,
    read_table,
)
from claims import format_claims
from claims_in_short import format_in_short
from earlier_commit import format_against_commit
from fairbench.files import write_file
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
from hidden_bits_found import format_hidden_bits
from image_claims import format_claims_of_images, format_images, format_quick_images
from inline_figures import rewrite_figures
from markdown_parts import make_table, split_lists
from methods_searched import format_wide_on_methods
from more_rows import format_more_rows
from own_parts import format_parts
from promise_tables import format_promises
from race_claims import format_race_claims
from rank_ranges import format_ranks
from single_shot import format_in_short as format_twins_in_short
from single_shot import format_over_splits, format_single_shot
from tuned import format_tuned
from verdict import format_verdict

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "leaderboards" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]

MARKED = re.compile(
    r"(?P<start><!-- (?P<name>[a-z -]+)(?P<lists>(?:: [^:>]+)*) -->\n)"
    r"(?:(?!<!--).)*(?P<end><!-- end of (?P=name) -->)",
    re.DOTALL,
)
"""A generated part of a page."""


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
    return {p_value_column(name): describe_p_value(name) for name in registry.references}


def format_columns(blocks: Sequence[str]) -> str:
    """Format the descriptions of the columns of one block."""
    (block,) = blocks
    columns = describe_columns()[block]
    return make_table(["column", "meaning"], ((f"`{name}`", columns[name]) for name in columns))


def format_datasets() -> str:
    """Format all built-in datasets, by the module that they are from."""
    rows = []
    for dataset in load_registry().datasets.classes.values():
        if dataset.__module__.startswith("fairbench_datasets."):
            names = f"`{dataset.name}`" + "".join(f" (`{name}`)" for name in dataset.aliases)
            number = f"{dataset.rows:,}" if dataset.rows else ""
            shown = "; for demonstration" if dataset.demonstration else ""
            terms = dataset.licence.partition(":")[0].partition(";")[0]
            rows.append((names, number, f"{dataset.summary}{shown}", terms))
    return make_table(["name", "rows", "what it is", "licence or terms"], rows)


def format_collection(names: Sequence[str]) -> str:
    """Format the tables of a collection, their weights and sources."""
    (name,) = names
    registry = load_registry()
    rows = (
        (
            f"`{table.dataset}`",
            registry.datasets[table.dataset].summary,
            f"{table.weight:g}",
            table.source or "",
            f"`{table.unseen}`" if table.unseen else "",
        )
        for table in registry.collections[name].tables
    )
    return make_table(["dataset", "what it is", "weight", "source", "unseen tasks"], rows)


WRITERS: Mapping[str, Callable[..., str]] = {
    "columns": format_columns,
    "datasets": format_datasets,
    "collection": format_collection,
    "rows": format_rows,
    "comparison": format_comparison,
    "told from": format_told,
    "areas": format_areas,
    "fronts": format_fronts,
    "misses": format_misses,
    "twins in short": format_twins_in_short,
    "single-shot": format_single_shot,
    "single-shot over splits": format_over_splits,
    "claims": format_claims,
    "claims in short": format_in_short,
    "claims of race": format_race_claims,
    "claims of bits": format_claims_of_bits,
    "disparities": format_disparities,
    "steps": format_steps,
    "images": format_images,
    "quick images": format_quick_images,
    "claims of images": format_claims_of_images,
    "findings": format_findings,
    "verdict": format_verdict,
    "parts": format_parts,
    "rival": format_rival,
    "promises": format_promises,
    "ranks": format_ranks,
    "more rows": format_more_rows,
    "hidden bits": format_hidden_bits,
    "against commit": format_against_commit,
    "wide on methods": format_wide_on_methods,
    "tuned": format_tuned,
}
"""What writes a generated part of a page, by its name: a function of the lists after the name."""


def rewrite(text: str) -> str:
    """Return the text of a page with its generated parts brought up to date."""
    return rewrite_figures(MARKED.sub(_write, text))


def _write(part: re.Match[str]) -> str:
    written = WRITERS[part["name"]](*split_lists(part["lists"]))
    return f"{part['start']}\n{written}\n\n{part['end']}"


def format_board(path: Path) -> str:
    """Format the leaderboard of a board as CSV."""
    return render([read_table(path.stem)], TableFormat.CSV)


def main() -> None:
    """Write all of it; who stops it finds each file as it was, or whole."""
    for board in sorted(LEADERBOARDS.glob("fairbench_boards/*.board")):
        write_file(LEADERBOARDS / f"{board.stem}.csv", format_board(board).encode())
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        text = rewrite(before)
        if text != before:
            write_file(page, text.encode())
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
