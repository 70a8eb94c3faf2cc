"""Which records of an export are taken into a database that may hold some of their keys."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from fairbench.store.records import PointRecord, Record, UnitRecord
from fairbench.store.status import Status


def should_take(record: Record, held: tuple[Status, str | None] | None) -> bool:
    """Whether a record is taken, where the store holds one of its key or none."""
    if held is None:
        return True
    status, origin = held
    displaces = record.origin is not None and origin is None
    return record.done and status is not Status.DONE and not displaces


def should_take_sql(held: sa.Table, new: sa.ColumnCollection[str, Any]) -> sa.ColumnElement[bool]:
    """The condition of :func:`should_take` as SQL, which the database checks when it writes."""
    displaces: sa.ColumnElement[bool] = new["origin"].is_not(None) & held.c.origin.is_(None)
    done = Status.DONE.value
    return sa.and_(new["status"] == done, held.c.status != done, ~displaces)


def may_import_point(point: PointRecord, unit: UnitRecord | None) -> bool:
    """Whether a point is of its unit, and no stranger's audit of a model that was made here."""
    if unit is None or not point.belongs_to(unit):
        return False
    return point.origin is None or unit.origin is not None
