"""How fast ``fairbench encode`` streams a CSV that need not fit into memory, and in how much.

    python benchmarks/encode.py [--rows 5000000] [--folder DIR]

Fits SoFaiR briefly on the simulated twin of Adults, resamples its rows into a CSV of Adults' 15
columns (some 100 bytes a row), and encodes that file with the command line, to Parquet and to CSV.
Measures time, and peak memory (RSS) of the whole process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from figures import Figures
from fresh_process import spent_by

from fairbench.api import Diverged, FitContext, Role, TrainingRows, Unit
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.data.loading import load_twin
from fairbench.registry import load_registry
from fairbench.runs.plan import Budget, PlannedUnit
from fairbench.store import encoders
from fairbench.store.database import Store, now
from fairbench.store.encoders import Encoder
from fairbench.store.records import ReadPoint
from fairbench.store.status import Status

LIMIT = 1
"""Gigabytes."""


def fit(results: Path) -> None:
    """A store with one kept SoFaiR of full size; what it learned is of no matter here."""
    registry = load_registry()
    method = registry.methods["sofair"]
    data = load_twin(registry.datasets["adults-gender"])
    budget = Budget("50", 50, PRESETS[AuditPreset.QUICK])
    params, unit = method.Params(), Unit(0, None)
    rows = data.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, data.info)
    (fitted,) = method(params).fit(train, [unit], FitContext(iterations=50))
    assert not isinstance(fitted, Diverged)
    content = encoders.pack(Encoder(method(params), unit, data.info, fitted, data.preprocessing))
    assert content is not None
    planned = PlannedUnit("unit", method, params, data, unit, budget, 16, None)
    trained = planned.record("run").replace(
        status=Status.DONE,
        read_points=(ReadPoint("beta=0.3", {"beta": 0.3}),),
        encoder=encoders.save(results, content),
        finished=now(),
    )
    Store.in_folder(results).put([trained])


def write(path: Path, rows: int) -> None:
    """People of the twin, resampled, with the columns that Adults has and X has not."""
    table = load_registry().datasets["adults-gender"]().simulate()
    assert table is not None
    rng = np.random.default_rng(0)
    head = table.x.astype(str).agg(",".join, axis=1).to_numpy()
    sex = np.array(table.groups)[table.s]
    lines = np.array(
        [f"{text},White,{one},United-States" for text, one in zip(head, sex, strict=True)]
    )
    with path.open("w") as file:
        file.write(",".join(["age", "fnlwgt", *table.x.columns, "race", "sex", "country"]) + "\n")
        for start in range(0, rows, 250_000):
            n = min(250_000, rows - start)
            age, weight = rng.integers(17, 91, n), rng.integers(12_000, 1_500_000, n)
            chosen = lines[rng.integers(0, len(lines), n)]
            parts = zip(age.tolist(), weight.tolist(), chosen.tolist(), strict=True)
            file.writelines(f"{a},{w},{line}\n" for a, w, line in parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with (
        Figures("encode") as figures,
        tempfile.TemporaryDirectory(dir=given.folder) as name,
    ):
        folder = Path(name)
        fit(folder / "results")
        source = folder / "people.csv"
        write(source, given.rows)
        print(f"{given.rows:,} rows, {source.stat().st_size / 1e6:.0f} MB", flush=True)
        for ending, title in (("parquet", "Parquet"), ("csv", "CSV")):
            command = [sys.executable, "-m", "fairbench", "encode", "--method", "sofair"]
            command += ["--results", str(folder / "results"), "--point", "beta=0.3"]
            command += ["--input", str(source), "--keep", "fnlwgt"]
            spent = spent_by([*command, "--output", str(folder / f"z.{ending}")])
            what = f"`fairbench encode`, {given.rows:,} rows of Adults' columns, CSV to {title}"
            speed = f"{given.rows / spent.seconds:,.0f} rows/s"
            figures.seconds(what, spent.seconds, note=speed)
            figures.seconds(f"{what}: processor time", spent.processor)
            figures.other(f"{what}: peak memory", spent.gigabytes, "GB", limit=LIMIT)
    return figures.failed


if __name__ == "__main__":
    sys.exit(main())
