"""The secret of a store: random, kept, and in no export."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fairbench.store.database import Store
from fairbench.store.row_order import secret_of


def test_a_store_keeps_its_secret_and_another_has_another(tmp_path: Path) -> None:
    first = secret_of(Store.in_folder(tmp_path / "a"))
    assert len(first) == 32
    assert secret_of(Store.in_folder(tmp_path / "a")) == first
    assert secret_of(Store.in_folder(tmp_path / "b")) != first


def test_who_asks_at_once_gets_the_same(tmp_path: Path) -> None:
    stores = [Store.in_folder(tmp_path) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(secret_of, stores))) == 1


def test_a_store_of_an_earlier_version_gets_one(tmp_path: Path) -> None:
    store = Store.in_folder(tmp_path)
    secret_of(store)
    with sqlite3.connect(tmp_path / "fairbench.sqlite") as connection:
        connection.execute("DELETE FROM meta WHERE name = 'secret'")
    assert secret_of(store) == secret_of(store)


def test_it_is_in_no_export(tmp_path: Path) -> None:
    store = Store.in_folder(tmp_path)
    secret = secret_of(store)
    assert secret not in "\n".join(store.export())
