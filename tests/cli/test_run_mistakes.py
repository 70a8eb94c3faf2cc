"""What a user gets wrong about a run is told in two lines, before anything is trained."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from fairbench.store.database import Store
from tests.conftest import Call

pytestmark = pytest.mark.thorough

RUN = ("run", "--dataset", "toy", "--budget", "quick", "--results", "out")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--methods", "sofiar"], "Did you mean 'sofair'"),
        (["--methods", "plain", "--dataset", "adulst"], "Did you mean 'adults'"),
        (["--methods", "plain", "--seeds", "0"], "at least one seed"),
        (["--methods", "plain", "--seed-list", "0,x"], "whole numbers"),
        (["--methods", "plain", "--seed-list", "\u00b2"], "whole numbers"),
        (["--methods", "plain", "--seed-list", "99999999999"], "--seed-list '99999999999' is"),
        (["--methods", "plain", "--seed-list", "9" * 5000], "0 to 2147483647"),
        (["--methods", "plain", "--seeds", "1000000"], "at most 1,000"),
        (["--methods", "plain", "--budget", "9" * 20], "full, quick or a number"),
        (["--methods", "plain", "--seeds", "1", "--seed-list", "0"], "one of them"),
        (["--methods", "plain", "--budget", "lots"], "full, quick or a number"),
        (["--methods", "plain", "--timeout", "soon"], "not a duration"),
        (["--methods", "plain", "--params", "none.yaml"], "No such file"),
        (["--methods", "plain", "--results", "/proc/nowhere"], "cannot be written"),
        (["--methods", "plain", "--data-root", "nowhere"], "not a folder"),
        (["--methods", "plain", "--require-real-data"], "not available"),
        (["--methods", "plain", "--points", "x"], "a whole number is needed (got 'x')."),
        (["--methods", "plain", "--store", "mysql://x"], "cannot be opened"),
        (["--methods", "plain", "--store", "sqlite:///:memory:"], "keeps nothing"),
        (["--methods", "plain", "--store", "sqlite://"], "keeps nothing"),
        (["--methods", "plain", "--store", "postgresql+psycopg://nobody@localhost:1/x"], "opened"),
        (["--methods", "plain", "--ray-address", "x:1"], "needs --executor ray"),
        (["--methods", "plain", "--in-process", "--executor", "ray"], "exclude each other"),
        (["--budget", "quick"], "No methods given"),
        (["--methods", "plain", "--sedes", "1"], "--sedes"),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_a_users_mistake_is_told_in_two_lines(
    fairbench_here: Call, tmp_path: Path, words: list[str], says: str, dry: bool
) -> None:
    given = words if "--dataset" in words else [*words, "--dataset", "toy"]
    told = fairbench_here("run", *given, *(["--dry-run"] if dry else []))
    assert told.returncode == 2
    lines = [x for x in told.stderr.splitlines() if not x.startswith("Warning: plugin broken")]
    assert says in told.stderr
    assert len(lines) <= 2
    assert "Traceback" not in told.stderr
    assert not (tmp_path / "fairbench-results" / "leaderboards").exists()


def test_files_that_were_meant_otherwise_are_recognised(
    fairbench_here: Call, tmp_path: Path
) -> None:
    (tmp_path / "people.yaml").write_text("file: people.csv\n")
    told = fairbench_here("run", "--methods", "plain", "--dataset", "people")
    assert "name its file: people.yaml" in told.stderr
    told = fairbench_here("run", "--methods", "plain", "--dataset", "a" * 300)
    assert "Unknown dataset" in told.stderr
    assert "Traceback" not in told.stderr
    (tmp_path / "run.yaml").write_text("methods: plain\ndatasets: toy\n")
    told = fairbench_here("run", "--methods", "plain", "--dataset", "toy", "--params", "run.yaml")
    assert "Give it as --config run.yaml" in told.stderr


def test_unknown_parameters_are_told(fairbench_here: Call, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("sofair:\n  distortion_wieght: 3\n")
    told = fairbench_here(*RUN, "--methods", "sofair", "--params", "p.yaml")
    assert told.returncode == 2
    assert "distortion_weight" in told.stderr
    for text in ("1: {a: 3}\n", "[[[[\n", "a: 2001-99-99\n", "sofair: 3\n", "nobody: {a: 1}\n"):
        (tmp_path / "p.yaml").write_text(text)
        told = fairbench_here(*RUN, "--methods", "sofair", "--params", "p.yaml")
        assert told.returncode == 2, text
        assert "Traceback" not in told.stderr
    for text in ("latent: 0\n", "learning_rate: .inf\n", "hidden: [0]\n", "batch_size: 0\n"):
        (tmp_path / "p.yaml").write_text(text)
        assert fairbench_here(*RUN, "--methods", "sofair", "--params", "p.yaml").returncode == 2, (
            text
        )
    (tmp_path / "p.yaml").write_text("bits: 99\n")
    told = fairbench_here(*RUN, "--methods", "sofair", "--params", "p.yaml")
    assert told.returncode == 2
    assert "at most 16 is allowed" in told.stderr


def test_a_label_without_hyperparameters_is_refused(fairbench_here: Call) -> None:
    told = fairbench_here(*RUN, "--methods", "sofair", "--dry-run", "--label", "mine")
    assert told.returncode == 2
    assert "Add --params FILE, or leave --label out." in told.stderr


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there may be a CUDA device here")
def test_cuda_without_a_device_is_told(fairbench: Call) -> None:
    told = fairbench(*RUN, "--methods", "plain", "--device", "cuda")
    assert told.returncode == 2
    assert "no CUDA device" in told.stderr


def test_a_newer_store_is_refused(fairbench_here: Call, tmp_path: Path) -> None:
    Store.in_folder(tmp_path / "out")
    with sqlite3.connect(tmp_path / "out" / "fairbench.sqlite") as connection:
        connection.execute("UPDATE meta SET value = '99'")
    told = fairbench_here(*RUN, "--methods", "plain")
    assert told.returncode == 2
    assert "newer fairbench" in told.stderr


def test_a_truncated_data_file_is_told(fairbench_here: Call, tmp_path: Path) -> None:
    (tmp_path / "adult.data").write_text("39, State-gov\n")
    (tmp_path / "adult.test").write_text("39, State-gov\n")
    words = ("run", "--methods", "plain", "--dataset", "adults", "--data-root", ".")
    told = fairbench_here(*words)
    assert told.returncode == 2
    assert "adult.data is truncated" in told.stderr
    assert "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d" in told.stderr


def test_folds_that_cannot_be_are_refused(fairbench_here: Call) -> None:
    for words, says in (
        (("--splits", "1"), "--splits"),
        (("--splits", "21"), "--splits"),
        (("--splits", "5", "--tune", "3"), "cannot be combined with --splits"),
    ):
        done = fairbench_here(*RUN, "--methods", "noisy", *words)
        assert done.returncode == 2
        assert says in done.stderr
