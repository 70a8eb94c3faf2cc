"""The file of a board: a zip of Parquet tables, which any tool opens, and ``board.json``.

Figures are float32 columns, one per name; what is alike in many rows is stored once. Replicates,
and figures that are only shown, have 16 bits of precision: 2e-5 of the value; readings of single
auditors have 12, 2.5e-4 of it. Both are far less than their noise. Areas, ranks and certificates
keep all their bits. Everything that is read is checked as an import is: see
:mod:`fairbench.store.imported_rows`.
"""

from __future__ import annotations

import io
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from pydantic import ValidationError

from fairbench.errors import StoreError, say_where, say_why
from fairbench.leaderboard.board import Board, BoardInfo
from fairbench.leaderboard.select import CurveKey
from fairbench.stats.intervals import Array
from fairbench.store.earlier import present_row
from fairbench.store.imported_rows import checked_row
from fairbench.store.keys import point_key
from fairbench.store.records import (
    PointRecord,
    Record,
    ReferenceRecord,
    UnitRecord,
    from_row,
    to_row,
)

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX = ".board"

MAX_BYTES, MAX_ROWS, MAX_CELLS = 2**26, 200_000, 4_000_000
"""Unpacked bytes of a table (64 MiB), its rows and its cells: far more than any board has."""

_Tables = Mapping[str, list[dict[str, Any]]]
Content = TypeVar("Content")

_INFO = "board.json"
_FIGURE, _COST = "figure ", "cost "
_LEFT_OUT: Mapping[type, frozenset[str]] = {
    # Files and runs of the machine that it was made on; what a plugin may have printed.
    UnitRecord: frozenset({"run", "traceback", "packing", "artefact", "encoder", "origin"}),
    PointRecord: frozenset({"key", "traceback", "replicates", "finished", "origin"}),
    ReferenceRecord: frozenset({"traceback", "origin"}),
}
_JSON = frozenset(
    {"params", "tags", "read_points", "hardware", "versions", "knobs", "audit_config"}
)
"""Fields that are stored as text; they repeat, so they take little room."""

_REPLICATES = "replicates"
_SHORTENED: Sequence[tuple[re.Pattern[str], int]] = (
    # Of single auditors. (Figures of points have a prefix in their names.)
    (re.compile("mutual_information(_validation)?"), 12),
    # Of areas; and of points what tables show, of which no area, rank or choice of a point is made.
    (
        re.compile(
            f"{_REPLICATES}|(processor_)?seconds"
            f"|{_FIGURE}(.*_(low|high)|(demographic|equal).*_gap.*|(auc|balanced_accuracy)_.*"
            r"|mutual_information_(prediction|with_y|extrapolated|queries_\d+))"
        ),
        8,
    ),
)
"""Columns of float32, and how many of the last bits of each value are left out."""

_FIRST_SCHEMA = 6
"""Schema of the first boards: what came later may be missing."""

_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, KeyError),
    RuntimeError,  # a member with a password, or of a kind that is not known
)
"""What damaged archives and tables raise."""

_DAY = "2000-01-01T00:00:00+00:00"
_DATE = (1980, 1, 1, 0, 0, 0)  # equal boards have equal bytes


def to_bytes(board: Board) -> bytes:
    """Return the file of a board; equal boards give equal bytes."""
    place = {unit.key: number for number, unit in enumerate(board.units)}
    points = [
        _row(point) | {"unit": place[point.unit]}
        for point in sorted(board.points, key=lambda one: (place[one.unit], one.number, one.label))
    ]
    readings = [
        {"point": number} | reading
        for number, point in enumerate(points)
        for reading in point.pop("auditors") or ()
    ]
    areas = [
        {"unit": place[unit], "audit": audit, "column": column, _REPLICATES: values}
        for (unit, audit), columns in sorted(board.curve_replicates.items())
        for column, values in sorted(columns.items())
    ]
    tables: dict[str, Sequence[Mapping[str, Any]]] = {
        "units": [_row(unit) for unit in board.units],
        "points": points,
        "readings": readings,
        "references": [_row(one) for one in board.references],
        "areas": areas,
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        info = json.dumps(board.info.model_dump(), indent=1, sort_keys=True)
        archive.writestr(zipfile.ZipInfo(_INFO, _DATE), info)
        for name, rows in tables.items():
            if rows:
                archive.writestr(zipfile.ZipInfo(f"{name}.parquet", _DATE), _parquet(rows))
    return buffer.getvalue()


def _row(record: Record) -> dict[str, Any]:
    """A record as cells: figures and costs have columns of their own."""
    row = {k: v for k, v in to_row(record).items() if k not in _LEFT_OUT[type(record)]}
    for field, prefix in (("values", _FIGURE), ("costs", _COST)):
        row |= {f"{prefix}{name}": value for name, value in (row.pop(field, None) or {}).items()}
    return {k: json.dumps(v, sort_keys=True) if k in _JSON else v for k, v in row.items()}


def _parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: _shortened(name, _column([row.get(name) for row in rows])) for name in names}
    table = pa.table(columns)
    numbers = [name for name in names if pa.types.is_floating(columns[name].type)]
    others = [name for name in names if name not in numbers and name != _REPLICATES]
    numbers += [f"{name}.list.element" for name in names if _is_list(columns[name])]
    buffer = io.BytesIO()
    pq.write_table(
        table,
        buffer,
        compression="zstd",
        compression_level=19,
        use_dictionary=others,
        use_byte_stream_split=numbers,
        write_statistics=False,
    )
    return buffer.getvalue()


def _column(values: Sequence[Any]) -> pa.Array:
    import pyarrow as pa

    known = next((value for value in values if value is not None), None)
    if isinstance(known, float) or (
        isinstance(known, int) and any(isinstance(value, float) for value in values)
    ):
        return pa.array(values, pa.float32())
    if isinstance(known, np.ndarray):
        return pa.array([np.asarray(value, "<f4") for value in values], pa.list_(pa.float32()))
    return pa.array(values)


def _is_list(column: pa.Array) -> bool:
    import pyarrow as pa

    return isinstance(column, pa.ListArray)


def _shortened(name: str, column: pa.Array) -> pa.Array:
    """Round float32 values, or lists of them; rounding them again changes nothing."""
    import pyarrow as pa

    bits_left_out = next((bits for known, bits in _SHORTENED if known.fullmatch(name)), None)
    if bits_left_out is None:
        return column
    if _is_list(column):
        return pa.ListArray.from_arrays(column.offsets, _shortened(name, column.values))
    if column.type != pa.float32():
        return column
    bits = column.fill_null(0.0).to_numpy().view(np.uint32)
    half = np.uint32(1 << (bits_left_out - 1))
    rounded = ((bits + half) >> bits_left_out << bits_left_out).view(np.float32)
    return pa.array(rounded, mask=column.is_null().to_numpy(zero_copy_only=False))


def read_board(path: Path) -> Board:
    """Read a board's file.

    Raises
    ------
    StoreError
        It cannot be read, is none, was written by a newer fairbench, or holds what no store would.
    """
    return _read(path, from_bytes)


def read_models(path: Path) -> tuple[BoardInfo, list[UnitRecord]]:
    """Read what a board is of, and its models, without what was measured of them.

    Raises StoreError, as :func:`read_board` does.
    """
    return _read(path, lambda content: _checked(content, ("units",), _models))


def from_bytes(content: bytes) -> Board:
    """Return the board of a file's content; StoreError where it is none."""
    return _checked(content, ("units", "points", "readings", "references", "areas"), _board)


def _read(path: Path, of: Callable[[bytes], Content]) -> Content:
    try:
        content = path.read_bytes()
    except OSError as error:
        hint = "Boards are written by: fairbench board export"
        raise StoreError(f"{path} cannot be read: {error.strerror}.", hint) from None
    try:
        return of(content)
    except StoreError as error:
        raise StoreError(f"{path}: {error.message}", error.hint) from None


def _checked(
    content: bytes, names: Sequence[str], of: Callable[[BoardInfo, _Tables], Content]
) -> Content:
    """Make something of the tables of these names; StoreError where they are of no board."""
    hint = "Get it again, or write it again with: fairbench board export"
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            info = BoardInfo.model_validate_json(_member(archive, _INFO))
            tables = {
                name: _rows(_member(archive, f"{name}.parquet"))
                for name in names
                if f"{name}.parquet" in archive.namelist()
            }
    except ValidationError as error:
        first = error.errors()[0]
        place = say_where(first) or _INFO
        raise StoreError(f"it is no board: {place}: {say_why(first)}.", hint) from None
    except _DAMAGED as error:
        raise StoreError(f"it is no board: {error}.", hint) from None
    try:
        return of(info, tables)
    # Of JSON that is nested without end, a RecursionError.
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise StoreError(f"it is no board: {error}.", hint) from None


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > MAX_BYTES:
        raise ValueError(f"{name} has more than {MAX_BYTES:,} bytes")
    return archive.read(name)


def _rows(content: bytes) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    file = pq.ParquetFile(io.BytesIO(content))
    groups = [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]
    size = sum(group.total_byte_size for group in groups)
    if file.metadata.num_rows > MAX_ROWS or size > MAX_BYTES:
        raise ValueError(f"a table has more than {MAX_ROWS:,} rows or {MAX_BYTES:,} bytes")
    cells = sum(group.column(k).num_values for group in groups for k in range(group.num_columns))
    if cells > MAX_CELLS:
        raise ValueError(f"a table has more than {MAX_CELLS:,} cells")
    texts = []
    for field in file.schema_arrow:
        if pa.types.is_string(field.type):
            texts.append(field.name)
        elif not _is_plain(field.type):
            raise ValueError(f"{field.name} has the type {field.type}, which no board has")
    # A text that stands in many rows is stored once, and so unpacked: a few bytes may be gigabytes.
    table = pq.ParquetFile(io.BytesIO(content), read_dictionary=texts).read()
    length = 0
    for name in texts:
        for part in table[name].chunks:
            lengths = pc.take(pc.binary_length(part.dictionary), part.indices)
            length += pc.sum(lengths).as_py() or 0
    if length > MAX_BYTES:
        raise ValueError(f"a table unpacks to more than {MAX_BYTES:,} bytes")
    rows: list[dict[str, Any]] = table.cast(file.schema_arrow).to_pylist()
    return rows


def _is_plain(kind: Any) -> bool:
    """Whether a type is one of numbers, or of lists of them."""
    from pyarrow import types

    if types.is_list(kind):
        kind = kind.value_type
    of = (types.is_integer, types.is_floating, types.is_boolean, types.is_null)
    return any(is_one(kind) for is_one in of)


def _models(info: BoardInfo, tables: _Tables) -> tuple[BoardInfo, list[UnitRecord]]:
    units = [
        _record(UnitRecord, "units", row | {"origin": info.name}) for row in tables.get("units", ())
    ]
    if not units:
        raise ValueError("it has no models")
    for unit in units:
        if unit.simulated:
            raise ValueError(f"a row is of simulated data: {unit.title}")
        if (unit.dataset, unit.budget, unit.protocol) != (info.dataset, info.budget, info.protocol):
            raise ValueError(f"a row is not of the {info.title}: {unit.title}")
    return info, units


def _board(info: BoardInfo, tables: _Tables) -> Board:
    _, units = _models(info, tables)
    readings: dict[int, list[dict[str, Any]]] = {}
    for row in tables.get("readings", ()):
        readings.setdefault(row.pop("point"), []).append(row)
    points = []
    for number, row in enumerate(tables.get("points", ())):
        unit = _at(units, row["unit"])
        settings = json.loads(row["audit_config"])
        row |= {
            # The key of the store that it is from: who imports the board can go on with it.
            "key": point_key(unit.key, row["label"], settings, row["audit_version"]),
            "unit": unit.key,
            "auditors": readings.get(number),
            "finished": unit.finished or _DAY,
        }
        points.append(_record(PointRecord, "points", row))
    if stray := readings.keys() - range(len(points)):
        raise ValueError(f"there is no point of number {min(stray)}, of which there are readings")
    of_key = {unit.key: unit for unit in units}
    # A point that stands twice, or that no model was read at, would make a curve of its own.
    if len(of_key) < len(units) or len({point.key for point in points}) < len(points):
        raise ValueError("a model or a point stands twice")
    if alien := [point for point in points if not point.belongs_to(of_key[point.unit])]:
        raise ValueError(f"a point is not one of its model: {alien[0].label}")
    wrong = [p for p in points if (p.audit, p.version) != (info.audit, info.audit_version)]
    if wrong:
        raise ValueError(f"a point is not of the audit of the {info.title}: {wrong[0].label}")
    areas: dict[CurveKey, dict[str, Array]] = {}
    for row in tables.get("areas", ()):
        values = np.asarray(row["replicates"], dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError(f"the replicates of {row['column']} are no numbers")
        areas.setdefault((_at(units, row["unit"]).key, row["audit"]), {})[row["column"]] = values
    references = [_record(ReferenceRecord, "references", r) for r in tables.get("references", ())]
    return Board(info, units, points, references, areas)


def _at(units: Sequence[UnitRecord], number: object) -> UnitRecord:
    """Return the model of a number; ValueError where there is none, as for a negative one."""
    if not isinstance(number, int) or not 0 <= number < len(units):
        raise ValueError(f"there is no model of number {number!r}")
    return units[number]


def _record(kind: type[Any], table: str, row: dict[str, Any]) -> Any:
    """Make a record of cells, checked."""
    whole: dict[str, Any] = dict.fromkeys(_LEFT_OUT[kind])
    figures: dict[str, float | None] = {}
    costs: dict[str, float] = {}
    for name, value in row.items():
        if name.startswith(_FIGURE):
            figures[name.removeprefix(_FIGURE)] = value
        elif name.startswith(_COST):
            if value is not None:
                costs[name.removeprefix(_COST)] = value
        else:
            whole[name] = json.loads(value) if name in _JSON and value is not None else value
    done = whole["status"] == "DONE"
    whole["values" if kind is not UnitRecord else "costs"] = (
        None if not done else figures if kind is not UnitRecord else costs
    )
    return from_row(kind, checked_row(table, present_row(table, whole, _FIRST_SCHEMA)))
