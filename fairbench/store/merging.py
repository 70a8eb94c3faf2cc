"""Which records of an export are taken into a database that may hold some of their keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from fairbench.store.records import PointRecord, Record, UnitRecord
from fairbench.store.status import Status


def should_take(record: Record, held: tuple[Status, str | None] | None) -> bool:
    """Whether a record is taken, where the store holds one of its key or none.

    Results made here come back in place of imported ones, whichever came first.
    """
    if held is None:
        return True
    status, origin = held
    displaces = record.origin is not None and origin is None
    comes_back = record.origin is None and origin is not None
    return record.done and (comes_back or (status is not Status.DONE and not displaces))


def should_take_sql(held: sa.Table, new: sa.ColumnCollection[str, Any]) -> sa.ColumnElement[bool]:
    """The condition of :func:`should_take` as SQL, which the database checks when it writes."""
    displaces: sa.ColumnElement[bool] = new["origin"].is_not(None) & held.c.origin.is_(None)
    comes_back = new["origin"].is_(None) & held.c.origin.is_not(None)
    done = Status.DONE.value
    wins = sa.or_(comes_back, sa.and_(held.c.status != done, ~displaces))
    return sa.and_(new["status"] == done, wins)


def models_that_come_back(
    chosen: Iterable[Record], held: Mapping[str, tuple[Status, str | None]]
) -> list[str]:
    """Keys of own models among those chosen that stand in the store as imported ones."""
    return [
        record.key
        for record in chosen
        if isinstance(record, UnitRecord)
        and record.origin is None
        and held.get(record.key, (record.status, None))[1] is not None
    ]


def may_import_point(point: PointRecord, unit: UnitRecord | None) -> bool:
    """Whether a point is of its unit, and no stranger's audit of a model that was made here."""
    if unit is None or not point.belongs_to(unit):
        return False
    return point.origin is None or unit.origin is not None
