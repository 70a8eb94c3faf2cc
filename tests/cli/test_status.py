"""``fairbench status``: what is done and what failed, of the code that is there now."""

from __future__ import annotations

from pathlib import Path

from fairbench.store.database import Store
from fairbench.store.records import TRIAL, ReferenceRecord
from fairbench.store.status import Status
from tests.conftest import Call
from tests.support.exports import a_point, a_unit

EARLIER, LATER = "2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"


def test_failures_of_code_that_was_mended_since_are_not_listed(
    fairbench_here: Call, tmp_path: Path
) -> None:
    failed = {"status": Status.FAILED, "finished": EARLIER}
    folder = tmp_path / "fairbench-results"
    folder.mkdir()
    Store(f"sqlite:///{folder / 'fairbench.sqlite'}").put(
        [
            a_unit("a" * 64, code="0" * 16, error="ValueError: mended", **failed),
            a_unit("b" * 64, code="1" * 16, finished=LATER),
            # Of another seed there is no later model.
            a_unit("c" * 64, code="0" * 16, seed=1, error="ValueError: still so", **failed),
        ]
    )
    told = fairbench_here("status")
    assert told.returncode == 0, told.stderr
    assert "still so" in told.stdout
    assert "ValueError: mended" not in told.stdout
    assert "1 model of earlier code is left out" in told.stdout


def test_a_folder_without_models_says_so(fairbench_here: Call, tmp_path: Path) -> None:
    folder = tmp_path / "fairbench-results"
    folder.mkdir()
    Store(f"sqlite:///{folder / 'fairbench.sqlite'}").put([])
    assert "No model has been trained here yet" in fairbench_here("status").stdout


def test_trials_of_a_search_have_a_row_of_their_own(fairbench_here: Call, tmp_path: Path) -> None:
    folder = tmp_path / "fairbench-results"
    folder.mkdir()
    trials = [a_unit(f"{k}" * 64, run=f"{TRIAL}r", seed=1000 + k) for k in range(3)]
    Store(f"sqlite:///{folder / 'fairbench.sqlite'}").put([a_unit("a" * 64), *trials])
    lines = fairbench_here("status").stdout.splitlines()
    (own,) = (line for line in lines if line.strip().startswith("some "))
    (of_trials,) = (line for line in lines if "some, trials" in line)
    assert own.split()[1] == "1"
    assert of_trials.split()[2] == "3"


def test_what_a_metric_lacks_at_many_points_is_told_once(
    fairbench_here: Call, tmp_path: Path
) -> None:
    folder = tmp_path / "fairbench-results"
    folder.mkdir()
    units = [a_unit(key * 64, seed=seed) for seed, key in enumerate("abc")]
    error = "The metric mine raised ZeroDivisionError."
    points = [a_point(f"{n}" * 64, unit.key, error=error) for n, unit in enumerate(units)]
    Store(f"sqlite:///{folder / 'fairbench.sqlite'}").put([*units, *points])
    told = " ".join(fairbench_here("status").stdout.split())
    assert told.count("ZeroDivisionError") == 1
    assert "some at 3 points: The metric mine raised" in told


def test_a_failed_audit_of_x_itself_is_listed_until_it_is_done(
    fairbench_here: Call, tmp_path: Path
) -> None:
    folder = tmp_path / "fairbench-results"
    folder.mkdir()
    failed = ReferenceRecord(
        key="r" * 64,
        status=Status.TIMEOUT,
        error="killed after 6 s",
        dataset="toy",
        fingerprint="f" * 64,
        protocol=1,
        seed=2,
        audit="strict",
        audit_version=4,
    )
    store = Store(f"sqlite:///{folder / 'fairbench.sqlite'}")
    store.put([failed])
    shown = " ".join(fairbench_here("status").stdout.split())
    assert "TIMEOUT audit of x itself on toy, seed 2: killed after 6 s" in shown
    later = failed.replace(key="s" * 64, status=Status.DONE, error=None, audit_version=5, values={})
    store.put([later])
    assert "TIMEOUT" not in fairbench_here("status").stdout
