"""Ranks of replicated rows within track, budget and audit, and two methods compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fairbench.api import Track
from fairbench.errors import ConfigError, nearest
from fairbench.leaderboard.folds import estimate_over_folds, rank_over_folds
from fairbench.leaderboard.row_curves import commonest
from fairbench.metrics.rows import DEFAULT, LeaderboardRow, RankingGroup, Variant
from fairbench.stats.intervals import Array, Estimate, Sample, paired
from fairbench.stats.ranks import RankOverSplits
from fairbench.store.records import UnitRecord

LOWER_IS_BETTER = {
    "aufdc": True,
    "aufdc_certified": True,
    "accuracy_y_at_leakage_10": False,
    "transfer_at_leakage_10": False,
}
"""Direction of the columns that rows, or methods across tables, are ranked by."""


@dataclass(frozen=True)
class LeaderboardEntry:
    """A row of a leaderboard, and what its intervals, ranks and comparisons are made of."""

    row: LeaderboardRow
    # Columns with bootstrap replicates of every seed; of rows of one split only
    samples: Mapping[str, Sample] = field(default_factory=dict)
    # Columns by fold, (folds,), seeds averaged; of rows with all folds only
    folds: Mapping[str, Array] = field(default_factory=dict)
    # Models of the row's curves, those without figures included
    units: Sequence[UnitRecord] = ()


@dataclass(frozen=True)
class MethodComparison:
    """Two rows of one group; ``difference`` is a - b, if both can be paired.

    Over splits where both are replicated, else over test rows.
    """

    group: RankingGroup
    column: str
    a: LeaderboardRow
    b: LeaderboardRow
    difference: Estimate | None

    @property
    def obstacle(self) -> str | None:
        """Why the two rows cannot be compared at all; None where they can."""
        if self.a.fingerprint != self.b.fingerprint:
            return "these rows are of different data"
        if self.a.audit_version != self.b.audit_version:
            return "these rows are of different versions of the audit"
        return None


def rank_rows(
    entries: Sequence[LeaderboardEntry], tested: Collection[str]
) -> list[LeaderboardEntry]:
    """Rank rows with the same folds within track, budget and audit, and order all by the figure.

    Rows that are not replicated stand below, without a rank, and so do rows on other data than most
    are on, and all of a dataset that is for demonstration; those that are not complete last.
    ``tested``: names of the methods that others are tested against.
    """
    ordered: list[LeaderboardEntry] = []
    for members in _group(entries).values():
        column = choose_ranking_column([entry.row for entry in members])
        named = [
            replace(entry, row=replace(entry.row, ranked_by=column, p_values=_untested(tested)))
            for entry in members
        ]
        ranked = [entry for entry in named if not entry.row.demonstration]
        folds = commonest([len(entry.folds.get(column, ())) for entry in ranked])
        same = _on_the_same_data(
            [e for e in ranked if folds and len(e.folds.get(column, ())) == folds]
        )
        others = [entry for entry in named if not any(entry is one for one in same)]
        ordered += _ranked(sorted(same, key=_order(column)), column, tested)
        ordered += sorted(others, key=_order(column))
    return ordered


def _on_the_same_data(entries: Sequence[LeaderboardEntry]) -> list[LeaderboardEntry]:
    """Return the entries of the data that most are of: of one version, drawn or as released."""
    counted = Counter(entry.row.fingerprint for entry in entries)
    most = max(counted, key=lambda known: (counted[known], known), default="")
    return [entry for entry in entries if entry.row.fingerprint == most]


def _untested(tested: Collection[str]) -> dict[str, float | None]:
    return dict.fromkeys(sorted(tested))


def _order(column: str) -> Callable[[LeaderboardEntry], tuple[bool, float, Variant]]:
    """Sort by a figure, the best first; incomplete rows, and those without it, last."""
    sign = 1.0 if LOWER_IS_BETTER[column] else -1.0

    def key(entry: LeaderboardEntry) -> tuple[bool, float, Variant]:
        value = entry.row.figures.get(column)
        known = entry.row.complete and value is not None
        return not known, sign * value if known and value is not None else 0.0, entry.row.variant

    return key


def _ranked(
    entries: Sequence[LeaderboardEntry], column: str, tested: Collection[str]
) -> list[LeaderboardEntry]:
    """Give rows with the same folds their rank sets and tests."""
    if not entries:
        return []
    figures = np.stack([entry.folds[column] for entry in entries])

    def ranks(reference: int | None) -> list[RankOverSplits]:
        return rank_over_folds(
            figures, reference=reference, lower_is_better=LOWER_IS_BETTER[column]
        )

    places = [entry.row.variant for entry in entries]
    against = {
        variant.method: ranks(number)
        for number, variant in enumerate(places)
        if variant.method in tested and variant.params == DEFAULT
    }
    return [
        replace(
            entry,
            row=replace(
                entry.row,
                rank_low=rank.rank_low,
                rank_high=rank.rank_high,
                may_be_best=rank.may_be_best,
                replicated=True,
                p_values=dict(entry.row.p_values)
                | {name: found[k].p_reference for name, found in against.items()},
            ),
        )
        for k, (entry, rank) in enumerate(zip(entries, ranks(None), strict=True))
    ]


def choose_ranking_column(rows: Sequence[LeaderboardRow]) -> str:
    """Return the column that ranks a group.

    With s in hand an encoder can be almost free of it at no distortion, and AUFDC tells little: the
    aware track goes by what is left for y, wherever all complete rows have that.
    """
    complete = [row for row in rows if row.complete]
    aware = bool(complete) and rows[0].track == Track.AWARE
    has_task = all(row.figures.get("accuracy_y_at_leakage_10") is not None for row in complete)
    return "accuracy_y_at_leakage_10" if aware and has_task else "aufdc"


def compare(entries: Sequence[LeaderboardEntry], a: str, b: str) -> Iterator[MethodComparison]:
    """Compare every pair of complete rows of two methods in one group.

    A method is named as in the leaderboard; where it has several rows, as ``method:label`` or
    ``method:hyperparameters``.
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
                if first is second:  # one name is of all rows of a method
                    continue
                gap = difference(first, second, column)
                yield MethodComparison(group, column, first.row, second.row, gap)


def difference(a: LeaderboardEntry, b: LeaderboardEntry, column: str) -> Estimate | None:
    """Estimate a - b: over the splits that both have, else over test rows.

    None where the rows are of other data, or were measured by another version of the audit.
    """
    if (a.row.fingerprint, a.row.audit_version) != (b.row.fingerprint, b.row.audit_version):
        return None
    if a.row.replicated and b.row.replicated:
        return estimate_over_folds(a.folds[column] - b.folds[column])
    return paired(a.samples.get(column), b.samples.get(column))


def check_names(entries: Sequence[LeaderboardEntry], a: str, b: str) -> None:
    """Raise ConfigError where a and b do not name two of the known rows."""
    known = {entry.row.method for entry in entries}
    for name in (a, b):
        method, _, settings = name.partition(":")
        if method not in known:
            raise ConfigError(
                f"There are no results of {name!r}.",
                f"{nearest(name, known)} Or run it first: fairbench run --methods {method}",
            )
        if not _named(entries, name):
            rows = {(e.row.params, e.row.label or "") for e in entries if e.row.method == method}
            found = [f"{params} ({label})" if label else params for params, label in sorted(rows)]
            raise ConfigError(
                f"No row of {method} has the hyperparameters {settings!r}.",
                f"Known: {', '.join(found)}",
            )
    first, second = _named(entries, a), _named(entries, b)
    if len(first) == len(second) and all(x is y for x, y in zip(first, second, strict=True)):
        raise ConfigError(f"{a} cannot be compared with itself.", "Name two methods, or two rows.")


def _named(entries: Sequence[LeaderboardEntry], name: str) -> list[LeaderboardEntry]:
    """Rows of ``method``, ``method:label`` or ``method:hyperparameters``."""
    method, _, given = name.partition(":")
    return [
        entry
        for entry in entries
        if entry.row.method == method
        and (given in ("", entry.row.label) or _values(given) == _values(entry.row.params))
    ]


def _values(params: str) -> list[tuple[str, float | str]]:
    """Hyperparameters of ``a=1 b=x`` in order; 1 is the same as 1.0."""
    values: list[tuple[str, float | str]] = []
    for part in params.split():
        key, _, text = part.partition("=")
        try:
            values.append((key, float(text)))
        except ValueError:
            values.append((key, text))
    return sorted(values, key=lambda pair: pair[0])


def _group(entries: Sequence[LeaderboardEntry]) -> dict[RankingGroup, list[LeaderboardEntry]]:
    groups: dict[RankingGroup, list[LeaderboardEntry]] = defaultdict(list)
    for entry in entries:
        groups[entry.row.group].append(entry)
    order = sorted(groups, key=lambda g: (g.track != "blind", g.track, g.budget != "full", *g[1:]))
    return {group: groups[group] for group in order}
