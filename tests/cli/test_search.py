"""``fairbench search`` and ``run --tune`` as a user meets them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from fairbench.cli.app import main
from tests.conftest import TOY, Call

TRIALS = ("--method", "noisy", "--dataset", "toy", "--budget", "quick", "--results", "out")
FOUND = "search/noisy-toy-simulated"


def trials(folder: Path) -> pd.DataFrame:
    """All trials but the seconds, which differ between machines and moments."""
    return pd.read_csv(folder / FOUND / "trials.csv").drop(columns="seconds")


@pytest.mark.slow
def test_a_search_ends_with_parameters_trials_and_figures(fairbench: Call, tmp_path: Path) -> None:
    words = ("search", *TRIALS, "--trials", "4", "--output", "best.yaml")
    done = fairbench(*words)
    assert done.returncode == 0, done.stderr
    assert "SIMULATED DATA" in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("trial ")]
    assert [line.split()[1] for line in lines] == ["0", "1", "2", "3"]
    assert all("best 0." in line for line in lines)
    assert "Trial" not in done.stderr  # Optuna's own words
    assert "aufdc on the validation set" in done.stdout
    assert "noisy:" in (tmp_path / "best.yaml").read_text()
    names = {path.name for path in (tmp_path / "out" / FOUND).iterdir()}
    assert names == {"best.yaml", "trials.csv", "history.png", "importance.csv", "importance.png"}
    assert "fairbench run --methods noisy --dataset toy --params best.yaml" in done.stderr

    # The same command again measures nothing and finds the same.
    before = trials(tmp_path / "out")
    again = fairbench(*words)
    assert again.returncode == 0
    assert again.stderr.count("(from the store)") == 4
    pd.testing.assert_frame_equal(trials(tmp_path / "out"), before)


@pytest.mark.slow
def test_a_search_on_two_splits_trains_each_trial_on_both(fairbench: Call, tmp_path: Path) -> None:
    done = fairbench("search", *TRIALS, "--trials", "2", "--splits", "2")
    assert done.returncode == 0, done.stderr
    assert "2 splits and 1 seed each; on the validation sets" in done.stderr
    assert list(trials(tmp_path / "out")["curves"]) == [2, 2]
    assert (
        "on the validation sets of 2 splits" in (tmp_path / "out" / FOUND / "best.yaml").read_text()
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--method", "nosy"], "Did you mean 'noisy'"),
        (["--method", "plain"], "has nothing to search"),
        (["--method", "plain,noisy"], "--method plain,noisy is more than one"),
        (["--dataset", "toy,adults"], "--dataset toy,adults is more than one"),
        (["--method", ""], "--method is empty"),
        (["--objective", "aufcd"], "Did you mean 'aufdc'"),
        (["--sampler", "tpee"], "tpe"),
        (["--pruner", "median"], "No such option: --pruner"),
        (["--trials", "0"], "at least 1 is needed"),
        (["--parallel", "0"], "at least 1 is needed"),
        (["--seeds", "0"], "at least one seed"),
        (["--splits", "1"], "at least 2 is needed"),
        (["--rerun", "all"], "--rerun failed"),
        (["--output", "no/where/best.yaml"], "there is no folder"),
        (["--output", "bad.yaml"], "bad.yaml is there already, and is not of a search"),
        (["--params", "bad.yaml"], "Did you mean 'noise'"),
        (["--params", "all.yaml"], "holds all"),
    ],
)
def test_a_users_mistake_is_told(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    words: list[str],
    says: str,
) -> None:
    monkeypatch.syspath_prepend(TOY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRBENCH_OFFLINE", "1")
    (tmp_path / "bad.yaml").write_text("niose: 1\n")
    (tmp_path / "all.yaml").write_text("noise: 1\ncolumn: b\n")
    monkeypatch.setattr(sys, "argv", ["fairbench", "search", *TRIALS, *words])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    lines = [x for x in told.splitlines() if not x.startswith("Warning: plugin broken")]
    assert ended.value.code == 2
    assert says in told
    assert len(lines) <= 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--methods", "noisy", "--tune", "0"], "at least one trial"),
        (["--methods", "plain", "--tune", "3"], "none of the methods"),
    ],
)
def test_a_mistake_of_tune_is_told(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    words: list[str],
    says: str,
) -> None:
    monkeypatch.syspath_prepend(TOY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["fairbench", "run", "--dataset", "toy", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_a_dry_run_shows_the_space(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(TOY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRBENCH_OFFLINE", "1")
    monkeypatch.setattr(sys, "argv", ["fairbench", "search", *TRIALS, "--dry-run"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert "0.01 .. 10.0, on a log scale" in told
    assert "50 trials" in told
    assert not (tmp_path / "out").exists()


def test_every_option_of_search_is_in_its_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", ["fairbench", "search", "--help"])
    with pytest.raises(SystemExit):
        main()
    text = capsys.readouterr().out
    fixed = (
        "method dataset trials objective sampler parallel seed seeds seed-list splits budget work "
        "finalists final-budget points params output results device executor ray-address "
        "in-process workers data-root require-real-data dry-run rerun timeout store help"
    )
    assert set(re.findall(r"--[a-z-]+", text)) == {f"--{name}" for name in fixed.split()}
    assert "<failed>" in text
    assert "failed|all" not in text, "a search refuses --rerun all"


@pytest.mark.slow
def test_where_every_trial_fails_the_exit_code_says_so(fairbench: Call, tmp_path: Path) -> None:
    told = fairbench("search", *TRIALS, "--method", "unlucky", "--trials", "2")
    assert told.returncode == 1
    assert "None of 2 trials is complete." in told.stderr
    assert "no luck with these" in told.stderr
    found = pd.read_csv(tmp_path / "out" / "search" / "unlucky-toy-simulated" / "trials.csv")
    assert set(found["state"]) == {"failed"}


def _start(folder: Path, *words: str) -> subprocess.Popen[str]:
    env = os.environ | {"PYTHONPATH": f"{TOY}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.Popen(
        [sys.executable, "-m", "fairbench", *words],
        cwd=folder,
        env=env | {"FAIRBENCH_OFFLINE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.slow
def test_a_search_killed_at_any_moment_resumes_to_the_same(fairbench: Call, tmp_path: Path) -> None:
    words = ("search", *TRIALS, "--trials", "6", "--parallel", "2")
    whole = fairbench(*words, "--results", "whole")
    assert whole.returncode == 0, whole.stderr
    for lines in (1, 3):
        process = _start(tmp_path, *words)
        assert process.stderr is not None
        seen = 0
        for line in process.stderr:
            seen += line.startswith("trial ")
            if seen == lines:
                break
        time.sleep(1.5)  # into the next batch
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    resumed = fairbench(*words)
    assert resumed.returncode == 0
    assert resumed.stderr.count("(from the store)") >= 3
    pd.testing.assert_frame_equal(
        trials(tmp_path / "out"), trials(tmp_path / "whole"), check_exact=True
    )
    assert (tmp_path / "out" / FOUND / "importance.csv").read_bytes() == (
        tmp_path / "whole" / FOUND / "importance.csv"
    ).read_bytes()


@pytest.mark.slow
def test_ctrl_c_keeps_finished_trials_and_says_how_to_resume(tmp_path: Path) -> None:
    words = ("search", *TRIALS, "--trials", "8", "--parallel", "1")
    process = _start(tmp_path, *words)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("trial "):
            break
    os.killpg(process.pid, signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait(timeout=30) == 130
    assert "Resume with:" in rest
    assert "fairbench search --method noisy" in rest


@pytest.mark.slow
def test_two_searches_at_once_end_as_one_does(fairbench: Call, tmp_path: Path) -> None:
    words = ("search", *TRIALS, "--trials", "6", "--parallel", "2")
    whole = fairbench(*words, "--results", "whole")
    assert whole.returncode == 0, whole.stderr
    both = [_start(tmp_path, *words) for _ in range(2)]
    told = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert any("by another run" in text for text in told)
    pd.testing.assert_frame_equal(
        trials(tmp_path / "out"), trials(tmp_path / "whole"), check_exact=True
    )


@pytest.mark.slow
def test_a_search_on_ray_finds_the_same(fairbench: Call, tmp_path: Path) -> None:
    words = ("search", *TRIALS, "--trials", "3")
    assert fairbench(*words).returncode == 0
    ray = fairbench(*words, "--results", "ray", "--executor", "ray", "--workers", "2", timeout=900)
    assert ray.returncode == 0, ray.stderr
    pd.testing.assert_frame_equal(trials(tmp_path / "ray"), trials(tmp_path / "out"))


@pytest.mark.slow
def test_tune_reports_tuned_and_untuned_rows_and_resumes(fairbench: Call, tmp_path: Path) -> None:
    words = ("run", "--methods", "noisy,plain", "--dataset", "toy", "--budget", "quick")
    words += ("--results", "out", "--tune", "4")
    done = fairbench(*words)
    assert done.returncode == 0, done.stderr
    board = pd.read_csv(tmp_path / "out" / "leaderboards" / "toy-simulated.csv")
    rows = board[board["method"] == "noisy"]
    # One tuned and one untuned row, and none of the other trials.
    assert len(rows) == 2
    assert "default" in set(rows["params"])
    assert rows["complete"].all()
    points = pd.read_csv(tmp_path / "out" / "leaderboards" / "toy-simulated-points.csv")
    assert set(points["seed"]) == {0}
    again = fairbench(*words)
    assert "0 fitted now" in again.stderr
    assert again.stderr.count("(from the store)") == 4
