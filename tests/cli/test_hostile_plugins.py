"""Plugins that say, print, report and start what they should not: their job fails, nothing else."""

import os
import re
import signal
import sqlite3
import sys
from pathlib import Path

import pandas as pd
import pytest

from fairbench.cli.setup import command_line
from fairbench.store.database import Store
from fairbench.store.records import RunRecord
from tests.conftest import Call
from tests.store.test_secrets import HIDDEN, SENTINEL, URL, content_of
from tests.support.jobs import runs

RUN = ("run", "--dataset", "toy", "--budget", "quick", "--points", "2", "--workers", "1")
HOSTILE = {
    "reports-nan": "ContractError: the cost 'steps' given to report() is nan, not a finite number.",
    "reports-text": "ContractError: the cost 'steps' given to report() is 'many', not a finite",
    "reports-names": "ContractError: report() got the name 'my steps\\x1b[2J'; names of costs have",
    "odd-text": "ValueError: no such file: caf\\udce9.csv\\x00\\x1b[2J",
    "loud": "ValueError: yyyyyyyyyy",
    "tells-secrets": "ValueError: cannot reach postgresql://ann:***@localhost:1/x",
    "spoils-descriptors": "the job's process sent bytes that are no message",
}


@pytest.mark.slow
@pytest.mark.parametrize("where", ["sqlite", "postgresql"])
def test_each_fails_alone_and_what_is_stored_and_printed_is_harmless(
    fairbench: Call, tmp_path: Path, where: str, request: pytest.FixtureRequest
) -> None:
    children, more = tmp_path / "children", ()
    if where == "postgresql":
        more = ("--store", request.getfixturevalue("postgres") + f"&options=-c%20a.b={SENTINEL}")
    methods = ",".join([*HOSTILE, "leaves-children", "plain"])
    done = fairbench(*RUN, "--methods", methods, *more, TOY_CHILDREN=str(children))
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr
    assert len(done.stderr) < 100_000
    for name, error in HOSTILE.items():
        assert f"fit {name} on toy (2 models): {error}" in done.stderr
    assert "  | flood flood" in done.stderr
    assert "  | at postgresql://ann:***@localhost:1/x" in done.stderr

    folder = tmp_path / "fairbench-results"
    frame = pd.read_csv(folder / "leaderboards" / "toy-simulated-points.csv")
    measured = set(frame.loc[frame["status"] == "DONE", "method"])
    assert measured >= {"plain", "leaves-children"}
    assert not measured & set(HOSTILE)
    (loud,) = (folder / "logs").glob("fit-loud-*.log")
    assert 300_000 < loud.stat().st_size < 1_000_000
    assert "bytes left out" in loud.read_text()
    assert str(loud.relative_to(tmp_path)) in done.stderr

    left = [pid for pid in map(int, children.read_text().split()) if runs(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left

    status = fairbench("status", *more)
    assert status.returncode == 0
    assert "\x1b" not in status.stdout
    report = fairbench("report", *more)
    assert report.returncode == 0
    told = done.stdout + done.stderr + status.stdout + status.stderr + report.stdout + report.stderr
    assert SENTINEL not in told
    assert SENTINEL.encode() not in content_of(tmp_path)
    if where == "sqlite":
        with sqlite3.connect(folder / "fairbench.sqlite") as connection:
            texts = connection.execute("SELECT error, traceback FROM units").fetchall()
        assert max(len(text.encode()) for row in texts for text in row if text) <= 10_000
        assert fairbench("results", "export", "all.jsonl").returncode == 0
        imported = fairbench("results", "import", "all.jsonl", "--results", "other")
        assert imported.returncode == 0, imported.stderr


@pytest.mark.parametrize(
    "words",
    [
        (*RUN, "--methods", "plain", "--store", URL),
        ("search", "--method", "noisy", "--dataset", "toy", "--store", URL),
        ("status", "--store", URL),
        ("status", URL),
        ("leaderboard", "--store", URL),
        ("results", "redact", "--store", URL),
        ("audit", "--results", "x", "--store", URL),
    ],
)
def test_no_error_shows_a_password(
    fairbench_here: Call, tmp_path: Path, words: tuple[str, ...]
) -> None:
    told = fairbench_here(*words)
    assert told.returncode == 2
    assert SENTINEL not in told.stdout + told.stderr
    assert re.findall(r"[\w+]+://[\w:*@/?=&-]*", told.stderr) == [HIDDEN]
    assert SENTINEL.encode() not in content_of(tmp_path)


def test_lines_to_resume_have_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["fairbench", "run", "--store", URL])
    assert SENTINEL not in command_line()
    assert "ann:***@localhost" in command_line()


def test_an_older_store_is_shown_without_and_redacted(fairbench_here: Call, tmp_path: Path) -> None:
    from fairbench.store.records import to_row
    from fairbench.store.schema import RUNS

    folder = tmp_path / "fairbench-results"
    old = RunRecord("a", "2026", f"fairbench run --store {URL}", {"store": URL}, {})
    with Store.in_folder(folder).engine.begin() as connection:
        connection.execute(RUNS.insert().values(**to_row(old)))
    status = fairbench_here("status")
    assert "--store 'postgresql+psycopg://ann:***@" in status.stdout
    assert fairbench_here("report").returncode == 0
    assert SENTINEL.encode() not in (folder / "report.html").read_bytes()
    redacted = fairbench_here("results", "redact")
    assert redacted.stdout.startswith("1 rows changed.")
    assert SENTINEL.encode() not in content_of(tmp_path)
