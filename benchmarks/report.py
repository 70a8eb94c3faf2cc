"""Time and size of the page for many methods, datasets and seeds, from one committed small run.

    python benchmarks/report.py [--methods 20] [--datasets 4] [--seeds 10]

The store is filled with copies of the run's records under other names; no figure means anything.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import tempfile
import time
from pathlib import Path

from fairbench.registry import load_registry
from fairbench.report.gather import gather
from fairbench.report.page import page
from fairbench.store.database import Row, Store, parse_export

EXPORT = Path(__file__).parent.parent / "tests" / "support" / "adults-quick.jsonl"

POINTS = 16


def main() -> None:
    """Fill a store, build the page, print seconds and megabytes."""
    options = argparse.ArgumentParser(description=__doc__)
    for name, default in (("methods", 20), ("datasets", 4), ("seeds", 10)):
        options.add_argument(f"--{name}", type=int, default=default)
    asked = options.parse_args()
    records = parse_export(EXPORT.read_text().splitlines())
    unit = next(row for row in records["units"] if row["method"] == "sofair")
    point = next(row for row in records["points"] if row["unit"] == unit["key"])
    reference = records["references"][0]
    filled: dict[str, list[Row]] = {"units": [], "points": [], "references": []}
    for dataset in range(asked.datasets):
        data = {"dataset": f"dataset-{dataset}", "fingerprint": _key("data", dataset)}
        for seed in range(asked.seeds):
            row = reference | data | {"seed": seed, "key": _key("reference", dataset, seed)}
            filled["references"].append(row)
            for method in range(asked.methods):
                key = _key(dataset, seed, method)
                labels = [f"beta={n / POINTS}" for n in range(POINTS)]
                row = copy.deepcopy(unit) | data | {"seed": seed, "key": key}
                row |= {
                    "method": f"method-{method:02}",
                    "curve_points": POINTS,
                    "read_points": [{"label": label, "knobs": {}} for label in labels],
                }
                filled["units"].append(row)
                for n, label in enumerate(labels):
                    found = copy.deepcopy(point)
                    found["values"]["distortion"] = found["values"]["distortion_validation"] = (
                        n / 2 + seed / 50
                    )
                    found["values"]["mutual_information"] = found["values"][
                        "mutual_information_validation"
                    ] = 0.3 / (n + 1 + method / 9)
                    found |= {"key": _key(key, n), "unit": key, "label": label, "number": n}
                    filled["points"].append(found)
    with tempfile.TemporaryDirectory() as folder:
        store = Store.in_folder(Path(folder))
        store.put_all(filled)
        start = time.perf_counter()
        report = gather(store, load_registry())
        built = time.perf_counter()
        content = page(report).encode()
        end = time.perf_counter()
    print(
        f"{len(filled['points']):,} points: leaderboards {built - start:.1f} s, "
        f"page {end - built:.1f} s, {len(content) / 1e6:.2f} MB"
    )


def _key(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


if __name__ == "__main__":
    main()
