"""Benchmarks of whole runs: what jobs took by phase, and what is not measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fairbench.store.database import Store
from fairbench.store.records import ReferenceRecord
from fairbench.store.status import Status
from tests.support.exports import a_point, a_unit

pytest.importorskip("psutil")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
try:
    import against
    import runs
finally:
    sys.path.pop(0)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A run of two methods: three points of 4 s each, and 7 s for x itself."""
    costs = {"train_seconds": 10.0, "encode_seconds": 0.5}
    reference = ReferenceRecord(
        key="x",
        status=Status.DONE,
        dataset="toy",
        fingerprint="f" * 64,
        protocol=1,
        seed=0,
        audit="strict",
        seconds=7.0,
    )
    Store.in_folder(tmp_path).put(
        [
            a_unit("u", method="one", costs=costs),
            a_unit("v", method="two", costs=costs),
            a_point("p", "u", seconds=4.0),
            a_point("q", "u", seconds=4.0),
            a_point("r", "v", seconds=4.0),
            reference,
        ]
    )
    return tmp_path


def test_the_audit_of_x_itself_is_among_the_audits(results: Path) -> None:
    table = runs.split(results)
    assert list(table.index) == ["one", "two", "x itself", "all"]
    assert list(table.loc["all", ["train", "encode", "audit", "points"]]) == [20, 1, 19, 3]
    assert list(table["audit"]) == [8, 4, 7, 19]


def test_what_a_point_costs_against_an_earlier_commit_is_of_points_alone(results: Path) -> None:
    run = runs.WholeRun([], 30.0, 1.0, runs.split(results))
    assert against.Spent.of(run, "all") == against.Spent(30.0, 20.0, 12.0, 3, 1.0)
    assert against.Spent.of(run, "one") == against.Spent(30.0, 10.0, 8.0, 2, 1.0)


def test_a_folder_with_results_is_no_whole_run(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["runs.py", "--results", str(results)])
    with pytest.raises(SystemExit, match="2"):
        runs.main()
    assert f"{results} has results already" in capsys.readouterr().err


def test_repeats_cannot_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--job", "all", "--repeats", "3", "--keep", "kept.json"]
    monkeypatch.setattr(sys, "argv", ["against.py", "--data-root", str(tmp_path), *words])
    with pytest.raises(SystemExit, match="2"):
        against.main()
    assert "--keep goes with --repeats 1" in capsys.readouterr().err


def test_runs_refuse_the_simulated_twin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[list[str]] = []

    class Refused:
        pid = 0

        def __init__(self, command: list[str], **options: object) -> None:
            given.append(command)

        def wait(self) -> int:
            return 2

    class Peak:
        def __init__(self, pid: int) -> None:
            pass

        def stop(self) -> int:
            return 0

    monkeypatch.setattr(runs.subprocess, "Popen", Refused)
    monkeypatch.setattr(runs, "_Peak", Peak)
    with pytest.raises(SystemExit, match="exit code 2"):
        runs.run_whole("sofair", "quick", tmp_path)
    assert "--require-real-data" in given[0]
