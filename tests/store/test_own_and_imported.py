"""What was made here is not displaced by what is imported, and imports can be taken out."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from fairbench.leaderboard.build import build
from fairbench.leaderboard.select import read
from fairbench.registry import load_registry
from fairbench.store.database import Store
from fairbench.store.records import TABLES, PointRecord, ReferenceRecord, UnitRecord
from fairbench.store.status import Status
from tests.support.exports import a_point, a_unit

A, B, C, D = ("a" * 64, "b" * 64, "c" * 64, "d" * 64)


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
def test_an_import_never_displaces_what_was_made_here(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    where = own_and_imported(tmp_path, **changes)
    curves = [curve for own in read(where).curves.values() for curve in own]
    assert [unit.key for curve in curves for unit in curve.units] == [A]
    assert [point.key for curve in curves for point in curve.points] == [B]


def test_an_import_shows_where_nothing_of_the_kind_was_made_here(tmp_path: Path) -> None:
    where = own_and_imported(tmp_path, method="another")
    (table,) = build(where, load_registry())
    assert {row.method: row.origin for row in table.leaderboard} == {
        "some": None,
        "another": "other.jsonl",
    }
    rows = [row for row in table.points if row.status == Status.DONE and row.method == "some"]
    assert [row.origin for row in rows] == [None]  # its own audit counts, whatever the other says


def test_nothing_of_a_key_made_here_is_replaced(tmp_path: Path) -> None:
    where = Store.in_folder(tmp_path)
    broken = a_unit(A, status=Status.FAILED, error="no", read_points=None)
    where.put([broken, a_unit(C)])
    taken = where.merge([a_unit(A), a_point(B, A), a_unit(C), a_point(D, C)], "other")
    assert sum(taken.values()) == 0
    assert where.merge([a_unit(A), a_point(B, A)]) == {"units": 1, "points": 1, "references": 0}


def test_a_backup_comes_back_in_place_of_what_was_imported_before_it(tmp_path: Path) -> None:
    where = Store.in_folder(tmp_path)
    perfect = a_point(B, A).figures | {"mutual_information": 0.0}
    where.merge([a_unit(A), a_point(B, A, values=perfect), a_point(D, A, audit="quick")], "other")
    taken = where.merge([a_unit(A), a_point(B, A)])
    assert taken == {"units": 1, "points": 1, "references": 0}
    assert where.origins() == {}
    assert where.records(PointRecord) == [a_point(B, A)]
    # What the backup lacks stays as it was imported, and the other way round nothing is replaced.
    where.merge([a_unit(C), a_point(D, C)], "other")
    assert sum(where.merge([a_unit(A), a_point(B, A)]).values()) == 0
    assert sum(where.merge([a_unit(A), a_point(B, A, values=perfect)], "other").values()) == 0
    assert where.origins() == {"other": 2}


def test_a_verified_row_takes_the_place_of_an_imported_one_and_not_of_an_own_one(
    tmp_path: Path,
) -> None:
    where = Store.in_folder(tmp_path)
    better = a_point(B, A).figures | {"mutual_information": 0.0}
    where.merge([a_unit(A), a_point(B, A, values=better)], "unverified")
    assert where.merge([a_unit(A), a_point(B, A)], "again")["points"] == 0
    taken = where.merge([a_unit(A), a_point(B, A)], "verified today", verified=True)
    assert taken == {"units": 1, "points": 1, "references": 0}
    assert where.origins() == {"verified today": 2}
    assert where.records(PointRecord) == [a_point(B, A, origin="verified today")]
    where.put([a_unit(C), a_point(D, C)])
    ours = where.merge([a_unit(C), a_point(D, C, values=better)], "verified today", verified=True)
    assert sum(ours.values()) == 0


def test_a_reference_made_here_counts_before_an_imported_one(tmp_path: Path) -> None:
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
    where.put([unit.replace(seed=unit.seed)])
    assert where.origins() == {}


def test_what_is_not_done_replaces_nothing_that_is(tmp_path: Path) -> None:
    """A run that slept while another did its job wakes up and finds that its own has failed."""
    where = Store.in_folder(tmp_path)
    where.put([a_unit(A), a_point(B, A)])
    late = a_unit(A, status=Status.TIMEOUT, error="timeout", read_points=None, artefact=None)
    where.put([late, a_point(B, A, status=Status.PENDING, values=None)])
    assert where.statuses(UnitRecord) == {A: Status.DONE}
    assert where.statuses(PointRecord) == {B: Status.DONE}
    (unit,) = where.records(UnitRecord)
    assert unit.artefact == a_unit(A).artefact


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
