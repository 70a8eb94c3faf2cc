"""Leaderboards: documented columns, honest ranks."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairbench.leaderboard.build import Tables, write_results
from fairbench.leaderboard.frames import to_frame
from fairbench.leaderboard.ranking import LeaderboardEntry
from fairbench.leaderboard.select import USED, curves_of, latest, select
from fairbench.metrics.columns import (
    ACROSS_COLUMNS,
    ATTAINMENT_COLUMNS,
    COLUMNS,
    POINT_COLUMNS,
    PROVENANCE,
    REFERENCE_COLUMNS,
)
from fairbench.metrics.rows import AttainmentRow, PointRow
from fairbench.registry import load_registry
from fairbench.store.records import PointRecord, ReadPoint, RunRecord, UnitRecord
from fairbench.store.status import Status
from tables import describe_columns, describe_tests, rewrite
from tests.support import exports
from tests.support.rows import a_row

DOCS = Path(__file__).parents[2] / "docs" / "leaderboard.md"


def test_the_page_documents_every_column_and_no_other() -> None:
    registry = load_registry()
    known = {**COLUMNS, **PROVENANCE, **POINT_COLUMNS, **REFERENCE_COLUMNS, **ATTAINMENT_COLUMNS}
    known |= ACROSS_COLUMNS
    for metric in registry.metrics.classes.values():
        known.update(metric.columns)
    known |= describe_tests(registry)
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", DOCS.read_text(), flags=re.MULTILINE)
    assert {name for name, _ in rows} == set(known)


def test_the_page_describes_columns_as_the_code_does() -> None:
    text = DOCS.read_text("utf-8")
    assert set(re.findall(r"<!-- columns: (\w+) -->", text)) == set(describe_columns())
    assert rewrite(text) == text, "run `python docs/tables.py`"


def a_unit(key: str, **more: Any) -> UnitRecord:
    names = ("dataset", "data_source", "track", "budget", "method", "params_label", "plugin")
    return UnitRecord(
        key=key,
        status=Status.DONE,
        seed=0,
        tags=[],
        params={},
        iterations=1,
        fingerprint="f",
        protocol=1,
        code="c",
        **dict.fromkeys(names, "x"),
        **more,
    )


def test_rows_of_older_code_or_data_make_way_for_newer_ones() -> None:
    def unit(key: str, finished: str, **more: Any) -> UnitRecord:
        return a_unit(key, finished=finished, curve_points=16).replace(**more)

    def left(*units: UnitRecord) -> list[str]:
        return [u.key for u in latest(units)]

    assert left(unit("1", "01", code="old"), unit("2", "02")) == ["2"]
    # A method that has gained a parameter is still itself.
    was, now = {"bits": 8}, {"bits": 8, "adversary": None}
    assert left(unit("1", "01", code="old", params=was), unit("2", "02", params=now)) == ["2"]
    # What a default is may change where its code does not.
    slow, fast = {"learning_rate": 1e-4}, {"learning_rate": 1e-3}
    assert left(unit("1", "01", params=slow, seed=1), unit("2", "02", params=fast)) == ["2"]
    # Another method's old data is of the past too: rows of one leaderboard share their data.
    assert left(unit("1", "01", fingerprint="old", method="y"), unit("2", "02")) == ["2"]
    assert left(unit("1", "01", protocol=0, method="y"), unit("2", "02")) == ["2"]
    # A curve read at fewer points makes no row worse.
    assert left(unit("1", "01"), unit("2", "02", curve_points=2)) == ["1"]
    # One that was to be read at more, and was not, hides none that was.
    for status in (Status.PENDING, Status.OOM):
        more = unit("2", "02", curve_points=32, status=status)
        assert left(unit("1", "01"), more) == ["1"]
    assert left(unit("1", "01"), unit("2", "02", seed=1)) == ["1", "2"]


@pytest.mark.parametrize("field", ["fingerprint", "code"])
def test_a_run_of_earlier_code_or_data_brings_their_rows_back(field: str) -> None:
    """It trains nothing: what it looks up was finished before the others."""
    units = [a_unit(key, finished=f"0{key}").replace(**{field: key}) for key in ("1", "2")]

    def run(started: str, *used: str) -> RunRecord:
        config = {USED: list(used)} if used else {}
        return RunRecord(id=started, started=started, command="", config=config, versions={})

    def left(*runs: RunRecord) -> list[str]:
        return [unit.key for unit in latest(units, runs)]

    assert left(run("01", "1"), run("02", "2")) == ["2"]
    assert left(run("03", "1")) == ["1"]
    assert left(run("02", "1")) == ["1"]  # times are in whole seconds
    assert left(run("04", "2"), run("03", "1")) == ["2"]
    assert left(run("03", "1"), run("09")) == ["1"]  # of a version that did not record it


def test_a_mean_over_folds_does_not_mix_versions_of_the_audit() -> None:
    """As where a command that measures all points again was interrupted after the first fold."""
    units = [
        exports.a_unit(f"{fold}" * 64, split=f"fold {fold} of 2", fingerprint=f"{fold}" * 64)
        for fold in (1, 2)
    ]
    points = [
        exports.a_point(str(fold), f"{fold}" * 64, audit_version=version)
        for fold, version in ((1, 8), (1, 7), (2, 7))
    ]
    (curves,) = select(units, points, []).curves.values()
    assert [[point.version for point in curve.done] for curve in curves] == [[8], []]


def test_what_an_audit_has_not_come_to_is_missing_in_its_curve() -> None:
    knobs = {"gamma": 1.0}
    units = [a_unit(key, read_points=(ReadPoint(key, knobs),)) for key in ("a", "b")]

    def point(unit: str, audit: str) -> PointRecord:
        return PointRecord(
            key=f"{unit}-{audit}",
            status=Status.DONE,
            unit=unit,
            number=0,
            label=unit,
            knobs=knobs,
            audit=audit,
            audit_config={},
        )

    points = {"a": [point("a", "quick"), point("a", "strict")], "b": [point("b", "quick")]}
    found = {c.audit: c for curves in curves_of(units, points).values() for c in curves}
    assert (found["quick"].missing, len(found["quick"].done)) == (0, 2)
    assert (found["strict"].missing, len(found["strict"].done)) == (1, 1)


def test_a_table_of_what_is_no_longer_there_goes(tmp_path: Path) -> None:
    head = {"method": "a", "params": "default", "track": "blind", "budget": "full"}
    head |= {"audit": "strict", "dataset": "d", "data_source": "real"}
    ends = dict.fromkeys(REFERENCE_COLUMNS)
    point = PointRow(
        **head, split="official", counted=True, seed=0, status="DONE", figures={}, **ends
    )
    vertex = AttainmentRow(
        **head, splits="official", seeds=1, level=50, distortion=0, mutual_information=0
    )
    whole = Tables("d", [LeaderboardEntry(a_row("a", 0.1))], [point], [vertex])
    assert len(write_results([whole], tmp_path)) == 3
    assert len(write_results([replace(whole, attainment=[])], tmp_path)) == 2
    left = {path.name for path in (tmp_path / "leaderboards").iterdir()}
    assert left == {"d.csv", "d-points.csv"}


def test_numbers_are_written_with_six_digits_and_whole_ones_whole() -> None:
    text = to_frame([{"rank_low": 1, "aufdc": 0.123456789}, {"rank_low": None, "aufdc": None}])
    assert text.to_csv(index=False) == "rank_low,aufdc\n1,0.123457\n,\n"


def test_a_mean_over_seeds_need_not_be_whole() -> None:
    assert "5.5" in to_frame([{"rank_low": 1, "front_points": 5.5}]).to_csv(index=False)
