"""``fairbench audit --results DIR``: audit stored representations again, and show what changed."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Self

import typer
from pydantic import model_validator

from fairbench.api import DataSource
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.cli import options
from fairbench.cli.configure import fields_of
from fairbench.cli.console import err, out, show_columns, show_problems
from fairbench.cli.plugins import load_plugins
from fairbench.cli.progress import ProgressDisplay
from fairbench.cli.remaining import Remaining
from fairbench.cli.setup import command_line, interrupted, warn_of_metrics
from fairbench.config import DatasetNames, ExecutorConfig, build_config
from fairbench.data.prepared import Prepared
from fairbench.errors import ConfigError, FairbenchError, nearest
from fairbench.leaderboard import build as leaderboard
from fairbench.leaderboard.reaudit_changes import AufdcChange, EarlierFigures, find_changes
from fairbench.leaderboard.select import latest
from fairbench.models.query import ResultsLocation
from fairbench.models.stored_data import Cards, load_as_trained, root_of
from fairbench.registry import Registry
from fairbench.report.format import format_count, format_figure, format_seconds, group_heading
from fairbench.runs.driver import drive
from fairbench.runs.executors import make_executor
from fairbench.runs.reaudit import Reaudit, lacks_rows
from fairbench.store import files as artefacts
from fairbench.store.database import Store
from fairbench.store.records import UnitRecord
from fairbench.store.status import Status
from fairbench.training.device import cores


class StoredAudit(ExecutorConfig):
    """An audit of the representations of a store; extends ExecutorConfig."""

    results: Path | None = None
    store: str | None = None
    datasets: DatasetNames = ()
    audit: AuditPreset | None = None
    again: bool = False
    data_root: Path | None = None

    @model_validator(mode="after")
    def _names_a_store(self) -> Self:
        if self.results is None and self.store is None:
            raise ValueError("nothing to audit: give --results DIR, or --store URL")
        return self


def audit_results_command(
    ctx: typer.Context,
    results: Annotated[
        Path | None,
        typer.Option(help="Results folder. Required unless --store is given."),
    ] = None,
    datasets: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            metavar=options.LIST,
            help="Datasets or dataset cards (.yaml), separated by commas [default: all].",
            autocompletion=options.complete_datasets,
        ),
    ] = None,
    audit: Annotated[
        AuditPreset | None, typer.Option(help="Audit preset [default: that of each point].")
    ] = None,
    again: Annotated[
        bool | None,
        typer.Option("--again", help="Repeat audits already made by this version of the auditors."),
    ] = None,
    executor: options.ExecutorOption = None,
    ray_address: options.RayAddress = None,
    in_process: options.InProcess = None,
    workers: options.Workers = None,
    data_root: options.DataRoot = None,
    timeout: options.Timeout = None,
    store: options.StoreUrl = None,
) -> None:
    """Audit stored representations again, with the current auditors and metrics.

    Nothing is trained.
    """
    config = build_config(StoredAudit, **fields_of(StoredAudit, ctx))
    raise typer.Exit(_reaudit(config, load_plugins()))


def _reaudit(config: StoredAudit, registry: Registry) -> int:
    """Measure, write the leaderboards, and print what changed; return the exit code."""
    workers = config.workers or cores()
    location = ResultsLocation(config.results, config.store)
    store, folder = location.open_store(), location.folder
    fitted = _units(store, folder, registry, config.datasets)
    datasets, problems = _datasets(fitted, store, registry, config)
    known = [unit for unit in fitted if unit.fingerprint in datasets]
    units, cut = _with_all_rows(known, datasets, config.audit)
    problems += cut
    for problem in problems:
        err.print(problem, markup=False)
    audit = Reaudit(
        store, folder, registry, units, datasets, audit=config.audit, again=config.again
    )
    before = None
    points = audit.to_measure()
    if points:
        before = EarlierFigures(store, registry, points)
        about = format_seconds(audit.estimate / workers)
        err.print(
            f"{format_count(len(points), 'point')} to measure, about {about} on "
            f"{format_count(workers, 'worker')}; nothing is trained.",
            markup=False,
        )
    executor = make_executor(config)
    try:
        remaining = Remaining(executor.workers)
        remaining.plan(audit.estimate, fits=False)
        with ProgressDisplay(remaining, audit.job_count) as display:
            audit.begin(command_line())
            drive(audit, executor, display, ahead=2 * executor.workers)
    except KeyboardInterrupt:
        return interrupted()
    finally:
        executor.stop()
    tables = leaderboard.build(store, registry)
    written = leaderboard.write_results(tables, folder)
    if before is not None:
        measured = audit.summary.measured | audit.summary.elsewhere
        _show_changes(find_changes(before, store, tables, measured))
    _report(audit, written, location)
    broken = show_problems(tables)
    return 1 if broken or problems or audit.summary.failures else 0


def _units(
    store: Store, folder: Path, registry: Registry, names: Sequence[str]
) -> list[UnitRecord]:
    """Return the fitted units that leaderboards show, of all datasets or of those named."""
    of_runs = [unit for unit in store.records(UnitRecord) if not unit.of_a_trial]
    units = [unit for unit in of_runs if unit.status != Status.SKIPPED]
    fitted = [unit for unit in units if unit.done and unit.read_points]
    if not fitted:
        raise ConfigError(
            f"The store of {folder} holds no fitted model.", "Run something first: fairbench run"
        )
    keys = {unit.key for unit in latest(units, store.runs())}
    shown = [unit for unit in fitted if unit.key in keys]
    older = [
        unit for unit in fitted if unit.key not in keys and artefacts.exists(folder, unit.artefact)
    ]
    if older:
        err.print(
            f"{format_count(len(older), 'older model')} that no leaderboard shows any more (the "
            "code, data or points have changed): left as they are.",
            markup=False,
        )
    if not names:
        return shown
    known = {unit.dataset for unit in shown}
    # A name that has results need not be registered: the run's own card is found.
    selected = {text if text in known else registry.dataset(text).name for text in names}
    for name in selected - known:
        raise ConfigError(f"There are no results on {name!r}.", nearest(name, known))
    return [unit for unit in shown if unit.dataset in selected]


def _datasets(
    units: Sequence[UnitRecord], store: Store, registry: Registry, config: StoredAudit
) -> tuple[dict[str, Prepared], list[str]]:
    """Load datasets, by fingerprint; of each that cannot be had as it was, return a line."""
    cards = Cards(registry, config.datasets)
    configs = {run.id: run.config for run in store.runs()}
    datasets: dict[str, Prepared] = {}
    problems = []
    groups: dict[tuple[str, str, str], list[UnitRecord]] = {}
    for unit in units:
        groups.setdefault((unit.dataset, unit.data_source, unit.fingerprint), []).append(unit)
    for (name, source, fingerprint), members in groups.items():
        of_run = configs.get(members[0].run or "", {})
        try:
            root = config.data_root or root_of(of_run)
            datasets[fingerprint] = load_as_trained(cards.find(name, of_run), members[0], root)
        except FairbenchError as error:
            kind = "simulated twin, " if source == DataSource.SIMULATED else ""
            models = format_count(len(members), "model")
            problem = f"{error.message} {error.hint}".strip()
            problems.append(f"Left out: {name} ({kind}{models}). {problem}")
    return datasets, problems


def _with_all_rows(
    units: Sequence[UnitRecord], datasets: Mapping[str, Prepared], audit: AuditPreset | None
) -> tuple[list[UnitRecord], list[str]]:
    """Return the units whose rows suffice for an audit; of the others, a line per dataset."""
    kept, cut = [], Counter[str]()
    for unit in units:
        if lacks_rows(unit, datasets[unit.fingerprint], audit):
            cut[unit.dataset] += 1
        else:
            kept.append(unit)
    lines = [
        f"Left out: {name} ({format_count(models, 'model')} of budget quick). Only "
        f"{PRESETS[AuditPreset.QUICK].rows:,} rows of each role were encoded, so the {audit} audit "
        "could not compare them with x. Train them with another budget: fairbench run --budget "
        "full"
        for name, models in cut.items()
    ]
    return kept, lines


def _show_changes(moved: Sequence[AufdcChange]) -> None:
    """Print one table per track, budget and audit: before, after, and how far points moved."""
    groups: dict[str, list[AufdcChange]] = {}
    for change in moved:
        heading = group_heading(change.identity.table, change.identity.group)
        groups.setdefault(heading, []).append(change)
    for heading, members in groups.items():
        out.print(heading, markup=False)
        rows = []
        for change in members:
            rows.append(
                [
                    change.identity.variant.label,
                    str(change.points),
                    format_figure(change.before),
                    format_figure(change.now),
                    format_figure(change.i, signed=True),
                    format_figure(change.d, signed=True),
                ]
            )
        show_columns(["method", "points", "aufdc before", "after", "I moved", "D moved"], rows)
        columns = sorted({column for change in members for column in change.columns})
        if columns:
            text = f"New figures: {', '.join(columns)}"
            out.print(textwrap.fill(text, width=80, subsequent_indent="  "), markup=False)
        out.print()
    if moved:
        out.print("I moved (nats), D moved: the largest change of a point.", markup=False)


def _report(audit: Reaudit, written: Sequence[Path], location: ResultsLocation) -> None:
    outcome = audit.summary
    known = f"; {format_count(audit.known, 'point')} measured earlier" if audit.known else ""
    others = f", {len(outcome.elsewhere):,} by another run" if outcome.elsewhere else ""
    err.print(
        f"{format_count(len(outcome.measured), 'point')} measured{others}{known}.", markup=False
    )
    if outcome.gone:
        err.print(
            f"{format_count(len(outcome.gone), 'model')} without a representation on disk: their "
            "old figures stay, but count as missing beside newer ones. fairbench run trains them "
            "again.",
            markup=False,
        )
    for failure in outcome.failures:
        err.print(failure.line, markup=False)
    if outcome.failures:
        err.print("The same command tries these again.")
    warn_of_metrics(audit.audits.faults, location)
    for path in written:
        err.print(str(path), markup=False)
