"""``fairbench audit --results``: representations of a store are measured again."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fairbench.api import AUDIT_ROLES, Point, Unit
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.data.loading import load_twin
from fairbench.runs.audits import AuditLedger, AuditTarget, MissingPoint
from fairbench.runs.plan import Budget, PlannedUnit, code_of
from fairbench.store import files as artefacts
from fairbench.store.database import Store
from fairbench.store.records import ReadPoint, UnitRecord
from fairbench.store.status import Status
from fairbench.versions import AUDIT_VERSION
from tests.conftest import TOY, Call
from tests.support.toy.toy_plugin import Plain, Toy

UPGRADED = (
    "import sys, fairbench.versions as v; v.AUDIT_VERSION = 99; "
    "from fairbench.cli.app import main; main()"
)
"""A later fairbench, whose auditors are another version."""


def later(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"FAIRBENCH_OFFLINE": "1", "COLUMNS": "80"}
    env["PYTHONPATH"] = os.pathsep.join([str(TOY), env.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", UPGRADED, *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def stored(folder: Path) -> None:
    """A store with one fitted unit of two columns of the toy data, as an older version left it."""
    data = load_twin(Toy)
    budget = Budget("quick", 20, PRESETS[AuditPreset.QUICK])
    store = Store.in_folder(folder)
    for seed in (0, 1):
        unit = Unit(seed, Point.of(scale=1.0))
        planned = PlannedUnit(f"unit{seed}", Plain, Plain.Params(), data, unit, budget, None, None)
        arrays = {f"0/z/{role}": data.roles[role].x[:, : 1 + seed] for role in AUDIT_ROLES}
        trained = planned.record("run").replace(
            status=Status.DONE,
            code=code_of(Plain),
            read_points=(ReadPoint("scale=1", {"scale": 1.0}),),
            costs={},
            hardware={"device": "cpu", "processor": "x"},
            versions={"torch": "2"},
            artefact=artefacts.save(folder, arrays),
            finished="2026-01-01T00:00:00+00:00",
        )
        target = AuditTarget(
            unit=planned.key,
            method="plain",
            seed=seed,
            points=trained.points,
            data=data,
            config=budget.audit,
            blind=True,
            stochastic=False,
        )
        point = AuditLedger(store, (), retry=True).record(
            target, MissingPoint(0, "scale=1", f"old{seed}")
        )
        point = point.replace(
            status=Status.DONE,
            values={
                "mutual_information": 0.1,
                "distortion": 2.0,
                "accuracy_s": 0.6,
                "mutual_information_validation": 0.1,
                "distortion_validation": 2.0,
            },
            auditors=(),
            seconds=1.0,
            finished="2026-01-01T00:00:00+00:00",
            audit_version=1,
        )
        store.put([trained, point])
    store.engine.dispose()


def query(folder: Path, text: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(folder / "fairbench.sqlite") as connection:
        return connection.execute(text).fetchall()


@pytest.mark.thorough
def test_a_store_is_measured_again_and_says_what_changed(
    fairbench_here: Call, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    stored(out)
    units = query(out, "SELECT * FROM units")
    done = fairbench_here("audit", "--results", "out", "--in-process", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert "2 points measured" in done.stderr
    assert "fit " not in done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("plain"))
    method, points, _was, now, i_moved, d_moved = line.split()
    assert (method, points) == ("plain", "2")
    assert 0 < float(now) < 1
    values = dict(
        query(
            out,
            "SELECT unit, json_extract(\"values\", '$.mutual_information') FROM points "
            f"WHERE audit_version = {AUDIT_VERSION}",
        )
    )
    assert float(i_moved) == pytest.approx(
        max((v - 0.1 for v in values.values()), key=abs), abs=1e-3
    )
    assert d_moved[0] in "+-"
    assert "New figures:" in done.stdout
    assert "dimensions" in done.stdout  # a third-party metric
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    # The old figures are still there, and no model was touched.
    assert query(out, "SELECT count(*) FROM points WHERE audit_version = 1") == [(2,)]
    assert query(out, "SELECT * FROM units") == units
    points_csv = pd.read_csv(out / "leaderboards" / "toy-simulated-points.csv")
    assert len(points_csv) == 2

    again = fairbench_here("audit", "--results", "out", "--in-process")
    assert again.returncode == 0
    assert "0 points measured; 2 points measured earlier" in again.stderr

    # A metric that has come since is measured, and only where it is missing.
    with sqlite3.connect(out / "fairbench.sqlite") as connection:
        connection.execute(
            'UPDATE points SET "values" = json_remove("values", \'$.dimensions\') '
            f"WHERE audit_version = {AUDIT_VERSION} AND unit = 'unit0'"
        )
    more = fairbench_here("audit", "--results", "out", "--audit", "quick", "--in-process")
    assert "1 point measured; 1 point measured earlier" in more.stderr
    assert "New figures: dimensions" in more.stdout


@pytest.mark.thorough
def test_points_lack_the_columns_of_a_metric_that_raises_until_it_is_mended(
    fairbench_here: Call, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    stored(out)
    words = ("audit", "--results", "out", "--in-process")
    broken = fairbench_here(*words, TOY_BAD_METRIC="1")
    assert broken.returncode == 0, broken.stderr
    assert (
        "Warning: The metric widest raised ValueError: this metric raises (toy/toy_plugin.py:"
    ) in broken.stderr
    assert "Its columns are missing at 2 points.\n" in broken.stderr
    assert "fairbench audit --results out\n" in broken.stderr
    file = out / "leaderboards" / "toy-simulated-points.csv"
    points = pd.read_csv(file)
    assert points["mutual_information"].notna().all()
    assert "dimensions" not in points
    assert "The metric widest raised" in fairbench_here("status", "--results", "out").stdout

    mended = fairbench_here(*words)
    assert "2 points measured." in mended.stderr
    assert pd.read_csv(file)["dimensions"].notna().all()
    assert "widest" not in fairbench_here("status", "--results", "out").stdout


def test_trials_of_a_search_take_no_models_place(fairbench_here: Call, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stored(out)
    store = Store.in_folder(out)
    store.put(
        unit.replace(
            key=f"trial-{unit.key}",
            run="trial-1",
            code="newer",
            finished="2026-02-01T00:00:00+00:00",
        )
        for unit in store.records(UnitRecord)
    )
    store.engine.dispose()
    done = fairbench_here("audit", "--results", "out", "--in-process")
    assert done.returncode == 0, done.stderr
    assert "2 points measured" in done.stderr
    assert "older model" not in done.stderr


@pytest.mark.slow
def test_two_at_once_measure_each_point_once(fairbench: Call, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stored(out)
    with ThreadPoolExecutor(2) as pool:
        done = list(
            pool.map(lambda _: fairbench("audit", "--results", "out", "--in-process"), range(2))
        )
    assert [process.returncode for process in done] == [0, 0], done
    lines = [line for process in done for line in process.stderr.splitlines()]
    # Two points and what two seeds' curves are normalised by.
    assert sum(line.startswith("start ") for line in lines) == 4
    assert query(out, f"SELECT count(*) FROM points WHERE audit_version = {AUDIT_VERSION}") == [
        (2,)
    ]
    assert query(out, "SELECT count(*) FROM claims") == [(0,)]


def test_what_cannot_be_measured_is_told(fairbench_here: Call, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stored(out)
    (first, second) = query(out, "SELECT artefact FROM units ORDER BY key")
    (out / "representations" / str(first[0])).unlink()
    (out / "representations" / str(second[0])).write_bytes(b"garbled")
    done = fairbench_here("audit", "--results", "out", "--in-process")
    assert done.returncode == 0
    assert "2 models without a representation on disk" in done.stderr
    assert "0 points measured" in done.stderr

    with sqlite3.connect(out / "fairbench.sqlite") as connection:
        connection.execute("UPDATE units SET fingerprint = 'other'")
    done = fairbench_here("audit", "--results", "out", "--in-process")
    assert done.returncode == 1
    assert "Left out: toy (simulated twin, 2 models). The data of toy are not those" in done.stderr

    with sqlite3.connect(out / "fairbench.sqlite") as connection:
        connection.execute("UPDATE units SET dataset = 'hiring', data_source = 'real'")
    done = fairbench_here("audit", "--results", "out", "--in-process")
    assert done.returncode == 1
    assert "hiring (2 models)" in done.stderr
    assert "--dataset CARD.yaml" in done.stderr
    unknown = fairbench_here("audit", "--results", "out", "--dataset", "toy")
    assert unknown.returncode == 2
    assert "no results on 'toy'" in unknown.stderr


@pytest.mark.thorough
def test_representations_of_some_rows_are_not_compared_with_x_on_all(
    fairbench_here: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quick budget encodes fewer rows of a large table than the strict audit looks at."""
    stored(tmp_path / "r")
    quick = PRESETS[AuditPreset.QUICK]
    monkeypatch.setitem(PRESETS, AuditPreset.QUICK, replace(quick, rows=50))
    before = _values(tmp_path / "r")
    words = ("audit", "--results", "r", "--data-root", str(TOY))
    done = fairbench_here(*words, "--audit", "strict")
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert "Left out: toy (2 models of budget quick). Only 50 rows of each role were" in said
    assert "Train them with another budget: fairbench run --budget full" in said
    assert _values(tmp_path / "r") == before


@pytest.mark.slow
def test_after_an_upgrade_a_run_audits_what_is_kept_and_trains_nothing(tmp_path: Path) -> None:
    words = (
        "run",
        "--dataset",
        "toy",
        "--budget",
        "quick",
        "--results",
        "out",
        "--methods",
        "plain",
    )
    env = os.environ | {"FAIRBENCH_OFFLINE": "1", "PYTHONPATH": str(TOY) + os.pathsep + PATH}
    command = [sys.executable, "-m", "fairbench", *words]
    subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=True)
    shutil.copytree(tmp_path / "out", tmp_path / "twin" / "out")
    upgraded = later(tmp_path, *words)
    assert "0 fitted now" in upgraded.stderr
    assert "audit plain" in upgraded.stderr
    assert later(tmp_path / "twin", "audit", "--results", "out").returncode == 0
    # Both ways give the same figures.
    assert _values(tmp_path / "out") == _values(tmp_path / "twin" / "out")


PATH = os.environ.get("PYTHONPATH", "")


def _values(folder: Path) -> list[tuple[object, ...]]:
    return query(
        folder, 'SELECT key, "values" FROM points WHERE audit_version = 99 ORDER BY key'
    ) + query(
        folder, 'SELECT key, "values" FROM "references" WHERE audit_version = 99 ORDER BY key'
    )
