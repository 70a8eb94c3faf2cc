"""A database that is away for a while is waited for; one that is taken away ends the command."""

import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from fairbench.errors import StoreError
from fairbench.store import transactions
from fairbench.store.database import Store
from fairbench.store.records import RunRecord, UnitRecord
from fairbench.store.transactions import Transactions
from tests.support.postgres import postgres_server

RUN = RunRecord("a", "2026", "fairbench run", {}, {})


def test_a_file_that_is_deleted_is_neither_written_nor_read(tmp_path: Path) -> None:
    store = Store.in_folder(tmp_path / "results")
    (tmp_path / "results" / "fairbench.sqlite").unlink()
    with pytest.raises(StoreError, match="was deleted or moved while this command used it"):
        store.add_run(RUN)
    with pytest.raises(StoreError, match="put it back"):
        store.records(UnitRecord)


def test_nor_is_one_that_took_its_place(tmp_path: Path) -> None:
    store = Store.in_folder(tmp_path / "results")
    (tmp_path / "results").rename(tmp_path / "aside")
    other = Store.in_folder(tmp_path / "results")
    with pytest.raises(StoreError, match="was replaced by another"):
        store.add_run(RUN)
    assert other.runs() == []
    (tmp_path / "results").rename(tmp_path / "other")
    (tmp_path / "aside").rename(tmp_path / "results")
    store.add_run(RUN)
    assert store.runs() == [RUN]


def test_a_server_that_restarts_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    with postgres_server() as server:
        store = Store.by_url(server.url)
        server.stop()
        writer = threading.Thread(target=store.add_run, args=(RUN,))
        writer.start()
        time.sleep(1.0)
        server.start()  # here: it would end with the thread that started it
        writer.join()
        assert store.runs() == [RUN]
    assert [record.message for record in caplog.records] == [
        "The database does not answer. Trying again for 90 s."
    ]


def test_but_not_for_ever() -> None:
    with postgres_server() as server:
        store = Store.by_url(server.url)
        server.stop()
        with pytest.raises(sa.exc.OperationalError):
            store.transactions.run(lambda c: c.execute(sa.text("SELECT 1")), patience=0.5)
        server.start()


def test_what_is_wrong_in_a_statement_is_not_tried_again(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions.time, "sleep", lambda _: pytest.fail("tried again"))
    made = Transactions(Store.by_url(store_url).engine)
    with pytest.raises(sa.exc.DBAPIError):
        made.run(lambda connection: connection.execute(sa.text("SELECT * FROM nowhere")))
