"""A committed small real run, and what can go wrong with one."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from fairbench.store.database import Store
from fairbench.store.export import parse_export
from fairbench.store.records import PointRecord, Record, ReferenceRecord, UnitRecord
from fairbench.store.status import Status

EXPORT = Path(__file__).parent / "adults-quick.jsonl"
EVIL = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"

Change = Callable[[list[Record]], list[Record]]


def stored(folder: Path, change: Change | None = None) -> Store:
    """A store with the run, changed or as it was."""
    records = parse_export(EXPORT.read_text().splitlines())
    store = Store.in_folder(folder)
    store.merge(_with_validation(records if change is None else change(records)))
    return store


def certified(records: list[Record]) -> list[Record]:
    """Certificates of every point, but for one method's: its z takes too many values."""
    bounds = {"certified_parity_gap": 0.3, "certified_mutual_information": 0.06}
    numbers = {
        "certified_plug_in_information": 0.047,
        "certified_rows": 16_281.0,
        "certified_groups": 2.0,
        "certified_smallest_group": 5_421.0,
    }
    of_latfr = {r.key for r in records if isinstance(r, UnitRecord) and r.method == "latfr"}

    def certify(point: PointRecord) -> PointRecord:
        figures = bounds | numbers
        if point.unit in of_latfr:
            figures = dict.fromkeys(figures)
        return point.replace(values={**point.figures, **figures})

    return [certify(one) if isinstance(one, PointRecord) else one for one in records]


def _with_validation(records: list[Record]) -> list[Record]:
    """The records with accuracies on the validation set, which the run is too old to have.

    They are those of the test set: the validation set chooses what the test set would.
    """
    names = ("accuracy_s", "accuracy_y")
    return [
        one.replace(values={**one.figures, **{f"{n}_validation": one.figures[n] for n in names}})
        if isinstance(one, PointRecord) and one.figures
        else one
        for one in records
    ]


def change_units(records: list[Record], change: Callable[[UnitRecord], UnitRecord]) -> list[Record]:
    """The records with every unit changed."""
    return [change(one) if isinstance(one, UnitRecord) else one for one in records]


def failed(records: list[Record], method: str) -> list[Record]:
    """Every model of a method fails."""

    def fail(unit: UnitRecord) -> UnitRecord:
        if unit.method != method:
            return unit
        return unit.replace(status=Status.FAILED, error="ValueError: no", read_points=None)

    return change_units(records, fail)


def honest(records: list[Record]) -> list[Record]:
    """One method has failed, another lacks a seed, and the data are simulated."""
    records = change_units(records, lambda unit: unit.replace(data_source="simulated"))
    return _without_seed(failed(records, "latfr"), "sofair")


def malicious(records: list[Record]) -> list[Record]:
    """The same, and a plugin whose every text is a script."""

    def spoil(unit: UnitRecord) -> UnitRecord:
        if unit.method == "latfr":
            return unit.replace(error=f"ValueError: {EVIL}")
        if unit.method == "pca":
            return unit.replace(method=EVIL, plugin=EVIL)
        return unit

    return change_units(honest(records), spoil)


def three_seeds(records: list[Record]) -> list[Record]:
    """The run three times, figures a little apart, as training again would have them."""
    units = [one for one in records if isinstance(one, UnitRecord)]
    points = [one for one in records if isinstance(one, PointRecord)]
    reference = next(one for one in records if isinstance(one, ReferenceRecord))
    again: list[Record] = list(records)
    for seed in (1, 2):
        draw = np.random.default_rng(seed)
        again += [unit.replace(key=f"{seed}{unit.key[1:]}", seed=seed) for unit in units]
        for point in points:
            values = dict(point.figures)
            for name in ("distortion", "mutual_information", "accuracy_s", "accuracy_y"):
                values[name] *= float(1 + 0.03 * draw.normal())
            key, unit_key = f"s{seed}{point.key[2:]}", f"{seed}{point.unit[1:]}"
            again.append(point.replace(key=key, unit=unit_key, values=values))
        again.append(reference.replace(key=f"{seed}" * 64, seed=seed))
    return again


def _without_seed(records: list[Record], method: str) -> list[Record]:
    unit = next(u for u in records if isinstance(u, UnitRecord) and u.method == method)
    missing = unit.replace(
        key="0" * 64,
        seed=1,
        status=Status.CRASHED,
        error="the process was ended by SIGSEGV",
        read_points=None,
    )
    return [*records, missing]


def five_folds(records: list[Record]) -> list[Record]:
    """The run on five folds besides; random-projection on none of them, pca on four."""
    units = {one.key: one for one in records if isinstance(one, UnitRecord)}
    points = [one for one in records if isinstance(one, PointRecord)]
    reference = next(one for one in records if isinstance(one, ReferenceRecord))
    again: list[Record] = list(records)
    for fold in range(1, 6):
        draw = np.random.default_rng(fold)
        print_of_fold = f"{fold}" * 64
        left_out = {"random-projection"} | ({"pca"} if fold == 5 else set())
        kept = {key: unit for key, unit in units.items() if unit.method not in left_out}
        again += [
            unit.replace(
                key=f"f{fold}{key[2:]}", split=f"fold {fold} of 5", fingerprint=print_of_fold
            )
            for key, unit in kept.items()
        ]
        for point in points:
            if point.unit in kept:
                values = dict(point.figures)
                for name in ("distortion", "mutual_information", "accuracy_s", "accuracy_y"):
                    values[name] *= float(1 + 0.01 * draw.normal())
                key, unit_key = f"f{fold}{point.key[2:]}", f"f{fold}{point.unit[2:]}"
                again.append(point.replace(key=key, unit=unit_key, values=values))
        again.append(reference.replace(key=f"{fold}" * 64, fingerprint=print_of_fold))
    return again
