"""Which records of an export are taken into a database that may hold some of their keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from fairbench.store.records import PointRecord, Record, UnitRecord
from fairbench.store.status import Status

Wins = Callable[[sa.Table, sa.ColumnCollection[str, Any]], sa.ColumnElement[bool]]
"""Whether a row that is written replaces the one of its key, as SQL."""


def should_take(
    record: Record, held: tuple[Status, str | None] | None, *, verified: bool = False
) -> bool:
    """Whether a record is taken, where the store holds one of its key or none.

    Results made here take the place of imported ones, whichever came first; so do verified ones.
    """
    if held is None:
        return True
    status, origin = held
    if origin is not None and (record.origin is None or verified):
        return record.done
    displaces = record.origin is not None and origin is None
    return record.done and status is not Status.DONE and not displaces


def should_take_sql(
    held: sa.Table, new: sa.ColumnCollection[str, Any], *, verified: bool
) -> sa.ColumnElement[bool]:
    """The condition of :func:`should_take` as SQL, which the database checks when it writes."""
    is_imported = held.c.origin.is_not(None)
    stronger: sa.ColumnElement[bool] = sa.true() if verified else new["origin"].is_(None)
    displaces: sa.ColumnElement[bool] = new["origin"].is_not(None) & ~is_imported
    done = Status.DONE.value
    wins = sa.or_(is_imported & stronger, sa.and_(held.c.status != done, ~displaces))
    return sa.and_(new["status"] == done, wins)


def replaced_models(
    chosen: Iterable[Record], held: Mapping[str, tuple[Status, str | None]]
) -> list[str]:
    """Keys of the models among those chosen that stand in the store as imported ones."""
    return [
        record.key
        for record in chosen
        if isinstance(record, UnitRecord)
        and held.get(record.key, (record.status, None))[1] is not None
    ]


def may_import_point(point: PointRecord, unit: UnitRecord | None) -> bool:
    """Whether a point is of its unit, and no stranger's audit of a model that was made here."""
    if unit is None or not point.belongs_to(unit):
        return False
    return point.origin is None or unit.origin is not None
