"""Transactions on a results database, which may be away for a while, or be taken away."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from fairbench.errors import StoreError

PATIENCE = 90.0
"""Seconds for which a database that is locked, or has gone away, is asked again."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0

_AGAIN = ("08", "57P01", "57P02", "57P03", "40001", "40P01")
"""How SQLSTATEs begin: connection failures; servers that shut down, crash or start up; transactions
that gave way to another."""

T = TypeVar("T")


class Transactions:
    """Runs transactions on a database that was reached before.

    An SQLite file must stay the one it was.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        name = engine.url.database if engine.dialect.name == "sqlite" else None
        self._file = None if name in (None, "", ":memory:") else Path(name)
        self._identity = self._identify()

    def run(self, work: Callable[[sa.Connection], T], *, patience: float = PATIENCE) -> T:
        """Return what ``work`` returns, in one transaction.

        A server that does not answer, and a file that another program has locked, are asked again
        for ``patience`` seconds. ``work`` must be idempotent, since a server may have gone away
        after it had committed. Raises StoreError where an SQLite file was deleted or replaced: what
        is written to it from then on would be lost.
        """
        until, pause = None, _FIRST_PAUSE
        while True:
            self._check_file()
            try:
                with self.engine.begin() as connection:
                    return work(connection)
            except sa.exc.DBAPIError as error:
                if not patience or not self._may_pass(error):
                    raise
                if until is None:
                    until = time.monotonic() + patience
                    logging.getLogger(__name__).warning(
                        "The database is busy or does not answer. Trying again for %.0f s.",
                        patience,
                    )
                if time.monotonic() + pause > until:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _identify(self) -> tuple[int, int] | None:
        """Device and inode of an SQLite file; None where there is none."""
        try:
            found = self._file.stat() if self._file is not None else None
        except OSError:
            return None
        return None if found is None else (found.st_dev, found.st_ino)

    def _check_file(self) -> None:
        if self._file is None or self._identify() == self._identity:
            return
        what = "replaced by another" if self._identify() else "deleted or moved"
        raise StoreError(
            f"The results database {self._file} was {what} while this command used it.",
            "What it held is lost, unless you moved it: then put it back. The same command "
            "computes what is missing.",
        )

    def _may_pass(self, error: sa.exc.DBAPIError) -> bool:
        """Whether the file is locked, or the server away, or another transaction came first."""
        if self.engine.dialect.name == "sqlite":
            code = getattr(error.orig, "sqlite_errorcode", 0)
            return bool(code & 0xFF == sqlite3.SQLITE_BUSY)
        state = getattr(error.orig, "sqlstate", None)
        if state is not None:
            return str(state).startswith(_AGAIN)
        return error.connection_invalidated or isinstance(error, sa.exc.OperationalError)
