"""Time and size of the page for many methods, datasets and seeds, from one committed small run.

    python benchmarks/report.py [--methods 20] [--datasets 4] [--seeds 10]

The store is filled with copies of the run's records under other names; no figure means anything.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from pathlib import Path

from figures import Figures

from fairbench.registry import load_registry
from fairbench.report.gather import gather
from fairbench.report.page import page
from fairbench.store.database import Store
from fairbench.store.export import parse_export
from fairbench.store.records import PointRecord, ReadPoint, Record, ReferenceRecord, UnitRecord

EXPORT = Path(__file__).parent.parent / "tests" / "support" / "adults-quick.jsonl"

POINTS = 16


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("methods", 20), ("datasets", 4), ("seeds", 10)):
        options.add_argument(f"--{name}", type=int, default=default)
    sizes = options.parse_args()
    records = make_records(sizes.datasets, sizes.seeds, sizes.methods)
    points = sum(isinstance(one, PointRecord) for one in records)
    with Figures("report") as figures, tempfile.TemporaryDirectory() as folder:
        store = Store.in_folder(Path(folder))
        store.put(records)
        start = time.perf_counter()
        report = gather(store, load_registry())
        built = time.perf_counter()
        content = page(report).encode()
        end = time.perf_counter()
        what = f"report of {points:,} points"
        figures.seconds(f"{what}: its leaderboards", built - start)
        figures.seconds(f"{what}: its page", end - built)
        figures.other(f"{what}: size of the page", len(content) / 1e6, "MB")
    return figures.failed


def make_records(datasets: int, seeds: int, methods: int) -> list[Record]:
    """Copies of the run's records under other names."""
    exported = parse_export(EXPORT.read_text().splitlines())
    unit = next(u for u in exported if isinstance(u, UnitRecord) and u.method == "sofair")
    point = next(p for p in exported if isinstance(p, PointRecord) and p.unit == unit.key)
    reference = next(one for one in exported if isinstance(one, ReferenceRecord))
    read = tuple(ReadPoint(f"beta={n / POINTS}", {}) for n in range(POINTS))
    records: list[Record] = []
    for dataset in range(datasets):
        data = {"dataset": f"dataset-{dataset}", "fingerprint": _key("data", dataset)}
        for seed in range(seeds):
            key = _key("reference", dataset, seed)
            records.append(reference.replace(key=key, seed=seed, **data))
            for method in range(methods):
                key = _key(dataset, seed, method)
                name = f"method-{method:02}"
                made = unit.replace(key=key, method=name, seed=seed, **data)
                records.append(made.replace(curve_points=POINTS, read_points=read))
                for n, place in enumerate(read):
                    d, i = n / 2 + seed / 50, 0.3 / (n + 1 + method / 9)
                    values = {"distortion": d, "distortion_validation": d}
                    values |= {"mutual_information": i, "mutual_information_validation": i}
                    own = point.replace(key=_key(key, n), unit=key, label=place.label, number=n)
                    records.append(own.replace(values={**point.figures, **values}))
    return records


def _key(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
