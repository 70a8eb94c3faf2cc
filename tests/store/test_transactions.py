"""A database that is away for a while is waited for; one that is taken away ends the command."""

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from fairbench.errors import StoreError
from fairbench.store import transactions
from fairbench.store.database import Store
from fairbench.store.records import Record, RunRecord, UnitRecord
from fairbench.store.status import Status
from fairbench.store.transactions import Transactions
from tests.support.exports import a_unit
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
        store = Store.open_or_create(server.url)
        server.stop()
        writer = threading.Thread(target=store.add_run, args=(RUN,))
        writer.start()
        until = time.monotonic() + 60
        while not caplog.records and time.monotonic() < until:
            time.sleep(0.05)
        server.start()  # here: it would end with the thread that started it
        writer.join()
        assert store.runs() == [RUN]
    assert [record.message for record in caplog.records] == [
        "The database is busy or does not answer. Trying again for 90 s."
    ]


def locked(path: Path) -> sqlite3.Connection:
    """A lock of another program on a file, as of a backup."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    return other


def impatient(connection: Any, _: object) -> None:
    connection.execute("PRAGMA busy_timeout=100")


def test_a_file_that_another_program_has_locked_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.in_folder(tmp_path)
    sa.event.listen(store.engine, "connect", impatient)
    store.engine.dispose()
    other = locked(tmp_path / "fairbench.sqlite")
    with pytest.raises(sa.exc.OperationalError, match="locked"):
        store.transactions.run(lambda c: c.execute(sa.text("DELETE FROM runs")), patience=0.3)
    paused = []

    def unlock(seconds: float) -> None:
        paused.append(seconds)
        other.close()

    monkeypatch.setattr(transactions.time, "sleep", unlock)
    store.add_run(RUN)
    assert store.runs() == [RUN]
    assert paused


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_run_that_ends_while_an_import_chooses_keeps_its_results(
    database: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another command writes after the import has looked, and before it writes."""
    url = f"sqlite:///{tmp_path}/x.sqlite"
    if database == "postgresql":
        url = request.getfixturevalue("postgres")
    ended, running, begun = "e" * 64, "f" * 64, "d" * 64
    store = Store.open_or_create(url)
    store.put([a_unit(key).replace(status=Status.RUNNING) for key in (ended, running)])
    looked = Store._held

    def ended_meanwhile(own: Store, kind: type[Record]) -> Any:
        held = looked(own, kind)
        if kind is UnitRecord:
            mine = [a_unit(ended), a_unit(begun).replace(status=Status.RUNNING)]
            Store.open_or_create(url).put([unit.replace(method="mine") for unit in mine])
        return held

    monkeypatch.setattr(Store, "_held", ended_meanwhile)
    theirs = [a_unit(ended), a_unit(running), a_unit(begun).replace(status=Status.FAILED)]
    store.merge([unit.replace(method="theirs") for unit in theirs])
    found = store.find(UnitRecord, [ended, running, begun])
    assert {key: unit.method for key, unit in found.items()} == {
        ended: "mine",
        running: "theirs",
        begun: "mine",  # a failure from elsewhere is worth nothing beside a model under way
    }


def test_a_transaction_that_gave_way_to_another_is_tried_again(postgres: str) -> None:
    store = Store.open_or_create(postgres)
    store.put([a_unit("a" * 64), a_unit("b" * 64)])
    both = threading.Barrier(2)
    first = [True, True]

    def work(number: int, connection: sa.Connection) -> None:
        for key in ("ab", "ba")[number]:
            update = "UPDATE units SET label = :label WHERE key = :key"
            values = {"label": str(number), "key": key * 64}
            connection.execute(sa.text(update), values)
            if first[number]:
                first[number] = False
                both.wait(10)

    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(store.transactions.run, partial(work, i)) for i in range(2)]
        for one in done:
            one.result()
    assert len({unit.label for unit in store.records(UnitRecord)}) == 1


@pytest.mark.thorough
def test_but_not_for_ever() -> None:
    with postgres_server() as server:
        store = Store.open_or_create(server.url)
        server.stop()
        with pytest.raises(sa.exc.OperationalError):
            store.transactions.run(lambda c: c.execute(sa.text("SELECT 1")), patience=0.5)
        server.start()


def test_what_is_wrong_in_a_statement_is_not_tried_again(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions.time, "sleep", lambda _: pytest.fail("tried again"))
    made = Transactions(Store.open_or_create(store_url).engine)
    with pytest.raises(sa.exc.DBAPIError):
        made.run(lambda connection: connection.execute(sa.text("SELECT * FROM nowhere")))
