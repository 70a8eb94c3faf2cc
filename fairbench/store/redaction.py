"""Taking passwords out of a store that was written before they were left out."""

from __future__ import annotations

import sqlalchemy as sa

from fairbench.store.database import Store
from fairbench.store.problems import translate_database_errors
from fairbench.store.records import TABLES, RunRecord, from_row, to_row
from fairbench.store.schema import RUNS, TABLE_OF
from fairbench.store.secrets import redact_text

_TEXTS = ("error", "traceback")


def redact_store(store: Store) -> int:
    """Redact the URLs in all commands, configurations and errors; return how many rows changed.

    An SQLite file is rewritten, so that they are not left in its unused parts.
    """
    changed = 0
    with translate_database_errors("The store cannot be written"):
        with store.engine.begin() as connection:
            for row in connection.execute(sa.select(RUNS)).mappings().all():
                run = from_row(RunRecord, dict(row))
                if (redacted := run.redacted) != run:
                    mine = RUNS.update().where(RUNS.c.id == run.id)
                    connection.execute(mine.values(**to_row(redacted)))
                    changed += 1
            for table in (TABLE_OF[kind] for kind in TABLES.values()):
                texts = [table.c[name] for name in _TEXTS]
                some = sa.or_(*(text.contains("://") for text in texts))
                found = connection.execute(sa.select(table.c.key, *texts).where(some)).mappings()
                for row in found.all():
                    new = {name: row[name] and redact_text(row[name]) for name in _TEXTS}
                    if any(new[name] != row[name] for name in _TEXTS):
                        mine = table.update().where(table.c.key == row["key"])
                        connection.execute(mine.values(**new))
                        changed += 1
        if changed and store.engine.dialect.name == "sqlite":
            with store.engine.connect().execution_options(
                isolation_level="AUTOCOMMIT"
            ) as connection:
                connection.execute(sa.text("VACUUM"))
                connection.execute(sa.text("PRAGMA wal_checkpoint(TRUNCATE)"))
    return changed
