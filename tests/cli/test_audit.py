"""``fairbench audit`` as a user meets it: real processes on files, and on a store."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairbench.api import AUDIT_ROLES, Point, Unit
from fairbench.auditing.config import PRESETS, Audit
from fairbench.cli.app import main
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

Here = Callable[..., tuple[int, str, str]]


@pytest.fixture
def here(files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """``fairbench audit`` in this process, in the folder of the files: code, stdout, stderr."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.chdir(files)
        monkeypatch.setattr(sys, "argv", ["fairbench", "audit", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return call


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The same 400 people as npy, npz, CSV and Parquet."""
    rng = np.random.default_rng(0)
    n = 400
    s = rng.choice(["f", "m"], n)
    z = rng.normal(size=(n, 2)).astype(np.float32)
    z[:, 0] += 2 * (s == "m")
    frame = pd.DataFrame({"z1": z[:, 0], "z2": z[:, 1], "sex": s, "y": (z[:, 1] > 0).astype(int)})
    np.save(tmp_path / "z.npy", z)
    np.save(tmp_path / "s.npy", s)
    np.save(tmp_path / "names.npy", s.astype(object))
    np.savez(tmp_path / "both.npz", z=z, s=s)
    np.savez(tmp_path / "one.npz", z)
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    frame[["sex"]].to_csv(tmp_path / "s.csv", index=False)
    np.savetxt(tmp_path / "z.csv", z, delimiter=",", fmt="%.9g")  # no line of names
    frame[:-1].to_csv(tmp_path / "short.csv", index=False)
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "z.npy").read_bytes()[:200])
    header = {"descr": "<f8", "fortran_order": False, "shape": (30_000_000, 1_000_000)}
    with (tmp_path / "huge.npy").open("wb") as stream:  # row 12: 218 TiB
        np.lib.format.write_array_header_1_0(stream, header)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "both.npz").read_bytes()[:300])
    (tmp_path / "words.npy").write_text("these are words\n" * 30)
    (tmp_path / "z.pkl").write_bytes(b"x")
    (tmp_path / "folder.npy").mkdir()
    return tmp_path


@pytest.mark.thorough
def test_every_format_gives_the_same_json(here: Here) -> None:
    said = []
    for z, s in (
        ("z.npy", "s.npy"),
        ("both.npz:z", "people.csv:sex"),
        ("people.parquet:z1,z2", "people.parquet:sex"),
        ("z.csv", "s.csv"),
    ):
        code, out, err = here("--z", z, "--s", s, "--quick", "--json")
        assert (code, err) == (0, "")
        said.append(json.loads(out))
    assert all(found == said[0] for found in said)
    assert said[0]["mutual_information"] > 0.1
    assert said[0]["groups"].keys() == {"f", "m"}
    assert said[0]["audit"] == "quick"


def test_the_report_is_for_people(fairbench_here: Call, files: Path) -> None:
    one = "people.csv"
    done = fairbench_here(
        *("audit", "--z", f"{one}:z*", "--s", f"{one}:sex", "--y", f"{one}:y"),
        *("--x", f"{one}:z1,sex", "--seed", "3", "--quick"),
    )
    assert done.returncode == 0, done.stderr
    for words in (
        "I(Z;S)",
        "I(X;S)",
        "A_s",
        "A_y",
        "D  ",
        "boosted-trees",
        "seed 3",
        "no guarantee",
    ):
        assert words in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


GOOD_S = ("--s", "s.npy")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--z", "zz.npy", *GOOD_S], "zz.npy does not exist. Did you mean 'z.npy'"),
        (["--z", "folder.npy", *GOOD_S], "is a folder"),
        (["--z", ".", *GOOD_S], "--z: . is a folder"),
        (["--z", "z.pkl", *GOOD_S], "npy, npz, CSV or Parquet"),
        (["--z", "z.npy:z", *GOOD_S], "no name: give z.npy"),
        (["--z", "both.npz", *GOOD_S], "holds 2 arrays: name one"),
        (["--z", "both.npz:x", *GOOD_S], "no array 'x'"),
        (["--z", "empty.npy", *GOOD_S], "empty.npy"),
        (["--z", "cut.npy", *GOOD_S], "cut.npy is damaged"),
        (["--z", "cut.npz", *GOOD_S], "cut.npz is damaged"),
        (["--z", "huge.npy", *GOOD_S], "its header promises 240,000,000,000,000 bytes"),
        (["--z", "words.npy", *GOOD_S], "words.npy holds pickled objects or is not a npy file"),
        (["--z", "z.npy", "--s", "names.npy"], "astype(str)"),
        (["--z", "z.npy", "--s", "people.csv:sxe"], "no column 'sxe'. Did you mean 'sex'"),
        (["--z", "z.npy", "--s", "people.csv"], "s has 4 columns, and one is needed"),
        (["--z", "z.npy", "--s", "short.csv:sex"], "z has 400 rows and s has 399"),
        (["--z", "people.csv", "--s", "people.csv:sex"], "'sex' of people.csv is in z and in s"),
        (["--z", "one.npz", "--s", "one.npz"], "z and s are the same array"),
        (["--z", "both.npz:s", *GOOD_S], "z is 1-D"),
        (["--z", "people.csv:z1,sex", *GOOD_S], "'sex' of z holds"),
        (["--z", "z.npy", "--s", "people.csv:z1"], "s[0] is"),
        (["--z", "z.npy"], "--s FILE is missing"),
        (["--quick"], "--z FILE is missing"),
        ([], "Nothing to audit"),
        (
            ["--results", "out", *GOOD_S],
            "--s is an option of audit --z FILE --s FILE, not of",
        ),
        (
            ["--z", "z.npy", *GOOD_S, "--results", "out"],
            "--results is an option of audit --results DIR, not of",
        ),
        (["--results", "nowhere"], "no results in nowhere"),
        (["--again"], "Nothing to audit"),
        (["--results", "out", "--timeout", "soon"], "not a duration"),
    ],
)
def test_a_users_mistake_is_one_line(here: Here, words: list[str], says: str) -> None:
    code, out, err = here(*words)
    assert code == 2
    assert says in err
    assert len(err.splitlines()) == (2 if "nowhere" in words else 1)
    assert not out


def test_every_option_is_on_the_page_and_in_the_help(fairbench_here: Call) -> None:
    page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    options = set(re.findall(r"--[a-z-]+", fairbench_here("audit", "--help").stdout)) - {"--help"}
    assert options == {f"--{name}" for name in OPTIONS.split()}
    for option in options - {"--results"}:
        assert re.search(rf"`{option}[ `]|, `{option}`", page), option


OPTIONS = (
    "z s y x roles seed quick json against results dataset audit again executor ray-address "
    "in-process workers data-root timeout store"
)


# ---- stored representations ------------------------------------------------------------------

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
    budget = Budget("quick", 20, PRESETS[Audit.QUICK])
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
    command = [sys.executable, "-m", "fairbench.cli", *words]
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
