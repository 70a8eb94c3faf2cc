"""Methods of this project beside a published method that was tuned, on all tables that have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from board_rows import FOLDER, LEADERBOARDS, estimate_gap, read_rows, show_area
from fairbench.leaderboard.ranking import LeaderboardEntry
from fairbench.report.format import format_count, format_interval
from fairbench.stats.intervals import Estimate
from markdown_parts import list_names, make_paragraph, make_table

LABELS = ("transferred", "tuned")
"""Of rows with the hyperparameters that a search on Adults-Gender chose: elsewhere, and there. In
this order, as another board may also have a row that was tuned on its own table."""


@dataclass(frozen=True)
class RivalTable:
    """The tuned rival on a dataset, and the other ranked rows of its board by name."""

    rival: LeaderboardEntry
    rows: Mapping[str, LeaderboardEntry]

    def gap(self, name: str) -> Estimate:
        """Estimate how much more area a method has than the rival, paired over splits."""
        return estimate_gap(self.rows[name], self.rival, "aufdc", names=f"{name} and the tuned row")


def format_rival(rivals: Sequence[str], names: Sequence[str]) -> str:
    """Format areas by table, and on how many tables each method is ahead of the rival or behind."""
    (rival,) = rivals
    tables = find_tables(rival, names)
    heads = ["table", *(f"`{name}`" for name in (rival, *names))]
    heads += [f"`{name}` less `{rival}`" for name in names]
    said = " ".join(" ".join(_count(rival, name, tables)) for name in names)
    return f"{make_table(heads, _cells(names, tables))}\n\n{make_paragraph(said)}"


def find_tables(rival: str, names: Sequence[str]) -> dict[str, RivalTable]:
    """Return what boards have the tuned rival and all methods, by dataset."""
    found = {}
    for path in sorted((LEADERBOARDS / FOLDER).glob("*.board")):
        rows = read_rows(path.stem)
        tuned = [rows[name] for label in LABELS if (name := f"{rival} ({label})") in rows]
        if tuned and rows.keys() >= set(names):
            found[path.stem.rpartition("-")[0]] = RivalTable(tuned[0], rows)
    return found


def _cells(names: Sequence[str], tables: Mapping[str, RivalTable]) -> Iterator[tuple[str, ...]]:
    for dataset, table in tables.items():
        gaps = (table.gap(name) for name in names)
        yield (
            f"`{dataset}`",
            *map(show_area, (table.rival, *(table.rows[name] for name in names))),
            *(format_interval(one.value, *one.interval()) for one in gaps),
        )


def _count(rival: str, name: str, tables: Mapping[str, RivalTable]) -> Iterator[str]:
    intervals = {dataset: table.gap(name).interval() for dataset, table in tables.items()}
    ahead = [dataset for dataset, (_, high) in intervals.items() if high < 0]
    behind = [dataset for dataset, (low, _) in intervals.items() if low > 0]
    open_ = [dataset for dataset in intervals if dataset not in {*ahead, *behind}]
    yield f"`{name}` is ahead of `{rival}` (interval below 0) on {len(ahead)} of"
    yield f"{format_count(len(tables), 'table')}, behind it on {len(behind)}{_named(behind)},"
    yield f"and on {len(open_)}{_named(open_)} the interval holds 0."


def _named(datasets: Sequence[str]) -> str:
    return f" ({list_names(datasets)})" if datasets else ""
