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
from typing import Any

import sqlalchemy as sa

from fairbench.errors import StoreError
from fairbench.store.export import read_export
from fairbench.store.status import Status

SCHEMA_VERSION = 3
"""Raised when tables change: older stores are brought up to date, newer ones are refused."""

metadata = sa.MetaData()

_meta = sa.Table(
    "meta",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("started", sa.String(40), nullable=False),
    sa.Column("command", sa.Text, nullable=False),
    sa.Column("config", sa.JSON, nullable=False),
    sa.Column("versions", sa.JSON, nullable=False),
)

units = sa.Table(
    "units",
    metadata,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("run", sa.String(64)),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("traceback", sa.Text),
    sa.Column("method", sa.String(128), nullable=False, index=True),
    sa.Column("dataset", sa.String(128), nullable=False, index=True),
    sa.Column("seed", sa.Integer, nullable=False),
    sa.Column("point", sa.Text),
    sa.Column("track", sa.String(32), nullable=False),
    sa.Column("tags", sa.JSON, nullable=False),
    sa.Column("params", sa.JSON, nullable=False),
    sa.Column("params_label", sa.Text, nullable=False),
    sa.Column("plugin", sa.Text, nullable=False),
    sa.Column("budget", sa.String(32), nullable=False),
    sa.Column("iterations", sa.Integer, nullable=False),
    sa.Column("curve_points", sa.Integer),
    sa.Column("data_source", sa.String(16), nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.Column("protocol", sa.Integer, nullable=False),
    sa.Column("code", sa.String(16), nullable=False),
    sa.Column("packing", sa.JSON),
    sa.Column("read_points", sa.JSON),
    sa.Column("costs", sa.JSON),
    sa.Column("hardware", sa.JSON),
    sa.Column("versions", sa.JSON),
    sa.Column("artefact", sa.String(128)),
    sa.Column("finished", sa.String(40)),
    sa.Column("encoder", sa.String(128)),
)

points = sa.Table(
    "points",
    metadata,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("unit", sa.String(64), nullable=False, index=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("traceback", sa.Text),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("knobs", sa.JSON, nullable=False),
    sa.Column("audit", sa.String(16), nullable=False),
    sa.Column("audit_config", sa.JSON, nullable=False),
    sa.Column("values", sa.JSON),
    sa.Column("auditors", sa.JSON),
    sa.Column("seconds", sa.Float),
    sa.Column("finished", sa.String(40)),
    sa.Column("audit_version", sa.Integer),
    sa.Column("replicates", sa.Text),
)

references = sa.Table(
    "references",
    metadata,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("traceback", sa.Text),
    sa.Column("dataset", sa.String(128), nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False, index=True),
    sa.Column("protocol", sa.Integer, nullable=False),
    sa.Column("seed", sa.Integer, nullable=False),
    sa.Column("audit", sa.String(16), nullable=False),
    sa.Column("values", sa.JSON),
    sa.Column("seconds", sa.Float),
    sa.Column("finished", sa.String(40)),
    sa.Column("audit_version", sa.Integer),
    sa.Column("replicates", sa.Text),
)

RECORDS = {"units": units, "points": points, "references": references}
"""Tables that are exported and merged."""

ADDED: Mapping[int, Mapping[str, Sequence[str]]] = {
    2: {"points": ("audit_version", "replicates"), "references": ("audit_version", "replicates")},
    3: {"units": ("encoder",)},
}
"""Columns that came with a schema version, by table; rows from before have none of them."""

TRIAL = "trial-"
"""Start of ``units.run`` for what only trials of a search have asked for.

Leaderboards leave such units out: a table of all trials would be a table to choose from by test
figures. A run that asks for one of them makes it its own.
"""

_TRIES, _PAUSE = 100, 0.05
"""Attempts, and seconds between them, to set up a store that others set up too."""

_CANNOT_WRITE = "The store cannot be written"
_CANNOT_READ = "The store cannot be read"

_CHECK = "Check disk space and permissions, or that the server runs; the same command resumes."
_DAMAGED = (
    "Move the file away (and those beside it that end in -wal and -shm): the same command computes "
    "everything again. What was exported comes back with fairbench results import."
)

Row = dict[str, Any]


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
        with told(f"The store {_shown(url)} cannot be opened"):
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

    def _upgrade(self, found: int) -> None:
        """Add the columns that later schemas brought; several processes may do so at once."""
        for version in range(found + 1, SCHEMA_VERSION + 1):
            for table, columns in ADDED[version].items():
                for column in columns:
                    self._add_column(RECORDS[table].c[column])
        with self.engine.begin() as connection:
            row = _meta.update().where(_meta.c.name == "schema")
            connection.execute(row.values(value=str(SCHEMA_VERSION)))

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

    def add_run(self, run: Row) -> None:
        """Remember how a run was started."""
        with told(_CANNOT_WRITE), self.engine.begin() as connection:
            connection.execute(runs.insert().values(**run))

    def put(self, table: str, rows: Iterable[Row]) -> None:
        """Insert rows, or replace those with the same key, all in one transaction."""
        self.put_all({table: list(rows)})

    def put_all(self, tables: Mapping[str, Sequence[Row]]) -> None:
        """The same for several tables, still in one transaction."""
        with told(_CANNOT_WRITE), self.engine.begin() as connection:
            for name, rows in tables.items():
                target = RECORDS[name]
                # In one order for all runs, so that none of two waits for the other.
                for row in sorted(rows, key=lambda row: row["key"]):
                    insert = self.insert(target).values(**row)
                    rest = {name: insert.excluded[name] for name in row if name != "key"}
                    connection.execute(
                        insert.on_conflict_do_update(index_elements=["key"], set_=rest)
                    )

    def add(self, table: str, rows: Iterable[Row]) -> None:
        """Insert rows whose key is not there yet, and leave the others as they are."""
        target = RECORDS[table]
        with told(_CANNOT_WRITE), self.engine.begin() as connection:
            for row in sorted(rows, key=lambda row: row["key"]):
                insert = self.insert(target).values(**row)
                connection.execute(insert.on_conflict_do_nothing())

    def adopt(self, keys: Sequence[str], run: str) -> None:
        """Give units that only a search has asked for to a run; nothing else of them changes."""
        trials = units.c.key.in_(keys) & units.c.run.startswith(TRIAL)
        with told(_CANNOT_WRITE), self.engine.begin() as connection:
            connection.execute(units.update().where(trials).values(run=run))

    def insert(self, target: sa.Table) -> Any:
        """``INSERT`` with ``ON CONFLICT``: two runs may write a row at the same moment."""
        from sqlalchemy.dialects import postgresql, sqlite

        known = postgresql if self.engine.dialect.name == "postgresql" else sqlite
        return known.insert(target)

    def rows(self, table: str, **equal: object) -> list[Row]:
        """All rows of a table whose columns equal what is given, by key."""
        target = RECORDS[table]
        query = sa.select(target).order_by(target.c.key)
        for column, value in equal.items():
            query = query.where(target.c[column] == value)
        with told(_CANNOT_READ), self.engine.connect() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def runs(self) -> list[Row]:
        """How runs were started, by id."""
        with told(_CANNOT_READ), self.engine.connect() as connection:
            found = connection.execute(sa.select(runs).order_by(runs.c.id)).mappings()
            return [dict(row) for row in found]

    def find(self, table: str, keys: Sequence[str]) -> dict[str, Row]:
        """Rows by key, of those keys that are there."""
        target = RECORDS[table]
        query = sa.select(target).where(target.c.key.in_(keys))
        with told(_CANNOT_READ), self.engine.connect() as connection:
            return {row["key"]: dict(row) for row in connection.execute(query).mappings()}

    def statuses(self, table: str) -> dict[str, Status]:
        """Status of every row by key."""
        target = RECORDS[table]
        with told(_CANNOT_READ), self.engine.connect() as connection:
            found = connection.execute(sa.select(target.c.key, target.c.status))
            return {key: Status(status) for key, status in found}

    def export(self) -> Iterator[str]:
        """Every ended row as a line of JSON, in a stable order: text that can be committed."""
        yield _dumps({"fairbench_export": SCHEMA_VERSION})
        for name in RECORDS:
            for row in self.rows(name):
                if Status(row["status"]) not in (Status.PENDING, Status.RUNNING):
                    yield _dumps({"table": name, **row})

    def merge(self, incoming: Mapping[str, Sequence[Row]]) -> dict[str, int]:
        """Merge rows by key: DONE rows win over others; the rest is left as it is.

        Points come with their unit: those of a model that was trained here and read elsewhere
        otherwise are left out. Returns the number of rows taken by table.
        """
        chosen = {}
        for name, rows in incoming.items():
            have = self.statuses(name)
            chosen[name] = [row for row in rows if _wins(row, have)]
        ours = {row["key"]: row for row in self.rows("units")}
        ours |= {row["key"]: row for row in chosen["units"]}
        chosen["points"] = [row for row in chosen["points"] if belongs(row, ours.get(row["unit"]))]
        self.put_all(chosen)
        return {name: len(rows) for name, rows in chosen.items()}


def parse_export(lines: Iterable[str]) -> dict[str, list[Row]]:
    """Exported lines as rows by table; StoreError if a line cannot be read."""
    return read_export(lines, RECORDS, SCHEMA_VERSION, ADDED)


def of_a_trial(unit: Row) -> bool:
    """Whether nothing but a search has asked for this unit so far."""
    return str(unit["run"]).startswith(TRIAL)


def belongs(point: Row, unit: Row | None) -> bool:
    """Whether a point is one of those that a unit's model was read at."""
    return unit is not None and any(p["label"] == point["label"] for p in unit["read_points"] or ())


def _wins(row: Row, have: Mapping[str, Status]) -> bool:
    known = have.get(row["key"])
    return known is None or (known is not Status.DONE and row["status"] == Status.DONE)


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
def told(problem: str) -> Iterator[None]:
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
