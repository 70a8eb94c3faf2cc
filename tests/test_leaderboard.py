"""Leaderboards: documented columns, honest ranks."""

import re
from pathlib import Path

from fairbench.columns import ATTAINMENT_COLUMNS, COLUMNS, POINT_COLUMNS, PROVENANCE
from fairbench.leaderboard import to_frame
from fairbench.ranking import Entry, ranked
from fairbench.records import latest
from fairbench.registry import load_registry
from fairbench.store import Row

DOCS = Path(__file__).parent.parent / "docs" / "leaderboard.md"


def test_the_page_documents_every_column_and_no_other() -> None:
    registry = load_registry()
    known = {**COLUMNS, **PROVENANCE, **POINT_COLUMNS, **ATTAINMENT_COLUMNS}
    for metric in registry.metrics.classes.values():
        known.update(metric.columns)
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", DOCS.read_text(), flags=re.MULTILINE)
    assert {name for name, _ in rows} == set(known)
    meanings = {**COLUMNS, **PROVENANCE}
    for name, text in rows:
        if name in meanings and name not in POINT_COLUMNS:
            assert text == meanings[name]


def row(method: str, aufdc: float | None, **more: object) -> Row:
    base = {"track": "blind", "budget": "full", "audit": "strict", "params": "default"}
    return base | {"method": method, "aufdc": aufdc, "complete": True, "rank": None} | more


def order(rows: list[Row]) -> list[Row]:
    return [entry.row for entry in ranked([Entry(row) for row in rows])]


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
    assert [(r["method"], r["rank"]) for r in found] == [
        ("a", 1),
        ("b", 2),
        ("c", 2),
        ("quick", 1),
        ("aware", 1),
    ]


def test_an_incomplete_row_has_no_rank_and_stands_below() -> None:
    found = order([row("partial", 0.1, complete=False), row("whole", 0.4), row("none", None)])
    assert [(r["method"], r["rank"]) for r in found] == [
        ("whole", 1),
        ("none", None),
        ("partial", None),
    ]


def test_rows_of_older_code_or_data_make_way_for_newer_ones() -> None:
    def unit(key: str, finished: str, **more: object) -> Row:
        names = ("dataset", "data_source", "track", "budget", "method", "params")
        base = {"key": key, "finished": finished, "code": "c", "fingerprint": "f", "protocol": 1}
        base |= {"seed": 0, "point": None, "curve_points": 16}
        return dict.fromkeys(names, "x") | base | more

    def left(*units: Row) -> list[str]:
        return [u["key"] for u in latest(units)]

    assert left(unit("1", "01", code="old"), unit("2", "02")) == ["2"]
    # Another method's old data is of the past too: rows of one leaderboard share their data.
    assert left(unit("1", "01", fingerprint="old", method="y"), unit("2", "02")) == ["2"]
    assert left(unit("1", "01", protocol=0, method="y"), unit("2", "02")) == ["2"]
    # A curve read at fewer points makes no row worse.
    assert left(unit("1", "01"), unit("2", "02", curve_points=2)) == ["1"]
    assert left(unit("1", "01"), unit("2", "02", seed=1)) == ["1", "2"]


def test_numbers_are_written_with_six_digits_and_whole_ones_whole() -> None:
    text = to_frame([{"rank": 1, "aufdc": 0.123456789}, {"rank": None, "aufdc": None}])
    assert text.to_csv(index=False) == "rank,aufdc\n1,0.123457\n,\n"


def test_a_mean_over_seeds_need_not_be_whole() -> None:
    assert "5.5" in to_frame([{"rank": 1, "front_points": 5.5}]).to_csv(index=False)
