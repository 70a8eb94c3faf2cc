"""An opened results folder: the store, the plugins, and the records that models are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fairbench.auditing.config import AuditPreset
from fairbench.leaderboard.select import ReferenceKey, SelectedRecords, select
from fairbench.models.card_data import CardData
from fairbench.models.query import ResultsLocation
from fairbench.registry import Registry
from fairbench.store.database import Store
from fairbench.store.records import PointRecord, ReferenceRecord, RunRecord, UnitRecord
from fairbench.store.status import Status


@dataclass(frozen=True, eq=False)
class StoredResults:
    """The results at a location, opened once."""

    location: ResultsLocation
    registry: Registry
    store: Store

    @classmethod
    def open(cls, location: ResultsLocation, registry: Registry) -> StoredResults:
        """Open the store at a location; StoreError where there is none."""
        return cls(location, registry, location.open_store())

    @property
    def folder(self) -> Path:
        """The folder with representations and encoders."""
        return self.location.folder

    @cached_property
    def runs(self) -> Sequence[RunRecord]:
        """The runs that wrote to the store."""
        return self.store.runs()

    @cached_property
    def card_data(self) -> CardData:
        """The data of the dataset cards of the location."""
        datasets = {card: self.registry.dataset(card) for card in self.location.cards}
        return CardData(datasets, self.location.options)

    @cached_property
    def _configurations(self) -> Mapping[str, Mapping[str, Any]]:
        return {run.id: run.config for run in self.runs}

    def configuration_of(self, unit: UnitRecord) -> Mapping[str, Any]:
        """Return the configuration of the run that trained a unit; empty where it is unknown."""
        return self._configurations.get(unit.run or "", {})

    @cached_property
    def leaderboard_records(self) -> SelectedRecords:
        """The records that leaderboards are made of; of a card's dataset those of its data."""
        return select(
            self.card_data.select(self.store.records(UnitRecord)),
            self.store.records(PointRecord),
            self.store.records(ReferenceRecord),
            self.runs,
        )

    def reference_of(self, unit: UnitRecord, point: PointRecord) -> ReferenceRecord | None:
        """Return the reference of a unit's dataset and seed, measured by the audit of a point."""
        key = ReferenceKey(unit.fingerprint, unit.protocol, unit.seed, point.audit)
        return self.leaderboard_records.references.get(key)

    def fitted_units(self) -> list[UnitRecord]:
        """Return the units that were trained."""
        return [u for u in self.store.records(UnitRecord, status=Status.DONE.value) if u.points]

    def measured_points(self, units: Iterable[UnitRecord]) -> list[PointRecord]:
        """Return the measured points of units, by knobs: of each the newest, strictest audit."""
        best: dict[tuple[str, str], PointRecord] = {}
        for unit in units:
            for point in self.store.records(PointRecord, unit=unit.key, status=Status.DONE.value):
                # A model trained again may be read at other points: those of the old one are void.
                if not point.belongs_to(unit):
                    continue
                known = best.setdefault((unit.key, point.label), point)
                if _precedence(point) > _precedence(known):
                    best[unit.key, point.label] = point
        return sorted(best.values(), key=lambda point: sorted(point.knobs.items()))


def _precedence(point: PointRecord) -> tuple[int, bool, str]:
    return point.version, point.audit == AuditPreset.STRICT, point.finished or ""
