"""The verdict of the published boards over the tables of a collection.

``python docs/tables.py`` writes its table, ``python docs/verdict.py`` draws the figure.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fairbench.leaderboard.across import Verdict, compare_across
from fairbench.leaderboard.collections import find_collection
from fairbench.leaderboard.published_tables import tables_with_published
from fairbench.leaderboard.select import SelectedRecords
from fairbench.metrics.rows import AcrossRow
from fairbench.registry import load_registry
from fairbench.report.across_figure import across_figure
from fairbench.report.figure_files import write_png
from fairbench.report.format import format_count, format_share
from fairbench.report.identity import Identities
from fairbench.stats.across import least_adjusted_p_against
from markdown_parts import list_names, make_paragraph, make_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLLECTION, TRACK = "tabular-v1", "blind"
TARGET = Path(__file__).parents[1] / "leaderboards" / "figures" / "across-aufdc.png"


@functools.cache
def read_verdicts() -> dict[str, Verdict]:
    """Return the verdicts of the blind track by measure: the areas, audited and certified."""
    registry = load_registry()
    collection = find_collection(COLLECTION, registry)
    tables = tables_with_published(SelectedRecords({}, {}), collection, registry).tables
    verdicts, _ = compare_across(tables, collection, registry)
    return {one.measure: one for one in verdicts if one.group.track == TRACK}


def format_verdict() -> str:
    """Format the areas on each table, ranks and comparisons, and what the verdict is not of."""
    audited, certified = (read_verdicts()[name] for name in ("aufdc", "aufdc_certified"))
    parts = (
        make_paragraph(*describe_verdict(audited)),
        make_table(
            [
                "method",
                "mean rank",
                "wins, ties, losses",
                *(f"`{name}`" for name in audited.tables),
            ],
            _rows(audited),
        ),
        make_paragraph(*_best(audited)),
        make_paragraph(*_certified(certified)),
    )
    return "\n\n".join(parts)


def describe_verdict(verdict: Verdict) -> Iterator[str]:
    """Say what the table is of, and what is missing."""
    known = len(verdict.tables) + len(verdict.missing)
    shown = "the areas"
    if verdict.reference is not None:
        shown += f", and wins, ties and losses against `{verdict.reference}`"
    counted = f"So far {len(verdict.tables)} of the" if verdict.missing else "All"
    rows = format_count(len(verdict.rows), "row")
    yield f"{counted} {known} entries of `{COLLECTION}` have boards with {rows} in common."
    yield f"Here are {shown}. The tables come from"
    yield f"{format_count(verdict.source_count, 'source')}: tables of one survey or register"
    yield "describe the same people and count as one"
    yield f"([sources](#what-is-computed)){_least_p(verdict)}."
    if verdict.missing:
        yield f"Without replicated rows: {list_names(verdict.missing)}. Until all have some, do not"
        yield f"cite this as the verdict of `{COLLECTION}`."


def _least_p(verdict: Verdict) -> str:
    """The least p-value with all rows that have it; nothing where none is compared."""
    known = [(row.p_value, show_row(row)) for row in verdict.rows if row.p_value is not None]
    if not known:
        return ""
    least = min(p for p, _ in known)
    names = ", ".join(name for p, name in known if p == least)
    floor = ", the smallest that is possible" if least <= 1.001 * least_p_value(verdict) else ""
    return f", and the smallest adjusted p-value is {format_share(least)} ({names}){floor}"


def least_p_value(verdict: Verdict) -> float:
    """Return the smallest adjusted p-value that is possible: of a row ahead on all sources."""
    compared = sum(row.p_value is not None for row in verdict.rows)
    return least_adjusted_p_against(compared, verdict.source_count)


def _rows(verdict: Verdict) -> Iterator[list[str]]:
    for row, figures in zip(verdict.rows, verdict.figures, strict=True):
        compared = "" if row.wins is None else f"{row.wins}, {row.ties}, {row.losses}"
        yield [show_row(row), _mean_rank(row), compared, *map(format_share, figures.tolist())]


def _best(verdict: Verdict) -> Iterator[str]:
    """Which row has the least area on which tables."""
    tables: dict[str, list[str]] = {}
    for table, row in zip(verdict.tables, verdict.figures.argmin(axis=0), strict=True):
        tables.setdefault(show_row(verdict.rows[row]), []).append(f"`{table}`")
    parts = [f"{name} on {', '.join(on)}" for name, on in tables.items()]
    yield f"These have the smallest area: {'; '.join(parts)}."


def _certified(verdict: Verdict) -> Iterator[str]:
    yield "By the certified area, the mean ranks are:"
    yield ", ".join(f"{show_row(row)} {row.mean_rank:.1f}" for row in verdict.rows) + "."


def _mean_rank(row: AcrossRow) -> str:
    if row.mean_rank_low is None or row.mean_rank_high is None:
        return f"{row.mean_rank:.1f}"
    return f"{row.mean_rank:.1f} [{row.mean_rank_low:.1f}, {row.mean_rank_high:.1f}]"


def show_row(row: AcrossRow) -> str:
    """Return a row's name as pages show it."""
    given = row.name.removeprefix(row.method).strip()
    return f"`{row.method}`" + (f" {given}" if given else "")


def draw() -> Figure:
    """Draw the areas' verdict."""
    return across_figure(read_verdicts()["aufdc"], Identities.of(load_registry()))


def main() -> None:
    """Write the file."""
    write_png(draw(), TARGET, dpi=110)


if __name__ == "__main__":
    main()
