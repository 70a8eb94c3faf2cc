"""A table with replicated and other rows: in the CSV, the terminal, the page and figures."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fairbench.api.metric import CurveEvaluation, Metric
from fairbench.cli.app import app
from fairbench.leaderboard.build import build
from fairbench.leaderboard.frames import load_leaderboard
from fairbench.leaderboard.measured import MeasuredCurve, MetricProblems
from fairbench.leaderboard.row_curves import RowCurves, choose_curves, commonest_folds
from fairbench.leaderboard.row_figures import compute_figures
from fairbench.leaderboard.select import CurveRecords, curves_of, latest
from fairbench.metrics.aufdc import Aufdc
from fairbench.models.query import ResultsLocation
from fairbench.models.recommend import gather_candidates
from fairbench.models.results import StoredResults
from fairbench.models.select import first_split
from fairbench.registry import declared_columns, load_registry
from fairbench.report.figures import curves_figure
from fairbench.report.gather import DatasetReport, gather
from fairbench.report.ranks_figure import ranks_figure
from fairbench.store.database import Store
from fairbench.store.records import PointRecord, Record, ReferenceRecord, UnitRecord
from tests.support.exports import a_unit
from tests.support.runs import five_folds, stored


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folds")
    stored(folder, five_folds)
    return folder


@pytest.fixture(scope="module")
def board(results: Path) -> pd.DataFrame:
    assert CliRunner().invoke(app, ["leaderboard", "--results", str(results)]).exit_code == 0
    (path,) = [p for p in (results / "leaderboards").iterdir() if "-" not in p.stem[13:]]
    return load_leaderboard(path).set_index("method")


@pytest.fixture(scope="module")
def report(results: Path) -> DatasetReport:
    return gather(Store.in_folder(results), load_registry()).datasets[0]


def test_only_rows_with_all_folds_are_ranked(board: pd.DataFrame) -> None:
    ranked, others = board[board["replicated"]], board[~board["replicated"]]
    assert set(others.index) == {"random-projection", "pca"}
    assert board.index.tolist() == [*ranked.index, *others.index]
    assert ranked["aufdc"].is_monotonic_increasing
    assert (ranked["splits"] == "5 folds").all()
    assert board.loc["random-projection", "splits"] == "official"
    assert board.loc["pca", "splits"] == "official (4 of 5 folds)"
    for column in ("rank_low", "rank_high", "may_be_best"):
        assert ranked[column].notna().all()
        assert others[column].isna().all()
    assert (ranked["rank_low"] <= ranked["rank_high"]).all()
    assert ranked["p_drop_features"].notna().sum() == len(ranked) - 1
    assert others["p_drop_features"].isna().all()
    assert set(ranked["interval_over"]) == {"splits"}


def test_curves_that_are_read_at_other_points_lack_those() -> None:
    def lacking(*curves: tuple[str, int, list[UnitRecord]]) -> dict[tuple[str, int], int]:
        units = [
            unit.replace(key=f"{split} {seed} {place}", split=split, seed=seed)
            for split, seed, own in curves
            for place, unit in enumerate(own)
        ]
        (found,) = curves_of(units, {}).values()
        return {(curve.split, curve.seed): curve.not_read for curve in found}

    def read_at(count: int) -> list[UnitRecord]:
        return [a_unit("one").replace(point=None, curve_points=count)]

    def trained_at(*points: str) -> list[UnitRecord]:
        return [a_unit("several").replace(point=point, curve_points=None) for point in points]

    of_folds = [(f"fold {fold} of 2", 0) for fold in (1, 2)]
    assert lacking((*of_folds[0], read_at(8)), (*of_folds[1], read_at(4))) == {
        of_folds[0]: 0,
        of_folds[1]: 4,
    }
    assert lacking((*of_folds[0], read_at(8)), ("official", 0, read_at(16))) == {
        of_folds[0]: 0,
        ("official", 0): 0,
    }
    assert lacking(
        ("official", 0, trained_at("k=1", "k=2")), ("official", 1, trained_at("k=1", "k=3"))
    ) == {("official", 0): 1, ("official", 1): 1}


def test_a_row_with_two_sets_of_folds_is_of_those_that_the_other_rows_have() -> None:
    def curves(*folds: int) -> list[CurveRecords]:
        splits = [f"fold {fold} of {of}" for of in folds for fold in range(1, of + 1)]
        return [CurveRecords(split, 0, "strict", [], []) for split in splits]

    def complete(curve: CurveRecords) -> bool:
        return True

    rows = [curves(5), curves(5), curves(5, 10)]
    assert commonest_folds(rows, complete) == 5
    assert choose_curves(rows[2], complete, folds=5).words == "5 folds"
    assert choose_curves(rows[2], complete).words == "10 folds"
    assert choose_curves(curves(3), complete, folds=5).words == "3 folds"


def test_rows_of_another_budget_do_not_choose_the_folds(tmp_path: Path) -> None:
    """Rows are ranked within a budget: three rows with two folds say nothing of those with five."""

    def with_two_folds(records: list[Record]) -> list[Record]:
        """All rows on two folds of another budget, and sofair on two of its own budget too."""
        ours = five_folds(records)
        more: list[Record] = []
        for one in ours:
            if isinstance(one, UnitRecord) and one.split.endswith("of 5"):
                if int(one.split.split()[1]) > 2:
                    continue
                split = one.split.replace("of 5", "of 2")
                other = one.replace(key=f"b{one.key[1:]}", split=split, budget="full")
                more.append(other)
                if one.method == "sofair":
                    more.append(one.replace(key=f"c{one.key[1:]}", split=split))
            elif isinstance(one, PointRecord) and one.unit.startswith(("f1", "f2")):
                for letter in "bc":
                    unit = f"{letter}{one.unit[1:]}"
                    more.append(one.replace(key=f"{letter}{one.key[1:]}", unit=unit))
        return [*ours, *more]

    (table,) = build(stored(tmp_path, with_two_folds), load_registry())
    splits = {(row.method, row.budget): row.splits for row in table.leaderboard}
    assert splits["latfr", "full"] == splits["sofair", "full"] == "2 folds"
    assert splits["latfr", "quick"] == splits["sofair", "quick"] == "5 folds"
    assert all(row.replicated for row in table.leaderboard if row.method == "sofair")


def test_the_official_area_is_of_the_audit_that_the_folds_have(tmp_path: Path) -> None:
    def later_on_the_official_split(records: list[Record]) -> list[Record]:
        return [
            one.replace(audit_version=one.version + 1)
            if isinstance(one, (PointRecord, ReferenceRecord)) and one in records
            else one
            for one in five_folds(records)
        ]

    (table,) = build(stored(tmp_path, later_on_the_official_split), load_registry())
    (row,) = (row for row in table.leaderboard if row.method == "sofair")
    assert row.splits == "5 folds"
    assert row.figures["aufdc"] is not None
    assert row.aufdc_official is None
    points = [point for point in table.points if point.method == "sofair"]
    assert points
    assert all(point.counted for point in points)


def test_a_split_of_which_a_seed_has_no_figure_has_none() -> None:
    """A mean over the other seed would be of other models than on the other splits."""

    def curve(fold: int, area: float, most: float) -> MeasuredCurve:
        figures = {"distortion": 0.5, "mutual_information": area * most}
        point = figures | {f"{name}_validation": value for name, value in figures.items()}
        ends = {"mutual_information_max": most, "distortion_max": 1.0}
        reference = ends | {"mutual_information_max_validation": 0.05}
        evaluation = CurveEvaluation(
            points=[point], reference=reference | {"distortion_max_validation": 1.0}
        )
        return MeasuredCurve("m", f"fold {fold} of 2", evaluation)

    def areas(most: float) -> tuple[float | None, list[float]]:
        curves = [curve(1, 0.1, 0.05), curve(1, 0.4, 0.05), curve(2, 0.1, 0.05)]
        curves.append(curve(2, 0.4, most))
        of_row = RowCurves(2, "2 folds", [], [])
        found = compute_figures(of_row, curves, [Aufdc], MetricProblems())
        return found.values["aufdc"], list(found.folds.get("aufdc", ()))

    whole, of_folds = areas(0.05)
    assert whole == pytest.approx(np.mean(of_folds))
    assert len(of_folds) == 2
    # On these test rows nothing can be read of s from x.
    assert areas(-0.001) == (None, [])


def test_a_metric_cannot_take_the_column_of_another_when_it_computes() -> None:
    class Late(Metric):
        name = "late"
        summary = "declares the area as its own"
        level = "curve"
        columns: ClassVar[dict[str, str]] = {"own": "a number"}

        def compute(self, evaluation: CurveEvaluation) -> Mapping[str, float | None]:
            self.columns["aufdc"] = "not its own"
            return {"own": 1.0, "aufdc": 0.0}

    declared_columns(Late)  # as when it is registered
    figures = {"distortion": 0.5, "mutual_information": 0.03}
    figures |= {f"{name}_validation": value for name, value in figures.items()}
    ends = {"mutual_information_max": 0.05, "distortion_max": 1.0}
    ends |= {f"{name}_validation": value for name, value in ends.items()}
    curve = MeasuredCurve("m", "official", CurveEvaluation(points=[figures], reference=ends))
    problems = MetricProblems()
    found = compute_figures(RowCurves(0, "official", [], []), [curve], [Aufdc, Late], problems)
    assert found.values["aufdc"] > 0.1
    assert "does not declare" in problems.lines()[0]


def test_figures_are_means_over_folds_and_the_official_split_stands_apart(
    results: Path, board: pd.DataFrame, report: DatasetReport
) -> None:
    (points,) = [p for p in (results / "leaderboards").iterdir() if p.stem.endswith("points")]
    table = load_leaderboard(points)
    of_sofair = table[table["method"] == "sofair"]
    assert set(of_sofair["split"]) == {"official", *(f"fold {k} of 5" for k in range(1, 6))}
    assert set(of_sofair[of_sofair["counted"]]["split"]) == {f"fold {k} of 5" for k in range(1, 6)}
    alone = table[table["method"] == "random-projection"]
    assert alone["counted"].all()
    # The folds' figures differ a little from the official ones, so do their areas.
    gap = board.loc["sofair", "aufdc"] - board.loc["sofair", "aufdc_official"]
    assert 0 < abs(gap) < 0.05
    assert board.loc["random-projection", "aufdc"] == board.loc["random-projection"].aufdc_official
    (panel,) = report.panels
    assert len(panel.curves["sofair"]) == 5


def test_an_area_beyond_1_lies_in_its_interval(tmp_path: Path) -> None:
    """Where I(X;S) is small, the estimate of a point on the test set can be far above it."""

    def leaking_more_than_x(records: list[Record]) -> list[Record]:
        def leaks(record: Record) -> Record:
            if not isinstance(record, PointRecord) or record.values is None:
                return record
            return record.replace(values={**record.values, "mutual_information": 9.0})

        return [leaks(record) for record in five_folds(records)]

    (table,) = build(stored(tmp_path, leaking_more_than_x), load_registry())
    rows = [row for row in table.leaderboard if row.replicated]
    areas = [row.figures["aufdc"] for row in rows]
    assert max(area for area in areas if area is not None) > 1
    for row, area in zip(rows, areas, strict=True):
        ends = row.interval("aufdc")
        assert ends is not None
        assert area is not None
        assert ends[0] <= area <= ends[1]


def test_the_terminal_and_text_tables_have_a_block_without_ranks(results: Path) -> None:
    told = CliRunner().invoke(app, ["leaderboard", "--results", str(results)]).stdout.splitlines()
    block = next(i for i, line in enumerate(told) if "not replicated" in line)
    assert any(line.split()[:1] == ["pca"] or " pca " in line for line in told[block + 1 :])
    assert any("Could be the best" in line for line in told)
    for form in ("markdown", "latex"):
        words = ["leaderboard", "--results", str(results), "--format", form]
        text = CliRunner().invoke(app, words).stdout
        assert text.index("sofair") < text.index("not replicated") < text.index("pca")


def test_the_figures_say_who_is_not_ranked(report: DatasetReport) -> None:
    figure = ranks_figure(report.panels)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    names = [row.method for row in report.panels[0].rows]
    assert [label.split()[0] for label in labels] == names
    heights = figure.axes[0].get_yticks()
    gaps = np.diff(heights)
    (apart,) = np.flatnonzero(gaps > 1)
    assert labels[apart + 1].split() == [names[apart + 1]]  # no rank beside it
    said = " ".join(text.get_text() for text in figure.axes[0].texts)
    assert "not replicated" in said
    assert "Could be the best" in said
    curves = " ".join(text.get_text() for text in curves_figure(report.panels).axes[0].texts)
    assert "Not replicated, so not ranked: " in curves
    assert "median over splits and seeds, 5 curves at most" in curves


def test_a_recommendation_is_of_one_split(results: Path) -> None:
    opened = StoredResults.open(ResultsLocation(results), load_registry())
    found = gather_candidates(opened)
    assert {point.unit.split for point in found.points} == {"official"}
    assert any("points of other splits" in note for note in found.notes)
    assert first_split(["fold 2 of 5", "fold 1 of 5"]) == "fold 1 of 5"
    assert first_split(["fold 10 of 10", "fold 2 of 10"]) == "fold 2 of 10"


def test_a_hyperparameter_that_a_method_gained_since_sets_no_seed_apart() -> None:
    """Its code says that results are the same. Another value of one that both have does."""
    earlier = a_unit("a" * 64, params={"rate": 1.0}, finished="2026-01-01T00:00:00+00:00")
    params = {"rate": 1.0, "clip": 5.0}
    later = a_unit("b" * 64, seed=1, params=params, finished="2026-01-02T00:00:00+00:00")
    assert {unit.key for unit in latest([earlier, later])} == {earlier.key, later.key}
    changed = earlier.replace(params={"rate": 2.0})
    assert {unit.key for unit in latest([changed, later])} == {later.key}
