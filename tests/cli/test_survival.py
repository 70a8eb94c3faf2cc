"""Whole processes that are killed, share a store, or find it damaged; minutes, marked slow.

benchmarks/faults.py has more of them, and prints figures.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import psutil
import pytest

from tests.conftest import TOY, Call
from tests.support.postgres import postgres_server

pytestmark = pytest.mark.slow

RUN = ("run", "--dataset", "toy", "--budget", "quick", "--methods", "latfr", "--points", "3")


def table(folder: Path) -> bytes:
    """The measured columns of all points."""
    return (folder / "leaderboards" / "toy-simulated-points.csv").read_bytes()


LONG = ("run", "--dataset", "toy", "--budget", "4000", "--methods", "latfr", "--points", "4")


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    paths = [str(TOY), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "FAIRBENCH_OFFLINE": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "fairbench", *words],
        cwd=folder,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_line(process: subprocess.Popen[str], begins: str) -> None:
    assert process.stderr is not None
    assert any(line.startswith(begins) for line in process.stderr), f"no line {begins}"


def wait_for(path: Path, pattern: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not list(path.glob(pattern)):
        assert time.monotonic() < end, f"no {pattern} in {path}"
        time.sleep(0.02)


def test_every_executor_and_store_gives_the_same_figures(
    fairbench: Call, tmp_path: Path, postgres: str
) -> None:
    assert fairbench(*RUN, "--results", "plain").returncode == 0
    for name, more in {
        "in-process": ("--in-process",),
        "ray": ("--executor", "ray"),
        "postgres": ("--store", postgres),
    }.items():
        done = fairbench(*RUN, "--results", name, *more)
        assert done.returncode == 0, done.stderr
        assert table(tmp_path / name) == table(tmp_path / "plain"), name
    assert not (tmp_path / "postgres" / "fairbench.sqlite").exists()
    again = fairbench(*RUN, "--results", "elsewhere", "--store", postgres)
    assert "0 fitted now" in again.stderr
    assert table(tmp_path / "elsewhere") == table(tmp_path / "plain")


def test_drivers_with_folders_of_their_own_share_a_server(
    fairbench: Call, tmp_path: Path, postgres: str
) -> None:
    both = [start(tmp_path, *RUN, "--results", n, "--store", postgres) for n in ("one", "two")]
    told = [process.communicate(timeout=300)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert table(tmp_path / "one") == table(tmp_path / "two")
    assert fairbench(*RUN, "--results", "alone").returncode == 0
    assert table(tmp_path / "one") == table(tmp_path / "alone")
    started = [line for text in told for line in text.splitlines() if line.startswith("start ")]
    assert len(set(started)) == len(started)  # no job in both


def test_a_long_fit_goes_on_from_its_checkpoint(fairbench: Call, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("checkpoint_every: 0s\n")
    words = ("run", "--dataset", "toy", "--budget", "20000", "--methods", "latfr", "--points", "2")
    words += ("--config", "run.yaml", "--workers", "1")
    process = start(tmp_path, *words, "--results", "cut")
    wait_for(tmp_path / "cut" / "checkpoints", "*.checkpoint")
    time.sleep(1)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    resumed = fairbench(*words, "--results", "cut")
    assert resumed.returncode == 0, resumed.stderr
    assert "Training continues from the checkpoint" in resumed.stderr
    assert not list((tmp_path / "cut" / "checkpoints").iterdir())
    assert fairbench(*words, "--results", "whole").returncode == 0
    assert table(tmp_path / "cut") == table(tmp_path / "whole")


def test_a_model_whose_file_is_damaged_trains_in_its_old_stack(
    fairbench: Call, tmp_path: Path
) -> None:
    words = (*RUN, "--results", "out")
    assert fairbench(*words).returncode == 0
    before = table(tmp_path / "out")
    with sqlite3.connect(tmp_path / "out" / "fairbench.sqlite") as connection:
        query = "SELECT key, artefact FROM units WHERE method = 'latfr' AND seed = 0"
        key, name = connection.execute(query).fetchone()
        connection.execute("DELETE FROM points WHERE unit = ?", (key,))
    (tmp_path / "out" / "representations" / name).write_bytes(b"garbled")
    again = fairbench(*words)
    assert again.returncode == 0, again.stderr
    assert "fit latfr on toy (3 models)" in again.stderr
    assert "1 fitted now" in again.stderr
    assert table(tmp_path / "out") == before
    frame = pd.read_csv(tmp_path / "out" / "leaderboards" / "toy-simulated-points.csv")
    assert len(frame[frame["method"] == "latfr"]) == 3


def test_a_metric_that_raises_is_told_and_the_rest_goes_on(fairbench: Call, tmp_path: Path) -> None:
    broken = fairbench(*RUN, "--results", "out", TOY_BAD_METRIC="1")
    assert broken.returncode == 0, broken.stderr
    assert "Warning: The metric widest raised ValueError: this metric raises" in broken.stderr
    assert "Traceback" not in broken.stderr
    assert fairbench("audit", "--results", "out").returncode == 0
    frame = pd.read_csv(tmp_path / "out" / "leaderboards" / "toy-simulated-points.csv")
    assert frame["dimensions"].notna().all()


def test_jobs_of_a_fork_server_that_is_killed_start_again(fairbench: Call, tmp_path: Path) -> None:
    process = start(tmp_path, *LONG, "--results", "cut")
    wait_for_line(process, "start ")
    children = psutil.Process(process.pid).children()
    (server,) = (one for one in children if "forkserver" in " ".join(one.cmdline()))
    server.kill()
    told = process.communicate()[1]
    assert process.returncode == 0, told
    assert "CRASHED" not in told
    assert fairbench(*LONG, "--results", "whole").returncode == 0
    assert table(tmp_path / "cut") == table(tmp_path / "whole")


def test_a_server_that_is_away_for_a_while_costs_nothing(fairbench: Call, tmp_path: Path) -> None:
    with postgres_server() as server:
        process = start(tmp_path, *LONG, "--results", "cut", "--store", server.url)
        wait_for_line(process, "done ")
        server.stop()
        time.sleep(12)
        server.start()
        told = process.communicate()[1]
    assert process.returncode == 0, told
    assert told.count("The database is busy or does not answer. Trying again") >= 1
    assert fairbench(*LONG, "--results", "whole").returncode == 0
    assert table(tmp_path / "cut") == table(tmp_path / "whole")


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster; its processes, and no others, have a mark in their environment."""

    address: str
    mark: str
    folder: str
    """Of a driver that finds it by itself, the folder for Ray's temporary files (RAY_TMPDIR)."""

    def kill(self, *names: str) -> None:
        """Kill its processes of these names; without names all."""
        for one in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if self.mark in one.environ() and (not names or one.name() in names):
                    one.kill()


@contextlib.contextmanager
def ray_cluster() -> Iterator[Cluster]:
    """A cluster on a free port, and in a folder where no driver finds it by itself."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tempfile.mkdtemp(prefix="ray")  # short: the name of a socket below it has a limit
    cluster = Cluster(f"127.0.0.1:{port}", f"TEST_CLUSTER_{uuid.uuid4().hex}", folder)
    ray = str(Path(sys.executable).with_name("ray"))
    begin = [ray, "start", "--head", "--port", str(port), "--num-cpus", "2"]
    begin += ["--temp-dir", f"{folder}/ray"]
    marked = os.environ | {cluster.mark: "1"}
    try:
        subprocess.run(
            [*begin, "--include-dashboard=false"], check=True, capture_output=True, env=marked
        )
        yield cluster
    finally:
        cluster.kill()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("whole", [True, False])
def test_a_ray_cluster_that_dies_ends_the_run_which_resumes(
    fairbench: Call, tmp_path: Path, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All processes of a cluster, or that of this machine alone."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with ray_cluster() as cluster:
        more = ("--executor", "ray", "--ray-address", cluster.address)
        process = start(tmp_path, *LONG, "--results", "cut", *more)
        wait_for_line(process, "done ")
        cluster.kill("raylet", *(["gcs_server"] if whole else []))
        told = process.communicate(timeout=100)[1]
    assert process.returncode == 2, told
    assert "Error: The Ray cluster is gone" in told
    assert "the same command resumes" in told
    assert "CRASHED" not in told
    assert fairbench(*LONG, "--results", "cut").returncode == 0


def test_sigterm_ends_a_run_by_ray_as_any_other(tmp_path: Path) -> None:
    process = start(tmp_path, *LONG, "--results", "cut", "--executor", "ray")
    wait_for_line(process, "start ")
    process.terminate()
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 143, told
    assert "Interrupted; finished work is stored. Resume with:" in told


def test_without_an_address_a_run_by_ray_joins_no_cluster_of_this_machine(
    fairbench: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one that somebody has started for other work; but RAY_ADDRESS names one to join."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with ray_cluster() as cluster:
        monkeypatch.setenv("RAY_TMPDIR", cluster.folder)
        alone = fairbench(*RUN, "--results", "alone", "--executor", "ray")
        assert alone.returncode == 0, alone.stderr
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        cluster.kill()
        lost = fairbench(*RUN, "--results", "lost", "--executor", "ray")
    assert f"No Ray cluster answers at {cluster.address}" in lost.stderr
    assert "unset RAY_ADDRESS" in lost.stderr


def test_an_address_without_a_cluster_is_told_at_once(fairbench: Call) -> None:
    began = time.monotonic()
    done = fairbench(*RUN, "--executor", "ray", "--ray-address", "127.0.0.1:1")
    assert time.monotonic() - began < 60
    assert done.returncode == 2
    assert "Error: No Ray cluster answers at 127.0.0.1:1: " in done.stderr
    assert "ray start --head" in done.stderr
