"""One verdict over the tables of a collection: ranks, wins and losses, tests of families.

Only replicated rows count, and only methods with such rows on every table that has any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fairbench.api.collection import Collection
from fairbench.leaderboard.build import Tables
from fairbench.leaderboard.ranking import RankedRow, test_over_train
from fairbench.metrics.rows import DEFAULT, AcrossRow, Group, Variant, named
from fairbench.registry import Registry, family
from fairbench.stats import across
from fairbench.stats.intervals import holm
from fairbench.stats.ranks import estimate_over_splits

Array = npt.NDArray[np.float64]

MEASURES = {
    # column: whether lower is better
    "aufdc": True,
    "aufdc_certified": True,
    "transfer_at_leakage_10": False,
}
"""Columns that verdicts are made of. The last is measured on variants for unseen tasks."""


@dataclass(frozen=True)
class Verdict:
    """What the tables of a collection say of one measure in one group.

    Arrays are in the order of ``rows``, the best mean rank first, and of ``tables``.
    """

    collection: str
    group: Group
    measure: str
    reference: str | None  # method that others are compared with
    tables: tuple[str, ...]
    weights: Array  # (tables,)
    rows: tuple[AcrossRow, ...]
    figures: Array  # (rows, tables): mean over folds
    runs: tuple[Array, ...]  # by table: (rows, folds)
    missing: tuple[str, ...]  # tables of the collection without replicated rows
    partial: tuple[str, ...]  # methods that lack one of the tables
    families: tuple[int, ...]  # rows that are the best of their family
    p_families: Array  # (families, families): that two of these are equal, adjusted

    @property
    def lower_is_better(self) -> bool:
        """Whether low figures are good."""
        return MEASURES[self.measure]


@dataclass(frozen=True)
class Unranked:
    """Figures by method and table, where nothing is replicated."""

    collection: str
    group: Group
    measure: str
    tables: tuple[str, ...]
    names: tuple[Variant, ...]
    figures: Array  # (names, tables); NaN where there is none


def compare_across(
    tables: Sequence[Tables], collection: Collection, registry: Registry
) -> tuple[list[Verdict], list[Unranked]]:
    """Make a verdict for each group and measure; unranked tables where no row is replicated."""
    by_name = {table.dataset: table for table in tables}
    groups = _groups(tables, collection)
    verdicts, unranked = [], []
    for group in groups:
        for measure in MEASURES:
            members = _members(by_name, collection, group, measure)
            replicated = [
                (name, weight, [e for e in entries if e.row.replicated and measure in e.folds])
                for name, weight, entries in members
            ]
            made = _verdict(replicated, collection, group, measure, registry)
            if made is not None:
                verdicts.append(made)
            elif (shown := _unranked(members, collection, group, measure)) is not None:
                unranked.append(shown)
    return verdicts, unranked


def _groups(tables: Sequence[Tables], collection: Collection) -> list[Group]:
    known = {one.dataset for one in collection.tables} | {one.unseen for one in collection.tables}
    rows = [row for table in tables if table.dataset in known for row in table.leaderboard]
    return list(dict.fromkeys(row.group for row in rows))


Members = list[tuple[str, float, list[RankedRow]]]
"""Name, weight and rows of each table."""


def _members(
    by_name: Mapping[str, Tables], collection: Collection, group: Group, measure: str
) -> Members:
    members: Members = []
    for one in collection.tables:
        name = one.unseen if measure.startswith("transfer") else one.dataset
        if name is None:
            continue
        # A simulated twin has a table of another name.
        table = by_name.get(name)
        entries = [
            entry
            for entry in (table.entries if table else ())
            if entry.row.group == group
            and entry.row.complete
            and entry.row.figures.get(measure) is not None
        ]
        members.append((name, one.weight, entries))
    return members


def _verdict(
    members: Members, collection: Collection, group: Group, measure: str, registry: Registry
) -> Verdict | None:
    present = [one for one in members if one[2]]
    if not present:
        return None
    by_table = [{entry.row.variant: entry for entry in entries} for _, _, entries in present]
    labels = {v: e.row.label for rows in by_table for v, e in rows.items() if e.row.label}
    everywhere = [v for v in by_table[0] if all(v in rows for rows in by_table)]
    if not everywhere:
        return None
    weights = np.array([weight for _, weight, _ in present])
    sign = 1.0 if MEASURES[measure] else -1.0
    runs = tuple(
        sign * np.stack([rows[variant].folds[measure] for variant in everywhere])
        for rows in by_table
    )
    figures = np.column_stack([of_table.mean(axis=1) for of_table in runs])
    ranks = across.ranks_by_table(figures)
    order = np.argsort(across.weighted_mean(ranks, weights), kind="stable")
    everywhere = [everywhere[k] for k in order]
    runs = tuple(of_table[order] for of_table in runs)
    figures, ranks = figures[order], ranks[order]
    reference = _reference(everywhere, registry)
    families = _families(everywhere, registry)
    intervals = across.interval_over_tables(ranks, weights) or (None, None)
    rows = [
        AcrossRow(
            collection=collection.name,
            measure=measure,
            method=variant.method,
            params=variant.params,
            track=group.track,
            budget=group.budget,
            audit=group.audit,
            family=families[variant],
            tables=len(present),
            tables_missing=len(members) - len(present),
            mean_rank=mean,
            mean_rank_low=low,
            mean_rank_high=high,
            mean_figure=sign * figure,
            label=labels.get(variant),
        )
        for variant, mean, low, high, figure in zip(
            everywhere,
            across.weighted_mean(ranks, weights).tolist(),
            *([None] * len(ranks) if ends is None else ends.tolist() for ends in intervals),
            across.weighted_mean(figures, weights).tolist(),
            strict=True,
        )
    ]
    if reference is not None:
        rows = _against(rows, reference, figures, runs, weights)
    best = _best_of_families(rows)
    partial = {v for table in by_table for v in table} - set(everywhere)
    left_out = [named(variant, labels.get(variant)) for variant in partial]
    return Verdict(
        collection=collection.name,
        group=group,
        measure=measure,
        reference=None if reference is None else everywhere[reference].method,
        tables=tuple(name for name, _, _ in present),
        weights=weights,
        rows=tuple(rows),
        figures=sign * figures,
        runs=tuple(sign * of_table for of_table in runs),
        missing=tuple(name for name, _, entries in members if not entries),
        partial=tuple(sorted(left_out)),
        families=tuple(best),
        p_families=across.compare_all(figures[best], weights),
    )


def _against(
    rows: Sequence[AcrossRow],
    reference: int,
    figures: Array,
    runs: Sequence[Array],
    weights: Array,
) -> list[AcrossRow]:
    """Compare each row with the reference: wins by table, chance of improvement, signed ranks."""
    others = [k for k in range(len(rows)) if k != reference]
    raw = [across.signed_rank(figures[k] - figures[reference], weights) for k in others]
    # The best of a family is chosen by the same figures: all rows are corrected for, not families.
    adjusted = dict(zip(others, holm(raw), strict=True))
    compared = []
    for k, row in enumerate(rows):
        if k == reference:
            compared.append(row)
            continue
        outcomes = [_outcome(of_table[k] - of_table[reference]) for of_table in runs]
        chances = np.array(
            [across.improvement(of_table[[k]], of_table[[reference]])[0] for of_table in runs]
        )
        ends = across.interval_over_tables(chances[None], weights)
        compared.append(
            replace(
                row,
                compared_with=rows[reference].method,
                wins=outcomes.count(-1),
                ties=outcomes.count(0),
                losses=outcomes.count(1),
                improvement=float(across.weighted_mean(chances, weights)),
                improvement_low=None if ends is None else float(ends[0][0]),
                improvement_high=None if ends is None else float(ends[1][0]),
                p_value=adjusted[k],
            )
        )
    return compared


def _outcome(gaps: Array) -> int:
    """-1 where the folds say that a row is better on a table, 1 worse, 0 neither."""
    low, high = estimate_over_splits(gaps, test_over_train=test_over_train(len(gaps))).interval()
    return -1 if high < 0 else 1 if low > 0 else 0


def _reference(variants: Sequence[Variant], registry: Registry) -> int | None:
    tested = {name for name, cls in registry.methods.classes.items() if cls.tested_against}
    for k, variant in enumerate(variants):
        if variant.method in tested and variant.params == DEFAULT:
            return k
    return None


def _families(variants: Sequence[Variant], registry: Registry) -> dict[Variant, str]:
    """Name the family of each row; a baseline is one of its own."""
    known = {
        name: family(cls) for name, cls in registry.methods.classes.items() if not cls.baseline
    }
    return {variant: known.get(variant.method, variant.method) for variant in variants}


def _best_of_families(rows: Sequence[AcrossRow]) -> list[int]:
    """Rows with the best mean rank of each family, in the order of the rows."""
    first: dict[str, int] = {}
    for k, row in enumerate(rows):
        first.setdefault(row.family, k)
    return sorted(first.values())


def _unranked(
    members: Members, collection: Collection, group: Group, measure: str
) -> Unranked | None:
    present = [(name, entries) for name, _, entries in members if entries]
    names = list(dict.fromkeys(entry.row.variant for _, entries in present for entry in entries))
    if not names:
        return None
    figures = np.full((len(names), len(present)), np.nan)
    for column, (_, entries) in enumerate(present):
        for entry in entries:
            figures[names.index(entry.row.variant), column] = entry.row.figures[measure]
    return Unranked(
        collection.name,
        group,
        measure,
        tuple(name for name, _ in present),
        tuple(names),
        figures,
    )
