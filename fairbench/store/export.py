"""Reading exported results: every line is checked before any of them is believed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from fairbench.errors import ConfigError, StoreError
from fairbench.files.unpacking import read_lines
from fairbench.store.earlier import present_row
from fairbench.store.imported_rows import checked_row
from fairbench.store.records import TABLES, Record, from_row
from fairbench.store.schema import SCHEMA_VERSION

LONGEST_LINE = 2**20
"""Bytes of a line: 1 MiB. A point with all its replicates has 13 kB."""

MAX_BYTES = 2**30
"""Bytes of an export, unpacked: 1 GiB, some 80,000 points."""


def read_export(path: Path, *, own: bool = False) -> list[Record]:
    """Records of a file; ``.gz`` is decompressed as it is read.

    ``own``: whether it is one's own backup, which may be of any size, and hold what rows of others
    may not; see :mod:`fairbench.store.imported_rows`.

    Raises
    ------
    ConfigError
        The file cannot be read, or is larger than exports are.
    StoreError
        It holds a line that is not one of an export, or that no store would have; the message
        begins with the path.
    """
    try:
        lines = read_lines(path, longest=LONGEST_LINE, most=None if own else MAX_BYTES)
        return parse_export((line.decode("utf-8") for line in lines), own=own)
    except StoreError as error:
        raise StoreError(f"{path}: {error.message}", error.hint) from None
    # A truncated file ends early, a garbled one is no gzip, or fails in its decompressor.
    except (OSError, EOFError, zlib.error, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"{path} cannot be read: {why}.", "Check the path; nothing was changed."
        ) from None


def parse_export(lines: Iterable[str], *, own: bool = False) -> list[Record]:
    """Records of an export; StoreError names the first line that is not one of an export."""
    records: list[Record] = []
    seen: set[tuple[str, str]] = set()
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
        try:
            row = checked_row(name, present_row(name, row, version), own=own)
            records.append(from_row(TABLES[name], row))
        except (TypeError, ValueError) as error:
            raise _bad(number, str(error)) from None
        if (name, row["key"]) in seen:
            raise _bad(number, f"key: {row['key']} stands in an earlier line")
        seen.add((name, row["key"]))
    if version is None:
        raise StoreError("The file is empty.", "Write it with 'fairbench results export FILE'.")
    return records


def _parse(line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise _bad(number, "it is not JSON") from None
    if not isinstance(row, dict):
        raise _bad(number, "it is not a record")
    return row


def _refuse(constant: str) -> NoReturn:
    """JSON has no NaN and no infinity, though Python reads them."""
    raise ValueError(constant)


def _version(row: dict[str, Any], number: int) -> int:
    version = row.get("fairbench_export")
    if not isinstance(version, int) or version < 1:
        raise _bad(number, "an export starts with its version")
    if version > SCHEMA_VERSION:
        raise StoreError("The export was written by a newer fairbench.", "Upgrade fairbench.")
    return version


def _bad(number: int, why: str) -> StoreError:
    return StoreError(
        f"Line {number} is not of a file that 'fairbench results export' or 'submit' wrote: {why}.",
        "Is it the right file? If so, write it again; nothing of it was taken.",
    )
