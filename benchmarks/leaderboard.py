"""How long leaderboards take: bootstrap replicates of a point, and tables of a full store.

    python benchmarks/leaderboard.py

Prints seconds of CPU for the replicates of one point (500 resamples of the test rows of Adults),
and for reading, ranking and writing 20 methods x 10 seeds x 16 points, all with replicates.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from fairbench.leaderboard.build import build, write
from fairbench.registry import load_registry
from fairbench.stats.bootstrap import RESAMPLES, replicated, to_text
from fairbench.store.database import RECORDS, Row, Store
from fairbench.versions import AUDIT_VERSION

METHODS, SEEDS, POINTS, ROWS = 20, 10, 16, 16_281

COMMON = {"status": "DONE", "finished": "2026", "audit_version": AUDIT_VERSION}


def point_replicates() -> float:
    rng = np.random.default_rng(0)
    losses, d, right = rng.random((3, ROWS))
    start = time.process_time()
    replicated(losses, rng.integers(0, 2, ROWS), d, right)
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
        "accuracy_y_constant": 0.75,
    }
    ends |= {"distortion_max": 8.7, "distortion_max_validation": 8.7}
    units: list[Row] = []
    points: list[Row] = []
    references: list[Row] = []
    for seed in range(SEEDS):
        kept = spread(rng, i_max=0.33, d_max=8.7, a_y_constant=0.75)
        references.append(
            blank("references", key=f"r{seed}", seed=seed, values=ends, replicates=kept)
        )
        for method in range(METHODS):
            key = f"u{method}-{seed}"
            labels = [f"k={n}" for n in range(POINTS)]
            read = [{"label": label, "knobs": {"k": n}} for n, label in enumerate(labels)]
            units.append(blank("units", key=key, method=f"m{method}", seed=seed, read_points=read))
            for n, label in enumerate(labels):
                d = 8.7 * (n + 1) / (POINTS + 1)
                i = max(0.33 * (1 - d / 8.7) ** (1 + method / 10) + 0.003 * rng.normal(), 0.001)
                values = {
                    "distortion": d,
                    "distortion_validation": d,
                    "mutual_information": i,
                    "mutual_information_validation": i,
                    "distortion_refitted_decoder": d,
                }
                values |= {
                    "mutual_information_paper": i,
                    "accuracy_y": 0.8,
                    "accuracy_s": 0.7,
                    "mutual_information_y_validation": 0.1,
                }
                points.append(
                    blank(
                        "points",
                        key=f"{key}-{n}",
                        unit=key,
                        number=n,
                        label=label,
                        knobs={"k": n},
                        values=values,
                        replicates=spread(rng, i=i, d=d, a_y=0.8),
                    )
                )
    store.put_all({"units": units, "points": points, "references": references})


def blank(table: str, **given: object) -> Row:
    """A row with what every table needs, and what is given."""
    row = dict.fromkeys(RECORDS[table].c.keys())
    plain = {"dataset": "made-up", "fingerprint": "f" * 64, "protocol": 1, "audit": "strict"}
    plain |= {"track": "blind", "tags": [], "params": {}, "params_label": "default", "code": "c"}
    plain |= {"plugin": "none", "budget": "full", "iterations": 1, "data_source": "real"}
    plain |= {"curve_points": POINTS, "audit_config": {}, "auditors": [], "seconds": 1.0}
    plain |= COMMON
    return row | {k: v for k, v in (plain | given).items() if k in row}


def main() -> None:
    print(f"replicates of a point, {ROWS:,} rows: {point_replicates():.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        store = Store.in_folder(Path(folder))
        fill(store)
        size = (Path(folder) / "fairbench.sqlite").stat().st_size
        registry = load_registry()
        start, wall = time.process_time(), time.perf_counter()
        tables = build(store, registry)
        middle = time.process_time()
        write(tables, Path(folder))
        end, total = time.process_time(), time.perf_counter() - wall
    print(f"store of {METHODS} methods x {SEEDS} seeds x {POINTS} points: {size / 1e6:.0f} MB")
    print(f"tables: {middle - start:.1f} s of CPU; files: {end - middle:.1f} s; wall {total:.1f} s")
    ranks = [row["rank"] for row in tables[0].leaderboard]
    print(f"ranks: {ranks}")


if __name__ == "__main__":
    main()
