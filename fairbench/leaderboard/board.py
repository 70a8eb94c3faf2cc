"""A board: a published leaderboard of one dataset, as the records that it is made of.

A board holds what its table is computed from, so that anyone's rows can be ranked among its own:
units, points and what they are normalised by. Bootstrap replicates of points are left out; in
their place stand those of the areas of rows on one split, which intervals and paired differences
need. Rows with all folds are compared over folds, and need none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from fairbench.data.splits import OFFICIAL
from fairbench.errors import ConfigError
from fairbench.leaderboard.measured import MetricProblems, evaluate_curves, resample
from fairbench.leaderboard.row_curves import commonest_folds, missing_seeds
from fairbench.leaderboard.select import (
    CurveKey,
    CurveRecords,
    ReferenceKey,
    SelectedRecords,
    curves_of,
)
from fairbench.registry import Registry
from fairbench.stats.intervals import Array
from fairbench.store.field_forms import Budget, Preset
from fairbench.store.records import PointRecord, Record, ReferenceRecord, UnitRecord
from fairbench.versions import PACKAGE_VERSION


class BoardInfo(BaseModel):
    """What a board is of.

    Parameters
    ----------
    dataset : str
        Name of the dataset, as registered.
    version : int
        Number of this edition; a later one has a higher number.
    budget, audit : str
        Of all its rows, as in leaderboards.
    protocol, audit_version : int
        Versions of what was trained on and of what was measured.
    folds : int
        Number of folds of ranked rows; 0 where none is replicated.
    made : str
        Day on which its last model was trained, ISO 8601.
    fairbench : str
        Version of fairbench that wrote it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    dataset: str = Field(pattern=r"\A[a-z0-9][a-z0-9-]{0,79}\z")
    version: int = Field(ge=1, le=10_000)
    budget: Budget
    audit: Preset
    protocol: int = Field(ge=1, le=10_000)
    audit_version: int = Field(ge=1, le=10_000)
    folds: int = Field(ge=0, le=1000)
    made: str = Field(pattern=r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z")
    fairbench: str = Field(max_length=40)

    @property
    def name(self) -> str:
        """Name of the dataset and version: ``adults-gender-5``."""
        return f"{self.dataset}-{self.version}"

    @property
    def title(self) -> str:
        """The board in words."""
        return f"board {self.dataset}, edition {self.version}"


@dataclass(frozen=True)
class Board:
    """A published leaderboard.

    Parameters
    ----------
    curve_replicates : mapping of CurveKey to mapping of str to ndarray, shape (resamples,)
        Bootstrap replicates of figures of curves, by column; of rows on one split alone.
    """

    info: BoardInfo
    units: Sequence[UnitRecord]
    points: Sequence[PointRecord]
    references: Sequence[ReferenceRecord]
    curve_replicates: Mapping[CurveKey, Mapping[str, Array]]

    @cached_property
    def most_points(self) -> int:
        """Points of its longest curve."""
        curves = self.records().curves.values()
        return max(len(curve.points) for same in curves for curve in same)

    @property
    def incomplete(self) -> list[str]:
        """Methods, and labels of their hyperparameters, of which a curve is not complete or there.

        A curve is missing where other folds have one of that seed.
        """
        records = self.records()
        units = [
            same[0].units[0]
            for same in records.curves.values()
            if missing_seeds(same) or not all(map(records.is_complete, same))
        ]
        return sorted({f"{u.method} ({u.label})" if u.label else u.method for u in units})

    def all_records(self) -> list[Record]:
        """Return its records as stores take them, with the keys that they have there.

        A run of the same methods goes on with them. Points have no bootstrap replicates.
        """
        made_here: list[Record] = [*self.units, *self.points, *self.references]
        return [record.replace(origin=None) for record in made_here]

    def records(self) -> SelectedRecords:
        """Return its records as leaderboards are built from."""
        of_unit: dict[str, list[PointRecord]] = {unit.key: [] for unit in self.units}
        for point in self.points:
            of_unit[point.unit].append(point)
        return SelectedRecords(
            curves_of(self.units, of_unit),
            {ReferenceKey.of(one): one for one in self.references},
            self.curve_replicates,
        )


def make_board(
    records: SelectedRecords,
    dataset: str,
    registry: Registry,
    *,
    version: int,
    budget: str = "full",
    earlier: Board | None = None,
) -> Board:
    """Make a board of the rows of one dataset and budget, real data alone.

    Curves of which something waits or runs are left out, and rows without any figures; not a failed
    curve of a row that has others, without which the row would look complete. ``earlier``: the
    board that some of the records were imported from, whose replicates of areas are kept. Raises
    ConfigError where there are no rows, or rows of several audits, protocols or kinds of data.
    """
    chosen = [
        curve
        for own in records.curves.values()
        if _is_of(own[0], dataset) and any(curve.ended and curve.done for curve in own)
        for curve in own
        if curve.ended
    ]
    budgets = {curve.units[0].budget for curve in chosen}
    chosen = [curve for curve in chosen if curve.units[0].budget == budget]
    if not chosen:
        others = " or ".join(f"--budget {other}" for other in sorted(budgets))
        raise ConfigError(
            f"There are no measured rows of {dataset} with real data and budget {budget}.",
            f"There are rows for {others}." if others else "See them: fairbench leaderboard",
        )
    audits = {curve.audit for curve in chosen}
    versions = {point.version for curve in chosen for point in curve.done}
    protocols = {curve.units[0].protocol for curve in chosen}
    sources = {curve.units[0].data_source for curve in chosen}
    if len(sources) > 1:
        raise ConfigError(
            f"The rows of {dataset} are of several kinds of data: {', '.join(sorted(sources))}.",
            "Run all of them on one kind, in a folder of its own: fairbench run --results DIR",
        )
    if max(len(audits), len(versions), len(protocols)) > 1:
        raise ConfigError(
            f"The rows of {dataset} are of several audits: {sorted(audits)}, version "
            f"{sorted(versions)}; protocol {sorted(protocols)}.",
            "Measure all of them with the newest: fairbench audit --results DIR",
        )
    audit = audits.pop()
    units = {unit.key: unit for curve in chosen for unit in curve.units}
    references = {one.key: one for curve in chosen if (one := records.reference(curve))}
    finished = max(unit.finished or "" for unit in units.values())
    return Board(
        info=BoardInfo(
            dataset=dataset,
            version=version,
            budget=budget,
            audit=audit,
            protocol=protocols.pop(),
            audit_version=versions.pop(),
            folds=_folds(records, dataset, budget, audit),
            made=finished[:10],
            fairbench=PACKAGE_VERSION,
        ),
        units=sorted(units.values(), key=lambda unit: unit.key),
        points=[point for curve in chosen for point in curve.points],
        references=sorted(references.values(), key=lambda one: one.key),
        curve_replicates={
            **_replicates_of(chosen, earlier),
            **_replicates(chosen, records, registry),
        },
    )


def _is_of(curve: CurveRecords, dataset: str) -> bool:
    unit = curve.units[0]
    return unit.dataset == dataset and not unit.simulated


def _folds(records: SelectedRecords, dataset: str, budget: str, audit: str) -> int:
    rows = [
        own
        for own in records.curves.values()
        if _is_of(own[0], dataset) and (own[0].units[0].budget, own[0].audit) == (budget, audit)
    ]
    return commonest_folds(rows, records.is_complete)


def _replicates_of(
    curves: Sequence[CurveRecords], earlier: Board | None
) -> dict[CurveKey, Mapping[str, Array]]:
    """Replicates of curves that came from an earlier board, without those of their points."""
    if earlier is None:
        return {}
    return {
        curve.key: earlier.curve_replicates[curve.key]
        for curve in curves
        if curve.key in earlier.curve_replicates
        and not any(point.replicates for point in curve.done)
    }


def _replicates(
    curves: Sequence[CurveRecords], records: SelectedRecords, registry: Registry
) -> dict[CurveKey, dict[str, Array]]:
    """Replicates of the figures of curves on the official split."""
    metrics = [m for m in registry.metrics.classes.values() if m.level == "curve"]
    found: dict[CurveKey, dict[str, Array]] = {}
    for curve in curves:
        measured = records.reference(curve) is not None and all(p.replicates for p in curve.done)
        if curve.split != OFFICIAL.name or not measured:
            continue
        for one in evaluate_curves([curve], records):
            columns: dict[str, Array] = {}
            for metric in metrics:
                columns |= resample(metric, one, MetricProblems())
            # Where a resample has no figure, as no I(X;S), the row has no interval.
            known = {
                name: values
                for name, values in columns.items()
                if np.size(values) and np.isfinite(values).all()
            }
            if known:
                found[curve.key] = known
    return found
