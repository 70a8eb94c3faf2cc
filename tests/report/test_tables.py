"""``fairbench leaderboard --format``: the same figures for programs, notes and papers."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairbench.api import Track
from fairbench.cli.app import app
from fairbench.leaderboard.frames import load_leaderboard
from fairbench.registry import load_registry
from fairbench.report.format import format_p, format_seconds_between
from fairbench.report.gather import gather
from fairbench.report.page import format_number, page
from fairbench.report.ranks_figure import ranks_figure
from fairbench.store.database import Store
from fairbench.store.records import Record
from tests.support.runs import Change, certified, change_units, five_folds, honest, stored


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    stored(folder)
    return folder


def printed(results: Path, form: str) -> str:
    found = CliRunner().invoke(app, ["leaderboard", "--format", form, "--results", str(results)])
    assert found.exit_code == 0, found.output
    return found.stdout


def test_csv_is_the_file(results: Path) -> None:
    text = printed(results, "csv")
    assert text == (results / "leaderboards" / "adults-gender.csv").read_text()


def test_json_holds_the_same_rows(results: Path) -> None:
    rows = json.loads(printed(results, "json"))
    frame = pd.read_csv(io.StringIO(printed(results, "csv")))
    assert [row["method"] for row in rows] == frame["method"].tolist()
    assert [row["aufdc"] for row in rows] == pytest.approx(frame["aufdc"].tolist(), rel=1e-5)


def test_markdown_and_latex_name_every_method_with_its_interval(results: Path) -> None:
    rows = json.loads(printed(results, "json"))
    for form, starts in (("markdown", "|"), ("latex", "\\toprule")):
        text = printed(results, form)
        for row in rows:
            told = f"{row['aufdc']:.3f} [{row['aufdc_low']:.3f}, {row['aufdc_high']:.3f}]"
            assert row["method"] in text
            assert told in text
            assert f"{row['distortion_min']:.3f}" in text, "zeros at the end stay"
        assert any(line.startswith(starts) for line in map(str.strip, text.splitlines()))


NAMES = ("a|b", "<b>bold</b>", "\\input{x}", "=1+1", "50% & more", "_under_ *star*")


def test_names_stay_text_in_every_format(tmp_path: Path) -> None:
    def rename(records: list[Record]) -> list[Record]:
        names = dict(zip(METHODS, NAMES, strict=True))
        return change_units(records, lambda u: u.replace(method=names.get(u.method, u.method)))

    stored(tmp_path, rename)
    markdown = printed(tmp_path, "markdown")
    for text in (r"a\|b", "&lt;b>bold&lt;/b>", r"\\input{x}", r"\_under\_ \*star\*"):
        assert text in markdown
    assert "<b>" not in markdown
    latex = printed(tmp_path, "latex")
    assert "\\input" not in latex
    assert r"\textbackslash{}input\{x\}" in latex
    assert r"50\% \& more" in latex
    text = printed(tmp_path, "csv")
    assert "'=1+1" in text
    assert ",=1+1" not in text
    path = tmp_path / "leaderboards" / "adults-gender.csv"
    assert set(NAMES) <= set(load_leaderboard(path)["method"])


METHODS = ("constant", "random-projection", "drop-features", "pca", "sofair", "identity")


def test_an_unknown_format_is_answered(results: Path) -> None:
    found = CliRunner().invoke(app, ["leaderboard", "--format", "xls", "--results", str(results)])
    assert found.exit_code == 2


def test_intervals_reach_the_page(results: Path) -> None:
    report = gather(Store.in_folder(results), load_registry())
    html = page(report)
    (panel,) = report.datasets[0].panels
    for row in panel.rows:
        low, high = row.interval("aufdc")
        assert low < row.value("aufdc") < high
        line, *_ = re.findall(rf'<tr data-name="{row.method}" .*?</tr>', html, re.S)
        cells = [text.strip() for text in re.findall(r"<td[^>]*>(.*?)</td>", line, re.S)]
        assert f"{format_number(low)} to {format_number(high)}" in cells


def test_csvs_tell_what_failed_what_is_missing_and_what_is_simulated(tmp_path: Path) -> None:
    stored(tmp_path, honest)
    printed(tmp_path, "csv")
    folder = tmp_path / "leaderboards"
    assert {path.name.removesuffix(".csv") for path in folder.iterdir()} == {
        f"adults-gender-simulated{kind}" for kind in ("", "-points", "-attainment")
    }
    board = load_leaderboard(folder / "adults-gender-simulated.csv").set_index("method")
    assert set(board["data_source"]) == {"simulated"}
    counts = ["seeds", "seeds_missing", "points", "points_missing"]
    assert board.loc["latfr", counts].tolist() == [0, 1, 0, 4]
    assert board.loc["sofair", counts].tolist() == [1, 1, 4, 4]
    assert board.loc["pca", counts].tolist() == [1, 0, 4, 0]
    for method in ("latfr", "sofair"):
        assert not board.loc[method, "complete"]
        assert not board.loc[method, "replicated"]
    assert board["rank_low"].isna().all()
    points = load_leaderboard(folder / "adults-gender-simulated-points.csv")
    assert (points[points["method"] == "latfr"]["status"] == "FAILED").all()
    curves = pd.read_csv(folder / "adults-gender-simulated-attainment.csv")
    assert not {"latfr", "sofair"} & set(curves["method"])


@pytest.mark.parametrize(
    ("change", "over"),
    [(None, "over test rows alone, of these models"), (five_folds, "over 5 folds")],
)
def test_page_figure_and_tables_say_what_intervals_account_for(
    tmp_path: Path, change: Change | None, over: str
) -> None:
    report = gather(stored(tmp_path, change), load_registry())
    assert f"Bars: 95% intervals are {over}" in page(report)
    figure = ranks_figure(report.datasets[0].panels)
    notes = [text.get_text().replace("\n", " ") for text in figure.axes[0].texts]
    assert any(f"95% intervals are {over}" in note for note in notes)
    assert f"95% intervals are {over}" in printed(tmp_path, "markdown")
    assert f"% 95% intervals are {over}" in printed(tmp_path, "latex")


@pytest.mark.thorough
def test_rows_without_ranks_have_a_heading_without_marks_of_another_format(tmp_path: Path) -> None:
    stored(tmp_path, five_folds)
    assert "| *not replicated*" in printed(tmp_path, "markdown")
    latex = printed(tmp_path, "latex")
    assert "& not replicated" in latex
    assert "*" not in latex


def test_a_row_whose_points_all_leak_too_much_says_so(tmp_path: Path) -> None:
    (dataset,) = gather(stored(tmp_path), load_registry()).datasets
    (panel,) = dataset.panels
    useful = "accuracy_y_at_leakage_10"
    rows = tuple(replace(row, ranked_by=useful) for row in panel.rows)
    aware = replace(panel, rows=rows, group=panel.group._replace(track=Track.AWARE))
    without = [row for row in rows if row.no_point_within_limit(useful)]
    report = replace(
        gather(stored(tmp_path), load_registry()), datasets=(replace(dataset, panels=(aware,)),)
    )
    said = "no point leaks so little"
    assert page(report).count(f">{said}<") == len(without) > 0
    texts = [text.get_text() for text in ranks_figure([aware]).axes[0].texts]
    assert texts.count(said) == len(without)


def test_a_p_value_is_never_printed_as_zero() -> None:
    assert [format_p(p) for p in (1e-15, 0.00049, 0.0005, 0.0314, 1.0)] == [
        *("<0.001", "<0.001", "0.001", "0.031", "1.000")
    ]


def test_accuracies_at_limits_stand_in_the_leaderboard_with_intervals(results: Path) -> None:
    board = pd.read_csv(io.StringIO(printed(results, "csv"))).set_index("method")
    for share in (10, 25, 50):
        value, low, high = (
            board[f"accuracy_y_at_accuracy_s_{share}{end}"] for end in ("", "_low", "_high")
        )
        assert ((low <= value) & (value <= high)).all()
        assert (low >= 0).all()
    # x itself is over every limit: what is left is to release nothing.
    assert (
        board.loc["identity", "accuracy_y_at_accuracy_s_50"]
        == board.loc["constant", "accuracy_y_at_accuracy_s_50"]
    )
    assert (
        board.loc["drop-features", "accuracy_y_at_accuracy_s_50"]
        > board.loc["constant", "accuracy_y_at_accuracy_s_50"]
    )


@pytest.mark.thorough
def test_the_certified_area_stands_beside_the_other_and_vacuous_is_said(tmp_path: Path) -> None:
    stored(tmp_path, certified)
    rows = {row["method"]: row for row in json.loads(printed(tmp_path, "json"))}
    assert rows["latfr"]["aufdc_certified"] == 0.5
    assert rows["latfr"]["aufdc"] < 0.5
    assert 0 < rows["sofair"]["aufdc_certified"] < 0.5
    area = f"{rows['sofair']['aufdc_certified']:.3f}"
    for form in ("table", "markdown", "latex"):
        text = printed(tmp_path, form)
        assert "cert." in text
        (line,) = (line for line in text.splitlines() if "sofair" in line and "[" in line)
        assert area in line
    html = page(gather(Store.in_folder(tmp_path), load_registry()))
    assert f">{area}</td>" in html
    path = tmp_path / "leaderboards" / "adults-gender-points.csv"
    said = pd.read_csv(path).set_index("method")["certified_mutual_information"]
    assert set(said["latfr"]) == {"vacuous"}
    assert set(said["sofair"].astype(float)) == {0.06}
    typed = load_leaderboard(path).set_index("method")["certified_mutual_information"]
    assert typed["latfr"].isna().all()
    assert typed["sofair"].tolist() == [0.06] * len(said["sofair"])


def test_older_records_have_no_certified_area(results: Path) -> None:
    """They have bounds, but of each point by itself."""
    board = pd.read_csv(io.StringIO(printed(results, "csv"))).set_index("method")
    points = pd.read_csv(results / "leaderboards" / "adults-gender-points.csv")
    bounded = points[points["certified_codes"].notna()]["method"].unique()
    assert len(bounded)
    assert board.loc[bounded, "aufdc_certified"].isna().all()


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (480, 900, "8 to 15 min"),
        (50, 130, "50 s to 2 min"),
        (540.0, 545.0, "9 min"),
        (5000, 9000, "83 min to 2.5 h"),
    ],
)
def test_a_range_of_durations_has_one_unit_where_it_can(low: float, high: float, text: str) -> None:
    assert format_seconds_between(low, high) == text
