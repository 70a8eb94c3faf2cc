"""Which records a leaderboard is built from: the newest units and points, gathered into curves."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fairbench.data.splits import Split
from fairbench.stats.intervals import Array
from fairbench.store.database import Store
from fairbench.store.records import PointRecord, ReferenceRecord, RunRecord, UnitRecord
from fairbench.store.status import Status

USED = "used"
"""Key of a run's configuration: fingerprints of its data, and the code of its methods."""

Identity = tuple[str, ...]
"""Values of :data:`IDENTITY`, as JSON."""

CurveKey = tuple[str, str]
"""Key of a curve's first unit, and the audit."""


DataKey = tuple[str, str, int]
"""Dataset, source of its rows, and number of its folds (0: the official split)."""


class ReferenceKey(NamedTuple):
    """What a curve has in common with the reference that it is normalised by."""

    fingerprint: str
    protocol: int
    seed: int
    audit: str

    @classmethod
    def of(cls, reference: ReferenceRecord) -> ReferenceKey:
        """Return that of a reference."""
        return cls(reference.fingerprint, reference.protocol, reference.seed, reference.audit)


@dataclass(frozen=True)
class CurveRecords:
    """All units and points of one method, dataset, split and seed; points in knob order.

    ``not_read``: points that curves of its row on other splits, or of other seeds, have more. A
    mean over curves of 4 and of 16 points would be of unlike areas.
    """

    split: str
    seed: int
    audit: str
    units: list[UnitRecord]
    points: list[PointRecord]
    not_read: int = 0

    @property
    def key(self) -> CurveKey:
        """What tells it from all other curves."""
        return self.units[0].key, self.audit

    @property
    def done(self) -> list[PointRecord]:
        """Points with figures."""
        return [point for point in self.points if point.done]

    @property
    def audit_version(self) -> int | None:
        """Version of the audit of its points; None where none is measured."""
        return max((point.version for point in self.done), default=None)

    @property
    def missing(self) -> int:
        """Number of points without figures: failed ones, all of a unit that gave none, not read."""
        empty = [unit for unit in self.units if not unit.points]
        read = sum(len(unit.points) for unit in self.units)
        without = sum(unit.curve_points or 1 for unit in empty) + read - len(self.done)
        return without + self.not_read

    @property
    def grid(self) -> frozenset[str | int]:
        """Where it is read: labels of multi-shot points, or the numbers of single-shot ones."""
        labels = (unit.point for unit in self.units if unit.point is not None)
        return frozenset([*labels, *range(max(unit.curve_points or 0 for unit in self.units))])

    @property
    def ended(self) -> bool:
        """Whether nothing of it is waiting or running."""
        return all(record.status.ended for record in (*self.units, *self.points))

    @property
    def origins(self) -> set[str]:
        """What its records were imported from; empty: all were made here."""
        known = {record.origin for record in (*self.units, *self.points)}
        return {origin for origin in known if origin is not None}


@dataclass(frozen=True)
class SelectedRecords:
    """The records that leaderboards are built from: curves of each row, and references.

    ``curve_replicates``: bootstrap replicates of a curve's figures by column, ``(resamples,)``, of
    curves whose points came without replicates of their own.
    """

    curves: Mapping[Identity, list[CurveRecords]]
    references: Mapping[ReferenceKey, ReferenceRecord]
    curve_replicates: Mapping[CurveKey, Mapping[str, Array]] = field(default_factory=dict)

    @property
    def units(self) -> list[UnitRecord]:
        """Models of all curves."""
        return [u for curves in self.curves.values() for curve in curves for u in curve.units]

    def reference(self, curve: CurveRecords) -> ReferenceRecord | None:
        """What a curve is normalised by; None where it is not measured."""
        unit = curve.units[0]
        key = ReferenceKey(unit.fingerprint, unit.protocol, curve.seed, curve.audit)
        return self.references.get(key)

    def is_complete(self, curve: CurveRecords) -> bool:
        """Whether all points of a curve are measured, and what it is normalised by."""
        return curve.missing == 0 and self.reference(curve) is not None


def read(store: Store) -> SelectedRecords:
    """Read the records that count from a store."""
    return select(
        store.records(UnitRecord),
        store.records(PointRecord),
        store.records(ReferenceRecord),
        store.runs(),
    )


def select(
    units: Iterable[UnitRecord],
    points: Iterable[PointRecord],
    references: Iterable[ReferenceRecord],
    runs: Iterable[RunRecord] = (),
) -> SelectedRecords:
    """Select the records that count: of the code and data used last, the newest protocol and audit.

    What was made here comes before what was imported, whatever that says of its time and versions.
    Of records alike in all that orders them, the earlier ones come first.
    """
    of_runs = [unit for unit in units if not unit.of_a_trial]
    newest_units = latest([unit for unit in of_runs if unit.status is not Status.SKIPPED], runs)
    by_key = {unit.key: unit for unit in newest_units}
    # A model that was trained again may be read elsewhere: points of the old one do not count.
    measured = [point for point in points if point.belongs_to(by_key.get(point.unit))]
    newest_audit: dict[DataKey, tuple[bool, int]] = {}
    data_of = {unit.key: _data_of(unit) for unit in newest_units}
    for point in measured:
        data, made = data_of[point.unit], (point.origin is None, point.version)
        newest_audit[data] = max(newest_audit.get(data, made), made)
    version_of = {
        unit.fingerprint: newest_audit[data_of[unit.key]][1]
        for unit in newest_units
        if data_of[unit.key] in newest_audit
    }
    of_unit: dict[str, list[PointRecord]] = defaultdict(list)
    for point in measured:
        # Figures of two versions of the auditors do not compare, nor does a mean over folds mix
        # them: what the newest has not measured counts as missing.
        if point.version == version_of[by_key[point.unit].fingerprint]:
            of_unit[point.unit].append(point)
    newest_references = {
        ReferenceKey.of(one): one
        for one in sorted(references, key=lambda one: one.origin is None)
        if one.done and one.version == version_of.get(one.fingerprint, one.version)
    }
    return SelectedRecords(curves_of(newest_units, of_unit), newest_references)


def _data_of(unit: UnitRecord) -> DataKey:
    return unit.dataset, unit.data_source, Split.parse(unit.split).folds


def latest(units: Sequence[UnitRecord], runs: Iterable[RunRecord] = ()) -> list[UnitRecord]:
    """Select the units that a leaderboard is built from.

    Of each split of a dataset those of the data and protocol used last; of a method those of the
    code used last; of a single-shot unit that was read at different numbers of points, the one
    with most, and one that is done before one that is not. Imported units count where nothing of
    the same identity was made here.

    Data and code are used by training, and by ``runs``: one of an earlier table trains nothing.
    """
    used: dict[str, str] = {}
    for run in sorted(runs, key=lambda run: run.started):
        used |= dict.fromkeys(run.config.get(USED, ()), run.started)
    units = _newest(units, ("dataset", "data_source", "split"), ("fingerprint", "protocol"), used)
    own = {_identity(unit) for unit in units if unit.origin is None}
    units = [unit for unit in units if unit.origin is None or _identity(unit) not in own]
    units = _of_newest_params(_newest(units, IDENTITY, ("code",), used))
    chosen: dict[Identity, UnitRecord] = {}
    for unit in sorted(units, key=lambda u: (u.done, u.curve_points or 0, u.finished or "")):
        chosen[(*_identity(unit), unit.split, str(unit.seed), str(unit.point))] = unit
    return sorted(chosen.values(), key=lambda u: u.key)


def _newest(
    units: Sequence[UnitRecord],
    same: Sequence[str],
    differ: Sequence[str],
    used: Mapping[str, str],
) -> list[UnitRecord]:
    """Of units alike in ``same``, those whose ``differ`` are as in the one used or finished last.

    ``used``: when a run last used the first of ``differ``, by its value. Imported ones are asked
    only where none was made here.
    """
    newest: dict[Identity, tuple[bool, str, str, str, Identity]] = {}
    for unit in units:
        finished, last = unit.finished or "", used.get(getattr(unit, differ[0]), "")
        # Times are in whole seconds: a run starts after what finished in the same second.
        when = max(finished, last), last, finished
        made = (unit.origin is None, *when, _values(unit, differ))
        key = _values(unit, same)
        newest[key] = max(newest.get(key, made), made)
    return [unit for unit in units if newest[_values(unit, same)][-1] == _values(unit, differ)]


def _of_newest_params(units: Sequence[UnitRecord]) -> list[UnitRecord]:
    """Of units of one row those whose hyperparameters are as in the one finished last.

    One that a record lacks does not differ: the method has gained it since, and its code says that
    results are the same.
    """
    newest: dict[Identity, UnitRecord] = {}
    for unit in sorted(units, key=lambda u: (u.origin is None, u.finished or "", u.key)):
        newest[_identity(unit)] = unit
    return [unit for unit in units if _agree(unit.params, newest[_identity(unit)].params)]


def _agree(params: Mapping[str, object], others: Mapping[str, object]) -> bool:
    return all(params[name] == others[name] for name in params.keys() & others.keys())


IDENTITY = ("dataset", "data_source", "track", "budget", "method", "params_label")
"""Fields of a unit that make a row of the leaderboard, with the audit.

Hyperparameters by their label, which names those that are not as the method's code has them: when
a method gains one, its default row is still its default row.
"""


def _identity(unit: UnitRecord) -> Identity:
    return _values(unit, IDENTITY)


def _values(unit: UnitRecord, names: Sequence[str]) -> Identity:
    return tuple(json.dumps(getattr(unit, name), sort_keys=True) for name in names)


def curves_of(
    units: Sequence[UnitRecord], points: Mapping[str, Sequence[PointRecord]]
) -> dict[Identity, list[CurveRecords]]:
    """Gather the curves of each row, by split and seed; ``points`` are by key of their unit."""
    audits: dict[tuple[Identity, str, int], set[str]] = defaultdict(set)
    for unit in units:
        own = {point.audit for point in points.get(unit.key, ())}
        audits[_identity(unit), unit.split, unit.seed] |= own
    members: dict[tuple[Identity, str, str, int], tuple[list[UnitRecord], list[PointRecord]]] = {}
    for unit in units:
        # What has no point of an audit that others of its curve have is missing there.
        of_curve = audits[_identity(unit), unit.split, unit.seed]
        for audit in of_curve or {unit.usual_audit}:
            key = (_identity(unit), audit, unit.split, unit.seed)
            place = members.setdefault(key, ([], []))
            place[0].append(unit)
            place[1].extend(p for p in points.get(unit.key, ()) if p.audit == audit)
    curves: dict[Identity, list[CurveRecords]] = defaultdict(list)
    for key, (units_here, measured) in sorted(members.items(), key=_order_of_curves):
        identity, audit, split, seed = key
        curve = CurveRecords(split, seed, audit, units_here, _in_order(measured))
        curves[(*identity, audit)].append(curve)
    return {key: _compared(of_row) for key, of_row in curves.items()}


def _order_of_curves(member: tuple[tuple[Identity, str, str, int], object]) -> tuple[object, ...]:
    """Return what curves are sorted by: fold 10 stands behind fold 9."""
    identity, audit, split, seed = member[0]
    return identity, audit, Split.parse(split), seed


def _compared(curves: Sequence[CurveRecords]) -> list[CurveRecords]:
    """Note of the curves of a row which points they lack that others have.

    The official split is compared with itself alone, as is each number of folds.
    """
    grids: dict[int, set[str | int]] = defaultdict(set)
    for curve in curves:
        grids[Split.parse(curve.split).folds] |= curve.grid
    return [
        replace(curve, not_read=len(grids[Split.parse(curve.split).folds] - curve.grid))
        for curve in curves
    ]


def _in_order(points: Sequence[PointRecord]) -> list[PointRecord]:
    """Points by their knobs: the order in which a curve is drawn."""
    return sorted(points, key=lambda point: (sorted(point.knobs.items()), point.number))
