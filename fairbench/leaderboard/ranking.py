"""Ranks within track, budget and audit, and two methods compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairbench.api import Track
from fairbench.errors import ConfigError, UnknownNameError
from fairbench.stats.intervals import Estimate, Sample, paired, ranks

Row = dict[str, Any]

LOWER = {"aufdc": True, "accuracy_y_at_leakage_10": False}
"""Columns that rows may be ranked by, and whether lower is better."""


@dataclass(frozen=True)
class Entry:
    """A row of a leaderboard.

    Parameters
    ----------
    row : dict
    samples : mapping of str to Sample
        By column, where there are replicates of every seed.
    """

    row: Row
    samples: Mapping[str, Sample] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """Two methods of one group.

    Parameters
    ----------
    group : tuple of str
        Track, budget, audit.
    column : str
        What the group is ranked by.
    a, b : dict
        Their rows.
    difference : Estimate or None
        a - b, paired over test rows; None where one has no replicates.
    """

    group: tuple[str, str, str]
    column: str
    a: Row
    b: Row
    difference: Estimate | None


def ranked(entries: Sequence[Entry]) -> list[Entry]:
    """Rank complete rows within track, budget and audit, and order all by what ranks them.

    Incomplete rows stand below. A row can stand above another of its group and have a higher rank
    number: one with a wide interval is apart from few.
    """
    out: list[Entry] = []
    for members in _groups(entries).values():
        column = ranked_by([entry.row for entry in members])
        sign = 1.0 if LOWER[column] else -1.0
        known = [e for e in members if e.row["complete"] and e.row.get(column) is not None]
        rest = [e for e in members if not any(e is k for k in known)]
        known.sort(key=lambda e: (sign * e.row[column], e.row["method"], e.row["params"]))
        values = [sign * entry.row[column] for entry in known]
        # Of -x as of x: the rule is symmetric in the sign of a difference.
        found = ranks(values, [entry.samples.get(column) for entry in known])
        for entry, rank in zip(known, found, strict=True):
            entry.row["rank"] = rank
        for entry in members:
            entry.row["ranked_by"] = column
        rest.sort(key=lambda e: (e.row["method"], e.row["params"]))
        out += [*known, *rest]
    return out


def ranked_by(rows: Sequence[Row]) -> str:
    """The column that ranks a group.

    With s in hand an encoder can be almost free of it at no distortion, and AUFDC tells little: the
    aware track goes by what is left for y, wherever all complete rows have that.
    """
    complete = [row for row in rows if row["complete"]]
    aware = bool(complete) and rows[0]["track"] == Track.AWARE
    told = all(row.get("accuracy_y_at_leakage_10") is not None for row in complete)
    return "accuracy_y_at_leakage_10" if aware and told else "aufdc"


def compare(entries: Sequence[Entry], a: str, b: str) -> Iterator[Comparison]:
    """Every pair of complete rows of two methods in one group.

    A method is named as in the leaderboard, or as ``method:params`` where it has several rows.
    """
    for group, members in _groups(entries).items():
        column = ranked_by([entry.row for entry in members])
        complete = [e for e in members if e.row["complete"] and e.row.get(column) is not None]
        for first in _named(complete, a):
            for second in _named(complete, b):
                found = paired(first.samples.get(column), second.samples.get(column))
                yield Comparison(group, column, first.row, second.row, found)


def check_names(known: Collection[str], a: str, b: str) -> None:
    """ConfigError or UnknownNameError where a and b do not name two of the known methods."""
    for name in (a, b):
        if name.partition(":")[0] not in known:
            raise UnknownNameError("method", name, known)
    if a == b:
        raise ConfigError(f"{a} cannot be compared with itself.", "Name two methods.")


def _named(entries: Sequence[Entry], name: str) -> list[Entry]:
    method, _, params = name.partition(":")
    return [e for e in entries if e.row["method"] == method and params in ("", e.row["params"])]


def _groups(entries: Sequence[Entry]) -> dict[tuple[str, str, str], list[Entry]]:
    groups: dict[tuple[str, str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[(entry.row["track"], entry.row["budget"], entry.row["audit"])].append(entry)
    order = sorted(groups, key=lambda k: (k[0] != "blind", k[0], k[1] != "full", k[1], k[2]))
    return {key: groups[key] for key in order}
