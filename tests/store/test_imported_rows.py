"""An export from outside is refused whole, with the line and the field that are wrong."""

import dataclasses
import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairbench.errors import StoreError
from fairbench.stats.bootstrap import to_text
from fairbench.store.database import Store
from fairbench.store.earlier import present_row
from fairbench.store.export import parse_export, read_export
from fairbench.store.imported_rows import FORMS
from fairbench.store.records import TABLES, UnitRecord, to_row
from fairbench.store.schema import SCHEMA_VERSION
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


def test_the_check_knows_every_field_of_a_record() -> None:
    for name, kind in TABLES.items():
        assert set(FORMS[name].model_fields) == {one.name for one in dataclasses.fields(kind)}


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
    "an artefact that is a path": {"artefact": "/etc/passwd"},
    "an artefact that leads out": {"artefact": "../../x.npz"},
    "an encoder that is a path": {"encoder": "/home/x.safetensors"},
    "a name of content that goes on": {"artefact": f"{A}.npz\n"},
    "a dataset that leads out": {"dataset": "../../../x"},
    "a dataset that is a path": {"dataset": "/tmp/x"},
    "a dataset that is HTML": {"dataset": "<b>x</b>"},
    "a dataset that is hidden": {"dataset": ".x"},
    "a dataset with the name of another's file": {"dataset": "adults-gender-points"},
    "a method that leads out": {"method": "../x"},
    "a time to come": {"finished": "9999-01-01T00:00:00+00:00"},
    "a time without zone": {"finished": "2026-01-01T00:00:00"},
    "no time": {"finished": None},
    "a seed beyond all": {"seed": int(1e30)},
    "a seed below 0": {"seed": -1},
    "a seed that is no integer": {"seed": 0.5},
    "a seed that is a truth": {"seed": True},
    "knobs that are lists": {"read_points": [{"label": "x", "knobs": {"beta": [1]}}]},
    "costs beyond all": {"costs": {"train_seconds": 1e308}},
    "params with no number": {"params": {"rate": float("inf")}},
    "params without end": {"params": json.loads('{"a":' * 50 + "1" + "}" * 50)},
    "hardware without a device": {"hardware": {}},
    "a key of another form": {"key": "u"},
    "a key in capitals": {"key": "A" * 64},
    "a text with a lone surrogate": {"plugin": "\ud800"},
    "a text with a NUL": {"plugin": "a\0b"},
    "a packing without the unit": {"packing": [B]},
    "what only runs": {"status": "RUNNING"},
    "a text with terminal escapes": {"params_label": "\x1b[2J"},
    "a text without end": {"plugin": "x" * 200_000},
    "an error that is no text": {"error": 1},
    "a split that is none": {"split": "fold 9 of 5"},
    "a split of one fold": {"split": "fold 1 of 1"},
    "a split in another notation": {"split": "fold 01 of 5"},
    "a budget that is none": {"budget": "some"},
    "a field too many": {"more": 1},
}
POINTS: dict[str, dict[str, Any]] = {
    "knobs that are lists": {"knobs": {"beta": [1]}},
    "empty values": {"values": {}},
    "values that are too large": {"values": {"distortion": 1e308}},
    "values that are no numbers": {"values": {"distortion": "x"}},
    "values that are truths": {"values": {"distortion": True}},
    "values with no number": {"values": {"distortion": float("nan")}},
    "values under the name of a column": {
        "values": {"distortion": 1, "mutual_information": 1, "accuracy_s": 1, "method": 1}
    },
    "a number beyond all": {"number": 2**31},
    "a label of another kind": {"label": 1},
    "replicates that cannot be read": {"replicates": "x:y"},
    "replicates of something else": {"replicates": to_text({"x": np.ones(3)})},
    "replicates of different numbers": {
        "replicates": to_text({"distortion": np.ones(3), "mutual_information": np.ones(2)})
    },
    "no figures of the validation set": {
        "values": {"distortion": 0.5, "mutual_information": 0.1, "accuracy_s": 0.7}
    },
    "a figure of the validation set that is empty": {
        "values": {**a_point(B, A).figures, "mutual_information_validation": None}
    },
    "an audit that is none": {"audit": "lenient"},
}


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_that_no_store_would_have_is_refused(name: str, tmp_path: Path) -> None:
    check_refused(lines(unit=UNITS[name]), 2, what_is_wrong(name, UNITS[name]), tmp_path)


@pytest.mark.parametrize("name", POINTS)
def test_a_point_that_no_store_would_have_is_refused(name: str, tmp_path: Path) -> None:
    check_refused(lines(point=POINTS[name]), 3, what_is_wrong(name, POINTS[name]), tmp_path)


def what_is_wrong(name: str, changes: dict[str, Any]) -> str:
    """What a refusal names: the field that was changed, unless JSON has no such value."""
    return "it is not JSON" if name.endswith("with no number") else next(iter(changes))


def check_refused(text: list[str], number: int, wrong: str, folder: Path) -> None:
    where = Store.in_folder(folder)
    with pytest.raises(StoreError) as error:
        where.merge(parse_export(text))
    assert f"Line {number} " in error.value.message
    assert wrong in error.value.message
    assert error.value.message.isprintable()
    assert len(error.value.message) < 600
    assert len(list(where.export())) == 1


OWN_UNITS: dict[str, dict[str, Any]] = {
    "a clock that was reset": {"finished": "1970-01-01T00:00:05+00:00"},
    "a clock that is ahead": {"finished": "2999-01-01T00:00:00+00:00"},
    "a large knob": {"read_points": [{"label": "beta=1", "knobs": {"beta": 1e15}}]},
    "a hyperparameter of two lines": {"params": {"prompt": "a\nb"}},
    "a long hyperparameter": {"params": {"x": "y" * 3000}, "params_label": "x=" + "y" * 3000},
    "a large hyperparameter": {"params": {"x": 1e300, "y": 10**400}},
    "a large cost": {"costs": {"flops": 1e31}},
    "an unprintable name": {"plugin": "a\tb"},
}
OWN_POINTS: dict[str, dict[str, Any]] = {
    "a large figure": {"values": {**a_point(B, A).figures, "distortion": 3e12}},
    "a large knob": {"knobs": {"beta": 1e15}},
    "large replicates": {
        "replicates": to_text({"distortion": np.full(3, 3e12), "mutual_information": np.ones(3)})
    },
}
NOT_EVEN_OWN = {
    "an artefact that is a path",
    "an artefact that leads out",
    "a dataset that leads out",
    "a method that leads out",
    "a time without zone",
    "a seed beyond all",
    "a seed that is no integer",
    "params with no number",
    "params without end",
    "hardware without a device",
    "a key of another form",
    "a field too many",
}


@pytest.mark.parametrize("name", OWN_UNITS)
def test_an_own_unit_comes_back_and_a_strangers_is_refused(name: str, tmp_path: Path) -> None:
    check_own(lines(unit=OWN_UNITS[name]), 2, next(iter(OWN_UNITS[name])), tmp_path)


@pytest.mark.parametrize("name", OWN_POINTS)
def test_an_own_point_comes_back_and_a_strangers_is_refused(name: str, tmp_path: Path) -> None:
    check_own(lines(point=OWN_POINTS[name]), 3, next(iter(OWN_POINTS[name])), tmp_path)


def check_own(text: list[str], number: int, field: str, folder: Path) -> None:
    file = folder / "backup.jsonl"
    file.write_text("".join(f"{line}\n" for line in text))
    with pytest.raises(StoreError, match=rf"Line {number} .*: {field}\b"):
        read_export(file)
    where = Store.in_folder(folder)
    where.merge(read_export(file, own=True))
    assert [json.loads(line) for line in where.export()] == [json.loads(line) for line in text]


@pytest.mark.parametrize("name", sorted(NOT_EVEN_OWN))
def test_what_no_store_can_hold_is_refused_of_ones_own_too(name: str) -> None:
    with pytest.raises(StoreError, match=rf"Line 2 .*: {what_is_wrong(name, UNITS[name])}\b"):
        parse_export(lines(unit=UNITS[name]), own=True)


@pytest.mark.parametrize(
    ("point", "wrong"),
    [
        (
            {"values": {"distortion": 10**400, "mutual_information": 0.1, "accuracy_s": 0.7}},
            "values.distortion",
        ),
        (
            {"values": {"distortion": 1, "mutual_information": 1, "accuracy_s": 1, "method": 1}},
            "values.method",
        ),
        ({"audit_config": {"x": float("nan")}}, "it is not JSON"),
        ({"finished": "0001-01-01T00:00:00+14:00"}, "finished"),
    ],
    ids=str,
)
def test_of_ones_own_too_figures_are_finite(point: dict[str, Any], wrong: str) -> None:
    with pytest.raises(StoreError, match=f"Line 3 .*: {wrong}"):
        parse_export(lines(point=point), own=True)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"replicates": to_text({"mutual_information": np.ones(3)})}, "replicates has no"),
        ({"values": {"mutual_information_max": 1e-300}}, "mutual_information_max is too small"),
        ({"values": {"distortion_max_validation": None}}, "no distortion_max_validation"),
    ],
    ids=["replicates of something else", "a divisor of almost nothing", "no divisor"],
)
def test_a_reference_that_nothing_could_be_normalised_by_is_refused(
    changes: dict[str, Any], wrong: str
) -> None:
    rows = [json.loads(line) for line in EXPORT.read_text().splitlines()]
    (reference,) = (row for row in rows if row.get("table") == "references")
    reference = present_row("references", reference, rows[0]["fairbench_export"])
    good = json.dumps(reference)
    assert len(parse_export([HEAD, good])) == 1
    bad = reference | changes | {"values": reference["values"] | changes.get("values", {})}
    with pytest.raises(StoreError, match=f"Line 2 .*{wrong}"):
        parse_export([HEAD, json.dumps(bad)])


def test_messages_are_cut_and_escaped() -> None:
    """They are what plugins said, in an honest export too."""
    broken = {"status": "FAILED", "error": "a\0b \ud800 \x1b[2J ü\n", "traceback": "x" * 200_000}
    unit, _ = parse_export(lines(unit=broken))
    assert isinstance(unit, UnitRecord)
    assert unit.error == "a\\x00b \\ud800 \\x1b[2J ü\n"
    assert unit.traceback == "x" * 20_000


def test_a_key_that_stands_twice_is_refused() -> None:
    with pytest.raises(StoreError, match=r"Line 4 .*earlier line"):
        parse_export([*lines(), lines()[1]])


def test_numbers_without_end_are_no_json() -> None:
    with pytest.raises(StoreError, match=r"Line 2 .*not JSON"):
        parse_export([HEAD, f'{{"table": "units", "seed": {"1" * 5000}}}'])


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


def test_an_import_that_takes_nothing_names_no_origin_to_remove(
    fairbench_here: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "own.jsonl").write_text("".join(f"{line}\n" for line in lines()))
    assert fairbench_here("results", "import", "own.jsonl", "--own").returncode == 0
    again = fairbench_here("results", "import", "own.jsonl", "--origin", "theirs")
    assert again.returncode == 0, again.stderr
    assert "Imported 0 units, 0 points" in again.stdout
    assert "results remove" not in again.stdout  # it would not know the origin
