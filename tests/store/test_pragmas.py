"""How the file of a store is kept: whole, whatever ends a process, and without waiting."""

from pathlib import Path

import sqlalchemy as sa

from fairbench.store.database import Store


def test_a_store_writes_ahead_and_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    with Store.in_folder(tmp_path).engine.connect() as connection:
        mode = connection.execute(sa.text("PRAGMA journal_mode")).scalar()
        synchronous = connection.execute(sa.text("PRAGMA synchronous")).scalar()
    assert (mode, synchronous) == ("wal", 1)
