"""Which run does which job, where several share a store: claims with heartbeats.

A run claims the keys of a job before it starts it, in one transaction: all of them or none. While
it lives it renews its claims; those of a run that died are taken over by whoever wants them.
"""

from __future__ import annotations

import contextlib
import os
import platform
import threading
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Self

import sqlalchemy as sa

from fairbench.errors import StoreError
from fairbench.store.database import Store
from fairbench.store.problems import translate_database_errors
from fairbench.store.transactions import PATIENCE

HEARTBEAT = 10.0
"""Seconds between signs of life."""

STALE = 90.0
"""Seconds without a sign of life after which another run may take a claim.

It stays taken while its process still exists on this machine, stopped (Ctrl-Z) or unable to write.
On another machine that slept (a closed laptop) a run may find its job done by another: the same
figures twice. Signs of life that lie further in the future are ignored: a clock was wrong.
"""

_SLACK = 5.0
"""Seconds by which the age of a process and that of its last sign may be wrong."""

FORGOTTEN = 86_400.0
"""Seconds without a sign of life after which a claim is deleted, even if no run asks for it: a day.

A laptop that merely slept is awake again by then. A claim stays while its process still exists on
this machine.
"""

_metadata = sa.MetaData()

_claims = sa.Table(
    "claims",
    _metadata,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("owner", sa.String(64), nullable=False, index=True),
    sa.Column("host", sa.String(256), nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("heartbeat", sa.Float, nullable=False),
)
"""Of no schema version: it holds nothing that outlives a run, and appears where it is missing."""

_LONGEST_MACHINE = 200
"""Characters of a host that name the machine; those of a file come after them."""

_CANNOT = "Claims on jobs cannot be written to the store"


class Claims:
    """The claims of one run; a context manager that renews them, and gives them up at the end.

    ``owner`` is the run's id; for the others, seconds, see HEARTBEAT and STALE.
    """

    def __init__(
        self, store: Store, owner: str, *, heartbeat: float = HEARTBEAT, stale: float = STALE
    ) -> None:
        self.owner, self.heartbeat, self.stale = owner, heartbeat, stale
        self._store, self._transactions = store, store.transactions
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        with translate_database_errors("The store cannot be opened"):
            self._has_table = self._make_table()
            self._host = "/".join([_machine(), *_file_identity(store)])

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._beat, name="claims", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        # A store that can no longer be written: the claims grow stale by themselves.
        with contextlib.suppress(StoreError):
            self.release(patience=0)

    def take(self, keys: Sequence[str]) -> bool:
        """Claim all of ``keys``; False, and nothing claimed, where another run holds one."""
        mine = {"owner": self.owner, "host": self._host, "pid": os.getpid()}
        insert = self._store.insert(_claims).values(**mine, heartbeat=self._clock())
        wanted = _claims.c.key.in_(keys)
        forgotten = _claims.c.heartbeat < self._clock() - FORGOTTEN

        def claim(connection: sa.Connection) -> bool:
            silent = forgotten | (wanted & ~self._beats())
            expired = silent & _claims.c.owner.not_in([self.owner, *there])
            free = wanted & (_claims.c.owner.in_(dead) | (_claims.c.owner == self.owner))
            connection.execute(_claims.delete().where(expired | free))
            # In one order for all runs, so that none of two waits for the other.
            for key in sorted(set(keys)):
                added = insert.values(key=key).on_conflict_do_nothing()
                if connection.execute(added.returning(_claims.c.key)).first() is None:
                    connection.rollback()
                    return False
            return True

        with translate_database_errors(_CANNOT):
            # Nobody need wait for the silence of a process of this machine that is gone.
            others = self._rows_of_others(wanted | forgotten)
            if any(self._lives(row) for row in others if row["key"] in keys):
                return False
            dead = [row["owner"] for row in others if self._is_dead(row)]
            there = [row["owner"] for row in others if self._is_there(row)]
            return self._transactions.run(claim)

    def release(self, keys: Sequence[str] | None = None, *, patience: float = PATIENCE) -> None:
        """Give up claims of this run: on ``keys``, or all."""
        mine = _claims.delete().where(_claims.c.owner == self.owner)
        if keys is not None:
            mine = mine.where(_claims.c.key.in_(keys))
        with translate_database_errors(_CANNOT):
            self._transactions.run(lambda connection: connection.execute(mine), patience=patience)

    def holder(self, keys: Sequence[str]) -> str | None:
        """Who holds one of ``keys``, in words; None where nobody else does."""
        for row in self._rows_of_others(_claims.c.key.in_(keys)):
            return _in_words(row)
        return None

    def held_by_others(self) -> frozenset[str]:
        """Keys that other living runs hold."""
        rows = self._rows_of_others()
        # A run has hundreds of claims, and lives or does not.
        newest = {row["owner"]: row for row in sorted(rows, key=lambda row: row["heartbeat"])}
        living = {owner for owner, row in newest.items() if self._lives(row)}
        return frozenset(row["key"] for row in rows if row["owner"] in living)

    def living_holder(self) -> str | None:
        """A living run that holds any key, in words; None where there is none."""
        return next((_in_words(row) for row in self._living()), None)

    def held(self) -> frozenset[str]:
        """Keys that a living run holds."""
        return frozenset(row["key"] for row in self._living())

    def _living(self) -> list[sa.RowMapping]:
        return [row for row in self._select() if self._lives(row)]

    def _rows_of_others(self, *where: sa.ColumnElement[bool]) -> Sequence[sa.RowMapping]:
        return self._select(_claims.c.owner != self.owner, *where)

    def _lives(self, claim: sa.RowMapping) -> bool:
        return self._is_there(claim) or (bool(claim["beats"]) and not self._is_dead(claim))

    def _is_there(self, claim: sa.RowMapping) -> bool:
        """Whether the process that holds a claim is of this machine and has not ended."""
        return self._is_here(claim) and not _is_gone(claim["pid"], claim["age"])

    def _is_dead(self, claim: sa.RowMapping) -> bool:
        """Whether the process that holds a claim was of this machine and is gone."""
        return self._is_here(claim) and _is_gone(claim["pid"], claim["age"])

    def _is_here(self, claim: sa.RowMapping) -> bool:
        """Whether a claim was made on this machine, in this database and no copy of it."""
        # Earlier versions told the machine alone.
        return claim["host"] in (self._host, _machine())

    def _beats(self) -> sa.ColumnElement[bool]:
        """Whether the last sign of life is of now, or nearly."""
        now = self._clock()
        return _claims.c.heartbeat.between(now - self.stale, now + self.stale)

    def _select(self, *where: sa.ColumnElement[bool]) -> Sequence[sa.RowMapping]:
        if not self._has_table:
            return []
        age = (self._clock() - _claims.c.heartbeat).label("age")
        query = sa.select(_claims, age, self._beats().label("beats")).where(*where)
        with translate_database_errors(_CANNOT):
            return self._transactions.run(
                lambda connection: connection.execute(query).mappings().all()
            )

    def _beat(self) -> None:
        mine = _claims.update().where(_claims.c.owner == self.owner)
        renew = mine.values(heartbeat=self._clock())
        while not self._ended.wait(self.heartbeat):
            # A disk that is full for a moment: the next beat may get through.
            with contextlib.suppress(sa.exc.SQLAlchemyError, StoreError):
                self._transactions.run(lambda connection: connection.execute(renew), patience=0)

    def _clock(self) -> sa.ColumnElement[float]:
        """The database's time in seconds: the machines of two runs need not agree on theirs."""
        if self._store.engine.dialect.name == "postgresql":
            return sa.literal_column("extract(epoch from clock_timestamp())", sa.Float())
        return sa.literal_column("(julianday('now') - 2440587.5) * 86400.0", sa.Float())

    def _make_table(self) -> bool:
        """Make sure that there is a table; False where there is none and none can be made."""
        engine = self._store.engine
        if sa.inspect(engine).has_table(_claims.name):
            return True
        if self._store.read_only:
            return False
        try:
            _metadata.create_all(engine)
        except sa.exc.DatabaseError:
            if not sa.inspect(engine).has_table(_claims.name):  # else another was faster
                raise
        return True


@cache
def _machine() -> str:
    """This machine since it was booted, and the space its process ids are of.

    Two containers may share a name; a process of the other must not look dead.
    """
    parts = [platform.node() or "unknown"]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            link = Path(path)
            parts.append(os.readlink(link) if link.is_symlink() else link.read_text().strip())
        except OSError:
            continue
    return "/".join(parts)[:_LONGEST_MACHINE]


def _file_identity(store: Store) -> list[str]:
    """Device and number of an SQLite file; nothing of a database that is no file here.

    A copied folder holds claims of a process that lives, and that will never renew them there.
    """
    if store.engine.dialect.name != "sqlite":
        return []
    with store.engine.connect() as connection:
        (main,) = (
            row.file
            for row in connection.execute(sa.text("PRAGMA database_list"))
            if row.name == "main"
        )
    try:
        status = os.stat(main)
    except OSError:  # it is in memory
        return []
    return [f"{status.st_dev}:{status.st_ino}"]


def _in_words(claim: sa.RowMapping) -> str:
    return f"process {claim['pid']} on {claim['host'].split('/')[0]}"


def _is_gone(pid: int, silent: float) -> bool:
    """Whether a process has ended that gave a sign so many seconds ago.

    One that has ended keeps its number until its parent asks after it, which may be never. Another
    may have its number since, as in a container that was started again: it is younger.
    """
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return True
        age = time.time() - process.create_time()
    except psutil.NoSuchProcess:
        return True
    except (psutil.Error, OSError):  # it is there, and another user's
        return False
    return age < silent - _SLACK
