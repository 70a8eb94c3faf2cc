"""Tables of a page that a directive fills with rows of published boards."""

from collections.abc import Callable

import numpy as np
import pytest

import board_rows
from board_rows import format_fronts, format_rows, format_told, read_rows, read_table
from fairbench.leaderboard.build import Tables
from fairbench.leaderboard.ranking import LeaderboardEntry
from fairbench.metrics.limits import LIMIT_NOTE, PARTLY
from tables import rewrite
from tests.support.rows import a_row, with_folds

Publish = Callable[..., None]
PAGE = "Before.\n\n<!-- rows: {} -->\n\nold\n\n<!-- end of rows -->\n\nAfter.\n"


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Publish rows, in place of those of every board."""

    def instead(*entries: LeaderboardEntry) -> None:
        monkeypatch.setattr(board_rows, "read_table", lambda board: Tables("d", list(entries)))

    return instead


def test_rows_are_in_the_order_of_their_areas() -> None:
    names = "identity, funnel (transferred), drop-features"
    text = rewrite(PAGE.format(f"compas-race-5: {names}"))
    lines = text.splitlines()
    assert lines[:4] == ["Before.", "", f"<!-- rows: compas-race-5: {names} -->", ""]
    assert [line.split(" | ")[0] for line in lines[4:9]] == [
        "|",
        "|---|---|---|---|",
        "| `funnel` (transferred)",
        "| `drop-features`",
        "| `identity`",
    ]
    assert lines[8].split(" | ")[1].startswith(".500")
    assert lines[8].endswith("none |")
    assert lines[9:] == ["", "<!-- end of rows -->", "", "After."]
    assert rewrite(text) == text


def test_of_several_boards_stand_the_areas() -> None:
    text = rewrite(PAGE.format("compas-race-5, compas-sex-race-5: sofair"))
    heads, _, row = text.splitlines()[4:7]
    assert heads == "| | AUFDC, `compas-race-5` | AUFDC, `compas-sex-race-5` |"
    area = read_rows("compas-race-5")["sofair"].row.figures["aufdc"]
    assert area is not None
    assert float(row.split(" | ")[1].split()[0]) == pytest.approx(area, abs=5e-4)


def test_fronts_have_the_best_at_the_strictest_limit_first() -> None:
    page = PAGE.replace("rows", "fronts")
    text = rewrite(page.format("compas-race-5: pca, sofair, drop-features"))
    lines = text.splitlines()[4:9]
    assert lines[0] == "| | A_y at 10% | A_y at 25% | A_y at 50% |"
    shown = [line.strip("| ").split(" | ") for line in lines[2:]]
    assert sorted(name for name, *_ in shown) == ["`drop-features`", "`pca`", "`sofair`"]
    assert shown[-1] == ["`pca`", "none", "none", "none"]  # no point of it keeps any limit
    at_10 = [float(row[1].removesuffix(PARTLY)) for row in shown[:-1]]
    assert at_10 == sorted(at_10, reverse=True)
    # The mark is explained where it stands, and there alone.
    assert (LIMIT_NOTE in text) == (PARTLY in "".join(lines))
    assert LIMIT_NOTE not in rewrite(page.format("compas-race-5: pca, drop-features"))


def test_misses_are_the_points_with_the_largest_gap_the_largest_first() -> None:
    page = PAGE.replace("rows", "misses")
    text = rewrite(page.format("compas-race-5: drop-features, constant, sofair"))
    rows = [line.strip("| ").split(" | ") for line in text.splitlines()[6:9]]
    assert [row[0].split("`")[1] for row in rows] == ["sofair", "drop-features", "constant"]
    gaps = [float(strict) - max(0.0, float(paper)) for _, _, paper, strict, *_ in rows]
    assert gaps == sorted(gaps, reverse=True)
    for row in rows:
        points = [
            point
            for point in read_table("compas-race-5").points
            if (point.method, point.split) == (row[0].split("`")[1], row[1])
        ]
        assert any(
            float(row[3]) == pytest.approx(point.figures["mutual_information"], abs=5e-4)
            and float(row[5]) == pytest.approx(point.figures["distortion"], abs=5e-4)
            for point in points
        )


def test_a_block_without_a_table_yet_is_filled_and_nothing_after_it_is_lost() -> None:
    empty = "<!-- rows: compas-race-5: sofair -->\n\n<!-- end of rows -->\n\nBetween.\n\n"
    text = rewrite(empty + PAGE.format("compas-race-5: sofair"))
    assert text.count("| `sofair` |") == 2
    assert "Between." in text


def test_a_row_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="merged-cells \\(other\\)"):
        rewrite(PAGE.format("compas-race-5: merged-cells (other)"))


@pytest.mark.parametrize(
    ("t", "ahead", "behind", "level"),
    [
        (-3.0, "`other`", "none", "none"),
        (-2.4, "none", "none", "`other`"),
        (2.4, "none", "none", "`other`"),
        (3.0, "none", "`other`", "none"),
    ],
)
def test_both_directions_together_err_at_a_twentieth(
    t: float, ahead: str, behind: str, level: str, publish: Publish
) -> None:
    """One-sided, with 4 degrees of freedom, t = 2.4 has p = .037, and t = 3.0 has p = .020."""
    spread = np.array([-0.002, -0.001, 0.0, 0.001, 0.002])
    error = spread.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    publish(
        with_folds("plain", [0.2] * 5, replicated=True),
        with_folds("other", (0.2 + t * error + spread).tolist(), replicated=True),
    )
    text = " ".join(format_told(["d-1"], ["plain"]).split())
    assert f"{ahead} are clearly ahead of `plain`, and {behind} clearly behind it" in text
    assert f"; {level} do not differ significantly from it" in text


def test_of_two_rows_with_one_name_none_hides_the_other(publish: Publish) -> None:
    rows = [
        LeaderboardEntry(a_row("sofair", area, params=params, label="tuned", replicated=True))
        for area, params in ((0.1, "a=1"), (0.2, "a=2"))
    ]
    publish(*rows)
    with pytest.raises(ValueError, match=r"d-1 has two rows called sofair \(tuned\).*a=1.*a=2"):
        read_rows("d-1")


def test_rows_without_a_label_are_told_by_their_hyperparameters(publish: Publish) -> None:
    publish(
        *(LeaderboardEntry(a_row("sofair", 0.2, params=params)) for params in ("a=1", "default"))
    )
    assert list(read_rows("d-1")) == ["sofair (a=1)", "sofair"]
    assert "| `sofair` (a=1) |" in format_rows(["d-1"], ["sofair (a=1)"])


def test_where_nothing_is_ranked_the_complete_rows_are_shown(publish: Publish) -> None:
    publish(
        LeaderboardEntry(a_row("partial", 0.1, complete=False)),
        LeaderboardEntry(a_row("whole", 0.2)),
    )
    assert list(read_rows("d-1")) == ["whole"]


def test_a_missing_area_is_no_perfect_one(publish: Publish) -> None:
    publish(
        LeaderboardEntry(a_row("unknown", None)),
        LeaderboardEntry(a_row("undefined", float("nan"))),
        LeaderboardEntry(a_row("known", 0.4)),
    )
    names = ["unknown", "undefined", "known"]
    assert format_rows(["d-1"], names).splitlines()[2:] == [
        "| `known` | .400 | none | none |",
        "| `unknown` | none | none | none |",
        "| `undefined` | none | none | none |",
    ]


def test_a_missing_accuracy_stands_last(publish: Publish) -> None:
    strictest = "accuracy_y_at_accuracy_s_10"
    publish(
        LeaderboardEntry(a_row("unknown", 0.1)),
        LeaderboardEntry(a_row("good", 0.1, **{strictest: 0.8})),
        LeaderboardEntry(a_row("best", 0.1, **{strictest: 0.9})),
    )
    lines = format_fronts(["d-1"], ["unknown", "good", "best"]).splitlines()[2:]
    assert [line.strip("| ").split(" | ")[:2] for line in lines] == [
        ["`best`", ".900"],
        ["`good`", ".800"],
        ["`unknown`", "none"],
    ]
