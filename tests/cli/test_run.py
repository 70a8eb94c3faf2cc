"""The command line as a user meets it: real processes, in an empty folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from fairbench.store.database import Store
from fairbench.store.records import RunRecord
from tests.conftest import Call, cli_environment

RUN = ("run", "--dataset", "toy", "--budget", "quick", "--results", "out")


BASELINES = ("identity", "constant", "random-projection", "pca", "drop-features")
"""Of the blind track; they join every run."""


def board(folder: Path, name: str = "toy-simulated") -> pd.DataFrame:
    return pd.read_csv(folder / "out" / "leaderboards" / f"{name}.csv")


METHODS = ("--methods", "sofair,latfr,plain", "--points", "2")


@pytest.fixture(scope="module")
def first_run(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A folder with a finished run, of which only copies are used, and how the run ended."""
    folder = tmp_path_factory.mktemp("first-run")
    command = [sys.executable, "-m", "fairbench", *RUN, *METHODS]
    env = cli_environment(folder)
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300
    )
    return folder / "out", done


@pytest.fixture
def done_run(
    first_run: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> subprocess.CompletedProcess[str]:
    """How a run has ended whose results are in the folder "out"."""
    folder, done = first_run
    shutil.copytree(folder, tmp_path / "out")
    return done


def test_one_command_ends_with_a_leaderboard(
    done_run: subprocess.CompletedProcess[str], fairbench_here: Call, tmp_path: Path
) -> None:
    done = done_run
    assert done.returncode == 0, done.stderr
    assert "SIMULATED DATA" in done.stderr
    assert "broken (toy-plugin) was left out" in done.stderr
    found = board(tmp_path)
    names = {"sofair", "latfr", "plain", *BASELINES}
    assert set(found["method"]) == names
    assert found["complete"].all()
    assert (found["data_source"] == "simulated").all()
    assert not found["replicated"].any()
    by_name = found.set_index("method")
    assert by_name.loc["identity", "aufdc"] == pytest.approx(0.5, abs=0.03)
    assert by_name.loc["constant", "aufdc"] == pytest.approx(0.5, abs=0.03)
    points = board(tmp_path, "toy-simulated-points")
    assert (points.groupby("method").size() > 0).all()
    assert (points["dimensions"] > 0).all()  # a third-party metric
    assert len(points[points["method"] == "latfr"]) == 2
    assert "toy-simulated" in done.stdout

    # The same command again trains nothing and writes the same bytes.
    text = (tmp_path / "out/leaderboards/toy-simulated.csv").read_bytes()
    again = fairbench_here(*RUN, "--methods", "plain,latfr,sofair", "--points", "2")
    assert again.returncode == 0
    assert "0 fitted now" in again.stderr
    assert "done" not in again.stderr.replace("undone", "")
    assert (tmp_path / "out/leaderboards/toy-simulated.csv").read_bytes() == text

    # Results move to another folder as text, without representations.
    assert fairbench_here("results", "export", "all.jsonl", "--results", "out").returncode == 0
    copy = ("results", "import", "all.jsonl", "--own", "--results", "other")
    assert fairbench_here(*copy).returncode == 0
    assert fairbench_here("leaderboard", "--results", "other").returncode == 0
    assert (tmp_path / "other/leaderboards/toy-simulated.csv").read_bytes() == text

    # One more seed trains one more seed.
    more = fairbench_here(
        *RUN, "--methods", "plain", "--points", "2", "--seeds", "2", "--in-process"
    )
    assert more.returncode == 0
    one_seed = 2 + len(BASELINES)  # two points of "plain"
    assert f"{one_seed} fitted now, {one_seed} from the store" in more.stderr
    assert set(board(tmp_path, "toy-simulated-points").query("method == 'plain'")["seed"]) == {0, 1}

    # Representations can go; what is done stays done.
    told = fairbench_here("clean", "--results", "out", "--dry-run")
    assert "MB" in told.stdout
    assert list((tmp_path / "out/representations").iterdir())
    assert fairbench_here("clean", "--results", "out", "--yes").returncode == 0
    assert not list((tmp_path / "out/representations").iterdir())
    again = fairbench_here(*RUN, "--methods", "plain", "--points", "2", "--seeds", "2")
    assert "0 fitted now" in again.stderr


def test_files_can_go_where_the_store_is_elsewhere(fairbench_here: Call, tmp_path: Path) -> None:
    (tmp_path / "out" / "representations").mkdir(parents=True)
    (tmp_path / "out" / "representations" / f"{'0' * 64}.npz").write_bytes(b"0" * 2_000_000)
    assert fairbench_here("clean", "--results", "out", "--yes").returncode == 0
    assert not list((tmp_path / "out" / "representations").iterdir())
    nothing = fairbench_here("clean", "--results", "out", "--yes")
    assert nothing.returncode == 2
    assert "no results" in nothing.stderr


@pytest.mark.slow
def test_a_point_whose_audit_fails_does_not_cost_those_beside_it(
    fairbench: Call, tmp_path: Path
) -> None:
    words = ("run", "--dataset", "toy-bars", "--budget", "quick", "--results", "out")
    done = fairbench(*words, "--methods", "pca", TOY_METRIC_CRASHES="255")
    assert done.returncode == 1
    assert "its points are tried one by one" in done.stderr
    with sqlite3.connect(tmp_path / "out" / "fairbench.sqlite") as connection:
        query = (
            "SELECT points.label, points.status FROM points JOIN units ON units.key = points.unit "
            "WHERE units.method = 'pca'"
        )
        statuses = dict(connection.execute(query))
    assert statuses.pop("dimensions=255") == "CRASHED"
    assert len(statuses) >= 4  # several points were in one job
    assert set(statuses.values()) == {"DONE"}


@pytest.mark.slow
def test_failures_are_kept_apart_and_told(fairbench: Call, tmp_path: Path) -> None:
    bad = "raises,crashes,segfaults,hangs,holds-the-gil,out-of-memory,half-diverges,gives-nan,"
    bad += "raises-later,vandal,plain"
    done = fairbench(*RUN, "--methods", bad, "--timeout", "20s")
    assert done.returncode == 1
    with sqlite3.connect(tmp_path / "out" / "fairbench.sqlite") as connection:
        query = "SELECT method, point, status, error, traceback FROM units"
        rows = {(m, p): (s, e, t) for m, p, s, e, t in connection.execute(query)}
    point = "scale=0.5"
    assert rows["raises", point][0] == "FAILED"
    assert "this method always raises" in rows["raises", point][2]
    assert rows["crashes", point][:2] == (
        "CRASHED",
        "the process ended without a result (exit code 7)",
    )
    assert rows["segfaults", point][0] == "CRASHED"
    assert rows["hangs", point][0] == "TIMEOUT"
    assert rows["holds-the-gil", point][0] == "TIMEOUT"
    assert rows["out-of-memory", point][0] == "OOM"
    assert rows["raises-later", point][0] == "FAILED"
    assert rows["raises-later", "scale=1"][0] == "DONE"
    assert rows["half-diverges", point][:2] == ("DIVERGED", "loss nan at step 3")
    assert rows["half-diverges", "scale=1"][0] == "DONE"
    assert "not finite" in rows["gives-nan", point][1]
    assert "read-only" in rows["vandal", point][1]
    assert rows["plain", point][0] == "DONE"
    found = board(tmp_path).set_index("method")
    assert found.loc["plain", "complete"]
    assert not found.loc["half-diverges", "complete"]
    assert found.loc["half-diverges", "points_missing"] == 1
    assert pd.isna(found.loc["raises", "aufdc"])
    assert "DIVERGED" in done.stderr

    # Failures are remembered, not tried again, until it is asked for.
    again = fairbench(*RUN, "--methods", "raises,plain")
    assert again.returncode == 1
    assert "0 fitted now" in again.stderr
    retried = fairbench(*RUN, "--methods", "raises", "--rerun", "failed")
    assert retried.returncode == 1
    assert "fit raises" in retried.stderr


@pytest.mark.thorough
def test_a_failed_audit_keeps_its_reason_and_its_traceback_can_be_seen(
    fairbench_here: Call, tmp_path: Path
) -> None:
    words = ("run", "--dataset", "toy", "--budget", "quick", "--points", "2", "--results", "out")
    words = (*words, "--methods", "identity", "--in-process")
    assert fairbench_here(*words).returncode == 0
    with sqlite3.connect(tmp_path / "out" / "fairbench.sqlite") as connection:
        connection.execute(
            "UPDATE points SET status = 'FAILED', error = 'ValueError: too odd (plug/in.py:7)', "
            "traceback = 'Traceback: line 7' "
            "WHERE unit IN (SELECT key FROM units WHERE method = 'identity')"
        )
    again = fairbench_here(*words)
    assert again.returncode == 1
    assert "FAILED: audit of identity on toy, seed 0, -: ValueError: too odd (plug" in again.stderr
    assert "fairbench status --results out --traceback" in again.stderr
    status = fairbench_here("status", "--results", "out")
    assert "FAILED  identity -: ValueError: too odd (plug/in.py:7)\n" in status.stdout
    assert "Traceback" not in status.stdout
    whole = fairbench_here("status", "--results", "out", "--traceback")
    assert "too odd (plug/in.py:7)\nTraceback: line 7\n" in whole.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("done_run")
def test_training_again_that_fails_loses_no_result(fairbench_here: Call, tmp_path: Path) -> None:
    words = (*RUN, "--methods", "raises", "--in-process")
    assert fairbench_here(*words, TOY_CALM="1").returncode == 0
    before = board(tmp_path)
    again = fairbench_here(*words, "--rerun", "all")
    assert again.returncode == 1
    assert "FAILED: raises on toy" in again.stderr
    assert "Earlier results of these stand; try again with --rerun all." in again.stderr
    assert "Traceback (most recent call last)" in again.stderr, "the store keeps none"
    assert "--rerun failed" not in again.stderr
    assert "status" not in again.stderr
    pd.testing.assert_frame_equal(
        board(tmp_path)[["method", "complete", "aufdc"]], before[["method", "complete", "aufdc"]]
    )
    done = fairbench_here(*words)
    assert done.returncode == 0, "what was there stands, and is no failure"
    assert "0 fitted now" in done.stderr


@pytest.mark.slow
def test_a_run_killed_half_way_resumes_to_the_same_bytes(fairbench: Call, tmp_path: Path) -> None:
    words = ("--methods", "latfr", "--points", "3")
    whole = fairbench("run", "--dataset", "toy", "--budget", "quick", "--results", "whole", *words)
    assert whole.returncode == 0
    command = [sys.executable, "-m", "fairbench", *RUN, *words]
    env = cli_environment(tmp_path)
    for log in (tmp_path / "first.log", tmp_path / "second.log"):
        with log.open("w") as stream:
            process = subprocess.Popen(
                command, cwd=tmp_path, env=env, stderr=stream, stdout=subprocess.DEVNULL
            )
        until = time.monotonic() + 120
        while "\ndone " not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.02)
        process.kill()
        assert process.wait() == -signal.SIGKILL, "it ended before it was killed"
    assert fairbench(*RUN, *words).returncode == 0
    name = "leaderboards/toy-simulated-points.csv"
    assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.thorough
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_ends_a_run_keeps_what_is_done_and_says_how_to_resume(
    sent: signal.Signals, code: int, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "fairbench", *RUN, "--methods", "hangs"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=cli_environment(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Of a suite that runs in the background the child would inherit that Ctrl-C is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("start"):
            break
    os.kill(process.pid, sent) if sent is signal.SIGTERM else os.killpg(process.pid, sent)
    rest = process.stderr.read()
    assert process.wait(timeout=20) == code
    assert "Resume with:" in rest
    assert "--methods hangs" in rest


@pytest.mark.usefixtures("done_run")
def test_the_leaderboards_of_one_dataset_are_shown(fairbench_here: Call) -> None:
    all_of_them = fairbench_here("leaderboard", "--results", "out")
    one = fairbench_here("leaderboard", "--results", "out", "--dataset", "toy")
    assert one.returncode == 0
    assert one.stdout == all_of_them.stdout
    other = fairbench_here("leaderboard", "--results", "out", "--dataset", "toi")
    assert other.returncode == 2
    assert "toy-simulated" in other.stderr


def test_dry_run_lists_jobs_and_trains_nothing(fairbench_here: Call, tmp_path: Path) -> None:
    told = fairbench_here(*RUN, "--methods", "plain", "--dry-run")
    assert told.returncode == 0
    assert "fit plain on toy (2 models)" in told.stdout
    assert "Estimated:" in told.stdout
    assert not (tmp_path / "out").exists()
    stored = fairbench_here(
        *RUN, "--methods", "plain", "--dry-run", "--store", "sqlite:///s.sqlite"
    )
    assert stored.returncode == 0
    assert not (tmp_path / "s.sqlite").exists()


def test_a_run_that_is_recorded_as_later_than_now_is_told_of(
    fairbench_here: Call, tmp_path: Path
) -> None:
    """Leaderboards show what was used last, by the clock."""
    store = Store.in_folder(tmp_path / "out")
    words = (*RUN, "--methods", "plain", "--dry-run")
    for year, warned in ((2020, False), (2090, True)):
        store.add_run(RunRecord(str(year), f"{year}-01-01T00:00:00+00:00", "fairbench run", {}, {}))
        told = " ".join(fairbench_here(*words).stderr.split())
        assert (f"recorded as started {year}" in told) == warned
    # Before a search for hyperparameters begins, which may take hours.
    assert told.index("recorded as started") < told.index("device: ")


def test_a_dry_run_of_many_jobs_has_a_line_for_those_alike(fairbench_here: Call) -> None:
    told = fairbench_here(*RUN, "--methods", "plain", "--seeds", "200", "--dry-run")
    assert told.returncode == 0
    lines = told.stdout.splitlines()
    assert len(lines) < 15
    assert sum("fit plain on" in line for line in lines) == 1
    assert any(line.startswith("200 jobs: audit x itself on") for line in lines)


@pytest.mark.slow
def test_parameters_make_rows_of_their_own(fairbench: Call, tmp_path: Path) -> None:
    (tmp_path / "small net.yaml").write_text("hidden: [8]\n")
    words = ("--methods", "latfr", "--points", "2")
    assert fairbench(*RUN, *words).returncode == 0
    named = fairbench(*RUN, *words, "--params", "small net.yaml")
    assert named.returncode == 0
    assert "small net" in named.stdout
    again = fairbench(*RUN, *words, "--params", "small net.yaml", "--label", "small")
    assert "fit latfr" not in again.stderr
    assert "small" in again.stdout
    found = board(tmp_path).query("method == 'latfr'").set_index("params")
    assert found["label"].fillna("").to_dict() == {"default": "", "hidden=[8]": "small"}


def test_labels_are_short_names(fairbench_here: Call, tmp_path: Path) -> None:
    words = ("--methods", "sofair", "--dry-run")
    told = fairbench_here(*RUN, *words, "--label", "no\nname")
    assert told.returncode == 2
    for text in ("label: [1]\nbits: 8\n", f"label: {'long ' * 10}\nbits: 8\n"):
        (tmp_path / "p.yaml").write_text(text)
        told = fairbench_here(*RUN, *words, "--params", "p.yaml")
        assert told.returncode == 2, text
        assert "is no label" in told.stderr


@pytest.mark.parametrize("text", ["", "label: heavy\n"])
def test_a_file_without_hyperparameters_is_a_mistake(
    fairbench_here: Call, tmp_path: Path, text: str
) -> None:
    (tmp_path / "p.yaml").write_text(text)
    told = fairbench_here(*RUN, "--methods", "sofair", "--dry-run", "--params", "p.yaml")
    assert told.returncode == 2
    assert "--params p.yaml holds no hyperparameters" in told.stderr


def test_no_row_with_hyperparameters_of_its_own_is_called_default(
    fairbench_here: Call, tmp_path: Path
) -> None:
    words = (*RUN, "--methods", "sofair", "--dry-run")
    for name, text in (("p.yaml", "label: default\nbits: 8\n"), ("default.yaml", "bits: 8\n")):
        (tmp_path / name).write_text(text)
        told = fairbench_here(*words, "--params", name)
        assert told.returncode == 2, name
        assert "'default' is the name of default hyperparameters" in told.stderr
        assert "--label NAME" in told.stderr
    assert fairbench_here(*words, "--label", "default").returncode == 2
    assert fairbench_here(*words, "--params", "default.yaml", "--label", "small").returncode == 0


@pytest.mark.slow
def test_a_damaged_representation_is_made_anew(fairbench: Call, tmp_path: Path) -> None:
    words = (*RUN, "--methods", "plain")
    assert fairbench(*words).returncode == 0
    for file in (tmp_path / "out" / "representations").iterdir():
        file.write_bytes(b"garbled")
    with sqlite3.connect(tmp_path / "out" / "fairbench.sqlite") as connection:
        connection.execute("UPDATE points SET status = 'PENDING'")
    again = fairbench(*words)
    assert again.returncode == 0
    assert f"{2 + len(BASELINES)} fitted now" in again.stderr


def test_lists_and_data_check(fairbench_here: Call) -> None:
    assert "toy" in fairbench_here("list", "datasets").stdout
    assert "widest" in fairbench_here("list", "metrics").stdout
    checked = fairbench_here("data", "check", "toy")
    assert checked.returncode == 0
    assert "left" in checked.stdout
    fetched = fairbench_here("data", "fetch", "adults")
    assert fetched.returncode == 2
    assert "could not be downloaded" in fetched.stderr


def test_version_and_bare_call(fairbench: Call) -> None:
    told = fairbench("--version")
    assert told.returncode == 0
    assert told.stdout.startswith("fairbench 0.")
    bare = fairbench()
    assert bare.returncode == 2
    assert "Usage" in bare.stdout + bare.stderr


def test_every_option_of_run_is_in_its_help(fairbench_here: Call) -> None:
    text = fairbench_here("run", "--help").stdout
    fixed = (
        "methods dataset seeds seed-list splits budget points params tune label against shift "
        "config results device executor ray-address in-process workers data-root "
        "require-real-data dry-run rerun timeout store help"
    )
    assert set(re.findall(r"--[a-z-]+", text)) == {f"--{name}" for name in fixed.split()}


@pytest.mark.usefixtures("done_run")
def test_exports_are_lines_of_json(fairbench_here: Call, tmp_path: Path) -> None:
    assert fairbench_here("results", "export", "x.jsonl", "--results", "out").returncode == 0
    lines = (tmp_path / "x.jsonl").read_text().splitlines()
    tables = {json.loads(line).get("table") for line in lines}
    assert tables == {None, "units", "points", "references"}
    assert fairbench_here("results", "export", "x.jsonl.gz", "--results", "out").returncode == 0
    copy = ("results", "import", "x.jsonl.gz", "--own", "--results", "other")
    assert fairbench_here(*copy).returncode == 0
    assert fairbench_here("results", "export", "y.jsonl", "--results", "other").returncode == 0
    assert (tmp_path / "y.jsonl").read_text().splitlines() == lines
    packed = tmp_path / "x.jsonl.gz"
    packed.write_bytes(packed.read_bytes()[:-20])
    broken = fairbench_here("results", "import", "x.jsonl.gz", "--results", "third")
    assert broken.returncode == 2
    assert "x.jsonl.gz cannot be read" in broken.stderr


@pytest.mark.slow
def test_folds_give_ranks_and_other_rows_stand_below(fairbench_here: Call, tmp_path: Path) -> None:
    folds = fairbench_here(*RUN, "--methods", "plain", "--points", "2", "--splits", "2")
    assert folds.returncode == 0, folds.stderr
    assert "toy, fold 2 of 2: simulated" in folds.stderr
    assert "ranks are over 2 folds" in folds.stdout
    alone = fairbench_here(*RUN, "--methods", "leace")
    assert alone.returncode == 0, alone.stderr
    found = board(tmp_path).set_index("method")
    assert found.loc["plain", "rank_low"] >= 1
    assert found.loc["plain", "splits"] == "2 folds"
    assert not found.loc["leace", "replicated"]
    assert "-- not replicated --" in alone.stdout
    # Baselines were run on the official split too, which stands in a column of its own.
    assert found.loc["identity", "aufdc_official"] == pytest.approx(0.5, abs=0.03)
    again = fairbench_here(*RUN, "--methods", "plain", "--points", "2", "--splits", "2")
    assert "0 fitted now" in again.stderr
    audited = fairbench_here("audit", "--results", "out")
    assert "0 points measured" in audited.stderr, audited.stderr


@pytest.mark.usefixtures("done_run")
def test_options_that_cannot_be_followed_are_refused(fairbench_here: Call) -> None:
    compare = ("leaderboard", "--results", "out", "--compare", "plain", "pca", "--format", "json")
    assert "--compare prints text" in fairbench_here(*compare).stderr
    nothing = fairbench_here("plot", "curves", "--results", "out", "--format", ",")
    assert nothing.returncode == 2
    assert "--format is empty" in nothing.stderr


@pytest.mark.thorough
def test_commands_that_are_printed_can_be_pasted(fairbench_here: Call, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/s.sqlite"
    words = ("--dataset", "toy", "--budget", "quick", "--results", "my results", "--store", store)
    told = fairbench_here("run", "--methods", "raises", "--in-process", *words)
    assert told.returncode == 1
    command = shlex.split(told.stderr.partition("raised: ")[2].splitlines()[0])
    assert command == [
        "fairbench",
        *["status", "--results"],
        "my results",
        "--store",
        store,
        "--traceback",
    ]
    assert "Traceback" in fairbench_here(*command[1:]).stdout
