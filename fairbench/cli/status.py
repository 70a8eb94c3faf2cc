"""``fairbench status``: the progress of the runs of a store, also while they are running."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import typer

from fairbench.cli.console import out, show_columns
from fairbench.cli.options import Results, StoreUrl
from fairbench.leaderboard.select import ReferenceKey
from fairbench.models.query import ResultsLocation
from fairbench.report.format import format_seconds
from fairbench.store.claims import Claims
from fairbench.store.records import PointRecord, ReferenceRecord, UnitRecord
from fairbench.store.status import Status
from fairbench.store.text import clean


def status(
    results: Results = None,
    store: StoreUrl = None,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Print the traceback of each failure.")
    ] = False,
) -> None:
    """Show run progress: models and points by status, and failures."""
    opened = ResultsLocation(results, store).open_store()
    held = Claims(opened, "status").held()
    units = {unit.key: _as_held(unit, held) for unit in opened.records(UnitRecord)}
    replaced = _trained_since(units.values())
    units = {key: unit for key, unit in units.items() if key not in replaced}
    points = [p for p in _current(opened.records(PointRecord), units) if p.unit in units]
    runs = opened.runs()
    if not units:
        out.print("No model has been trained here yet.", markup=False)
    if runs:
        last = max(runs, key=lambda run: run.started)
        out.print(f"Last run, started {last.started}: {last.command}\n", markup=False)
    for table in sorted({unit.table for unit in units.values()}):
        own = {key: unit for key, unit in units.items() if unit.table == table}
        out.print(table, markup=False)
        show_columns(
            ["method", "fitted", "running", "waiting", "failed", "audited", "to audit"],
            _count_by_method(own, points),
        )
    _show_newest(units, points)
    _show_remaining(points)
    for unit in units.values():
        if unit.status.is_failure:
            _show_failure(f"{unit.method} {unit.point or '-'}", unit, traceback=traceback)
    _show_failed_points(units, points, traceback=traceback)
    for reference in _newest_references(opened.records(ReferenceRecord)):
        if reference.status.is_failure:
            what = f"audit of x itself on {reference.dataset}, seed {reference.seed}"
            _show_failure(what, reference, traceback=traceback)
    if replaced:
        what = "model of earlier code is" if len(replaced) == 1 else "models of earlier code are"
        out.print(f"{len(replaced)} {what} left out: later code has trained the same.")


def _trained_since(units: Iterable[UnitRecord]) -> set[str]:
    """Keys of models that were trained again by other code of their plugin, later."""
    units = list(units)
    done = sorted((unit for unit in units if unit.done), key=lambda unit: str(unit.finished))
    newest = {unit.training_identity: unit for unit in done}
    return {
        unit.key
        for unit in units
        if (later := newest.get(unit.training_identity)) is not None
        and later.code != unit.code
        and str(later.finished) > str(unit.finished or "")
    }


def _as_held(unit: UnitRecord, held: frozenset[str]) -> UnitRecord:
    """A model of a run that has ended is not running any more: it waits for the next."""
    if unit.status is not Status.RUNNING or unit.key in held:
        return unit
    return unit.replace(status=Status.PENDING)


def _current(points: Iterable[PointRecord], units: Mapping[str, UnitRecord]) -> list[PointRecord]:
    """Of each point the record that counts: that of the newest version of the audit."""
    current: dict[tuple[str, str, str], PointRecord] = {}
    for point in points:
        if point.belongs_to(units.get(point.unit)):
            place = (point.unit, point.label, point.audit)
            best = current.setdefault(place, point)
            if point.version > best.version:
                current[place] = point
    return list(current.values())


def _count_by_method(
    units: Mapping[str, UnitRecord], points: Sequence[PointRecord]
) -> list[list[str]]:
    """Cells of the table of one dataset's units; trials of searches have rows of their own."""
    names = {
        key: f"{unit.method}, trials" if unit.of_a_trial else unit.method
        for key, unit in units.items()
    }
    fitted = Counter((names[key], unit.status) for key, unit in units.items())
    audited = Counter((names[p.unit], p.status) for p in points if p.unit in units)
    rows = []
    for method in sorted({method for method, status in fitted if status is not Status.SKIPPED}):
        counts = [
            fitted[method, Status.DONE],
            fitted[method, Status.RUNNING],
            fitted[method, Status.PENDING],
            sum(fitted[method, s] + audited[method, s] for s in Status if s.is_failure),
            audited[method, Status.DONE],
            audited[method, Status.PENDING],
        ]
        rows.append([method, *(str(count) if count else "-" for count in counts)])
    return rows


def _show_newest(units: Mapping[str, UnitRecord], points: Sequence[PointRecord]) -> None:
    done = [point for point in points if point.done and not units[point.unit].of_a_trial]
    if done:
        point = max(done, key=lambda point: str(point.finished))
        d, i = point.figures["distortion"], point.figures["mutual_information"]
        out.print(
            f"\nNewest point, {point.finished}: {units[point.unit].title}, {point.label}: "
            f"D {d:.3f}, I {i:.4f} nats",
            markup=False,
        )


def _show_remaining(points: Sequence[PointRecord]) -> None:
    seconds = [point.seconds for point in points if point.seconds]
    waiting = sum(1 for point in points if point.status is Status.PENDING)
    if waiting and seconds:
        estimate = format_seconds(waiting * sum(seconds) / len(seconds))
        what = "1 point is" if waiting == 1 else f"{waiting:,} points are"
        out.print(f"{what} to be audited: about {estimate} on one core.", markup=False)


def _show_failed_points(
    units: Mapping[str, UnitRecord], points: Sequence[PointRecord], *, traceback: bool
) -> None:
    """Print points that failed, and why measured ones lack columns, once for all alike."""
    alike: dict[tuple[str, str], list[PointRecord]] = defaultdict(list)
    for point in points:
        if point.status.is_failure:
            what = f"{units[point.unit].method} {point.label}"
            _show_failure(what, point, traceback=traceback)
        elif point.error:
            alike[units[point.unit].method, point.error].append(point)
    for same in alike.values():
        first = same[0]
        where = first.label if len(same) == 1 else f"at {len(same):,} points"
        _show_failure(f"{units[first.unit].method} {where}", first, traceback=traceback)


def _newest_references(references: Iterable[ReferenceRecord]) -> list[ReferenceRecord]:
    """Of each audit of x itself the one that counts: of the newest version, done if one is."""
    newest: dict[ReferenceKey, ReferenceRecord] = {}
    for one in references:
        best = newest.setdefault(ReferenceKey.of(one), one)
        if (one.version, one.done) > (best.version, best.done):
            newest[ReferenceKey.of(one)] = one
    return list(newest.values())


def _show_failure(
    what: str, record: UnitRecord | PointRecord | ReferenceRecord, *, traceback: bool
) -> None:
    text = f"{record.status}  {what}: {record.error}"
    out.print(clean(text), markup=False)
    if traceback:
        out.print(clean(record.traceback or "no traceback is stored"), markup=False)
