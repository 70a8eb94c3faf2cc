"""The results database: units, points and references, through SQLAlchemy; only the driver writes.

A *unit* is what one model was trained for; a *point* is one audited representation of it; a
*reference* is what a dataset's curves are normalised by. Rows are keyed by content, so a rerun
finds what it has, and two stores merge without a clash. Representations are files beside it.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from fairbench.errors import StoreError
from fairbench.files import size_of
from fairbench.store.merging import (
    Wins,
    may_import_point,
    replaced_models,
    should_take,
    should_take_sql,
)
from fairbench.store.problems import (
    first_line,
    show_url,
    translate_database_errors,
    translate_row_errors,
)
from fairbench.store.read_only import connect, is_read_only
from fairbench.store.records import (
    TABLES,
    TRIAL,
    PointRecord,
    R,
    Record,
    RunRecord,
    UnitRecord,
    from_row,
    to_row,
)
from fairbench.store.schema import RUNS, SCHEMA_VERSION, TABLE_OF, open_schema, set_pragmas
from fairbench.store.status import Status
from fairbench.store.transactions import Transactions
from fairbench.store.urls import file_of

_CANNOT_WRITE = "The store cannot be written"
_CANNOT_READ = "The store cannot be read"
_FILE = "fairbench.sqlite"
_ENOUGH_TO_ESTIMATE = 3
"""Points whose mean time says how long others will take."""

K = TypeVar("K", bound=Record)
Write = tuple[Any, list[dict[str, Any]] | None]
"""A statement, and the rows that it is executed for; None: it needs none."""


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


class Store:
    """The results database at a URL.

    A database that is ``read_only`` is an SQLite file, and nothing is written to it or beside it.
    """

    def __init__(self, url: str | sa.URL, *, read_only: bool = False) -> None:
        self.read_only = read_only
        options: dict[str, Any] = {}
        if read_only:
            path = Path(str(sa.engine.make_url(url).database))
            options["creator"] = lambda: connect(path)
        try:
            self.engine = sa.create_engine(url, json_serializer=_dumps_finite, **options)
        # An unknown dialect, a missing driver, a port that is no number.
        except (sa.exc.SQLAlchemyError, ImportError, ValueError) as error:
            raise StoreError(
                f"The store {show_url(url)} cannot be opened: {_what_is_wrong(error)}.",
                "Give a database URL that SQLAlchemy knows, like postgresql+psycopg://host/name "
                "and install its driver, for PostgreSQL: pip install 'psycopg[binary]'",
            ) from error
        if self.engine.dialect.name == "sqlite" and not read_only:
            sa.event.listen(self.engine, "connect", set_pragmas)
        with translate_database_errors(f"The store {show_url(url)} cannot be opened"):
            open_schema(self.engine, read_only=read_only)
        self.transactions = Transactions(self.engine)

    @classmethod
    def open_or_create(cls, url: str, *, create: bool = True) -> Store:
        """The store that ``--store`` names; StoreError for one that would store nothing.

        Without ``create``, an SQLite file that is not there is not made: the store is in memory.
        """
        file = file_of(url)
        return cls("sqlite://" if file and not create and not file.exists() else url)

    @classmethod
    def open_existing(cls, url: str) -> Store:
        """The store that is there at a URL; StoreError for an SQLite file that is not there."""
        file = file_of(url)
        if file is not None and not file.exists():
            raise StoreError(
                f"There is no store {show_url(url)}.",
                "Check the path: after sqlite:/// it is relative to this folder; an absolute one "
                "begins with a fourth /.",
            )
        return cls(url)

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Whether a results folder has a store; an empty file, as a full disk leaves, is none."""
        return size_of(folder / _FILE) > 0

    @classmethod
    def in_folder(cls, folder: Path, *, create: bool = True) -> Store:
        """The SQLite store of a results folder; StoreError if there is none and not ``create``.

        Without ``create`` it may be one that can only be read.
        """
        path = folder / _FILE
        if not create and not cls.is_in(folder):
            raise StoreError(
                f"There are no results in {folder}.",
                "Run something first (fairbench run --help) or name the folder with --results.",
            )
        if create:
            make_folder(folder)
        url = sa.URL.create("sqlite", database=str(path))
        return cls(url, read_only=not create and is_read_only(path))

    def add_run(self, run: RunRecord) -> None:
        """Remember a command that was given, without the passwords in it."""
        insert = self.insert(RUNS).values(**to_row(run.redacted)).on_conflict_do_nothing()
        with translate_database_errors(_CANNOT_WRITE):
            self.transactions.run(lambda connection: connection.execute(insert))

    def put(self, records: Iterable[Record], *, retrained: Collection[str] = ()) -> None:
        """Insert what was made here, or replace records of the same key, in one transaction.

        Of units that were ``retrained`` no earlier point stays: it was measured on another model.
        What is not DONE replaces nothing that is: another run, which took over, may have done it.
        Raises UnstorableError, and writes none, where the database does not take one of them.
        """
        self._put((record.replace(origin=None) for record in records), retrained)

    def _put(
        self,
        records: Iterable[Record],
        retrained: Collection[str] = (),
        *,
        wins: Wins | None = None,
        replaced: Collection[str] = (),
    ) -> None:
        points = TABLE_OF[PointRecord]

        def writes() -> Iterator[Write]:
            if retrained:
                yield points.delete().where(points.c.unit.in_(retrained)), None
            if replaced:  # no model keeps strangers' audits of theirs
                theirs = points.c.unit.in_(replaced) & points.c.origin.is_not(None)
                yield points.delete().where(theirs), None
            for table, rows in _rows_by_table(records):
                insert = self.insert(table)
                rest = {name: insert.excluded[name] for name in rows[0] if name != "key"}
                done = Status.DONE.value
                where = (insert.excluded.status == done) | (table.c.status != done)
                if wins is not None:
                    where = wins(table, insert.excluded)
                statement = insert.on_conflict_do_update(
                    index_elements=["key"], set_=rest, where=where
                )
                yield statement, rows

        self._write(writes())

    def add(self, records: Iterable[Record]) -> None:
        """Insert records whose key is not there yet, and leave the others as they are."""
        self._write(
            (self.insert(table).on_conflict_do_nothing(), rows)
            for table, rows in _rows_by_table(records)
        )

    def adopt(self, keys: Sequence[str], run: str) -> None:
        """Give units that only a search has trained to a run; nothing else of them changes."""
        self._update_units(keys, TABLE_OF[UnitRecord].c.run.startswith(TRIAL), run=run)

    def label(self, keys: Sequence[str], label: str) -> None:
        """Give units that were made here a label; nothing else of them changes."""
        self._update_units(keys, TABLE_OF[UnitRecord].c.origin.is_(None), label=label)

    def _update_units(
        self, keys: Sequence[str], which: sa.ColumnElement[bool], **values: str
    ) -> None:
        units = TABLE_OF[UnitRecord]
        update = units.update().where(units.c.key.in_(keys) & which).values(**values)
        with translate_database_errors(_CANNOT_WRITE):
            self.transactions.run(lambda connection: connection.execute(update))

    def insert(self, target: sa.Table) -> Any:
        """``INSERT`` with ``ON CONFLICT``: two runs may write a row at the same moment."""
        from sqlalchemy.dialects import postgresql, sqlite

        dialect = postgresql if self.engine.dialect.name == "postgresql" else sqlite
        return dialect.insert(target)

    def records(self, kind: type[K], **equal: object) -> list[K]:
        """Return all records of a kind whose fields equal what is given, by key."""
        target = TABLE_OF[kind]
        query = sa.select(target).order_by(target.c.key)
        for column, value in equal.items():
            query = query.where(target.c[column] == value)
        return self._select(kind, query)

    def find(self, kind: type[K], keys: Sequence[str]) -> dict[str, K]:
        """Return records by key, of those keys that are there."""
        target = TABLE_OF[kind]
        rows = self._select(kind, sa.select(target).where(target.c.key.in_(keys)))
        return {record.key: record for record in rows}

    def _select(self, kind: type[R], query: sa.Select[Any]) -> list[R]:
        with translate_database_errors(_CANNOT_READ):
            return [from_row(kind, dict(row._mapping)) for row in self._rows(query)]

    def _rows(self, query: sa.Select[Any]) -> Sequence[Any]:
        return self.transactions.run(lambda connection: connection.execute(query).all())

    def _write(self, writes: Iterable[Write]) -> None:
        """Execute in one transaction, each statement for all of its rows: others wait for it."""
        with translate_row_errors(_CANNOT_WRITE):
            ready = list(writes)
            self.transactions.run(
                lambda connection: [
                    connection.execute(statement, rows) for statement, rows in ready
                ]
            )

    def runs(self) -> list[RunRecord]:
        """Return the commands that were given, by id; older stores may hold their passwords."""
        return [run.redacted for run in self._select(RunRecord, sa.select(RUNS).order_by("id"))]

    def statuses(self, kind: type[Record]) -> dict[str, Status]:
        """Return the status of every record of a kind by key."""
        target = TABLE_OF[kind]
        with translate_database_errors(_CANNOT_READ):
            rows = self._rows(sa.select(target.c.key, target.c.status))
            return {key: Status(status) for key, status in rows}

    def mean_audit_seconds(
        self, fingerprint: str, audit: str, version: int, method: str | None = None
    ) -> float | None:
        """Return the mean seconds to audit a point of a dataset here; None: fewer than three.

        ``method``: of its points alone.
        """
        points, units = TABLE_OF[PointRecord], TABLE_OF[UnitRecord]
        query = (
            sa.select(sa.func.avg(points.c.seconds), sa.func.count())
            .join_from(points, units, points.c.unit == units.c.key)
            .where(units.c.fingerprint == fingerprint, points.c.origin.is_(None))
            .where(points.c.audit == audit, points.c.audit_version == version)
            .where(points.c.seconds.is_not(None))
        )
        if method is not None:
            query = query.where(units.c.method == method)
        with translate_database_errors(_CANNOT_READ):
            ((mean, count),) = self._rows(query)
            return float(mean) if count >= _ENOUGH_TO_ESTIMATE else None

    def export(self) -> Iterator[str]:
        """Yield every ended record as a line of JSON, in a stable order: text to be committed."""
        yield from lines_of([record for kind in TABLES.values() for record in self.records(kind)])

    def merge(
        self, incoming: Sequence[Record], origin: str | None = None, *, verified: bool = False
    ) -> dict[str, int]:
        """Merge records by key: DONE ones win over others, own and verified over imported ones.

        Points come with their unit: those of a model that was trained here and read elsewhere
        otherwise are left out. Returns the number of records taken by table.

        Parameters
        ----------
        origin : str, optional
            Where the records are from: it is stored with them, none replaces a record that was made
            here, and no point is taken of a model that was made here. None: they were made by this
            user, elsewhere or earlier, and keep the origins that they have.
        verified : bool
            Whether they were measured again here: then they take the place of imported ones.
        """
        if origin is not None:
            incoming = [record.replace(origin=origin) for record in incoming]
        chosen: list[Record] = []
        held = {kind: self._held(kind) for kind in TABLES.values()}
        for kind, known in held.items():
            of_kind = [record for record in incoming if type(record) is kind]
            chosen += [x for x in of_kind if should_take(x, known.get(x.key), verified=verified)]
        replaced = replaced_models(chosen, held[UnitRecord])
        units = {unit.key: unit for unit in self.records(UnitRecord)}
        units |= {unit.key: unit for unit in chosen if isinstance(unit, UnitRecord)}
        chosen = [
            record
            for record in chosen
            if not isinstance(record, PointRecord)
            or may_import_point(record, units.get(record.unit))
        ]
        # A run may have ended since they were chosen.
        self._put(chosen, wins=partial(should_take_sql, verified=verified), replaced=replaced)
        return {
            name: sum(type(record) is kind for record in chosen) for name, kind in TABLES.items()
        }

    def _held(self, kind: type[Record]) -> dict[str, tuple[Status, str | None]]:
        """Status and origin of every record of a kind, by key."""
        columns = TABLE_OF[kind].c
        with translate_database_errors(_CANNOT_READ):
            rows = self._rows(sa.select(columns.key, columns.status, columns.origin))
            return {key: (Status(status), origin) for key, status, origin in rows}

    def origins(self) -> dict[str, int]:
        """Return the number of imported records by where they are from."""
        counts: dict[str, int] = {}
        with translate_database_errors(_CANNOT_READ):
            for table in TABLE_OF.values():
                query = sa.select(table.c.origin, sa.func.count()).group_by(table.c.origin)
                for origin, count in self._rows(query):
                    if origin is not None:
                        counts[origin] = counts.get(origin, 0) + count
        return dict(sorted(counts.items()))

    def remove(self, origin: str) -> int:
        """Delete all records that were imported from somewhere; return their number."""
        deletes = [table.delete().where(table.c.origin == origin) for table in TABLE_OF.values()]
        with translate_database_errors(_CANNOT_WRITE):
            return self.transactions.run(
                lambda connection: sum(connection.execute(each).rowcount for each in deletes)
            )


def lines_of(records: Iterable[Record], header: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Yield the lines of an export; ``header``: what its first line says besides the version."""
    yield _dumps({"fairbench_export": SCHEMA_VERSION, **(header or {})})
    names = {kind: name for name, kind in TABLES.items()}
    for record in records:
        if record.status.ended:
            yield _dumps({"table": names[type(record)], **to_row(record)})


def _what_is_wrong(error: BaseException) -> str:
    # A port that is no number may be a password, where the host was forgotten.
    return "its port is no number" if isinstance(error, ValueError) else first_line(error)


def _in_order(records: Iterable[Record]) -> list[Record]:
    """In one order for all runs, so that none of two waits for the other."""
    order = list(TABLES.values())
    return sorted(records, key=lambda record: (order.index(type(record)), record.key))


def _rows_by_table(records: Iterable[Record]) -> Iterator[tuple[sa.Table, list[dict[str, Any]]]]:
    for kind, alike in itertools.groupby(_in_order(records), key=type):
        yield TABLE_OF[kind], [to_row(record) for record in alike]


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


def _dumps_finite(value: Any) -> str:
    """As databases take it; ValueError for what is no number, which is no JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _dumps(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
