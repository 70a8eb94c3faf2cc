"""Leaderboards: documented columns, honest ranks."""

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairbench.cli.console import _notes, show_leaderboard
from fairbench.errors import ConfigError, UnknownNameError
from fairbench.leaderboard.build import Tables, write
from fairbench.leaderboard.frames import to_frame
from fairbench.leaderboard.ranking import RankedRow, check_names, compare, rank_rows
from fairbench.leaderboard.select import curves_of, latest
from fairbench.metrics.columns import (
    ATTAINMENT_COLUMNS,
    COLUMNS,
    POINT_COLUMNS,
    PROVENANCE,
    REFERENCE_COLUMNS,
)
from fairbench.metrics.rows import AttainmentRow, LeaderboardRow, PointRow
from fairbench.registry import load_registry
from fairbench.stats.intervals import Sample, estimate
from fairbench.store.records import PointRecord, ReadPoint, UnitRecord
from fairbench.store.status import Status
from tables import COLUMN_BLOCK, describe_columns, format_columns

DOCS = Path(__file__).parents[2] / "docs" / "leaderboard.md"


def test_the_page_documents_every_column_and_no_other() -> None:
    registry = load_registry()
    known = {**COLUMNS, **PROVENANCE, **POINT_COLUMNS, **REFERENCE_COLUMNS, **ATTAINMENT_COLUMNS}
    for metric in registry.metrics.classes.values():
        known.update(metric.columns)
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", DOCS.read_text(), flags=re.MULTILINE)
    assert {name for name, _ in rows} == set(known)


def test_the_page_describes_columns_as_the_code_does() -> None:
    blocks = {b["name"]: b["table"] for b in COLUMN_BLOCK.finditer(DOCS.read_text("utf-8"))}
    expected = {name: format_columns(columns) for name, columns in describe_columns().items()}
    assert blocks == expected, "run `python docs/tables.py`"


def row(method: str, aufdc: float | None, **more: Any) -> LeaderboardRow:
    """A row; what is no field of one is a figure."""
    base = {"track": "blind", "budget": "full", "audit": "strict", "params": "default"}
    base |= {"tags": "", "dataset": "d", "data_source": "real", "plugin": "p", "fingerprint": "f"}
    counts = {"seeds": 1, "seeds_missing": 0, "points": 1, "points_missing": 0}
    ends = dict.fromkeys(("mutual_information_max", "distortion_max"))
    made = {"iterations": 1, "protocol": 1, "audit_version": 1}
    made |= dict.fromkeys(("device", "processor", "fairbench", "python", "torch", "scikit_learn"))
    names = {field.name for field in fields(LeaderboardRow)}
    given = {name: value for name, value in more.items() if name in names}
    figures = {name: value for name, value in more.items() if name not in names}
    return LeaderboardRow(
        **(base | counts | ends | made | {"complete": True} | given),
        method=method,
        figures={"aufdc": aufdc} | figures,
    )


def order(rows: list[LeaderboardRow]) -> list[LeaderboardRow]:
    return [entry.row for entry in rank_rows([RankedRow(row) for row in rows])]


def test_ranks_are_within_track_budget_and_audit() -> None:
    found = order(
        [
            row("b", 0.3),
            row("a", 0.2),
            row("c", 0.3),
            row("quick", 0.1, budget="quick", audit="quick"),
            row("aware", 0.01, track="aware"),
        ]
    )
    assert [(r.method, r.rank) for r in found] == [
        ("a", 1),
        ("b", 2),
        ("c", 2),
        ("quick", 1),
        ("aware", 1),
    ]


def test_an_incomplete_row_has_no_rank_and_stands_below() -> None:
    found = order([row("partial", 0.1, complete=False), row("whole", 0.4), row("none", None)])
    assert [(r.method, r.rank) for r in found] == [
        ("whole", 1),
        ("none", None),
        ("partial", None),
    ]


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
    assert left(unit("1", "01"), unit("2", "02", seed=1)) == ["1", "2"]


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
    point = PointRow(**head, seed=0, status="DONE", figures={}, **ends)
    vertex = AttainmentRow(**head, seeds=1, level=50, distortion=0, mutual_information=0)
    whole = Tables("d", [RankedRow(row("a", 0.1))], [point], [vertex])
    assert len(write([whole], tmp_path)) == 3
    assert len(write([replace(whole, attainment=[])], tmp_path)) == 2
    left = {path.name for path in (tmp_path / "leaderboards").iterdir()}
    assert left == {"d.csv", "d-points.csv"}


def test_numbers_are_written_with_six_digits_and_whole_ones_whole() -> None:
    text = to_frame([{"rank": 1, "aufdc": 0.123456789}, {"rank": None, "aufdc": None}])
    assert text.to_csv(index=False) == "rank,aufdc\n1,0.123457\n,\n"


def test_a_mean_over_seeds_need_not_be_whole() -> None:
    assert "5.5" in to_frame([{"rank": 1, "front_points": 5.5}]).to_csv(index=False)


def errors(seed: int, size: float) -> np.ndarray:
    found = np.random.default_rng(seed).normal(size=(1, 500))
    return size * (found - found.mean()) / found.std()


def entry(method: str, seed: int, size: float = 0.01, **columns: Any) -> RankedRow:
    """One seed; replicates with the standard error given."""
    made = row(method, columns.pop("aufdc", None), seeds=1, **columns)
    figures = {k: v for k, v in made.figures.items() if v is not None}
    samples = {k: Sample(np.array([v]), v + errors(seed, size)) for k, v in figures.items()}
    return RankedRow(made, samples)


def test_rows_that_are_not_apart_share_a_rank_and_stand_by_value() -> None:
    found = rank_rows(
        [entry("c", 1, aufdc=0.3), entry("b", 2, aufdc=0.21), entry("a", 3, aufdc=0.2)]
    )
    assert [(e.row.method, e.row.rank) for e in found] == [("a", 1), ("b", 1), ("c", 3)]
    assert {e.row.ranked_by for e in found} == {"aufdc"}


def test_the_aware_track_goes_by_accuracy_at_a_limit() -> None:
    aware = {"track": "aware"}
    better = entry("useful", 1, aufdc=0.3, accuracy_y_at_leakage_10=0.85, **aware)
    worse = entry("fair", 2, aufdc=0.01, accuracy_y_at_leakage_10=0.75, **aware)
    found = rank_rows([worse, better])
    assert [(e.row.method, e.row.rank) for e in found] == [("useful", 1), ("fair", 2)]
    assert {e.row.ranked_by for e in found} == {"accuracy_y_at_leakage_10"}
    # Without a task there is no accuracy to go by.
    bare = rank_rows([entry("x", 1, aufdc=0.3, **aware), entry("y", 2, aufdc=0.01, **aware)])
    assert [(e.row.method, e.row.ranked_by) for e in bare] == [("y", "aufdc"), ("x", "aufdc")]


def test_two_methods_are_compared_where_both_have_a_row() -> None:
    quick = {"budget": "quick", "audit": "quick"}
    entries = [
        entry("a", 1, aufdc=0.2),
        entry("b", 2, aufdc=0.3),
        entry("b", 3, aufdc=0.25, params="bits=4"),
        entry("a", 4, aufdc=0.4, **quick),
    ]
    found = list(compare(entries, "a", "b"))
    assert [(c.b.params, c.group.budget) for c in found] == [
        ("default", "full"),
        ("bits=4", "full"),
    ]
    assert found[0].difference is not None
    assert found[0].difference.value == pytest.approx(-0.1)
    assert found[0].difference.p_value() < 1e-6
    (named,) = compare(entries, "b:bits=4", "a")
    assert named.difference is not None
    assert named.difference.value == pytest.approx(0.05)
    older = [entry("a", 1, aufdc=0.2), RankedRow(row("b", 0.3))]
    assert next(compare(older, "a", "b")).difference is None


def test_a_comparison_of_nobody_is_told() -> None:
    with pytest.raises(UnknownNameError, match="'soair'"):
        check_names({"sofair", "latfr"}, "latfr", "soair")
    with pytest.raises(ConfigError, match="with itself"):
        check_names({"sofair"}, "sofair", "sofair")


def with_intervals(entry: RankedRow) -> RankedRow:
    figures = dict(entry.row.figures)
    for column, sample in entry.samples.items():
        figures[f"{column}_low"], figures[f"{column}_high"] = estimate(sample).interval()
    over = "rows" if entry.samples else None
    return replace(entry, row=replace(entry.row, figures=figures, interval_over=over))


def shown(entries: list[RankedRow], capsys: pytest.CaptureFixture[str]) -> list[str]:
    show_leaderboard("toy", [e.row for e in rank_rows([with_intervals(e) for e in entries])])
    return capsys.readouterr().out.splitlines()


def test_the_table_shows_intervals_and_says_what_they_are_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = shown([entry("random-projection", 1, aufdc=0.2), entry("b", 2, aufdc=0.4)], capsys)
    assert ".200 [.180, .220]" in lines[2]
    assert max(map(len, lines)) <= 80
    assert any("over test rows alone" in line for line in lines)
    old = RankedRow(row("older", 0.3, seeds=1, interval_over=None))
    lines = shown([old, entry("new", 2, aufdc=0.2)], capsys)
    assert lines[3].split()[1:3] == ["older", ".300"]
    assert any("rank by their value alone" in line for line in lines)


def test_the_table_of_the_aware_track_shows_accuracy(capsys: pytest.CaptureFixture[str]) -> None:
    aware = entry("centred", 1, aufdc=0.01, accuracy_y_at_leakage_10=0.85, track="aware")
    lines = shown([aware], capsys)
    assert "A_y at I<10%" in lines[1]
    assert ".850 [.830, .870]" in lines[2]


def test_the_terminal_says_why_there_is_no_area() -> None:
    whole = row("a", None, mutual_information_max=0.01)
    assert "may be noise" in " ".join(_notes([whole]))
    assert _notes([replace(whole, complete=False)]) == []
