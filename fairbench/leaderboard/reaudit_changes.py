"""What measuring again has changed: each method's AUFDC before and now, and its points' I and D."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from fairbench.leaderboard.build import Tables, build_tables
from fairbench.leaderboard.select import ReferenceKey, select
from fairbench.metrics.rows import RankingGroup, Variant
from fairbench.registry import Registry
from fairbench.store.database import Store
from fairbench.store.records import PointRecord, ReferenceRecord, UnitRecord
from fairbench.versions import AUDIT_VERSION

R = TypeVar("R", PointRecord, ReferenceRecord)


class RowIdentity(NamedTuple):
    """What tells a row from all rows of all leaderboards."""

    table: str
    group: RankingGroup
    variant: Variant


@dataclass(frozen=True)
class AufdcChange:
    """Change of one row of a leaderboard.

    Parameters
    ----------
    points : int
        Points measured now.
    before, now : float or None
        AUFDC; None where there is none.
    i, d : float or None
        The largest change of a point's I (nats) and D, with its sign; None without an old figure.
    columns : tuple of str
        Figures that no point had before.
    """

    identity: RowIdentity
    points: int
    before: float | None
    now: float | None
    i: float | None
    d: float | None
    columns: tuple[str, ...]


class EarlierFigures:
    """The figures that a re-audit is compared with, taken before it starts.

    Of a point that is measured again they are those in its place; of one that the present auditors
    have measured already, in a part of this upgrade that was interrupted, those of the newest
    older version.
    """

    def __init__(self, store: Store, registry: Registry, to_measure: Collection[str]) -> None:
        units = store.records(UnitRecord)
        points = [point for point in store.records(PointRecord) if point.done]
        references = [one for one in store.records(ReferenceRecord) if one.done]
        earlier = _select_earlier(points, to_measure, _point_place)
        self.points = {_point_place(point): point for point in earlier}
        renewed = {point.unit for point in points if point.key in to_measure}
        data = {(unit.fingerprint, unit.seed) for unit in units if unit.key in renewed}
        again = {one.key for one in references if (one.fingerprint, one.seed) in data}
        # As if they were all of one version, so that the leaderboard can be built as it was.
        records = select(
            units,
            [point.replace(audit_version=AUDIT_VERSION) for point in earlier],
            [
                one.replace(audit_version=AUDIT_VERSION)
                for one in _select_earlier(references, again, ReferenceKey.of)
            ],
            store.runs(),
        )
        self.aufdc = _aufdcs(build_tables(records, registry))


def find_changes(
    before: EarlierFigures, store: Store, tables: Sequence[Tables], measured: Collection[str]
) -> list[AufdcChange]:
    """Compare the rows of the leaderboards, in their order, that have a point measured now."""
    units = {unit.key: unit for unit in store.records(UnitRecord)}
    points: dict[RowIdentity, list[PointRecord]] = {}
    for point in store.records(PointRecord):
        if point.key in measured:
            points.setdefault(_identify(units[point.unit], point), []).append(point)
    now = _aufdcs(tables)
    return [
        _compare(identity, points[identity], before, now[identity])
        for identity in now
        if identity in points
    ]


def _aufdcs(tables: Sequence[Tables]) -> dict[RowIdentity, float | None]:
    """AUFDC of every row of leaderboards."""
    return {
        RowIdentity(table.dataset, row.group, row.variant): row.figures.get("aufdc")
        for table in tables
        for row in table.leaderboard
    }


def _compare(
    identity: RowIdentity, points: Sequence[PointRecord], before: EarlierFigures, now: float | None
) -> AufdcChange:
    pairs = [
        (old.figures, point.figures)
        for point in points
        if (old := before.points.get(_point_place(point))) is not None
    ]
    old_columns = {column for old, _ in pairs for column in old}
    new_columns = {column for point in points for column in point.figures}

    def largest(column: str) -> float | None:
        differences = [
            new[column] - old[column]
            for old, new in pairs
            if old.get(column) is not None and new.get(column) is not None
        ]
        return max(differences, key=abs) if differences else None

    return AufdcChange(
        identity=identity,
        points=len(points),
        before=before.aufdc.get(identity),
        now=now,
        i=largest("mutual_information"),
        d=largest("distortion"),
        columns=tuple(sorted(new_columns - old_columns)) if old_columns else (),
    )


def _select_earlier(
    records: Sequence[R], renewed: Collection[str], place: Callable[[R], Hashable]
) -> list[R]:
    """Of records of the same thing the one to compare with; by key."""
    earlier: dict[Hashable, R] = {}
    for record in sorted(records, key=lambda record: record.version):
        present = record.audit_version == AUDIT_VERSION
        # The present version's own figure counts where it is about to be replaced, or is the only.
        if not present or record.key in renewed or place(record) not in earlier:
            earlier[place(record)] = record
    return sorted(earlier.values(), key=lambda record: record.key)


def _point_place(point: PointRecord) -> tuple[str, str, str]:
    return point.unit, point.label, point.audit


def _identify(unit: UnitRecord, point: PointRecord) -> RowIdentity:
    return RowIdentity(
        table=unit.table,
        group=RankingGroup(unit.track, unit.budget, point.audit),
        variant=Variant(unit.method, unit.params_label),
    )
