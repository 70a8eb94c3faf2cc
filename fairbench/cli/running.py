"""Run a plan: jobs, progress, leaderboards and failures, as ``fairbench run`` shows them."""

from __future__ import annotations

from collections.abc import Sequence

from fairbench.cli.console import err, out, show_leaderboard
from fairbench.cli.progress import ProgressDisplay
from fairbench.cli.results import show_problems
from fairbench.cli.setup import (
    command_line,
    describe,
    interrupted,
    load_datasets,
    open_store,
    review_checkpoints,
)
from fairbench.cli.tuning import Tuning, searched_methods
from fairbench.config import RunConfig
from fairbench.leaderboard import build as leaderboard
from fairbench.registry import Registry
from fairbench.report.format import format_seconds
from fairbench.runs.driver import drive
from fairbench.runs.executors import make_executor
from fairbench.runs.fit_job import FitJob
from fairbench.runs.job import Job
from fairbench.runs.plan import make_plan
from fairbench.runs.training import TrainingRun
from fairbench.training.device import cores, resolve_device


def run(config: RunConfig, registry: Registry, *, dry_run: bool, tune: int | None) -> int:
    """Run, or print what would be run; return the exit code."""
    device = resolve_device(config.device)
    # Names and hyperparameters are checked before any data is read.
    make_plan(config, registry, [])
    searched = searched_methods(config, registry, tune) if tune is not None else []
    datasets = load_datasets(config, registry)
    store = open_store(config.results, config.store, dry_run=dry_run)
    plan = make_plan(config, registry, datasets)
    describe(datasets, device)
    workers = config.workers or cores()
    failed_searches = 0
    if tune is not None:
        tuning = Tuning(config, registry, store, device, workers, tune)
        try:
            failed_searches = tuning.extend(plan, searched, datasets, dry_run=dry_run)
        except KeyboardInterrupt:
            return interrupted()
    run = TrainingRun(config, registry, plan, store, device)
    for title, reason in run.skipped():
        err.print(f"SKIPPED: {title}: {reason}", markup=False)
    jobs = run.jobs()
    if dry_run:
        _show_jobs(jobs, run, workers)
        return 0
    code = _execute(jobs, run, config, registry)
    return code or (1 if failed_searches else 0)


def _show_jobs(jobs: Sequence[Job], run: TrainingRun, workers: int) -> None:
    for job in jobs:
        out.print(f"{job.title}: about {format_seconds(job.estimate)}", markup=False)
    later, seconds = _later_audits(jobs)
    if later:
        out.print(f"then audits of {later} points: about {format_seconds(seconds)}", markup=False)
    total = sum(job.estimate for job in jobs) + seconds
    if not jobs:
        out.print("Nothing to do: everything is in the store.")
    else:
        out.print(
            f"Estimated: {format_seconds(total / workers)} on {workers} workers "
            f"({format_seconds(total)} of work). "
            f"{run.summary.reused} of {len(run.plan.units)} units are in the store.",
            markup=False,
        )


def _later_audits(jobs: Sequence[Job]) -> tuple[int, float]:
    """Return how many points the fits will give, and the seconds to audit them."""
    fits = [job for job in jobs if isinstance(job, FitJob)]
    seconds = sum(job.expected_points * job.point_estimate for job in fits)
    return sum(job.expected_points for job in fits), seconds


def _execute(jobs: Sequence[Job], run: TrainingRun, config: RunConfig, registry: Registry) -> int:
    estimate = sum(job.estimate for job in jobs) + _later_audits(jobs)[1]
    review_checkpoints(jobs, config)
    executor = make_executor(config)
    try:
        with ProgressDisplay(estimate, len(jobs)) as display:
            run.begin(command_line())
            drive(run, executor, display)
    except KeyboardInterrupt:
        return interrupted()
    finally:
        executor.stop()
    return _report(run, config, registry)


def _report(run: TrainingRun, config: RunConfig, registry: Registry) -> int:
    """Write and print leaderboards and failures; return the exit code."""
    tables = leaderboard.build(run.store, registry)
    written = leaderboard.write(tables, config.results)
    names = {leaderboard.table_name(u.data.info.name, u.data.source) for u in run.plan.units}
    for table in tables:
        if table.dataset in names:
            show_leaderboard(table.dataset, table.leaderboard)
    fitted, total = run.summary.done, len(run.plan.units)
    err.print(f"{total} units: {fitted} fitted now, {run.summary.reused} from the store.")
    for title, status, error in run.summary.broken:
        err.print(f"{status.value}: {title}: {error}", markup=False)
    for title, error in run.summary.not_stored:
        err.print(f"encoder not stored: {title}: {error}", markup=False)
    if run.summary.broken:
        err.print("Try these again with --rerun failed.")
    for path in written:
        err.print(str(path), markup=False)
    return show_problems(tables) or (1 if run.summary.broken else 0)
