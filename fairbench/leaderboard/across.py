"""One verdict over the tables of a collection: ranks, wins and losses, tests of families.

Only replicated rows count, and only methods with such rows on every table that has any.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fairbench.api import DataSource, Track
from fairbench.api.collection import Collection
from fairbench.leaderboard.build import Tables
from fairbench.leaderboard.folds import estimate_over_folds
from fairbench.leaderboard.ranking import LOWER_IS_BETTER, LeaderboardEntry
from fairbench.metrics.rows import DEFAULT, AcrossRow, RankingGroup, Variant, named
from fairbench.registry import Registry, family
from fairbench.stats import across
from fairbench.stats.intervals import holm

Array = npt.NDArray[np.float64]

_DECIMALS = 12
"""Of figures that are compared: means over one seed and over three of the same figure are equal."""

MEASURES = ("accuracy_y_at_leakage_10", "aufdc", "aufdc_certified", "transfer_at_leakage_10")
"""Columns that verdicts are made of. The first is of the aware track alone, which is ranked by it
on each table; the last is measured on variants for unseen tasks.
"""


@dataclass(frozen=True)
class Verdict:
    """What the tables of a collection say of one measure in one group.

    Arrays are in the order of ``rows``, the best mean rank first, and of ``tables``.
    """

    collection: str
    group: RankingGroup
    measure: str
    reference: str | None  # method that others are compared with
    tables: tuple[str, ...]
    weights: Array  # (tables,)
    sources: tuple[str, ...]  # by table: whose people it describes
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
        return LOWER_IS_BETTER[self.measure]

    @property
    def source_count(self) -> int:
        """Number of sources: what intervals and tests count."""
        return len(set(self.sources))


@dataclass(frozen=True)
class Unranked:
    """Figures by method and table, where no replicated row is on all tables.

    ``replicated``: whether some tables have replicated rows.
    """

    collection: str
    group: RankingGroup
    measure: str
    tables: tuple[str, ...]
    names: tuple[Variant, ...]
    figures: Array  # (names, tables); NaN where there is none
    replicated: bool


@dataclass(frozen=True)
class MemberTable:
    """A table of a collection: weight and source, and its rows that have the measure."""

    name: str
    weight: float
    source: str
    entries: tuple[LeaderboardEntry, ...]

    @property
    def by_variant(self) -> dict[Variant, LeaderboardEntry]:
        """Its rows by method and hyperparameters."""
        return {entry.row.variant: entry for entry in self.entries}


@dataclass(frozen=True)
class Comparison:
    """What a verdict is made of: one measure in one group, on the tables of a collection."""

    collection: Collection
    group: RankingGroup
    measure: str
    members: tuple[MemberTable, ...]

    @property
    def present(self) -> list[MemberTable]:
        """Tables that have rows."""
        return [one for one in self.members if one.entries]

    @property
    def sign(self) -> float:
        """What figures are multiplied by so that low ones are good."""
        return 1.0 if LOWER_IS_BETTER[self.measure] else -1.0

    @property
    def labels(self) -> dict[Variant, str]:
        """Labels of the rows that have one."""
        rows = (entry.row for one in self.members for entry in one.entries)
        return {row.variant: row.label for row in rows if row.label}

    def replicated(self) -> Comparison:
        """Return the same of replicated rows alone."""

        def of_replicated(one: MemberTable) -> MemberTable:
            kept = (e for e in one.entries if e.row.replicated and self.measure in e.folds)
            return replace(one, entries=tuple(kept))

        return replace(self, members=tuple(map(of_replicated, self.members)))


@dataclass(frozen=True)
class CommonRows:
    """The rows that all tables have, the best mean rank first; low figures are good."""

    variants: list[Variant]
    weights: Array  # (tables,)
    sources: tuple[str, ...]  # by table
    runs: tuple[Array, ...]  # by table: (rows, folds)
    figures: Array  # (rows, tables): mean over folds
    ranks: Array  # (rows, tables)

    def by_source(self, values: Array) -> tuple[Array, Array]:
        """Average ``(..., tables)`` over the tables of a source; the sources' weights."""
        return across.mean_by_source(values, self.weights, self.sources)


def compare_across(
    tables: Sequence[Tables], collection: Collection, registry: Registry
) -> tuple[list[Verdict], list[Unranked]]:
    """Make a verdict for each group and measure; unranked tables where no row is replicated."""
    by_name = {table.dataset: table for table in tables}
    groups = _groups(tables, collection)
    verdicts, unranked = [], []
    for group in groups:
        for measure in _measures_of(group):
            members = _members(by_name, collection, group, measure)
            compared = Comparison(collection, group, measure, members)
            made = _verdict(compared.replicated(), registry)
            if made is not None:
                verdicts.append(made)
            elif (shown := _unranked(compared)) is not None:
                unranked.append(shown)
    return verdicts, unranked


def _groups(tables: Sequence[Tables], collection: Collection) -> list[RankingGroup]:
    known = {one.dataset for one in collection.tables} | {one.unseen for one in collection.tables}
    rows = [row for table in tables if table.dataset in known for row in table.leaderboard]
    return list(dict.fromkeys(row.group for row in rows))


def _measures_of(group: RankingGroup) -> list[str]:
    aware = group.track == Track.AWARE
    return [name for name in MEASURES if aware or name != "accuracy_y_at_leakage_10"]


def _members(
    by_name: Mapping[str, Tables], collection: Collection, group: RankingGroup, measure: str
) -> tuple[MemberTable, ...]:
    members = []
    for one in collection.tables:
        name = one.unseen if measure.startswith("transfer") else one.dataset
        if name is None:
            continue
        table = by_name.get(name)
        entries = tuple(
            entry
            for entry in (table.entries if table else ())
            if entry.row.group == group
            and entry.row.complete
            and entry.row.data_source != DataSource.SIMULATED
            and entry.row.figures.get(measure) is not None
        )
        members.append(MemberTable(name, one.weight, one.source or one.dataset, entries))
    return tuple(members)


def _verdict(compared: Comparison, registry: Registry) -> Verdict | None:
    variants = _common_variants(compared.present)
    if not variants:
        return None
    common = _order_by_rank(variants, compared)
    rows = _rows(common, compared, registry)
    reference = _reference(common.variants, registry)
    if reference is not None:
        rows = _against(rows, reference, common)
    best = _best_of_families(rows)
    return Verdict(
        collection=compared.collection.name,
        group=compared.group,
        measure=compared.measure,
        reference=None if reference is None else rows[reference].method,
        tables=tuple(one.name for one in compared.present),
        weights=common.weights,
        sources=common.sources,
        rows=tuple(rows),
        figures=compared.sign * common.figures,
        runs=tuple(compared.sign * of_table for of_table in common.runs),
        missing=tuple(one.name for one in compared.members if not one.entries),
        partial=_partial(variants, compared),
        families=tuple(best),
        p_families=across.compare_all(*common.by_source(common.figures[best])),
    )


def _common_variants(tables: Sequence[MemberTable]) -> list[Variant]:
    """Rows that all tables have, in the order of the first one."""
    known = [one.by_variant for one in tables]
    return [v for v in known[0] if all(v in rows for rows in known)] if known else []


def _partial(common: Sequence[Variant], compared: Comparison) -> tuple[str, ...]:
    """Name the rows that some tables have and others lack."""
    variants = {variant for one in compared.present for variant in one.by_variant} - set(common)
    labels = compared.labels
    return tuple(sorted(named(variant, labels.get(variant)) for variant in variants))


def _order_by_rank(variants: Sequence[Variant], compared: Comparison) -> CommonRows:
    runs = []
    for one in compared.present:
        rows = one.by_variant
        folds = np.stack([rows[variant].folds[compared.measure] for variant in variants])
        runs.append(compared.sign * folds.round(_DECIMALS))
    weights = np.array([one.weight for one in compared.present])
    figures = np.column_stack([of_table.mean(axis=1) for of_table in runs])
    ranks = across.ranks_by_table(figures)
    order = np.argsort(across.weighted_mean(ranks, weights), kind="stable")
    return CommonRows(
        variants=[variants[k] for k in order],
        weights=weights,
        sources=tuple(one.source for one in compared.present),
        runs=tuple(of_table[order] for of_table in runs),
        figures=figures[order],
        ranks=ranks[order],
    )


def _rows(common: CommonRows, compared: Comparison, registry: Registry) -> list[AcrossRow]:
    """Make the rows with their mean ranks, not compared with the reference yet."""
    group, tables, labels = compared.group, len(compared.present), compared.labels
    families = _families(common.variants, registry)
    ranks = across.weighted_mean(common.ranks, common.weights)
    figures = across.weighted_mean(common.figures, common.weights)
    possible = (1.0, float(len(common.variants)))
    ends = _intervals(common, common.ranks, possible)
    return [
        AcrossRow(
            collection=compared.collection.name,
            measure=compared.measure,
            method=variant.method,
            params=variant.params,
            track=group.track,
            budget=group.budget,
            audit=group.audit,
            family=families[variant],
            tables=tables,
            sources=len(set(common.sources)),
            tables_missing=len(compared.members) - tables,
            mean_rank=float(ranks[k]),
            mean_rank_low=ends[k][0],
            mean_rank_high=ends[k][1],
            mean_figure=compared.sign * float(figures[k]),
            label=labels.get(variant),
        )
        for k, variant in enumerate(common.variants)
    ]


def _against(rows: Sequence[AcrossRow], reference: int, common: CommonRows) -> list[AcrossRow]:
    """Compare each row with the reference: wins by table, chance of improvement, signed ranks."""
    runs = common.runs
    others = [k for k in range(len(rows)) if k != reference]
    gaps, weights = common.by_source(common.figures - common.figures[reference])
    raw = [across.signed_rank(gaps[k], weights) for k in others]
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
        ((low, high),) = _intervals(common, chances[None], (0.0, 1.0))
        compared.append(
            replace(
                row,
                compared_with=rows[reference].method,
                wins=outcomes.count(-1),
                ties=outcomes.count(0),
                losses=outcomes.count(1),
                improvement=float(across.weighted_mean(chances, common.weights)),
                improvement_low=low,
                improvement_high=high,
                p_value=adjusted[k],
            )
        )
    return compared


def _intervals(
    common: CommonRows, values: Array, bounds: tuple[float, float]
) -> list[tuple[float, float] | tuple[None, None]]:
    """Intervals over sources of means of values ``(rows, tables)``; of no ends where none is."""
    ends = across.interval_over_sources(*common.by_source(values), bounds)
    if ends is None:
        return [(None, None)] * len(values)
    pairs = zip(*(end.tolist() for end in ends), strict=True)
    return [(None, None) if math.isnan(low) else (low, high) for low, high in pairs]


def _outcome(gaps: Array) -> int:
    """-1 where the folds say that a row is better on a table, 1 worse, 0 neither."""
    low, high = estimate_over_folds(gaps).interval()
    return -1 if high < 0 else 1 if low > 0 else 0


def _reference(variants: Sequence[Variant], registry: Registry) -> int | None:
    """Row that others are compared with."""
    references = registry.references
    for k, variant in enumerate(variants):
        if variant.method in references and variant.params == DEFAULT:
            return k
    return None


def _families(variants: Sequence[Variant], registry: Registry) -> dict[Variant, str]:
    """Name the family of each row; a baseline is one of its own."""
    classes, baselines = registry.methods.classes, registry.baselines
    known = {name: family(cls) for name, cls in classes.items() if name not in baselines}
    return {variant: known.get(variant.method, variant.method) for variant in variants}


def _best_of_families(rows: Sequence[AcrossRow]) -> list[int]:
    """Rows with the best mean rank of each family, in the order of the rows."""
    first: dict[str, int] = {}
    for k, row in enumerate(rows):
        first.setdefault(row.family, k)
    return sorted(first.values())


def _unranked(compared: Comparison) -> Unranked | None:
    present = compared.present
    names = list(dict.fromkeys(entry.row.variant for one in present for entry in one.entries))
    if not names:
        return None
    figures = np.full((len(names), len(present)), np.nan)
    for column, one in enumerate(present):
        for entry in one.entries:
            place = names.index(entry.row.variant)
            figures[place, column] = entry.row.figures[compared.measure]
    return Unranked(
        compared.collection.name,
        compared.group,
        compared.measure,
        tuple(one.name for one in present),
        tuple(names),
        figures,
        replicated=bool(compared.replicated().present),
    )
