"""Methods of this project beside a published method that was tuned, on all tables that have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from board_rows import LEADERBOARDS, read_rows, show_area
from fairbench.leaderboard.ranking import LeaderboardEntry, difference
from fairbench.report.format import format_count, format_interval
from fairbench.stats.intervals import Estimate
from markdown_parts import list_names, make_paragraph, make_table

LABELS = ("tuned", "transferred")
"""Of rows with the hyperparameters that a search on Adults-Gender chose: there, and elsewhere."""

Rows = Mapping[str, LeaderboardEntry]


def format_rival(rivals: Sequence[str], names: Sequence[str]) -> str:
    """Format areas by table, and on how many tables each method is ahead of the rival or behind."""
    (rival,) = rivals
    boards = find_boards(rival, names)
    heads = ["table", *(f"`{name}`" for name in (rival, *names))]
    heads += [f"`{name}` less `{rival}`" for name in names]
    said = " ".join(" ".join(_count(rival, name, boards)) for name in names)
    return f"{make_table(heads, _cells(rival, names, boards))}\n\n{make_paragraph(said)}"


def find_boards(rival: str, names: Sequence[str]) -> dict[str, Rows]:
    """Return the rows of the boards that have the tuned rival and all methods, by dataset."""
    found = {}
    for path in sorted((LEADERBOARDS / "fairbench_boards").glob("*.board")):
        rows = read_rows(path.stem)
        if _tuned(rival, rows) is not None and rows.keys() >= set(names):
            found[path.stem.rpartition("-")[0]] = rows
    return found


def gap(rival: str, name: str, rows: Rows) -> Estimate:
    """Estimate how much more area a method has than the tuned rival, paired over splits."""
    other = _tuned(rival, rows)
    found = None if other is None else difference(rows[name], other, "aufdc")
    if found is None:
        raise ValueError(f"{name} and {rival} cannot be paired: make their rows again.")
    return found


def _tuned(rival: str, rows: Rows) -> LeaderboardEntry | None:
    known = (rows.get(f"{rival} ({label})") for label in LABELS)
    return next((entry for entry in known if entry is not None), None)


def _cells(
    rival: str, names: Sequence[str], boards: Mapping[str, Rows]
) -> Iterator[tuple[str, ...]]:
    for dataset, rows in boards.items():
        other = _tuned(rival, rows)
        assert other is not None, dataset
        gaps = (gap(rival, name, rows) for name in names)
        yield (
            f"`{dataset}`",
            *map(show_area, (other, *(rows[name] for name in names))),
            *(format_interval(one.value, *one.interval()) for one in gaps),
        )


def _count(rival: str, name: str, boards: Mapping[str, Rows]) -> Iterator[str]:
    intervals = {dataset: gap(rival, name, rows).interval() for dataset, rows in boards.items()}
    ahead = [dataset for dataset, (_, high) in intervals.items() if high < 0]
    behind = [dataset for dataset, (low, _) in intervals.items() if low > 0]
    open_ = [dataset for dataset in intervals if dataset not in {*ahead, *behind}]
    yield f"`{name}` is ahead of `{rival}` (interval below 0) on {len(ahead)} of"
    yield f"{format_count(len(boards), 'table')}, behind it on {len(behind)}{_named(behind)},"
    yield f"and on {len(open_)}{_named(open_)} the interval holds 0."


def _named(datasets: Sequence[str]) -> str:
    return f" ({list_names(datasets)})" if datasets else ""
