"""The results database: units, points and references, through SQLAlchemy; only the driver writes.

A *unit* is what one model was trained for; a *point* is one audited representation of it; a
*reference* is what a dataset's curves are normalised by. Rows are keyed by content, so a rerun
finds what it has, and two stores merge without a clash. Representations are files beside it.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from fairbench.errors import StoreError
from fairbench.store.earlier import ADDED, present_row
from fairbench.store.export import read_export
from fairbench.store.records import (
    TABLES,
    TRIAL,
    PointRecord,
    Record,
    RunRecord,
    UnitRecord,
    from_row,
    make_table,
    to_row,
)
from fairbench.store.status import Status

SCHEMA_VERSION = 4
"""Raised when tables change: older stores are brought up to date, newer ones are refused."""

metadata = sa.MetaData()

_meta = sa.Table(
    "meta",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

_runs = make_table("runs", RunRecord, metadata)

_tables = {kind: make_table(name, kind, metadata) for name, kind in TABLES.items()}

_TRIES, _PAUSE = 100, 0.05
"""Attempts, and seconds between them, to set up a store that others set up too."""

_CANNOT_WRITE = "The store cannot be written"
_CANNOT_READ = "The store cannot be read"

_CHECK = "Check disk space and permissions, or that the server runs; the same command resumes."
_DAMAGED = (
    "Move the file away (and those beside it that end in -wal and -shm): the same command computes "
    "everything again. What was exported comes back with fairbench results import."
)

K = TypeVar("K", bound=Record)

Row = Any
"""TRANSITION."""


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


class Store:
    """A results database.

    Parameters
    ----------
    url : str or sqlalchemy.URL
        Where it is.
    """

    def __init__(self, url: str | sa.URL) -> None:
        try:
            self.engine = sa.create_engine(url, json_serializer=_dumps)
        # An unknown dialect, a missing driver, a port that is no number.
        except (sa.exc.SQLAlchemyError, ImportError, ValueError) as error:
            raise StoreError(
                f"The store {_shown(url)} cannot be opened: {_short(error)}.",
                "Give a database URL that SQLAlchemy knows, like postgresql+psycopg://host/name "
                "(and install its driver).",
            ) from error
        if self.engine.dialect.name == "sqlite":
            sa.event.listen(self.engine, "connect", _set_pragmas)
        with translate_database_errors(f"The store {_shown(url)} cannot be opened"):
            self._open()

    @classmethod
    def by_url(cls, url: str) -> Store:
        """The store that ``--store`` names; StoreError for one that would keep nothing."""
        try:
            parsed = sa.engine.make_url(url)
        except (sa.exc.SQLAlchemyError, ValueError):
            return cls(url)  # which tells what is wrong with it
        kind = parsed.get_backend_name()
        if kind not in ("sqlite", "postgresql"):
            raise StoreError(
                f"The store {_shown(url)} cannot be opened: {kind} is not supported.",
                "Use postgresql+psycopg://USER@HOST/NAME, or sqlite:///FILE.",
            )
        if kind == "sqlite" and (parsed.database or ":memory:") == ":memory:":
            raise StoreError(
                f"The store {_shown(url)} is in memory: it keeps nothing.",
                "Name a file, as in sqlite:///results.sqlite, or leave --store out.",
            )
        return cls(url)

    @classmethod
    def in_folder(cls, folder: Path, *, create: bool = True) -> Store:
        """The SQLite store of a results folder; StoreError if there is none and not ``create``."""
        path = folder / "fairbench.sqlite"
        if not create and not path.exists():
            raise StoreError(
                f"There are no results in {folder}.",
                "Run something first (fairbench run --help) or name the folder with --results.",
            )
        make_folder(folder)
        return cls(sa.URL.create("sqlite", database=str(path)))

    def _open(self) -> None:
        self._check()
        tries = 0
        while (found := self._schema()) is None:
            try:
                self._create()
            except (sa.exc.OperationalError, sa.exc.IntegrityError, sa.exc.ProgrammingError):
                # Another run is creating the same tables: its version number comes last.
                tries += 1
                if tries == _TRIES:
                    raise
                time.sleep(_PAUSE)
        if found.isdigit() and int(found) < SCHEMA_VERSION:
            self._upgrade(int(found))
            found = str(SCHEMA_VERSION)
        if not found.isdigit() or int(found) > SCHEMA_VERSION:
            raise StoreError(
                f"The store was written by a newer fairbench (schema {found}; this one reads up "
                f"to {SCHEMA_VERSION}).",
                "Upgrade fairbench, or name another folder with --results DIR.",
            )

    def _check(self) -> None:
        """Refuse a file that is damaged: of what can still be read, nothing can be trusted."""
        if self.engine.dialect.name == "sqlite":
            with self.engine.connect() as connection:
                found = connection.execute(sa.text("PRAGMA quick_check(1)")).scalar()
            if found != "ok":
                what = str(found).splitlines()[-1].rstrip(".")
                raise StoreError(f"The store is damaged: {what}.", _DAMAGED)

    def _schema(self) -> str | None:
        """The schema version in the store; None for one that is empty."""
        if not sa.inspect(self.engine).has_table("meta"):
            return None
        with self.engine.connect() as connection:
            query = sa.select(_meta.c.value).where(_meta.c.name == "schema")
            version: str | None = connection.execute(query).scalar()
            return version

    def _create(self) -> None:
        with self.engine.begin() as connection:
            metadata.create_all(connection)
            connection.execute(_meta.insert().values(name="schema", value=str(SCHEMA_VERSION)))

    def _upgrade(self, version: int) -> None:
        """Bring an older store up to date; several processes may do so at once."""
        for later in range(version + 1, SCHEMA_VERSION + 1):
            for name, columns in ADDED.get(later, {}).items():
                for column in columns:
                    self._add_column(_tables[TABLES[name]].c[column])
        with self.engine.begin() as connection:
            for name, kind in TABLES.items():
                table = _tables[kind]
                for row in connection.execute(sa.select(table)).mappings().all():
                    present = present_row(name, dict(row), version)
                    changed = {k: v for k, v in present.items() if v != row[k]}
                    if changed:
                        own = table.update().where(table.c.key == row["key"])
                        connection.execute(own.values(**changed))
            schema = _meta.update().where(_meta.c.name == "schema")
            connection.execute(schema.values(value=str(SCHEMA_VERSION)))

    def _add_column(self, column: sa.Column[Any]) -> None:
        def exists() -> bool:
            known = sa.inspect(self.engine).get_columns(column.table.name)
            return any(c["name"] == column.name for c in known)

        if exists():
            return
        quote = self.engine.dialect.identifier_preparer.quote
        kind = column.type.compile(self.engine.dialect)
        statement = f"ALTER TABLE {quote(column.table.name)} ADD COLUMN {column.name} {kind}"
        try:
            with self.engine.begin() as connection:
                connection.execute(sa.text(statement))
        except sa.exc.DatabaseError:
            if not exists():  # else another run was faster
                raise

    def add_run(self, run: RunRecord) -> None:
        """Remember a command that was given."""
        with translate_database_errors(_CANNOT_WRITE), self.engine.begin() as connection:
            connection.execute(_runs.insert().values(**to_row(run)))

    def put(self, records: Iterable[Record]) -> None:
        """Insert records of any kinds, or replace those with the same key, in one transaction."""
        with translate_database_errors(_CANNOT_WRITE), self.engine.begin() as connection:
            for record in _in_order(records):
                row = to_row(record)
                insert = self.insert(_tables[type(record)]).values(**row)
                rest = {name: insert.excluded[name] for name in row if name != "key"}
                connection.execute(insert.on_conflict_do_update(index_elements=["key"], set_=rest))

    def add(self, records: Iterable[Record]) -> None:
        """Insert records whose key is not there yet, and leave the others as they are."""
        with translate_database_errors(_CANNOT_WRITE), self.engine.begin() as connection:
            for record in _in_order(records):
                insert = self.insert(_tables[type(record)]).values(**to_row(record))
                connection.execute(insert.on_conflict_do_nothing())

    def adopt(self, keys: Sequence[str], run: str) -> None:
        """Give units that only a search has asked for to a run; nothing else of them changes."""
        units = _tables[UnitRecord]
        trials = units.c.key.in_(keys) & units.c.run.startswith(TRIAL)
        with translate_database_errors(_CANNOT_WRITE), self.engine.begin() as connection:
            connection.execute(units.update().where(trials).values(run=run))

    def insert(self, target: sa.Table) -> Any:
        """``INSERT`` with ``ON CONFLICT``: two runs may write a row at the same moment."""
        from sqlalchemy.dialects import postgresql, sqlite

        dialect = postgresql if self.engine.dialect.name == "postgresql" else sqlite
        return dialect.insert(target)

    def records(self, kind: type[K], **equal: object) -> list[K]:
        """Return all records of a kind whose fields equal what is given, by key."""
        target = _tables[kind]
        query = sa.select(target).order_by(target.c.key)
        for column, value in equal.items():
            query = query.where(target.c[column] == value)
        return self._select(kind, query)

    def find(self, kind: type[K], keys: Sequence[str]) -> dict[str, K]:
        """Return records by key, of those keys that are there."""
        target = _tables[kind]
        rows = self._select(kind, sa.select(target).where(target.c.key.in_(keys)))
        return {record.key: record for record in rows}

    def _select(self, kind: type[K], query: sa.Select[Any]) -> list[K]:
        with translate_database_errors(_CANNOT_READ), self.engine.connect() as connection:
            return [from_row(kind, dict(row)) for row in connection.execute(query).mappings()]

    def runs(self) -> list[RunRecord]:
        """Return the commands that were given, by id."""
        query = sa.select(_runs).order_by(_runs.c.id)
        with translate_database_errors(_CANNOT_READ), self.engine.connect() as connection:
            return [from_row(RunRecord, dict(row)) for row in connection.execute(query).mappings()]

    def statuses(self, kind: type[Record]) -> dict[str, Status]:
        """Return the status of every record of a kind by key."""
        target = _tables[kind]
        with translate_database_errors(_CANNOT_READ), self.engine.connect() as connection:
            rows = connection.execute(sa.select(target.c.key, target.c.status))
            return {key: Status(status) for key, status in rows}

    def export(self) -> Iterator[str]:
        """Yield every ended record as a line of JSON, in a stable order: text to be committed."""
        yield _dumps({"fairbench_export": SCHEMA_VERSION})
        for name, kind in TABLES.items():
            for record in self.records(kind):
                if record.status not in (Status.PENDING, Status.RUNNING):
                    yield _dumps({"table": name, **to_row(record)})

    def merge(self, incoming: Sequence[Record]) -> dict[str, int]:
        """Merge records by key: DONE ones win over others; the rest is left as it is.

        Points come with their unit: those of a model that was trained here and read elsewhere
        otherwise are left out. Returns the number of records taken by table.
        """
        chosen: list[Record] = []
        for kind in TABLES.values():
            own = self.statuses(kind)
            chosen += [record for record in incoming if type(record) is kind and _wins(record, own)]
        units = {unit.key: unit for unit in self.records(UnitRecord)}
        units |= {unit.key: unit for unit in chosen if isinstance(unit, UnitRecord)}
        chosen = [
            record
            for record in chosen
            if not isinstance(record, PointRecord) or record.belongs_to(units.get(record.unit))
        ]
        self.put(chosen)
        return {
            name: sum(type(record) is kind for record in chosen) for name, kind in TABLES.items()
        }


def parse_export(lines: Iterable[str]) -> list[Record]:
    """Exported lines as records; StoreError if a line cannot be read."""
    tables = {name: _tables[kind] for name, kind in TABLES.items()}
    return read_export(lines, tables, SCHEMA_VERSION)


def of_a_trial(unit: Any) -> bool:
    """TRANSITION."""
    return bool(unit.of_a_trial)


def belongs(point: Any, unit: Any) -> bool:
    """TRANSITION."""
    return bool(point.belongs_to(unit))


def _in_order(records: Iterable[Record]) -> list[Record]:
    """In one order for all runs, so that none of two waits for the other."""
    order = list(TABLES.values())
    return sorted(records, key=lambda record: (order.index(type(record)), record.key))


def _wins(record: Record, own: Mapping[str, Status]) -> bool:
    known = own.get(record.key)
    return known is None or (known is not Status.DONE and record.done)


def make_folder(folder: Path, *, keep: bool = True) -> None:
    """Make sure a results folder can be written; StoreError if not.

    With ``keep`` false, what had to be made to find out is taken away again.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if not keep:
            for path in missing:
                path.rmdir()
    except OSError as error:
        raise StoreError(
            f"The results folder {folder} cannot be written: {error.strerror}.",
            "Name another with --results DIR.",
        ) from None


def _dumps(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


@contextmanager
def translate_database_errors(problem: str) -> Iterator[None]:
    """Turn what a database raises into one clear error."""
    try:
        yield
    except sa.exc.SQLAlchemyError as error:
        damaged = re.search("malformed|not a database", str(error)) is not None
        hint = _DAMAGED if damaged else _CHECK
        raise StoreError(f"{problem}: {_short(error)}.", hint) from error
    # What is in a column is not of its kind: JSON that is cut off, an unknown status.
    except ValueError as error:
        raise StoreError(f"{problem}: a value in it is garbled ({_short(error)}).", _DAMAGED) from (
            error
        )


def _shown(url: str | sa.URL) -> str:
    """The URL without its password."""
    try:
        return sa.engine.make_url(url).render_as_string()
    except (sa.exc.SQLAlchemyError, ValueError):
        return repr(url)


def _short(error: BaseException) -> str:
    cause = getattr(error, "orig", None) or error
    return str(cause).splitlines()[0].rstrip(".")


def _set_pragmas(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA busy_timeout=30000")
    for left in reversed(range(_TRIES)):
        # Switching a new file to WAL does not wait as busy_timeout says: while another run
        # creates its tables, SQLite refuses at once (so as not to wait for each other).
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            if not left or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            time.sleep(_PAUSE)
    cursor.close()
