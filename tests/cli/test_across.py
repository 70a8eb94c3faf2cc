"""Verdicts across tables, unseen tasks and shifts, as users with tables of their own meet them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.conftest import Call

CARD = """\
name: {name}
file: {name}.csv
sensitive: side
labels: task
unseen: [other]
domains: place
"""


def write_table(folder: Path, name: str, seed: int, rows: int = 600) -> Path:
    """People of two sides and places; x tells of all labels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    noise = rng.normal(size=(rows, 3))
    place = rng.random(rows) < 0.4
    pd.DataFrame(
        {
            "a": x[:, 0] + place,
            "b": x[:, 1],
            "c": x[:, 2],
            "side": np.where(x[:, 0] + x[:, 1] + noise[:, 0] > 0, "left", "right"),
            "task": (x[:, 1] + 0.5 * noise[:, 1] > 0).astype(int),
            "other": (x[:, 2] + 0.5 * noise[:, 2] > 0).astype(int),
            "place": np.where(place, "south", "north"),
        }
    ).to_csv(folder / f"{name}.csv", index=False)
    card = folder / f"{name}.yaml"
    card.write_text(CARD.format(name=name))
    return card


def run_on(card: Path) -> tuple[str, ...]:
    budget = ("--budget", "quick", "--points", "2", "--results", "out")
    return ("run", "--methods", "pca", "--dataset", str(card), *budget)


@pytest.mark.thorough
def test_a_shift_has_a_leaderboard_of_its_own_and_unseen_tasks_are_measured(
    fairbench_here: Call, tmp_path: Path
) -> None:
    card = write_table(tmp_path, "people", 0)
    done = fairbench_here(*run_on(card), "--in-process", "--shift", "place")
    assert done.returncode == 0, done.stderr
    assert "trained where place is 'north'" in done.stderr
    board = pd.read_csv(tmp_path / "out/leaderboards/people-shift-place.csv").set_index("method")
    assert board["shift_leakage_change"].notna().all()
    of = ("--dataset", "people-shift-place", "--method", "pca", "--results", "out")
    told = fairbench_here("model-card", *of, "--point", "dimensions=1")
    assert told.returncode == 0, told.stderr
    assert f"--dataset {card} --shift place" in told.stdout, "the command that trains it again"
    assert board.loc["constant", "shift_points_within"] == 1
    assert board.loc["pca", "transfer_at_leakage_25"] >= 0
    points = pd.read_csv(tmp_path / "out/leaderboards/people-shift-place-points.csv")
    x = points.set_index("method").loc["identity"]
    assert x["shift_mutual_information"] > 0.05
    assert x["transfer_mean"] == pytest.approx(1)
    assert x["shift_accuracy_y"] > 0.7
    drawn = fairbench_here("plot", "all", "--results", "out", "--format", "png")
    assert drawn.returncode == 0, drawn.stderr
    names = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    assert {"people-shift-place-shift.png", "people-shift-place-transfer.png"} <= names


def test_a_shift_by_an_unknown_column_is_told(fairbench_here: Call, tmp_path: Path) -> None:
    card = write_table(tmp_path, "people", 0)
    done = fairbench_here(*run_on(card), "--shift", "planet", "--dry-run")
    assert done.returncode == 2
    assert "people has no column 'planet' to split its rows by" in done.stderr
    assert "It has: place." in done.stderr


@pytest.mark.thorough
def test_without_replicated_rows_across_shows_figures_and_ends_with_0(
    fairbench_here: Call, tmp_path: Path
) -> None:
    card = write_table(tmp_path, "people", 0)
    assert fairbench_here(*run_on(card), "--in-process").returncode == 0
    (tmp_path / "mine.yaml").write_text("collection: mine-v1\ntables: [{dataset: people}]\n")
    done = fairbench_here("leaderboard", "--collection", "mine.yaml", "--results", "out")
    assert done.returncode == 0, done.stderr
    assert "not ranked: AUFDC" in done.stdout
    assert "--splits 5 gives them" in " ".join(done.stdout.split())
    nothing = fairbench_here("leaderboard", "--across", "--results", "out")
    assert nothing.returncode == 2
    assert "Nothing of the collection tabular-v1 has been measured yet." in nothing.stderr
    drawn = fairbench_here("plot", "across", "--collection", "mine.yaml", "--results", "out")
    assert drawn.returncode == 2
    assert "Replicated rows need --splits 5" in drawn.stderr


@pytest.mark.slow
def test_a_verdict_over_ten_tables_and_an_eleventh_of_ones_own(
    fairbench: Call, tmp_path: Path
) -> None:
    names = [f"table-{k}" for k in range(10)]
    listed = "".join(f"  - dataset: {name}\n" for name in names)
    (tmp_path / "ten.yaml").write_text(f"collection: ten-v1\ntables:\n{listed}")
    (tmp_path / "more.yaml").write_text(
        f"collection: eleven-v1\ntables:\n{listed}  - dataset: mine\n    weight: 2\n"
    )
    for k, name in enumerate([*names, "mine"]):
        done = fairbench(*run_on(write_table(tmp_path, name, k, rows=1500)), "--splits", "5")
        assert done.returncode == 0, done.stderr
    for file, tables in (("ten.yaml", 10), ("more.yaml", 11)):
        done = fairbench("leaderboard", "--across", "--collection", file, "--results", "out")
        assert done.returncode == 0, done.stderr
        assert f"{tables} tables: AUFDC" in done.stdout
    rows = pd.read_csv(tmp_path / "out/leaderboards/across-eleven-v1.csv")
    areas = rows[rows["measure"] == "aufdc"].set_index("method")
    assert (areas["tables"] == 11).all()
    # Releasing nothing is not better than leaving columns out.
    assert areas.loc["constant", "losses"] > areas.loc["constant", "wins"]
    drawn = fairbench("plot", "across", "--collection", "more.yaml", "--results", "out")
    assert drawn.returncode == 0, drawn.stderr
