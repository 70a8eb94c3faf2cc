"""Results that can be read and not written: another user's, a folder that is mounted to be read."""

import gc
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from fairbench.errors import StoreError
from fairbench.store.claims import Claims
from fairbench.store.database import Store
from fairbench.store.records import UnitRecord
from tests.conftest import Call
from tests.support.exports import a_unit
from tests.support.runs import stored


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Take away the permission to write: tests may run as root, who has it everywhere."""
    return lambda: monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "words",
    [
        ("leaderboard",),
        *(
            pytest.param(words, marks=pytest.mark.thorough)
            for words in (
                ("status",),
                ("recommend", "--max-leakage", "0.3"),
                ("results", "export", "copy.jsonl"),
            )
        ),
    ],
)
def test_results_are_read_where_they_cannot_be_written(
    fairbench_here: Call, tmp_path: Path, read_only: Callable[[], None], words: tuple[str, ...]
) -> None:
    folder = tmp_path / "out"
    stored(folder).engine.dispose()
    written = fairbench_here(*words, "--results", "out")
    gc.collect()  # a store that this process has left open has files beside it until then
    before = content(folder)
    read_only()
    done = fairbench_here(*words, "--results", "out")
    assert done.returncode == written.returncode == 0
    assert done.stdout == written.stdout
    assert content(folder) == before
    assert ("No CSV files" in done.stderr) == (words == ("leaderboard",))


def test_what_a_run_writes_meanwhile_is_read(tmp_path: Path, read_only: Callable[[], None]) -> None:
    store = Store.in_folder(tmp_path)
    claims = Claims(store, "a run")
    claims.take(["a" * 64])
    store.put([a_unit("a" * 64)])
    read_only()
    other = Store.in_folder(tmp_path, create=False)
    assert set(other.statuses(UnitRecord)) == {"a" * 64}
    assert Claims(other, "status").held() == {"a" * 64}
    with pytest.raises(StoreError, match="readonly"):
        other.put([a_unit("b" * 64)])


def test_a_copy_without_the_index_of_its_log_says_what_to_do(
    tmp_path: Path, read_only: Callable[[], None]
) -> None:
    folder, copy = tmp_path / "there", tmp_path / "copy"
    store = Store.in_folder(folder)
    store.put([a_unit("a" * 64)])
    copy.mkdir()
    for end in ("", "-wal"):
        content = (folder / f"fairbench.sqlite{end}").read_bytes()
        (copy / f"fairbench.sqlite{end}").write_bytes(content)
    read_only()
    with pytest.raises(StoreError, match="sqlite-shm has to be written"):
        Store.in_folder(copy, create=False)


def test_an_older_store_must_be_copied_first(tmp_path: Path, read_only: Callable[[], None]) -> None:
    Store.in_folder(tmp_path).engine.dispose()
    with sqlite3.connect(tmp_path / "fairbench.sqlite") as connection:
        connection.execute("UPDATE meta SET value = '6' WHERE name = 'schema'")
    connection.close()
    read_only()
    with pytest.raises(StoreError, match="older fairbench"):
        Store.in_folder(tmp_path, create=False)
