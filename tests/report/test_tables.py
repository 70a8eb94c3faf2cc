"""``fairbench leaderboard --format``: the same figures for programs, notes and papers."""

import io
import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairbench.cli import app
from fairbench.registry import load_registry
from fairbench.report.gather import gather
from fairbench.store import Store, parse_export

EXPORT = Path(__file__).parent / "adults-quick.jsonl"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    Store.in_folder(folder).merge(parse_export(EXPORT.read_text().splitlines()))
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
    for form, starts in (("markdown", "| 1"), ("latex", "      1")):
        text = printed(results, form)
        for row in rows:
            told = f"{row['aufdc']:.3f} [{row['aufdc_low']:.3f}, {row['aufdc_high']:.3f}]"
            assert row["method"] in text
            assert told in text
        assert any(line.startswith(starts.strip()) for line in map(str.strip, text.splitlines()))


def test_an_unknown_format_is_answered(results: Path) -> None:
    found = CliRunner().invoke(app, ["leaderboard", "--format", "xls", "--results", str(results)])
    assert found.exit_code == 2


def test_intervals_reach_the_page(results: Path) -> None:
    report = gather(Store.in_folder(results), load_registry())
    row = report.datasets[0].panels[0].rows[0]
    assert row["aufdc_low"] < row["aufdc"] < row["aufdc_high"]
