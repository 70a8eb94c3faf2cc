"""Which records a leaderboard speaks of: the newest units and points, gathered into curves."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairbench.store.database import Row, Store, belongs, of_a_trial
from fairbench.store.records import PointRecord, ReferenceRecord, UnitRecord
from fairbench.store.status import Status

Group = tuple[str, ...]


@dataclass(frozen=True)
class CurveRecords:
    """All units and points of one method, dataset and seed."""

    seed: int
    audit: str
    units: list[Row]
    points: list[Row]

    @property
    def done(self) -> list[Row]:
        return [row for row in self.points if row["status"] == Status.DONE]

    @property
    def missing(self) -> int:
        """Points without figures: failed ones, and all of a unit that gave none."""
        empty = [unit for unit in self.units if not unit["read_points"]]
        known = sum(len(unit["read_points"] or ()) for unit in self.units)
        return sum(unit["curve_points"] or 1 for unit in empty) + known - len(self.done)


@dataclass(frozen=True)
class Records:
    """What a store holds for its leaderboards.

    Parameters
    ----------
    curves : mapping
        Curves by seed, of each row of a leaderboard.
    references : mapping
        Rows of the references by (fingerprint, protocol, seed, audit).
    """

    curves: Mapping[Group, list[CurveRecords]]
    references: Mapping[tuple[str, int, int, str], Row]

    def reference(self, curve: CurveRecords) -> Row | None:
        """What a curve is normalised by; None: it is not measured."""
        unit = curve.units[0]
        key = (unit["fingerprint"], unit["protocol"], curve.seed, curve.audit)
        return self.references.get(key)


def read(store: Store) -> Records:
    """The records that count, of the newest code, data, protocol and audit."""
    asked = [row for row in store.records(UnitRecord) if not of_a_trial(row)]
    units = latest([row for row in asked if row["status"] != Status.SKIPPED])
    by_key = {row["key"]: row for row in units}
    measured = [
        # A model that was trained again may be read elsewhere: points of the old one do not count.
        row
        for row in store.records(PointRecord)
        if belongs(row, by_key.get(row["unit"]))
    ]
    newest: dict[str, int] = {}
    for row in measured:
        data = by_key[row["unit"]]["fingerprint"]
        newest[data] = max(newest.get(data, 1), _audit_version(row))
    points: dict[str, list[Row]] = defaultdict(list)
    for row in measured:
        # Figures of two versions of the auditors do not compare: what the newest has not measured
        # counts as missing.
        if _audit_version(row) == newest[by_key[row["unit"]]["fingerprint"]]:
            points[row["unit"]].append(row)
    references = {
        (row["fingerprint"], row["protocol"], row["seed"], row["audit"]): row
        for row in store.records(ReferenceRecord)
        if row["status"] == Status.DONE
        and _audit_version(row) == newest.get(row["fingerprint"], _audit_version(row))
    }
    return Records(curves_of(units, points), references)


def _audit_version(row: Row) -> int:
    return row["audit_version"] or 1


def latest(units: Sequence[Row]) -> list[Row]:
    """The rows that a leaderboard speaks of.

    Of a dataset those of the data and protocol used last; of a method those of the code used last;
    of a single-shot unit that was read at different numbers of points, the one with most.
    """
    units = _newest(units, ("dataset", "data_source"), ("fingerprint", "protocol"))
    units = _newest(units, IDENTITY, ("code", "params"))
    chosen: dict[Group, Row] = {}
    for row in sorted(units, key=lambda r: (r["curve_points"] or 0, r["finished"] or "")):
        chosen[(*_identity(row), str(row["seed"]), str(row["point"]))] = row
    return sorted(chosen.values(), key=lambda r: str(r["key"]))


def _newest(units: Sequence[Row], same: Sequence[str], differ: Sequence[str]) -> list[Row]:
    """Of rows alike in ``same``, those whose ``differ`` are as in the one finished last."""
    newest: dict[Group, tuple[str, Group]] = {}
    for row in units:
        made = (row["finished"] or "", _values(row, differ))
        key = _values(row, same)
        newest[key] = max(newest.get(key, made), made)
    return [row for row in units if newest[_values(row, same)][1] == _values(row, differ)]


IDENTITY = ("dataset", "data_source", "track", "budget", "method", "params_label")
"""What makes a row of the leaderboard, with the audit.

Parameters by their label, which names those that are not as the method's code has them: when a
method gains a parameter, its default row is still its default row.
"""


def _identity(row: Row) -> Group:
    return _values(row, IDENTITY)


def _values(row: Row, names: Sequence[str]) -> Group:
    return tuple(json.dumps(row[name], sort_keys=True) for name in names)


def curves_of(
    units: Sequence[Row], points: Mapping[str, list[Row]]
) -> dict[Group, list[CurveRecords]]:
    """Curves of each leaderboard row, by seed."""
    audits: dict[tuple[Group, int], set[str]] = defaultdict(set)
    for unit in units:
        audits[_identity(unit), unit["seed"]] |= {row["audit"] for row in points[unit["key"]]}
    members: dict[tuple[Group, str, int], tuple[list[Row], list[Row]]] = {}
    for unit in units:
        # What has no point of an audit that others of its curve have is missing there.
        of_curve = audits[_identity(unit), unit["seed"]]
        for audit in of_curve or {"quick" if unit["budget"] == "quick" else "strict"}:
            place = members.setdefault((_identity(unit), audit, unit["seed"]), ([], []))
            place[0].append(unit)
            place[1].extend(row for row in points[unit["key"]] if row["audit"] == audit)
    found: dict[Group, list[CurveRecords]] = defaultdict(list)
    for (identity, audit, seed), (own, measured) in sorted(members.items(), key=lambda m: m[0]):
        found[(*identity, audit)].append(CurveRecords(seed, audit, own, _in_order(own, measured)))
    return found


def _in_order(units: Sequence[Row], points: Sequence[Row]) -> list[Row]:
    """Points by their knobs: the order in which a curve is drawn."""
    return sorted(points, key=lambda row: (sorted(row["knobs"].items()), row["number"]))
