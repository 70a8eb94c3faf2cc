"""``fairbench run``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairbench.cli.console import err, out, show_leaderboard
from fairbench.cli.progress import Display
from fairbench.cli.results import show_problems
from fairbench.cli.setup import (
    chosen_seeds,
    describe,
    interrupted,
    load_datasets,
    open_store,
    review_checkpoints,
    with_params,
)
from fairbench.cli.tuning import Tuning, searched_methods
from fairbench.config import RunConfig, make_config
from fairbench.leaderboard import build as leaderboard
from fairbench.registry import Registry, load_registry
from fairbench.report.format import spell
from fairbench.runs.driver import drive
from fairbench.runs.executors import make_executor
from fairbench.runs.fit_job import FitJob
from fairbench.runs.job import Job
from fairbench.runs.plan import make_plan
from fairbench.runs.training import TrainingRun
from fairbench.training.device import cores, resolve_device


def run_command(
    given: Mapping[str, Any],
    *,
    seeds: int | None,
    seed_list: str | None,
    params: Path | None,
    config: Path | None,
    dry_run: bool,
    tune: int | None = None,
) -> int:
    """Run, or tell what would be run; returns the exit code."""
    registry = load_registry()
    for broken in registry.broken:
        err.print(f"Warning: plugin {broken.source} was left out: {broken.error}", markup=False)
    values = {**given, **chosen_seeds(seeds, seed_list)}
    configured = make_config(config, values)
    if params is not None:
        configured = with_params(params, configured, registry)
    device = resolve_device(configured.device)
    # Names and parameters are checked before any data is read.
    make_plan(configured, registry, [])
    searched = searched_methods(configured, registry, tune) if tune is not None else []
    datasets = load_datasets(configured, registry)
    store = open_store(configured.results, configured.store, dry_run=dry_run)
    plan = make_plan(configured, registry, datasets)
    describe(datasets, device)
    workers = configured.workers or cores()
    untuned = 0
    if tune is not None:
        tuning = Tuning(configured, registry, store, device, workers, tune)
        try:
            untuned = tuning.extend(plan, searched, datasets, dry_run=dry_run)
        except KeyboardInterrupt:
            return interrupted()
    run = TrainingRun(configured, registry, plan, store, device)
    for title, reason in run.skipped():
        err.print(f"SKIPPED: {title}: {reason}", markup=False)
    jobs = run.jobs()
    if dry_run:
        _show_jobs(jobs, run, workers)
        return 0
    code = _execute(jobs, run, configured, registry)
    return code or (1 if untuned else 0)


def _show_jobs(jobs: list[Job], run: TrainingRun, workers: int) -> None:
    for job in jobs:
        out.print(f"{job.title}: about {spell(job.estimate)}", markup=False)
    later, seconds = audits_to_come(jobs)
    if later:
        out.print(f"then audits of {later} points: about {spell(seconds)}", markup=False)
    total = sum(job.estimate for job in jobs) + seconds
    if not jobs:
        out.print("Nothing to do: everything is in the store.")
    else:
        out.print(
            f"Estimated: {spell(total / workers)} on {workers} workers ({spell(total)} of work). "
            f"{run.summary.reused} of {len(run.plan.units)} units are in the store.",
            markup=False,
        )


def audits_to_come(jobs: list[Job]) -> tuple[int, float]:
    """Points that follow from fits, and the seconds their audits take."""
    fits = [job for job in jobs if isinstance(job, FitJob)]
    seconds = sum(job.expected_points * job.point_estimate for job in fits)
    return sum(job.expected_points for job in fits), seconds


def _execute(jobs: list[Job], run: TrainingRun, config: RunConfig, registry: Registry) -> int:
    command = shlex.join(["fairbench", *sys.argv[1:]])
    estimate = sum(job.estimate for job in jobs) + audits_to_come(jobs)[1]
    review_checkpoints(jobs, config)
    executor = make_executor(config)
    try:
        with Display(estimate, len(jobs)) as display:
            run.begin(command)
            drive(run, executor, display)
    except KeyboardInterrupt:
        return interrupted()
    finally:
        executor.stop()
    return _report(run, config, registry)


def _report(run: TrainingRun, config: RunConfig, registry: Registry) -> int:
    """Write and show leaderboards and failures; the exit code."""
    tables = leaderboard.build(run.store, registry)
    written = leaderboard.write(tables, config.results)
    wanted = {leaderboard.table_name(u.data.info.name, u.data.source) for u in run.plan.units}
    for table in tables:
        if table.dataset in wanted:
            show_leaderboard(table.dataset, table.leaderboard)
    fitted, total = run.summary.done, len(run.plan.units)
    err.print(f"{total} units: {fitted} fitted now, {run.summary.reused} from the store.")
    for title, status, error in run.summary.broken:
        err.print(f"{status.value}: {title}: {error}", markup=False)
    for title, error in run.summary.not_stored:
        err.print(f"encoder not kept: {title}: {error}", markup=False)
    if run.summary.broken:
        err.print("Try these again with --rerun failed.")
    for path in written:
        err.print(str(path), markup=False)
    return show_problems(tables) or (1 if run.summary.broken else 0)
