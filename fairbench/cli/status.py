"""``fairbench status``: how far the runs of a store are, also while they are running."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from fairbench.cli.console import out, show_columns
from fairbench.cli.options import Results, StoreUrl
from fairbench.cli.results import existing_store
from fairbench.report.format import spell
from fairbench.store.claims import Claims
from fairbench.store.database import Row, belongs
from fairbench.store.records import PointRecord, UnitRecord
from fairbench.store.status import Status


def status_command(results: Path | None, url: str | None) -> None:
    """Print models and points by status, the newest reading, and what went wrong."""
    store = existing_store(results, url)
    held = Claims(store, "status").held()
    units = [_as_held(unit, held) for unit in store.records(UnitRecord)]
    points = _current(store.records(PointRecord), {unit["key"]: unit for unit in units})
    runs = store.runs()
    if runs:
        last = max(runs, key=lambda row: str(row["started"]))
        out.print(f"Last run, started {last['started']}: {last['command']}\n", markup=False)
    for dataset in sorted({unit["dataset"] for unit in units}):
        own = [unit for unit in units if unit["dataset"] == dataset]
        out.print(dataset, markup=False)
        show_columns(
            ["method", "fitted", "running", "waiting", "failed", "audited", "to audit"],
            _lines(own, points),
        )
    _newest(units, points)
    _left(points)
    broken = [row for row in (*units, *points) if Status(row["status"]).bad]
    for row in broken:
        name = row.get("method") or _unit_of(units, row)["method"]
        where = row.get("point") or row.get("label") or "-"
        out.print(f"{row['status']}  {name} {where}: {row['error']}", markup=False)


def _as_held(unit: Row, held: frozenset[str]) -> Row:
    """A model of a run that is gone is not running any more: it waits for the next."""
    if unit["status"] != Status.RUNNING or unit["key"] in held:
        return unit
    return unit | {"status": Status.PENDING}


def _current(points: Iterable[Row], units: Mapping[str, Row]) -> list[Row]:
    """What counts of each point: what the newest version of the audit says of it, or will."""
    found: dict[tuple[str, str, str], Row] = {}
    for row in points:
        if belongs(row, units.get(row["unit"])):
            place = (row["unit"], row["label"], row["audit"])
            best = found.setdefault(place, row)
            if (row["audit_version"] or 1) > (best["audit_version"] or 1):
                found[place] = row
    return list(found.values())


def _lines(units: list[Row], points: list[Row]) -> list[list[str]]:
    kinds = sorted({unit["method"] for unit in units if unit["status"] != Status.SKIPPED})
    kind_of = {unit["key"]: unit["method"] for unit in units}
    models = Counter((kind_of[u["key"]], Status(u["status"])) for u in units)
    audited = Counter(
        (kind_of[p["unit"]], Status(p["status"])) for p in points if p["unit"] in kind_of
    )
    lines = []
    for kind in kinds:
        bad = sum(models[kind, s] + audited[kind, s] for s in Status if s.bad)
        counts = [
            models[kind, Status.DONE],
            models[kind, Status.RUNNING],
            models[kind, Status.PENDING],
            bad,
            audited[kind, Status.DONE],
            audited[kind, Status.PENDING],
        ]
        lines.append([kind, *(str(count) if count else "-" for count in counts)])
    return lines


def _unit_of(units: list[Row], point: Row) -> Row:
    return next(unit for unit in units if unit["key"] == point["unit"])


def _newest(units: list[Row], points: list[Row]) -> None:
    done = [row for row in points if row["status"] == Status.DONE]
    if done:
        row = max(done, key=lambda point: str(point["finished"]))
        unit, values = _unit_of(units, row), row["values"]
        out.print(
            f"\nNewest point, {row['finished']}: {unit['method']} on {unit['dataset']}, seed "
            f"{unit['seed']}, {row['label']}: D {values['distortion']:.3f}, I {values['mutual_information']:.4f} nats",
            markup=False,
        )


def _left(points: list[Row]) -> None:
    seconds = [row["seconds"] for row in points if row["seconds"]]
    waiting = sum(1 for row in points if row["status"] == Status.PENDING)
    if waiting and seconds:
        one = sum(seconds) / len(seconds)
        out.print(
            f"{waiting} points are to be audited: about {spell(waiting * one)} on one core.",
            markup=False,
        )


def status(results: Results = None, store: StoreUrl = None) -> None:
    """Show run progress: models and points by status, and failures."""
    status_command(results, store)
