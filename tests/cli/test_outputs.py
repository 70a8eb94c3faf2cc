"""A file that a command writes never replaces one of another kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairbench.cli.outputs import keep_other_kinds
from fairbench.errors import ConfigError
from tests.conftest import Call


@pytest.mark.parametrize(
    "words",
    [
        "report --output",
        "board page --output",
        "recommend --max-leakage 1 --card",
        "model-card --method plain --output",
        "results export",
    ],
)
def test_a_file_of_another_kind_is_kept(fairbench_here: Call, tmp_path: Path, words: str) -> None:
    table = tmp_path / "people.csv"
    table.write_text("sex,income\nf,1\n")
    told = fairbench_here(*words.split(), "people.csv")
    assert told.returncode == 2
    assert "Error: people.csv is there already and does not end in" in told.stderr
    assert table.read_text() == "sex,income\nf,1\n"


def test_an_earlier_file_of_the_same_kind_may_be_replaced(tmp_path: Path) -> None:
    page = tmp_path / "All.HTML"
    keep_other_kinds(page, ".html")
    page.write_text("old")
    keep_other_kinds(page, ".html")
    (tmp_path / "a.jsonl.gz").write_bytes(b"old")
    keep_other_kinds(tmp_path / "a.jsonl.gz", ".jsonl", ".jsonl.gz")
    with pytest.raises(ConfigError, match="it is kept"):
        keep_other_kinds(page, ".md")
