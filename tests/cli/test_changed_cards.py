"""A dataset card that is changed, and changed back: which results are of it."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Call
from tests.support.small_table import make_table

CARD = """file: people.csv
sensitive: {sensitive}
labels: {{column: hired, positive: 1}}
features: [shifted, noise]
"""
RUN = "run --methods k-means --dataset people.yaml --budget quick --points 2 --in-process"
MODEL = "model-card --method k-means --point cells=2 --dataset"


@pytest.mark.thorough
def test_results_follow_the_card(fairbench_here: Call, tmp_path: Path) -> None:
    table = make_table(600)
    club = np.random.default_rng(1).choice(["red", "green", "blue"], size=600)
    people = table.x.assign(sex=np.array(["f", "m"])[table.s], club=club, hired=table.y["task"])
    people.to_csv(tmp_path / "people.csv", index=False)
    card, board = tmp_path / "people.yaml", tmp_path / "fairbench-results/leaderboards/people.csv"

    def call(words: str) -> str:
        done = fairbench_here(*shlex.split(words))
        return done.stdout + done.stderr

    def run(sensitive: str) -> tuple[str, bytes]:
        card.write_text(CARD.format(sensitive=sensitive))
        return call(RUN), board.read_bytes()

    _, by_club = run("club")
    assert "3 groups: blue, green, red" in call(f"{MODEL} people.yaml")
    _, by_sex = run("sex")
    assert by_sex != by_club
    said, again = run("club")
    assert "0 fitted now" in said
    assert again == by_club
    assert "3 groups: blue, green, red" in call(f"{MODEL} people")

    # The card, as it is now, chooses among the results; its dataset's name takes those used last.
    card.write_text(CARD.format(sensitive="sex"))
    text = call(f"{MODEL} people.yaml")
    assert "2 groups: f, m" in text
    assert "--unit" in text
    assert "3 groups: blue, green, red" in call(f"{MODEL} people")
    assert "--unit" not in call("recommend --max-leakage 9 --dataset people")
    assert "--unit" in call("recommend --max-leakage 9 --dataset people.yaml")

    people.iloc[:500].to_csv(tmp_path / "people.csv", index=False)
    for words in (f"{MODEL} people.yaml", "recommend --max-leakage 9 --dataset people.yaml"):
        said = call(words)
        assert "trained on other data than people.yaml describes now" in said
        command = "fairbench run --methods k-means --dataset people.yaml --budget quick"
        assert command in said
    elsewhere = call("recommend --max-leakage 9 --dataset people.yaml --results fairbench-results")
    assert f"{command} --results fairbench-results" in " ".join(elsewhere.split())
    said = " ".join(call("recommend --max-leakage 9 --certified --dataset people").split())
    assert "Undo what changed in the table or its card, or train again" in said
    (tmp_path / "people.csv").unlink()
    assert "people.yaml: its data cannot be loaded" in call(f"{MODEL} people.yaml")
