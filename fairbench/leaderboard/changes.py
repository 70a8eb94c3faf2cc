"""What measuring again has changed: each method's AUFDC before and now, and its points' I and D."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from fairbench.leaderboard import build as leaderboard
from fairbench.registry import Registry
from fairbench.store.database import Row, Store
from fairbench.store.records import PointRecord, ReferenceRecord, UnitRecord
from fairbench.store.status import Status
from fairbench.versions import AUDIT_VERSION

Identity = tuple[str, ...]
"""Table, track, budget, audit, method, parameters: a row of a leaderboard."""

_Point = tuple[str, str, str]


@dataclass(frozen=True)
class Change:
    """What became of one row of a leaderboard.

    Parameters
    ----------
    identity : tuple of str
        Table, track, budget, audit, method, parameters.
    points : int
        Points measured now.
    before, now : float or None
        AUFDC; None where it could not be said.
    i, d : float or None
        The largest change of a point's I (nats) and D, with its sign; None without an old figure.
    columns : tuple of str
        Figures that no point had before.
    """

    identity: Identity
    points: int
    before: float | None
    now: float | None
    i: float | None
    d: float | None
    columns: tuple[str, ...]


class Before:
    """The figures that a re-audit is compared with, taken before it starts.

    Of a point that is measured again they are those in its place; of one that the present auditors
    have measured already, in a part of this upgrade that was interrupted, those of the newest
    older version.
    """

    def __init__(self, store: Store, registry: Registry, to_measure: Collection[str]) -> None:
        points = [row for row in store.records(PointRecord) if row["status"] == Status.DONE]
        references = [row for row in store.records(ReferenceRecord) if row["status"] == Status.DONE]
        self.points: Mapping[_Point, Row] = {
            _point(row): row for row in _olds(points, to_measure, _point)
        }
        renewed = {row["unit"] for row in points if row["key"] in to_measure}
        same = {
            (row["fingerprint"], row["seed"])
            for row in store.records(UnitRecord)
            if row["key"] in renewed
        }
        again = {r["key"] for r in references if (r["fingerprint"], r["seed"]) in same}
        old_references = _olds(references, again, _reference)
        # A store of its own, of one version, so that the leaderboard can be built as it was.
        past = Store("sqlite://")
        one = {"audit_version": AUDIT_VERSION}
        past.put(store.records(UnitRecord))
        past.put([row | one for row in self.points.values()])
        past.put([row | one for row in old_references])
        self.aufdc = aufdcs(leaderboard.build(past, registry))
        past.engine.dispose()


def changes(
    before: Before, store: Store, tables: Sequence[leaderboard.Tables], measured: Collection[str]
) -> list[Change]:
    """The rows of the leaderboards, in their order, that have a point measured now."""
    units = {row["key"]: row for row in store.records(UnitRecord)}
    found: dict[Identity, list[Row]] = {}
    for point in store.records(PointRecord):
        if point["key"] in measured:
            found.setdefault(_identity(units[point["unit"]], point), []).append(point)
    now = aufdcs(tables)
    return [
        _change(identity, found[identity], before, now[identity])
        for identity in now
        if identity in found
    ]


def aufdcs(tables: Sequence[leaderboard.Tables]) -> dict[Identity, float | None]:
    """AUFDC of every row of leaderboards."""
    names = ("track", "budget", "audit", "method", "params")
    return {
        (table.dataset, *(row[name] for name in names)): row.get("aufdc")
        for table in tables
        for row in table.leaderboard
    }


def _change(identity: Identity, points: Sequence[Row], before: Before, now: float | None) -> Change:
    pairs = [(before.points.get(_point(point)), point) for point in points]
    old = {column for was, _ in pairs if was is not None for column in was["values"]}
    new = {column for _, point in pairs for column in point["values"]}

    def largest(column: str) -> float | None:
        found = [
            point["values"][column] - was["values"][column]
            for was, point in pairs
            if was is not None
            and was["values"].get(column) is not None
            and point["values"].get(column) is not None
        ]
        return max(found, key=abs) if found else None

    return Change(
        identity=identity,
        points=len(points),
        before=before.aufdc.get(identity),
        now=now,
        i=largest("mutual_information"),
        d=largest("distortion"),
        columns=tuple(sorted(new - old)) if old else (),
    )


def _olds(
    rows: Sequence[Row], renewed: Collection[str], same: Callable[[Row], object]
) -> list[Row]:
    """Of rows that are of the same thing, the one to compare with."""
    found: dict[object, Row] = {}
    for row in sorted(rows, key=lambda row: row["audit_version"] or 1):
        present = row["audit_version"] == AUDIT_VERSION
        # The present version's own figure counts where it is about to be replaced, or is the only.
        if not present or row["key"] in renewed or same(row) not in found:
            found[same(row)] = row
    return list(found.values())


def _point(row: Row) -> _Point:
    return row["unit"], row["label"], row["audit"]


def _reference(row: Row) -> tuple[object, ...]:
    return row["fingerprint"], row["protocol"], row["seed"], row["audit"]


def _identity(unit: Row, point: Row) -> Identity:
    table = leaderboard.table_name(unit["dataset"], unit["data_source"])
    names = ("method", "params_label")
    return (table, unit["track"], unit["budget"], point["audit"], *(unit[name] for name in names))
