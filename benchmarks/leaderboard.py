"""How long leaderboards take: bootstrap replicates of a point, and tables of a full store.

    python benchmarks/leaderboard.py

Processor time of the replicates of one point (500 resamples of the test rows of Adults), and time
of reading, ordering and writing 20 methods x 10 seeds x 16 points, all with replicates. Their rows
are of one split, so they have intervals and no ranks.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from figures import Figures

from fairbench.leaderboard.build import build, write
from fairbench.registry import load_registry
from fairbench.stats.bootstrap import RESAMPLES, bootstrap_figures, to_text
from fairbench.store.database import Store
from fairbench.store.records import PointRecord, ReadPoint, Record, ReferenceRecord, UnitRecord
from fairbench.store.status import Status
from fairbench.versions import AUDIT_VERSION

METHODS, SEEDS, POINTS, ROWS = 20, 10, 16, 16_281
REPLICATES_LIMIT = 0.62
"""Yardsticks, of one point."""
LEADERBOARD_LIMIT = 6.2
"""Yardsticks, of tables and files together."""

DATA: dict[str, Any] = {"dataset": "made-up", "fingerprint": "f" * 64, "protocol": 1}
DONE: dict[str, Any] = {"status": Status.DONE, "finished": "2026"}
AUDITED: dict[str, Any] = DONE | {"audit": "strict", "audit_version": AUDIT_VERSION, "seconds": 1.0}


def point_replicates() -> float:
    """Processor seconds of the replicates of one point."""
    rng = np.random.default_rng(0)
    losses, d, right = rng.random((3, ROWS))
    start = time.process_time()
    bootstrap_figures(losses, rng.integers(0, 2, ROWS), d, right)
    return time.process_time() - start


def spread(rng: np.random.Generator, **values: float) -> str:
    """Replicates around values, as a store keeps them."""
    return to_text({k: v * (1 + 0.01 * rng.normal(size=RESAMPLES)) for k, v in values.items()})


def fill(store: Store) -> None:
    """Methods of different merit; seeds and points differ by a little."""
    rng = np.random.default_rng(0)
    ends = {
        "mutual_information_max": 0.33,
        "mutual_information_max_validation": 0.33,
        "mutual_information_max_paper": 0.33,
        "distortion_max": 8.7,
        "distortion_max_validation": 8.7,
        "accuracy_y_constant": 0.75,
    }
    records: list[Record] = []
    for seed in range(SEEDS):
        replicates = spread(
            rng, mutual_information_max=0.33, distortion_max=8.7, accuracy_y_constant=0.75
        )
        records.append(
            ReferenceRecord(
                key=f"r{seed}", seed=seed, values=ends, replicates=replicates, **DATA, **AUDITED
            )
        )
        for method in range(METHODS):
            unit = make_unit(method, seed)
            records.append(unit)
            for n, read in enumerate(unit.points):
                records.append(make_point(unit, n, read, method, rng))
    store.put(records)


def make_unit(method: int, seed: int) -> UnitRecord:
    """A single-shot unit, read at all points."""
    return UnitRecord(
        key=f"u{method}-{seed}",
        method=f"m{method}",
        seed=seed,
        track="blind",
        tags=[],
        params={},
        params_label="default",
        plugin="none",
        budget="full",
        iterations=1,
        curve_points=POINTS,
        data_source="real",
        code="c",
        read_points=tuple(ReadPoint(f"k={n}", {"k": n}) for n in range(POINTS)),
        **DATA,
        **DONE,
    )


def make_point(
    unit: UnitRecord, n: int, read: ReadPoint, method: int, rng: np.random.Generator
) -> PointRecord:
    """A point of a unit: the higher the method's number, the better."""
    d = 8.7 * (n + 1) / (POINTS + 1)
    i = max(0.33 * (1 - d / 8.7) ** (1 + method / 10) + 0.003 * rng.normal(), 0.001)
    return PointRecord(
        key=f"{unit.key}-{n}",
        unit=unit.key,
        number=n,
        label=read.label,
        knobs=read.knobs,
        audit_config={},
        values={
            "distortion": d,
            "distortion_validation": d,
            "distortion_refitted_decoder": d,
            "mutual_information": i,
            "mutual_information_validation": i,
            "mutual_information_paper": i,
            "accuracy_y": 0.8,
            "accuracy_s": 0.7,
            "mutual_information_y_validation": 0.1,
        },
        auditors=(),
        replicates=spread(rng, mutual_information=i, distortion=d, accuracy_y=0.8),
        **AUDITED,
    )


def main() -> int:
    with Figures("leaderboard") as figures, tempfile.TemporaryDirectory() as folder:
        figures.seconds(
            f"replicates of one point, {RESAMPLES} resamples of {ROWS:,} rows: processor time",
            point_replicates(),
            limit=REPLICATES_LIMIT,
        )
        store = Store.in_folder(Path(folder))
        fill(store)
        size = (Path(folder) / "fairbench.sqlite").stat().st_size
        registry = load_registry()
        start, wall = time.process_time(), time.perf_counter()
        tables = build(store, registry)
        middle = time.process_time()
        write(tables, Path(folder))
        end, total = time.process_time(), time.perf_counter() - wall
        what = f"leaderboard of {METHODS} methods, {SEEDS} seeds, {POINTS} points each"
        figures.other(f"{what}: size of its store", size / 1e6, "MB")
        figures.seconds(f"{what}: tables and files", total, limit=LEADERBOARD_LIMIT)
        figures.seconds(f"{what}: processor time of its tables", middle - start)
        figures.seconds(f"{what}: processor time of its files", end - middle)
    return figures.failed


if __name__ == "__main__":
    sys.exit(main())
