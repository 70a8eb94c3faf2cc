"""What comes from outside: refused whole, with the line and the field, or told from own rows."""

import dataclasses
import gzip
import io
import json
import resource
import sqlite3
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairbench.errors import ConfigError, StoreError
from fairbench.files.paths import within
from fairbench.files.unpacking import check_arrays
from fairbench.leaderboard.build import build, write_results
from fairbench.leaderboard.select import read
from fairbench.registry import load_registry
from fairbench.store import encoders
from fairbench.store import files as artefacts
from fairbench.store.database import Store
from fairbench.store.door import LINES
from fairbench.store.export import LONGEST_LINE, parse_export, read_export
from fairbench.store.records import TABLES, PointRecord, ReferenceRecord, UnitRecord, to_row
from fairbench.store.schema import SCHEMA_VERSION
from fairbench.store.status import Status
from tests.support.exports import a_point, a_unit
from tests.support.runs import EXPORT, stored

HEAD = json.dumps({"fairbench_export": SCHEMA_VERSION})
A, B, C, D = ("a" * 64, "b" * 64, "c" * 64, "d" * 64)


def lines(unit: dict[str, Any] | None = None, point: dict[str, Any] | None = None) -> list[str]:
    """An export of a unit and its point, with some fields changed."""
    rows = [
        {"table": "units", **to_row(a_unit(A)), **(unit or {})},
        {"table": "points", **to_row(a_point(B, A)), **(point or {})},
    ]
    return [HEAD, *(json.dumps(row) for row in rows)]


def test_the_door_knows_every_field_of_a_record() -> None:
    for name, kind in TABLES.items():
        assert set(LINES[name].model_fields) == {one.name for one in dataclasses.fields(kind)}


def test_an_honest_export_comes_back_as_it_was(tmp_path: Path) -> None:
    where = stored(tmp_path / "here")
    for name in ("records.jsonl", "records.jsonl.gz"):
        text = "".join(f"{line}\n" for line in where.export()).encode()
        file = tmp_path / name
        file.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
        there = Store.in_folder(tmp_path / f"own {name}")
        there.merge(read_export(file))
        assert list(there.export()) == list(where.export())
        elsewhere = Store.in_folder(tmp_path / f"from {name}")
        elsewhere.merge(read_export(file), "somebody")
        assert elsewhere.origins() == {"somebody": 33}
    assert len(parse_export(EXPORT.read_text().splitlines())) == 33


UNITS: dict[str, dict[str, Any]] = {
    "row 1: an artefact that is a path": {"artefact": "/etc/passwd"},
    "row 1: an artefact that leads out": {"artefact": "../../x.npz"},
    "row 1: an encoder that is a path": {"encoder": "/home/x.safetensors"},
    "row 1: a name of content that goes on": {"artefact": f"{A}.npz\n"},
    "row 2: a dataset that leads out": {"dataset": "../../../x"},
    "row 2: a dataset that is a path": {"dataset": "/tmp/x"},
    "row 2: a dataset that is HTML": {"dataset": "<b>x</b>"},
    "row 2: a dataset that is hidden": {"dataset": ".x"},
    "row 2: a dataset with the name of another's file": {"dataset": "adults-gender-points"},
    "row 2: a method that leads out": {"method": "../x"},
    "row 7: a time to come": {"finished": "9999-01-01T00:00:00+00:00"},
    "row 7: a time without zone": {"finished": "2026-01-01T00:00:00"},
    "row 7: no time": {"finished": None},
    "row 8: a seed beyond all": {"seed": int(1e30)},
    "row 8: a seed below 0": {"seed": -1},
    "row 8: a seed that is no integer": {"seed": 0.5},
    "row 8: a seed that is a truth": {"seed": True},
    "row 8: knobs that are lists": {"read_points": [{"label": "x", "knobs": {"beta": [1]}}]},
    "row 8: costs beyond all": {"costs": {"train_seconds": 1e308}},
    "row 8: params with no number": {"params": {"rate": float("inf")}},
    "row 8: params without end": {"params": json.loads('{"a":' * 50 + "1" + "}" * 50)},
    "row 8: hardware without a device": {"hardware": {}},
    "row 8: a key of another form": {"key": "u"},
    "row 8: a key in capitals": {"key": "A" * 64},
    "row 8: a text with a lone surrogate": {"plugin": "\ud800"},
    "row 8: a text with a NUL": {"plugin": "a\0b"},
    "row 8: a packing without the unit": {"packing": [B]},
    "row 8: what only runs": {"status": "RUNNING"},
    "row 8: a text with terminal escapes": {"params_label": "\x1b[2J"},
    "row 8: a text without end": {"plugin": "x" * 200_000},
    "row 8: an error that is no text": {"error": 1},
    "row 8: a split that is none": {"split": "fold 9 of 5"},
    "row 8: a budget that is none": {"budget": "some"},
    "row 8: a field too many": {"more": 1},
}
POINTS: dict[str, dict[str, Any]] = {
    "row 8: knobs that are lists": {"knobs": {"beta": [1]}},
    "row 8: empty values": {"values": {}},
    "row 8: values that are too large": {"values": {"distortion": 1e308}},
    "row 8: values that are no numbers": {"values": {"distortion": "x"}},
    "row 8: values that are truths": {"values": {"distortion": True}},
    "row 8: values with no number": {"values": {"distortion": float("nan")}},
    "row 8: values under the name of a column": {
        "values": {"distortion": 1, "mutual_information": 1, "accuracy_s": 1, "method": 1}
    },
    "row 8: a number beyond all": {"number": 2**31},
    "row 8: a label of another kind": {"label": 1},
    "row 8: replicates that cannot be read": {"replicates": "x:y"},
    "row 8: an audit that is none": {"audit": "lenient"},
}


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_that_no_store_would_have_is_refused(name: str, tmp_path: Path) -> None:
    check_refused(lines(unit=UNITS[name]), 2, next(iter(UNITS[name])), tmp_path)


@pytest.mark.parametrize("name", POINTS)
def test_a_point_that_no_store_would_have_is_refused(name: str, tmp_path: Path) -> None:
    check_refused(lines(point=POINTS[name]), 3, next(iter(POINTS[name])), tmp_path)


def check_refused(text: list[str], number: int, field: str, folder: Path) -> None:
    where = Store.in_folder(folder)
    with pytest.raises(StoreError) as error:
        where.merge(parse_export(text))
    assert f"Line {number} " in error.value.message
    assert field in error.value.message or "it is not JSON" in error.value.message
    assert error.value.message.isprintable()
    assert len(error.value.message) < 600
    assert len(list(where.export())) == 1


def test_row_8_messages_are_cut_and_escaped() -> None:
    """They are what plugins said, in an honest export too."""
    broken = {"status": "FAILED", "error": "a\0b \ud800 \x1b[2J ü\n", "traceback": "x" * 200_000}
    unit, _ = parse_export(lines(unit=broken))
    assert isinstance(unit, UnitRecord)
    assert unit.error == "a\\x00b \\ud800 \\x1b[2J ü\n"
    assert unit.traceback == "x" * 20_000


def test_row_8_a_key_that_stands_twice_is_refused() -> None:
    with pytest.raises(StoreError, match=r"Line 4 .*earlier line"):
        parse_export([*lines(), lines()[1]])


def test_row_8_numbers_without_end_are_no_json() -> None:
    with pytest.raises(StoreError, match=r"Line 2 .*not JSON"):
        parse_export([HEAD, f'{{"table": "units", "seed": {"1" * 5000}}}'])


def test_row_1_a_name_in_a_record_deletes_and_reads_nothing_outside(tmp_path: Path) -> None:
    """Also of a store that took such records in before they were checked."""
    results = tmp_path / "results"
    results.mkdir()
    mine = tmp_path / "mine.npz"
    np.savez(mine, z=np.zeros(3))
    for name in (str(mine), "../../mine.npz", "..", "", "mine.npz"):
        artefacts.drop(results, name)
        assert not artefacts.exists(results, name)
        assert artefacts.load(results, name) is None
        with pytest.raises(StoreError, match="no name of a stored encoder"):
            encoders.path_of(results, name)
    assert mine.exists()


def test_row_1_a_link_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / artefacts.FOLDER
    folder.mkdir()
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (folder / f"{A}.npz").symlink_to(mine)
    with pytest.raises(StoreError):
        artefacts.drop(tmp_path, f"{A}.npz")
    assert artefacts.files(folder) == []
    assert mine.read_text() == "mine"


def test_row_1_own_files_are_deleted(tmp_path: Path) -> None:
    name = artefacts.save(tmp_path, {"z": np.zeros(3)})
    artefacts.drop(tmp_path, name)
    assert not artefacts.exists(tmp_path, name)


@pytest.mark.parametrize("name", ["../x", "/x", "a/b", "", ".", "..", ".x", "a\0b", "a\nb", "<b>"])
def test_row_2_no_path_leads_out_of_its_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no name of a file"):
        within(tmp_path, name)


def test_row_2_tables_of_an_earlier_import_are_not_written_outside(tmp_path: Path) -> None:
    results = tmp_path / "a" / "b" / "results"
    where = Store.in_folder(results)
    where.put([a_unit(A), a_point(B, A), a_unit(C, dataset="../../../../x"), a_point(D, C)])
    tables = build(where, load_registry())
    written = write_results(tables, results)
    assert {path.parent for path in written} == {results / "leaderboards"}
    assert {path.stem for path in written} >= {"toy", "toy-points"}
    outside = [path for path in tmp_path.rglob("*.csv") if path.parent != results / "leaderboards"]
    assert outside == []
    assert any("no name of a file" in problem for table in tables for problem in table.problems)


def own_and_imported(tmp_path: Path, **changes: Any) -> Store:
    """A row made here, then one of the same identity imported, with a perfect figure."""
    where = Store.in_folder(tmp_path)
    where.put([a_unit(A), a_point(B, A)])
    perfect = {"distortion": 0.0, "mutual_information": 0.0, "accuracy_s": 0.5}
    unit = a_unit(C, finished="2026-06-01T00:00:00+00:00", **changes)
    where.merge([unit, a_point(D, C, values=perfect, audit_version=99)], "other.jsonl")
    return where


@pytest.mark.parametrize(
    "changes",
    [
        {"code": "1" * 16},
        {"fingerprint": "e" * 64},
        {"protocol": 99},
        {"curve_points": 16},
        {"seed": 7},
        {"params": {"secret": 1}},
        {},
    ],
    ids=str,
)
def test_row_7_an_import_never_displaces_what_was_made_here(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    where = own_and_imported(tmp_path, **changes)
    curves = [curve for own in read(where).curves.values() for curve in own]
    assert [unit.key for curve in curves for unit in curve.units] == [A]
    assert [point.key for curve in curves for point in curve.points] == [B]


def test_row_7_an_import_shows_where_nothing_of_the_kind_was_made_here(tmp_path: Path) -> None:
    where = own_and_imported(tmp_path, method="another")
    (table,) = build(where, load_registry())
    assert {row.method: row.origin for row in table.leaderboard} == {
        "some": None,
        "another": "other.jsonl",
    }
    rows = [row for row in table.points if row.status == Status.DONE and row.method == "some"]
    assert [row.origin for row in rows] == [None]  # its own audit counts, whatever the other says


def test_row_7_nothing_of_a_key_made_here_is_replaced(tmp_path: Path) -> None:
    where = Store.in_folder(tmp_path)
    broken = a_unit(A, status=Status.FAILED, error="no", read_points=None)
    where.put([broken, a_unit(C)])
    taken = where.merge([a_unit(A), a_point(B, A), a_unit(C), a_point(D, C)], "other")
    assert sum(taken.values()) == 0
    assert where.merge([a_unit(A), a_point(B, A)]) == {"units": 1, "points": 1, "references": 0}


def test_row_7_a_reference_made_here_counts_before_an_imported_one(tmp_path: Path) -> None:
    where = Store.in_folder(tmp_path)

    def reference(key: str, value: float) -> ReferenceRecord:
        return ReferenceRecord(
            key=key,
            status=Status.DONE,
            dataset="toy",
            fingerprint="f" * 64,
            protocol=1,
            seed=0,
            audit="strict",
            values={"mutual_information_max": value, "distortion_max": 1.0},
            audit_version=1,
        )

    where.put([a_unit(A), a_point(B, A), reference(A, 1.0)])
    where.merge([reference(C, 9.0)], "other")
    records = read(where)
    (curve,) = (curve for own in records.curves.values() for curve in own)
    used = records.reference(curve)
    assert used is not None
    assert used.key == A


def test_what_is_made_again_here_is_no_longer_imported(tmp_path: Path) -> None:
    where = Store.in_folder(tmp_path)
    where.merge([a_unit(A)], "other")
    (unit,) = where.records(UnitRecord)
    assert unit.origin == "other"
    where.put([unit.replace(status=Status.RUNNING)])
    assert where.origins() == {}


def test_rows_of_an_origin_can_be_removed(tmp_path: Path) -> None:
    where = own_and_imported(tmp_path, method="another")
    assert where.origins() == {"other.jsonl": 2}
    assert where.remove("other.jsonl") == 2
    assert set(where.statuses(UnitRecord)) == {A}
    assert set(where.statuses(PointRecord)) == {B}


def test_a_store_of_schema_5_is_brought_up_to_date(tmp_path: Path) -> None:
    Store.in_folder(tmp_path).put([a_unit(A), a_point(B, A)])
    with sqlite3.connect(tmp_path / "fairbench.sqlite") as connection:
        connection.execute("UPDATE meta SET value = '5' WHERE name = 'schema'")
        for table in TABLES:
            connection.execute(f'ALTER TABLE "{table}" DROP COLUMN origin')
    again = Store.in_folder(tmp_path)
    assert [unit.origin for unit in again.records(UnitRecord)] == [None]
    assert again.origins() == {}


def endless(path: Path, start: bytes, block: bytes, count: int) -> Path:
    """A gzip file of many parts, each the same bytes."""
    path.write_bytes(gzip.compress(start) + gzip.compress(block) * count)
    return path


BOMBS: dict[str, tuple[bytes, bytes]] = {
    "one line": (b"", b"x" * 2**20),
    "blank lines": (b"", b"\n" * 2**20),
    "long blank lines": (f"{HEAD}\n".encode(), (b" " * 4095 + b"\n") * 2**8),
}


@pytest.mark.parametrize("name", BOMBS)
def test_row_12_a_gzip_bomb_ends_in_little_memory(name: str, tmp_path: Path) -> None:
    bomb = endless(tmp_path / "bomb.jsonl.gz", *BOMBS[name], count=600)
    assert bomb.stat().st_size < 2**20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ConfigError, match=r"longer than|more than"):
        read_export(bomb)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_row_12_a_line_has_an_end_in_plain_files_too(tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    file.write_bytes(f"{HEAD}\n".encode() + b" " * (LONGEST_LINE + 1))
    with pytest.raises(ConfigError, match="line 2 is longer"):
        read_export(file)


def npy(shape: tuple[int, ...], content: bytes = b"") -> bytes:
    """An npy file whose header promises a shape of float64."""
    buffer = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + content


def archive(member: bytes, *, claimed: int | None = None) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("z.npy", member)
    content = buffer.getvalue()
    if claimed is not None:
        real = len(member).to_bytes(4, "little")
        content = content.replace(real, claimed.to_bytes(4, "little"))
    return content


ARRAYS: dict[str, Callable[[], bytes]] = {
    "npy header of 218 TiB": lambda: npy((30_000_000, 1_000_000), bytes(80)),
    "npy header one too long": lambda: npy((11,), bytes(80)),
    "npy header below 0": lambda: npy((-1, -(2**40)), bytes(80)),
    "npz of such an npy": lambda: archive(npy((30_000_000, 1_000_000), bytes(80))),
    "npz bomb": lambda: archive(npy((2**19,), bytes(2**22))),
    "npz that claims gigabytes": lambda: archive(npy((10,), bytes(80)), claimed=2**31),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_row_12_an_array_that_is_not_there_is_refused_unread(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairbench.files.unpacking.ALWAYS", 2**20)
    content = ARRAYS[name]()
    with pytest.raises((ValueError, zipfile.BadZipFile)):
        check_arrays(io.BytesIO(content))
    stored_name = artefacts.write(tmp_path / artefacts.FOLDER, content, "npz")
    assert artefacts.load(tmp_path, stored_name) is None


def test_row_12_honest_arrays_are_read(tmp_path: Path) -> None:
    for save in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        save(buffer, z=np.arange(6.0).reshape(3, 2), s=np.zeros(1000, dtype=np.int8), e=np.empty(0))
        check_arrays(buffer)
    for array in (np.arange(6.0), np.array(3.0), np.array(["a", "bc"])):
        buffer = io.BytesIO()
        np.save(buffer, array)
        buffer.seek(0)
        check_arrays(buffer)
        np.testing.assert_array_equal(np.load(buffer), array)


@pytest.mark.slow
def test_imports_are_named_and_taken_out_by_command(
    fairbench: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    where, file = ["--results", str(tmp_path / "results")], tmp_path / "theirs.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines()))
    done = fairbench("results", "import", str(file), *where)
    assert done.returncode == 0, done.stderr
    assert "results remove --origin theirs.jsonl" in done.stdout
    shown = fairbench("leaderboard", *where)
    assert "Imported from theirs.jsonl, not made here: some." in shown.stdout
    unknown = fairbench("results", "remove", "--origin", "their", *where)
    assert unknown.returncode == 2
    assert "theirs.jsonl" in unknown.stderr
    dry = fairbench("results", "remove", "--origin", "theirs.jsonl", "--dry-run", *where)
    assert "2 records" in dry.stdout
    gone = fairbench("results", "remove", "--origin", "theirs.jsonl", "--yes", *where)
    assert gone.returncode == 0
    assert "2 records deleted" in gone.stdout
    own = fairbench("results", "import", str(file), "--own", *where)
    assert own.returncode == 0
    assert "Imported from" not in fairbench("leaderboard", *where).stdout
