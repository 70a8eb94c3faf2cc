"""Reading exported results: every line is checked before any of them is believed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from fairbench.errors import StoreError
from fairbench.stats.bootstrap import from_text
from fairbench.store.earlier import present_row
from fairbench.store.records import TABLES, Record, from_row
from fairbench.store.schema import SCHEMA_VERSION, TABLE_OF
from fairbench.store.status import Status

_PLAIN: dict[type, tuple[type, ...]] = {
    sa.String: (str,),
    sa.Integer: (int,),
    sa.Float: (int, float),
}


def parse_export(lines: Iterable[str]) -> list[Record]:
    """Records of an export; StoreError names the first line that is not one of an export."""
    records: list[Record] = []
    version: int | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = _parse(line, number)
        if version is None:
            version = _version(row, number)
            continue
        name = row.pop("table", None)
        if not isinstance(name, str) or name not in TABLES:
            raise _bad(number, "it names no table of a store")
        row = present_row(name, row, version)
        _check_row(row, TABLE_OF[TABLES[name]], number)
        try:
            records.append(from_row(TABLES[name], row))
        except (TypeError, ValueError):
            raise _bad(number, "its fields do not have the form of a record") from None
    if version is None:
        raise StoreError("The file is empty.", "Write it with 'fairbench results export FILE'.")
    return records


def _parse(line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError):
        raise _bad(number, "it is not JSON") from None
    if not isinstance(row, dict):
        raise _bad(number, "it is not a record")
    return row


def _version(row: dict[str, Any], number: int) -> int:
    version = row.get("fairbench_export")
    if not isinstance(version, int) or version < 1:
        raise _bad(number, "an export starts with its version")
    if version > SCHEMA_VERSION:
        raise StoreError("The export was written by a newer fairbench.", "Upgrade fairbench.")
    return version


def _check_row(row: dict[str, Any], table: sa.Table, number: int) -> None:
    if set(row) != set(table.c.keys()):
        raise _bad(number, f"its fields are not those of {table.name}")
    for column in table.c:
        value = row[column.name]
        if value is None:
            if not column.nullable:
                raise _bad(number, f"{column.name} is empty")
            continue
        kind = next((k for t, k in _PLAIN.items() if isinstance(column.type, t)), (dict, list))
        if not isinstance(value, kind) or isinstance(value, bool):
            raise _bad(number, f"{column.name} is {value!r}")
    if row["status"] not in {s.value for s in Status}:
        raise _bad(number, f"status is {row['status']!r}")
    if row["status"] == Status.DONE:
        _check_result(row, number)


def _check_result(row: dict[str, Any], number: int) -> None:
    """What leaderboards are made of must be there, and be numbers."""
    for name in ("values", "costs"):
        if name not in row:
            continue
        values = row[name]
        plain = isinstance(values, dict) and all(
            value is None or (isinstance(value, int | float) and math.isfinite(value))
            for value in values.values()
        )
        if not plain:
            raise _bad(number, f"{name} are not numbers")
    try:
        from_text(row.get("replicates"))
    except StoreError:
        raise _bad(number, "replicates cannot be read") from None
    if "read_points" in row and not all(
        isinstance(p, dict) and isinstance(p.get("label"), str) for p in row["read_points"] or ()
    ):
        raise _bad(number, "read_points are not points")


def _bad(number: int, why: str) -> StoreError:
    return StoreError(
        f"Line {number} is not a line of 'fairbench results export': {why}.",
        "Export again; nothing was imported.",
    )
