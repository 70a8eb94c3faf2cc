"""The tables of a store: making them, and bringing older ones up to date."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import sqlalchemy as sa

from fairbench.errors import StoreError
from fairbench.store.earlier import ADDED, present_row
from fairbench.store.problems import DAMAGED
from fairbench.store.records import TABLES, Record, RunRecord, make_table

SCHEMA_VERSION = 8
"""Raised when tables change: older stores are brought up to date, newer ones are refused."""

_metadata = sa.MetaData()

_meta = sa.Table(
    "meta",
    _metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

RUNS = make_table("runs", RunRecord, _metadata)

TABLE_OF: dict[type[Record], sa.Table] = {
    kind: make_table(name, kind, _metadata) for name, kind in TABLES.items()
}

_NAMED = 3
"""Tables of another database that a message names."""

_TRIES, _PAUSE = 100, 0.05
"""Attempts, and seconds between them, to set up a store that others set up too."""


def open_schema(engine: sa.Engine, *, read_only: bool = False) -> None:
    """Make the tables of an empty database, or bring older ones up to date.

    Several processes may do so at once. Raises StoreError where the database is damaged, is of
    something else, was written by a newer fairbench, or is an older one and ``read_only``.
    """
    _check(engine)
    if read_only and _version(engine) in (None, *map(str, range(SCHEMA_VERSION))):
        raise StoreError(
            "The store was written by an older fairbench, and cannot be brought up to date: it "
            "cannot be written.",
            "Copy the results folder to where you can write, and name the copy with --results DIR.",
        )
    _retry(lambda: _create(engine))
    version = _version(engine) or ""
    while version.isdigit() and int(version) < SCHEMA_VERSION:
        _retry(partial(_upgrade, engine, int(version)))
        version = _version(engine) or ""
    if not version.isdigit() or int(version) > SCHEMA_VERSION:
        raise StoreError(
            f"The store was written by a newer fairbench (schema {version}; this one reads up "
            f"to {SCHEMA_VERSION}).",
            "Upgrade fairbench, or name another folder with --results DIR.",
        )


def _retry(change: Callable[[], None]) -> None:
    """Try again where another process makes the same change at the same moment."""
    for left in reversed(range(_TRIES)):
        try:
            return change()
        except (sa.exc.OperationalError, sa.exc.IntegrityError, sa.exc.ProgrammingError):
            if not left:
                raise
            time.sleep(_PAUSE)


def _check(engine: sa.Engine) -> None:
    """Refuse a server that does not answer, and a damaged file: of it, nothing can be trusted."""
    with engine.connect() as connection:
        if engine.dialect.name != "sqlite":
            return
        answer = connection.execute(sa.text("PRAGMA quick_check(1)")).scalar()
    if answer != "ok":
        what = str(answer).splitlines()[-1].rstrip(".")
        raise StoreError(f"The store is damaged: {what}.", DAMAGED)


def _version(engine: sa.Engine) -> str | None:
    """The schema version in the store; None for one that is empty."""
    if not sa.inspect(engine).has_table("meta"):
        return None
    with engine.connect() as connection:
        query = sa.select(_meta.c.value).where(_meta.c.name == "schema")
        version: str | None = connection.execute(query).scalar()
        return version


def _create(engine: sa.Engine) -> None:
    """Make the tables; the version number comes last, and says that all are there."""
    if _version(engine) is None:
        _refuse_foreign(engine)
        with engine.begin() as connection:
            _metadata.create_all(connection)
            connection.execute(_meta.insert().values(name="schema", value=str(SCHEMA_VERSION)))


def _refuse_foreign(engine: sa.Engine) -> None:
    """Refuse a file that holds the tables of something else; a server's schema may be shared."""
    seen = sa.inspect(engine)
    there = set(seen.get_table_names())
    own = {
        name
        for name in there & set(_metadata.tables)
        if {c.name for c in _metadata.tables[name].c} <= {c["name"] for c in seen.get_columns(name)}
    }
    if engine.dialect.name == "sqlite" and there and not own:
        raise StoreError(
            f"{engine.url.database} is no store of fairbench: it holds the tables "
            f"{', '.join(sorted(there)[:_NAMED])}.",
            "Name another folder with --results DIR.",
        )


def _upgrade(engine: sa.Engine, version: int) -> None:
    """Bring a store of a version up to date, unless another process has done so by now."""
    for later in range(version + 1, SCHEMA_VERSION + 1):
        for name, columns in ADDED.get(later, {}).items():
            for column in columns:
                _add_column(engine, TABLE_OF[TABLES[name]].c[column])
    schema = _meta.update().where(_meta.c.name == "schema", _meta.c.value == str(version))
    with engine.begin() as connection:
        # First, as it locks: of two processes one waits here, and then finds no such version.
        if not connection.execute(schema.values(value=str(SCHEMA_VERSION))).rowcount:
            return
        for name, kind in TABLES.items():
            table = TABLE_OF[kind]
            for row in connection.execute(sa.select(table)).mappings().all():
                present = present_row(name, dict(row), version)
                changed = {
                    column: value for column, value in present.items() if value != row[column]
                }
                if changed:
                    own = table.update().where(table.c.key == row["key"])
                    connection.execute(own.values(**changed))


def _add_column(engine: sa.Engine, column: sa.Column[Any]) -> None:
    def exists() -> bool:
        known = sa.inspect(engine).get_columns(column.table.name)
        return any(c["name"] == column.name for c in known)

    if exists():
        return
    quote = engine.dialect.identifier_preparer.quote
    kind = column.type.compile(engine.dialect)
    statement = f"ALTER TABLE {quote(column.table.name)} ADD COLUMN {column.name} {kind}"
    try:
        with engine.begin() as connection:
            connection.execute(sa.text(statement))
    except sa.exc.DatabaseError:
        if not exists():  # else another process was faster
            raise


def set_pragmas(connection: Any, _: object) -> None:
    """Prepare a connection to an SQLite file that several processes share."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA busy_timeout=30000")
    for left in reversed(range(_TRIES)):
        # Switching a new file to WAL does not wait as busy_timeout says: while another run
        # creates its tables, SQLite refuses at once (so as not to wait for each other).
        try:
            (mode,) = cursor.execute("PRAGMA journal_mode=WAL").fetchone()
            break
        except sqlite3.OperationalError as error:
            if not left or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            time.sleep(_PAUSE)
    if mode == "wal":
        # Without waiting for the disk at every commit, which took half of a search's own time. A
        # process that is killed loses nothing; a machine that loses power the last seconds, which
        # are computed again. The file stays whole: https://sqlite.org/pragma.html#pragma_synchronous
        cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()
