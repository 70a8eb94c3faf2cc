"""A committed small real run, and what can go wrong with one."""

import copy
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fairbench.store.database import Row, Store, parse_export

EXPORT = Path(__file__).parent / "adults-quick.jsonl"
EVIL = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"

Records = dict[str, list[Row]]


def stored(folder: Path, change: Callable[[Records], None] | None = None) -> Store:
    """A store with the run, changed or as it was."""
    records = parse_export(EXPORT.read_text().splitlines())
    if change is not None:
        change(records)
    store = Store.in_folder(folder)
    store.merge(records)
    return store


def failed(records: Records, method: str) -> None:
    """Every model of a method fails."""
    for unit in records["units"]:
        if unit["method"] == method:
            unit |= {"status": "FAILED", "error": "ValueError: no", "read_points": None}


def honest(records: Records) -> None:
    """One method has failed, another lacks a seed, and the data are simulated."""
    for unit in records["units"]:
        unit["data_source"] = "simulated"
    failed(records, "latfr")
    _without_seed(records, "sofair")


def malicious(records: Records) -> None:
    """The same, and a plugin whose every text is a script."""
    honest(records)
    for unit in records["units"]:
        if unit["method"] == "latfr":
            unit["error"] = f"ValueError: {EVIL}"
        if unit["method"] == "pca":
            unit |= {"method": EVIL, "plugin": EVIL}


def three_seeds(records: Records) -> None:
    """The run three times, figures a little apart, as training again would have them."""
    units, points = records["units"], records["points"]
    for seed in (1, 2):
        draw = np.random.default_rng(seed)
        for unit in [unit for unit in units if unit["seed"] == 0]:
            units.append(copy.deepcopy(unit) | {"key": f"{seed}{unit['key'][1:]}", "seed": seed})
        for point in [p for p in points if not p["key"].startswith(("s1", "s2"))]:
            again = copy.deepcopy(point)
            again |= {"key": f"s{seed}{point['key'][2:]}", "unit": f"{seed}{point['unit'][1:]}"}
            for name in ("distortion", "mutual_information", "accuracy_s", "accuracy_y"):
                again["values"][name] *= float(1 + 0.03 * draw.normal())
            points.append(again)
        reference = copy.deepcopy(records["references"][0])
        records["references"].append(reference | {"key": f"{seed}" * 64, "seed": seed})


def _without_seed(records: Records, method: str) -> None:
    unit = next(unit for unit in records["units"] if unit["method"] == method)
    missing = copy.deepcopy(unit) | {"key": "0" * 64, "seed": 1, "status": "CRASHED"}
    missing |= {"error": "the process was ended by SIGSEGV", "read_points": None}
    records["units"].append(missing)
