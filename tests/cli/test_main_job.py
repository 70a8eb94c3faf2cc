"""The main job at full budget: what the suite claims of itself. Minutes; marked slow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairbench.registry import load_registry


@pytest.fixture(scope="module")
def results(adults_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The leaderboards of ``fairbench run --methods sofair,latfr --dataset adults``."""
    folder = tmp_path_factory.mktemp("main-job")
    command = [sys.executable, "-m", "fairbench", "run", "--methods", "sofair,latfr"]
    command += ["--dataset", "adults", "--data-root", str(adults_root), "--results", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "leaderboards"


@pytest.mark.slow
def test_sofair_spans_the_curve_and_drop_features_is_the_one_to_beat(results: Path) -> None:
    board = pd.read_csv(results / "adults-gender.csv").set_index("method")
    assert board["complete"].all()
    assert board.loc["sofair", "aufdc"] <= 0.28
    assert 0.12 <= board.loc["drop-features", "aufdc"] <= 0.16
    for end in ("identity", "constant"):
        assert board.loc[end, "aufdc"] == pytest.approx(0.5, abs=0.01)
    points = pd.read_csv(results / "adults-gender-points.csv")
    sofair = points[points["method"] == "sofair"].sort_values("point_number")
    assert len(sofair) == 16
    assert sofair["distortion"].iloc[0] <= 2.3
    assert sofair["mutual_information"].iloc[-1] < 0.02
    assert np.diff(sofair["distortion"]).min() > -0.1
    assert np.diff(sofair["mutual_information"]).max() < 0.03
    grid = load_registry().methods["latfr"]().points()
    assert len(points[points["method"] == "latfr"]) == len(grid)
