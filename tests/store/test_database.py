"""The store: merging by key, refusing what it cannot read, losing nothing."""

import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from fairbench.errors import StoreError
from fairbench.store import files as artefacts
from fairbench.store.database import Store
from fairbench.store.export import parse_export
from fairbench.store.records import (
    PointRecord,
    ReferenceRecord,
    RunRecord,
    UnitRecord,
    to_row,
)
from fairbench.store.schema import SCHEMA_VERSION, _upgrade
from fairbench.store.status import Status
from tests.support.exports import a_point, a_unit

FIGURES = (
    "mutual_information_max",
    "mutual_information_max_validation",
    "distortion_max",
    "distortion_max_validation",
)
A, B, C = ("a" * 64, "b" * 64, "c" * 64)


def reference(key: str, status: Status = Status.DONE, value: float = 1.0) -> ReferenceRecord:
    return ReferenceRecord(
        key=key,
        status=status,
        dataset="toy",
        fingerprint="f" * 64,
        protocol=1,
        seed=0,
        audit="strict",
        values=dict.fromkeys(FIGURES, 1.0) | {"mutual_information_max": value},
        seconds=1.5,
        finished="2026-01-01T00:00:00+00:00",
        audit_version=1,
    )


def line(name: str, **changes: object) -> str:
    """A line of an export; keys are of 64 digits."""
    row = to_row(reference(name * 64))
    return json.dumps({"table": "references", **row, **changes})


def store(folder: Path) -> Store:
    return Store.in_folder(folder)


def test_many_rows_are_one_statement_for_others_wait_for_them(tmp_path: Path) -> None:
    opened, statements = store(tmp_path), []
    sa.event.listen(
        opened.engine, "before_cursor_execute", lambda *event: statements.append(event[2])
    )
    keys = [f"{i:064x}" for i in range(500)]
    opened.put([*(a_point(key, A) for key in keys), a_unit(A)])
    assert len(statements) == 2
    assert set(opened.statuses(PointRecord)) == set(keys)
    assert opened.find(PointRecord, keys[7:8]) == {keys[7]: a_point(keys[7], A)}


def test_rows_come_back_as_they_were_put(tmp_path: Path) -> None:
    first = store(tmp_path)
    first.put([reference("a"), reference("b", value=0.1 + 0.2)])
    again = store(tmp_path)
    assert again.records(ReferenceRecord)[1].figures["mutual_information_max"] == 0.1 + 0.2
    assert again.statuses(ReferenceRecord) == {"a": Status.DONE, "b": Status.DONE}


def test_putting_again_replaces(tmp_path: Path) -> None:
    where = store(tmp_path)
    where.put([reference("a", Status.PENDING)])
    where.put([reference("a")])
    assert where.statuses(ReferenceRecord) == {"a": Status.DONE}


def test_export_and_import_move_results_between_machines(tmp_path: Path) -> None:
    here, there = store(tmp_path / "here"), store(tmp_path / "there")
    here.put([reference(A), reference(B, Status.RUNNING)])
    there.put([reference(C, value=3.0)])
    lines = list(here.export())
    assert there.merge(parse_export(lines)) == {"units": 0, "points": 0, "references": 1}
    assert set(there.statuses(ReferenceRecord)) == {A, C}  # what only runs is not a result
    assert there.merge(parse_export(lines))["references"] == 0
    assert list(store(tmp_path / "here").export()) == lines


def test_a_result_replaces_a_failure_and_never_the_other_way(tmp_path: Path) -> None:
    here, there = store(tmp_path / "here"), store(tmp_path / "there")
    here.put([reference(A, Status.FAILED), reference(B)])
    there.put([reference(A), reference(B, Status.FAILED)])
    there.merge(parse_export(here.export()))
    assert there.statuses(ReferenceRecord) == {A: Status.DONE, B: Status.DONE}


BAD = [
    "{",
    "[]",
    '{"table": "units"}',
    '{"table": "x"}',
    line("b", status="BANANA"),
    line("b", values="hello"),
    line("b", values={"mutual_information_max": "x"}),
    line("b", dataset=None),
    line("b", seed="0"),
    line("b", key=["b"]),
]


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_line_imports_nothing(tmp_path: Path, bad: str) -> None:
    here, there = store(tmp_path / "here"), store(tmp_path / "there")
    here.put([reference(A)])
    with pytest.raises(StoreError, match="Line 3"):
        there.merge(parse_export([*here.export(), bad]))
    assert not there.statuses(ReferenceRecord)


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    store(tmp_path)
    with sqlite3.connect(tmp_path / "fairbench.sqlite") as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    with pytest.raises(StoreError, match="newer fairbench"):
        store(tmp_path)
    with pytest.raises(StoreError, match="newer"):
        Store.in_folder(tmp_path / "b").merge(parse_export([json.dumps({"fairbench_export": 99})]))


def test_an_export_of_the_first_schema_is_read(tmp_path: Path) -> None:
    row = to_row(reference(A))
    row = {k: v for k, v in row.items() if k not in ("audit_version", "replicates", "origin")}
    lines = [json.dumps({"fairbench_export": 1}), json.dumps({"table": "references", **row})]
    assert store(tmp_path).merge(parse_export(lines))["references"] == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "The file is empty"),
        ('{"table": "units"}', "Line 1 .*: an export starts with its version"),
        ('{"fairbench_export": "x"}', "Line 1 .*: an export starts with its version"),
    ],
)
def test_what_is_no_export_is_told(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(StoreError, match=says):
        store(tmp_path).merge(parse_export([text]))


def test_points_of_another_model_are_not_imported(tmp_path: Path) -> None:
    here, there = store(tmp_path / "here"), store(tmp_path / "there")
    here.put([a_unit(A, "beta=1"), a_point(B, A, "beta=1")])
    there.put([a_unit(A, "beta=2"), a_point(C, A, "beta=2")])
    assert there.merge(parse_export(here.export()))["points"] == 0
    assert set(there.statuses(PointRecord)) == {C}


def test_odd_folder_names_are_taken_as_they_are(tmp_path: Path) -> None:
    store(tmp_path / "q?mode=x")
    assert (tmp_path / "q?mode=x" / "fairbench.sqlite").exists()


@pytest.mark.parametrize("url", ["mysql://x", "postgresql://h:abc/db", "nonsense", ""])
def test_a_bad_url_is_told(url: str) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(url)


def test_a_garbled_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "fairbench.sqlite").write_bytes(b"this is not a database, it is a text" * 50)
    with pytest.raises(StoreError, match="cannot be opened"):
        store(tmp_path)


def test_looking_for_results_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no results"):
        Store.in_folder(tmp_path / "nowhere", create=False)
    assert not (tmp_path / "nowhere").exists()


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "fairbench.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    with pytest.raises(StoreError, match="holds the tables songs"):
        Store(f"sqlite:///{file}")
    with sqlite3.connect(file) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
        assert tables == [("songs",)]
        connection.execute("CREATE TABLE runs (run_uuid TEXT)")  # others record runs too
    with pytest.raises(StoreError, match="holds the tables runs, songs"):
        Store(f"sqlite:///{file}")


def test_an_empty_file_holds_no_results(tmp_path: Path) -> None:
    """As a full disk leaves one behind."""
    (tmp_path / "fairbench.sqlite").touch()
    with pytest.raises(StoreError, match="no results"):
        Store.in_folder(tmp_path, create=False)
    assert Store.in_folder(tmp_path).runs() == []


def test_representations_are_named_by_content_and_never_trusted_when_damaged(
    tmp_path: Path,
) -> None:
    arrays = {"0/z/test": np.arange(6, dtype=np.float32).reshape(3, 2)}
    name = artefacts.save(tmp_path, arrays)
    assert artefacts.save(tmp_path, arrays) == name
    back = artefacts.load(tmp_path, name)
    assert back is not None
    np.testing.assert_array_equal(back["0/z/test"], arrays["0/z/test"])
    path = tmp_path / artefacts.FOLDER / name
    path.write_bytes(path.read_bytes()[:-5])
    assert artefacts.load(tmp_path, name) is None
    path.unlink()
    assert artefacts.load(tmp_path, name) is None


def test_both_databases_keep_rows_alike(store_url: str) -> None:
    first = Store(store_url)
    rows = [reference("a", value=0.1 + 0.2), reference("b", Status.RUNNING)]
    first.put(rows)
    first.put([reference("b", value=1e-300)])
    first.add([reference("a", value=7.0), reference("c")])
    again = Store.open_or_create(store_url)
    figures = {
        row.key: row.figures["mutual_information_max"] for row in again.records(ReferenceRecord)
    }
    assert figures == {"a": 0.1 + 0.2, "b": 1e-300, "c": 1.0}
    assert again.find(ReferenceRecord, ["c", "z"]).keys() == {"c"}
    assert list(again.export()) == list(first.export())
    first.add_run(RunRecord("r", "now", "x", {}, {}))


def test_many_that_write_the_same_rows_at_once_all_succeed(store_url: str) -> None:
    rows = [reference(f"{i:02}") for i in range(20)]

    def write(number: int) -> None:
        Store(store_url).put(rows if number % 2 else rows[::-1])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(8)))
    assert len(Store(store_url).statuses(ReferenceRecord)) == 20


def test_many_that_open_a_new_store_at_once_all_succeed(tmp_path: Path) -> None:
    """Switching a new SQLite file to WAL does not wait for others by itself."""
    for attempt in range(20):
        folder = tmp_path / str(attempt)
        with ThreadPoolExecutor(8) as pool:
            opened = list(pool.map(lambda _, at=folder: store(at), range(8)))
        assert all(each.statuses(ReferenceRecord) == {} for each in opened)


def test_an_older_store_is_brought_up_to_date_in_both(store_url: str) -> None:
    first = Store(store_url)
    first.put([reference("a")])
    with first.engine.begin() as connection:
        connection.execute(sa.text("UPDATE meta SET value = '1' WHERE name = 'schema'"))
        for table in ("points", "references"):
            for column in ("replicates", "audit_version"):
                connection.execute(sa.text(f'ALTER TABLE "{table}" DROP COLUMN {column}'))
    with ThreadPoolExecutor(3) as pool:
        opened = list(pool.map(lambda _: Store(store_url), range(3)))
    opened[0].put([reference("b").replace(replicates="x")])
    rows = opened[1].records(ReferenceRecord)
    assert [(row.key, row.replicates, row.audit_version) for row in rows] == [
        ("a", None, None),
        ("b", "x", 1),
    ]


def test_what_was_written_since_another_upgraded_the_store_stays(store_url: str) -> None:
    opened = Store(store_url)
    fold = a_unit(A, split="5-fold-1")
    opened.put([fold])
    _upgrade(opened.engine, 4)  # of a process that looked before the other, and was slower
    assert opened.find(UnitRecord, [A]) == {A: fold}


def fill(folder: Path) -> Path:
    store(folder).put([reference(f"{i:03}") for i in range(300)])
    path = folder / "fairbench.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for beside in folder.glob("*-*"):
        beside.unlink()
    return path


def halved(content: bytes) -> bytes:
    return content[: len(content) // 2]


def holed(content: bytes) -> bytes:
    third = len(content) // 3
    return content[:third] + bytes(third) + content[2 * third :]


def overwritten(content: bytes) -> bytes:
    return b"garbled " * (len(content) // 8)


@pytest.mark.parametrize("damage", [halved, holed, overwritten])
def test_a_damaged_file_is_told_and_never_read(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    path = fill(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreError) as error:
        store(tmp_path)
    assert "Move the file away" in error.value.hint
    assert "\n" not in error.value.message


def test_a_garbled_value_is_told(tmp_path: Path) -> None:
    path = fill(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("""UPDATE "references" SET "values" = '{"i_max": 1' WHERE key = '007'""")
    with pytest.raises(StoreError, match="garbled"):
        store(tmp_path).records(ReferenceRecord)
    with sqlite3.connect(path) as connection:
        connection.execute("""UPDATE "references" SET status = 'DOME' WHERE key = '007'""")
    with pytest.raises(StoreError, match="garbled"):
        store(tmp_path).statuses(ReferenceRecord)


def test_an_export_with_damaged_replicates_is_refused() -> None:
    head = json.dumps({"fairbench_export": SCHEMA_VERSION})
    good = "mutual_information_max:AACAPw== distortion_max:AACAPw=="
    assert parse_export([head, line("a", replicates=good)])
    with pytest.raises(StoreError, match=r"Line 2 .* replicates cannot be read"):
        parse_export([head, line("a", replicates="mutual_information_max:nonsense!")])


def test_figures_of_version_0_1_get_their_present_names(tmp_path: Path) -> None:
    """In exports, and in a store that is opened: also names that end in a task's."""
    old = {"d": 1.5, "i_selection": 0.25, "a_y_auc_married": 0.75, "aufdc": 0.5}
    more = dict.fromkeys(("i_max", "i_max_selection", "d_max", "d_max_selection"), 1.0)
    new = {
        "distortion": 1.5,
        "mutual_information_validation": 0.25,
        "auc_y_married": 0.75,
        "aufdc": 0.5,
    }
    lines = [
        json.dumps({"fairbench_export": 3}),
        line("a", values=old | more, replicates="i_max:AACAPw== d_max:AACAPw=="),
    ]
    (record,) = parse_export(lines)
    assert isinstance(record, ReferenceRecord)
    assert record.figures == new | dict.fromkeys(FIGURES, 1.0)
    assert record.replicates == "mutual_information_max:AACAPw== distortion_max:AACAPw=="
    store(tmp_path).put([record.replace(values=old, replicates="i_max:AACAPw==")])
    with sqlite3.connect(tmp_path / "fairbench.sqlite") as connection:
        connection.execute("UPDATE meta SET value = '3' WHERE name = 'schema'")
    (opened,) = store(tmp_path).records(ReferenceRecord)
    assert opened.figures == new
    assert opened.replicates == "mutual_information_max:AACAPw=="
