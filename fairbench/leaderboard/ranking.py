"""Ranks within track, budget and audit, and two methods compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fairbench.api import Track
from fairbench.errors import ConfigError, UnknownNameError
from fairbench.metrics.rows import Group, LeaderboardRow
from fairbench.stats.intervals import Estimate, Sample, paired, ranks

LOWER = {"aufdc": True, "accuracy_y_at_leakage_10": False}
"""Columns that rows may be ranked by, and whether lower is better."""


@dataclass(frozen=True)
class RankedRow:
    """A row of a leaderboard, and samples of its columns with replicates of every seed."""

    row: LeaderboardRow
    samples: Mapping[str, Sample] = field(default_factory=dict)


@dataclass(frozen=True)
class MethodComparison:
    """Two methods of one group; ``difference`` is a - b, paired over test rows, if both can be."""

    group: Group
    column: str
    a: LeaderboardRow
    b: LeaderboardRow
    difference: Estimate | None


def rank_rows(entries: Sequence[RankedRow]) -> list[RankedRow]:
    """Rank complete rows within track, budget and audit, and order all by what ranks them.

    Incomplete rows stand below. A row can stand above another of its group and have a higher rank
    number: a wide interval separates it from few others.
    """
    ordered: list[RankedRow] = []
    for members in _group(entries).values():
        column = choose_ranking_column([entry.row for entry in members])
        sign = 1.0 if LOWER[column] else -1.0
        # Of -x as of x: the rule is symmetric in the sign of a difference.
        known = [
            (sign * value, entry.row.variant, entry)
            for entry in members
            if entry.row.complete and (value := entry.row.figures.get(column)) is not None
        ]
        known.sort(key=lambda one: one[:2])
        best_first = [entry for _, _, entry in known]
        samples = [entry.samples.get(column) for entry in best_first]
        places = ranks([value for value, _, _ in known], samples)
        ordered += [
            replace(entry, row=replace(entry.row, rank=rank, ranked_by=column))
            for entry, rank in zip(best_first, places, strict=True)
        ]
        rest = [entry for entry in members if not any(entry is one for one in best_first)]
        ordered += [
            replace(entry, row=replace(entry.row, ranked_by=column))
            for entry in sorted(rest, key=lambda entry: entry.row.variant)
        ]
    return ordered


def choose_ranking_column(rows: Sequence[LeaderboardRow]) -> str:
    """Return the column that ranks a group.

    With s in hand an encoder can be almost free of it at no distortion, and AUFDC tells little: the
    aware track goes by what is left for y, wherever all complete rows have that.
    """
    complete = [row for row in rows if row.complete]
    aware = bool(complete) and rows[0].track == Track.AWARE
    has_task = all(row.figures.get("accuracy_y_at_leakage_10") is not None for row in complete)
    return "accuracy_y_at_leakage_10" if aware and has_task else "aufdc"


def compare(entries: Sequence[RankedRow], a: str, b: str) -> Iterator[MethodComparison]:
    """Compare every pair of complete rows of two methods in one group.

    A method is named as in the leaderboard, or as ``method:params`` where it has several rows.
    """
    for group, members in _group(entries).items():
        column = choose_ranking_column([entry.row for entry in members])
        complete = [
            entry
            for entry in members
            if entry.row.complete and entry.row.figures.get(column) is not None
        ]
        for first in _named(complete, a):
            for second in _named(complete, b):
                gap = paired(first.samples.get(column), second.samples.get(column))
                yield MethodComparison(group, column, first.row, second.row, gap)


def check_names(known: Collection[str], a: str, b: str) -> None:
    """Raise ConfigError or UnknownNameError where a and b do not name two of the known methods."""
    for name in (a, b):
        if name.partition(":")[0] not in known:
            raise UnknownNameError("method", name, known)
    if a == b:
        raise ConfigError(f"{a} cannot be compared with itself.", "Name two methods.")


def _named(entries: Sequence[RankedRow], name: str) -> list[RankedRow]:
    method, _, params = name.partition(":")
    return [e for e in entries if e.row.method == method and params in ("", e.row.params)]


def _group(entries: Sequence[RankedRow]) -> dict[Group, list[RankedRow]]:
    groups: dict[Group, list[RankedRow]] = defaultdict(list)
    for entry in entries:
        groups[entry.row.group].append(entry)
    order = sorted(groups, key=lambda g: (g.track != "blind", g.track, g.budget != "full", *g[1:]))
    return {group: groups[group] for group in order}
