"""``fairbench audit --results``: the representations of a store, measured again."""

from __future__ import annotations

import shlex
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairbench.auditing.config import Audit
from fairbench.cli.console import err, out, show_columns
from fairbench.cli.progress import Display
from fairbench.cli.results import existing_store, show_problems
from fairbench.config import DEFAULT_RESULTS, ExecutorName, make_executor_config
from fairbench.data.prepare import Prepared
from fairbench.errors import ConfigError, FairbenchError, nearest
from fairbench.leaderboard import build as leaderboard
from fairbench.leaderboard.changes import AufdcChange, EarlierFigures, find_changes
from fairbench.leaderboard.select import latest
from fairbench.models.stored_data import Cards, load_from, root_of
from fairbench.registry import Registry
from fairbench.report.format import spell
from fairbench.runs.driver import drive
from fairbench.runs.executors import make_executor
from fairbench.runs.reaudit import Reaudit
from fairbench.store import files as artefacts
from fairbench.store.database import Row, Store, of_a_trial
from fairbench.store.records import UnitRecord
from fairbench.store.status import Status
from fairbench.training.device import cores
from fairbench.versions import PROTOCOL_VERSION


@dataclass(frozen=True)
class Request:
    """What was asked for on the command line; names as there."""

    results: Path | None
    store: str | None
    datasets: Sequence[str]
    audit: Audit | None
    again: bool
    executor: ExecutorName
    workers: int | None
    data_root: Path | None
    timeout: str | None
    ray_address: str | None = None
    in_process: bool = False


def results_command(registry: Registry, request: Request) -> int:
    """Measure, write the leaderboards, and print what changed; returns the exit code."""
    config = make_executor_config(
        {
            "executor": request.executor,
            "workers": request.workers,
            "timeout": request.timeout,
            "ray_address": request.ray_address,
            "in_process": request.in_process,
        }
    )
    workers = config.workers or cores()
    folder = request.results or DEFAULT_RESULTS
    store = existing_store(request.results, request.store)
    units = _units(store, folder, registry, request.datasets)
    datasets, left = _datasets(units, store, registry, request)
    for problem in left:
        err.print(problem, markup=False)
    found = [row for row in units if row["fingerprint"] in datasets]
    audit = Reaudit(
        store, folder, registry, found, datasets, audit=request.audit, again=request.again
    )
    before = None
    points = audit.to_measure()
    if points:
        before = EarlierFigures(store, registry, points)
        about = spell(audit.estimate / workers)
        err.print(
            f"{_count(len(points), 'point')} to measure, about {about} on "
            f"{_count(workers, 'worker')}; nothing is trained.",
            markup=False,
        )
    command = shlex.join(["fairbench", *sys.argv[1:]])
    executor = make_executor(config)
    try:
        with Display(audit.estimate, audit.job_count) as display:
            audit.begin(command)
            drive(audit, executor, display, ahead=2 * executor.workers)
    except KeyboardInterrupt:
        err.print(
            f"\nInterrupted; what is measured is kept. Go on with:\n  {command}", markup=False
        )
        return 130
    finally:
        executor.stop()
    tables = leaderboard.build(store, registry)
    written = leaderboard.write(tables, folder)
    if before is not None:
        measured = audit.summary.measured | audit.summary.elsewhere
        _show_changes(find_changes(before, store, tables, measured))
    _report(audit, written)
    problems = show_problems(tables)
    return 1 if problems or left or audit.summary.broken else 0


def _units(store: Store, folder: Path, registry: Registry, asked: Sequence[str]) -> list[Row]:
    """Fitted units of the leaderboards, of the datasets asked for; the others are told."""
    of_runs = [row for row in store.records(UnitRecord) if not of_a_trial(row)]
    rows = [row for row in of_runs if row["status"] != Status.SKIPPED]
    fitted = [row for row in rows if row["status"] == Status.DONE and row["read_points"]]
    if not fitted:
        raise ConfigError(
            f"The store of {folder} holds no fitted model.", "Run something first: fairbench run"
        )
    shown = {row["key"] for row in latest(rows)}
    units = [row for row in fitted if row["key"] in shown]
    older = [r for r in fitted if r["key"] not in shown and artefacts.exists(folder, r["artefact"])]
    if older:
        err.print(
            f"{_count(len(older), 'older model')} that no leaderboard shows any more (other code, "
            "data or points since): left as they are.",
            markup=False,
        )
    if not asked:
        return units
    names = {registry.dataset(text).name for text in asked}
    known = {row["dataset"] for row in units}
    for name in names - known:
        raise ConfigError(f"The store holds nothing of {name!r}.", nearest(name, known))
    return [row for row in units if row["dataset"] in names]


def _datasets(
    units: Sequence[Row], store: Store, registry: Registry, request: Request
) -> tuple[dict[str, Prepared], list[str]]:
    """Datasets by fingerprint, and a line for each that is not to be had as it was."""
    cards = Cards(registry, request.datasets)
    configs = {run["id"]: run["config"] for run in store.runs()}
    found: dict[str, Prepared] = {}
    left = []
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in units:
        place = (row["dataset"], row["data_source"], row["fingerprint"])
        groups.setdefault(place, []).append(row)
    for (name, source, fingerprint), rows in groups.items():
        problem = None
        config = configs.get(rows[0]["run"] or "", {})
        try:
            data = load_from(cards.find(name, config), source, request.data_root or root_of(config))
            if data.fingerprint == fingerprint and rows[0]["protocol"] == PROTOCOL_VERSION:
                found[fingerprint] = data
            else:
                files = (
                    "" if source == "simulated" else "give the old files with --data-root DIR, or "
                )
                problem = (
                    "the data are not those they were trained on (fingerprint "
                    f"{fingerprint[:12]}, now {data.fingerprint[:12]}): {files}train again with "
                    "fairbench run."
                )
        except FairbenchError as error:
            problem = f"{error.message} {error.hint}".strip()
        if problem:
            kind = "simulated twin, " if source == "simulated" else ""
            left.append(f"LEFT: {name} ({kind}{_count(len(rows), 'model')}): {problem}")
    return found, left


def _show_changes(found: Sequence[AufdcChange]) -> None:
    """One table a track, budget and audit: was, is, and how far points moved."""
    groups: dict[tuple[str, ...], list[AufdcChange]] = {}
    for change in found:
        groups.setdefault(change.identity[:4], []).append(change)
    for (table, track, budget, audit), members in groups.items():
        title = f"{table} · {track} track · budget {budget} · {audit} audit"
        out.print(title, markup=False)
        rows = []
        for change in members:
            method, params = change.identity[4:]
            rows.append(
                [
                    method if params == "default" else f"{method} ({params})",
                    str(change.points),
                    _figure(change.before),
                    _figure(change.now),
                    _moved(change.i),
                    _moved(change.d),
                ]
            )
        show_columns(["method", "points", "aufdc was", "is", "I moved", "D moved"], rows)
        columns = sorted({column for change in members for column in change.columns})
        if columns:
            text = f"New figures: {', '.join(columns)}"
            out.print(textwrap.fill(text, width=80, subsequent_indent="  "), markup=False)
        out.print()
    if found:
        out.print("I moved (nats), D moved: the largest change of a point.", markup=False)


def _report(audit: Reaudit, written: Sequence[Path]) -> None:
    outcome = audit.summary
    known = f"; {_count(audit.known, 'point')} had been already" if audit.known else ""
    others = f", {len(outcome.elsewhere):,} by another run" if outcome.elsewhere else ""
    err.print(f"{_count(len(outcome.measured), 'point')} measured{others}{known}.", markup=False)
    if outcome.gone:
        err.print(
            f"{_count(len(outcome.gone), 'model')} without a representation on disk: the old "
            "figures are kept, but count as missing beside newer ones. fairbench run trains them "
            "again.",
            markup=False,
        )
    for title, status, error in outcome.broken:
        err.print(f"{status.value}: {title}: {error}", markup=False)
    if outcome.broken:
        err.print("The same command tries these again.")
    for path in written:
        err.print(str(path), markup=False)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _moved(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
