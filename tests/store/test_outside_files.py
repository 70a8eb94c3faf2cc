"""Names and files from outside lead nowhere else, and are refused before they fill the memory."""

import gzip
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from fairbench.errors import ConfigError, StoreError
from fairbench.files.paths import within
from fairbench.files.unpacking import check_arrays
from fairbench.leaderboard.build import build, write_results
from fairbench.registry import load_registry
from fairbench.store import encoders
from fairbench.store import files as artefacts
from fairbench.store.database import Store
from fairbench.store.export import LONGEST_LINE, read_export
from fairbench.store.problems import show_url
from fairbench.store.records import RunRecord, UnitRecord
from fairbench.store.schema import SCHEMA_VERSION
from tests.support.exports import a_point, a_unit

HEAD = json.dumps({"fairbench_export": SCHEMA_VERSION})


A, B, C, D = ("a" * 64, "b" * 64, "c" * 64, "d" * 64)


def test_a_name_in_a_record_deletes_and_reads_nothing_outside(tmp_path: Path) -> None:
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


def test_a_link_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / artefacts.FOLDER
    folder.mkdir()
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (folder / f"{A}.npz").symlink_to(mine)
    with pytest.raises(StoreError, match=rf"'{A}.npz' is no name of a file in {folder}\."):
        artefacts.drop(tmp_path, f"{A}.npz")
    assert artefacts.files(folder) == []
    assert mine.read_text() == "mine"


def test_own_files_are_deleted(tmp_path: Path) -> None:
    name = artefacts.save(tmp_path, {"z": np.zeros(3)})
    artefacts.drop(tmp_path, name)
    assert not artefacts.exists(tmp_path, name)


@pytest.mark.parametrize("name", ["../x", "/x", "a/b", "", ".", "..", ".x", "a\0b", "a\nb", "<b>"])
def test_no_path_leads_out_of_its_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no name of a file"):
        within(tmp_path, name)


def test_tables_of_an_earlier_import_are_not_written_outside(tmp_path: Path) -> None:
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


def endless(path: Path, start: bytes, block: bytes, count: int) -> Path:
    """A gzip file of many parts, each the same bytes."""
    path.write_bytes(gzip.compress(start) + gzip.compress(block) * count)
    return path


BOMBS: dict[str, tuple[bytes, bytes]] = {
    "one line": (b"", b"x" * 2**20),
    "blank lines": (b"", b"\n" * 2**20),
    "long blank lines": (f"{HEAD}\n".encode(), (b" " * 4095 + b"\n") * 2**8),
}


READ = """
import sys
from pathlib import Path
from fairbench.errors import ConfigError
from fairbench.store.export import read_export

def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])

before = peak()
try:
    read_export(Path(sys.argv[1]))
except ConfigError as error:
    print(peak() - before, error)
"""
"""Prints by how many kB reading an export raised the peak of memory, and why it was refused."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.thorough if i else ()) for i, n in enumerate(BOMBS)],
)
def test_a_gzip_bomb_ends_in_little_memory(name: str, tmp_path: Path) -> None:
    """In a process of its own, which has no memory of other tests to use again."""
    bomb = endless(tmp_path / "bomb.jsonl.gz", *BOMBS[name], count=600)
    assert bomb.stat().st_size < 2**20
    words = [sys.executable, "-c", READ, str(bomb)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    more, _, error = done.stdout.partition(" ")
    assert re.search(r"longer than|more than", error)
    assert int(more) < 100_000


def test_a_line_has_an_end_in_plain_files_too(tmp_path: Path) -> None:
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
def test_an_array_that_is_not_there_is_refused_unread(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairbench.files.unpacking.ALWAYS", 2**20)
    content = ARRAYS[name]()
    with pytest.raises((ValueError, zipfile.BadZipFile)):
        check_arrays(io.BytesIO(content))
    stored_name = artefacts.write(tmp_path / artefacts.FOLDER, content, "npz")
    assert artefacts.load(tmp_path, stored_name) is None


def test_honest_arrays_are_read(tmp_path: Path) -> None:
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


def test_an_own_backup_may_be_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "backup.jsonl"
    rows = Store.in_folder(tmp_path / "results")
    rows.put([a_unit(A), a_point(B, A)])
    file.write_text("".join(f"{line}\n" for line in rows.export()))
    monkeypatch.setattr("fairbench.store.export.MAX_BYTES", 100)
    with pytest.raises(ConfigError, match="more than"):
        read_export(file)
    assert len(read_export(file, own=True)) == 2


@pytest.mark.parametrize("content", [b"", b"PK"])
def test_a_few_arrays_of_a_damaged_file_are_gone(tmp_path: Path, content: bytes) -> None:
    name = artefacts.save(tmp_path, {"z": np.zeros(3)})
    assert artefacts.load_few(tmp_path, name, ["z"]) is not None
    (tmp_path / artefacts.FOLDER / name).write_bytes(content)
    assert artefacts.load_few(tmp_path, name, ["z"]) is None


def test_a_value_of_another_form_in_a_store_is_told(tmp_path: Path) -> None:
    store = Store.in_folder(tmp_path)
    store.put([a_unit("a" * 64)])
    with store.engine.begin() as connection:
        connection.execute(sa.text('UPDATE units SET read_points = \'[{"label": "x"}]\''))
    with pytest.raises(StoreError, match="garbled"):
        list(store.records(UnitRecord))


def test_a_file_name_that_is_no_text_harms_no_store(tmp_path: Path) -> None:
    store = Store.in_folder(tmp_path)
    odd = "p\udce9.yaml"  # a byte that is not UTF-8, as Python has it
    store.add_run(RunRecord("r", "2026-01-01", f"fairbench run --params {odd}", {}, {}))
    (run,) = store.runs()
    assert "udce9" in run.command
    assert "udce9" in show_url(sa.URL.create("sqlite", database=odd))
