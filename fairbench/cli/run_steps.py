"""The steps of ``fairbench run``: check names, load data, run the jobs, write the tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from fairbench.api.method import Method
from fairbench.cli import setup
from fairbench.cli.against import follow_board, show_against
from fairbench.cli.console import err, out, show_leaderboard, show_problems
from fairbench.cli.progress import ProgressDisplay
from fairbench.cli.provisional import ProvisionalTable
from fairbench.cli.remaining import Remaining
from fairbench.cli.tuning import Tuning, searched_methods
from fairbench.config import Rerun, RunConfig
from fairbench.errors import ConfigError, in_one_line
from fairbench.leaderboard import build as leaderboard
from fairbench.leaderboard.board import Board
from fairbench.models.query import ResultsLocation
from fairbench.registry import Registry
from fairbench.report.format import format_count, format_seconds, format_seconds_between
from fairbench.runs.audit_job import ReferenceJob
from fairbench.runs.driver import drive
from fairbench.runs.executors import make_executor
from fairbench.runs.executors.base import Executor
from fairbench.runs.fit_job import FitJob
from fairbench.runs.job import Job
from fairbench.runs.plan import make_plan, resolve_methods
from fairbench.runs.training import TrainingRun
from fairbench.store.text import clean
from fairbench.training.compiler import are_compiled
from fairbench.training.device import cores, resolve_device
from fairbench.training.schedule import FEWEST_COMPILED

_MAX_LINES = 60
"""Jobs that a dry run prints one by one."""


def run(config: RunConfig, registry: Registry, *, dry_run: bool, tune: int | None) -> int:
    """Run, or print what would be run; return the exit code."""
    board: Board | None = None
    if tune is not None and config.against is not None:
        raise ConfigError(
            "--tune cannot be combined with --against: a search sees test rows of the board.",
            "Use fairbench search, then run its best.yaml with --against and --params. Where you "
            "publish that row, say that its hyperparameters were chosen so.",
        )
    if config.against is not None:
        config, board = follow_board(config, registry)
    # Names and hyperparameters are checked before any data is read.
    make_plan(config, registry, [])
    if tune is not None and config.splits is not None:
        raise ConfigError(
            "--tune cannot be combined with --splits: a search sees test rows of other folds.",
            "Use fairbench search, then run its best.yaml with --splits and --params. Where you "
            "publish that row, say that its hyperparameters were chosen so.",
        )
    searched = searched_methods(config, registry, tune) if tune is not None else []
    executor = make_executor(config)
    if not dry_run:
        executor.prepare(compiler=_may_compile(config, registry))
    try:
        return _run(config, registry, board, searched, executor, dry_run=dry_run, tune=tune)
    finally:
        executor.stop()


def _may_compile(config: RunConfig, registry: Registry) -> bool:
    """Whether trainings are so long that they are compiled; which ones, only the data tell."""
    names = resolve_methods(config.methods, registry)
    if config.budget == "quick" or not any(registry.methods[name].uses_gpu for name in names):
        return False
    iterations = FEWEST_COMPILED if config.budget == "full" else int(config.budget)
    return are_compiled(iterations, resolve_device(config.device))


def _run(
    config: RunConfig,
    registry: Registry,
    board: Board | None,
    searched: Sequence[type[Method]],
    executor: Executor,
    *,
    dry_run: bool,
    tune: int | None,
) -> int:
    """Load the data, plan and run the jobs; return the exit code."""
    device = resolve_device(config.device)
    datasets, not_loaded = setup.try_datasets(config, registry)
    store = setup.open_store(config.results, config.store, dry_run=dry_run)
    err.print(
        f"{', '.join(config.methods)} on {', '.join(config.datasets)}, results in {config.results}",
        markup=False,
    )
    setup.warn_of_clock(store)
    plan = make_plan(config, registry, datasets)
    plan.failed |= {f"dataset {name}": in_one_line(e) for name, e in not_loaded.items()}
    setup.describe(datasets, device)
    workers = config.workers or cores()
    failed_searches = 0
    if tune is not None:
        tuning = Tuning(config, registry, store, device, workers, tune)
        try:
            failed_searches = tuning.extend(plan, searched, datasets, dry_run=dry_run)
        except KeyboardInterrupt:
            return setup.interrupted(config.rerun)
    run = TrainingRun(config, registry, plan, store, device)
    for title, reason in run.skipped():
        err.print(f"SKIPPED: {title}: {reason}", markup=False)
    if changed := run.methods_with_changed_code():
        err.print(f"Trained again, as their code has changed: {', '.join(changed)}", markup=False)
    jobs = run.jobs()
    if dry_run:
        for title, error in plan.failed.items():
            err.print(f"FAILED: {title}: {error}", markup=False)
        _show_jobs(jobs, run, workers)
        return 1 if plan.failed else 0
    code = _execute(jobs, run, executor, config, registry, board)
    return code or (1 if failed_searches else 0)


def _show_jobs(jobs: Sequence[Job], run: TrainingRun, workers: int) -> None:
    for line in _job_lines(jobs):
        out.print(line, markup=False)
    later, seconds = _later_audits(jobs)
    if later:
        out.print(
            f"then audits of at most {later} points: about {format_seconds(seconds)}", markup=False
        )
    total = sum(job.estimate for job in jobs) + seconds
    if not jobs:
        out.print("Nothing to do: everything is in the store.")
    else:
        about = format_seconds_between(*_remaining(jobs, workers).between())
        out.print(
            f"Estimated: {about} on {format_count(workers, 'worker')} "
            f"({format_seconds(total)} of work). "
            f"{run.summary.reused} of {len(run.plan.units)} units are in the store.",
            markup=False,
        )


def _job_lines(jobs: Sequence[Job]) -> Iterator[str]:
    """A line each; of many jobs one for all fits of a method on a dataset."""
    if len(jobs) <= _MAX_LINES:
        for job in jobs:
            yield f"{job.title}: about {format_seconds(job.estimate)}"
        return
    kinds: dict[str, list[Job]] = {}
    for job in jobs:
        kinds.setdefault(_kind_of(job), []).append(job)
    for kind, alike in kinds.items():
        seconds = sum(job.estimate for job in alike)
        yield f"{format_count(len(alike), 'job')}: {kind}: about {format_seconds(seconds)}"


def _kind_of(job: Job) -> str:
    """What many jobs have in common."""
    if isinstance(job, FitJob):
        return f"fit {job.method.name} on {job.data.info.name}"
    if isinstance(job, ReferenceJob):
        return f"audit x itself on {job.data.info.name}"
    return job.title.partition(",")[0]


def _later_audits(jobs: Sequence[Job]) -> tuple[int, float]:
    """Return how many points the fits will give, and the seconds to audit them."""
    fits = [job for job in jobs if isinstance(job, FitJob)]
    seconds = sum(job.expected_points * job.point_estimate for job in fits)
    return sum(job.expected_points for job in fits), seconds


def _execute(
    jobs: Sequence[Job],
    run: TrainingRun,
    executor: Executor,
    config: RunConfig,
    registry: Registry,
    board: Board | None,
) -> int:
    setup.review_checkpoints(jobs, config)
    remaining = _remaining(jobs, executor.workers)
    if jobs:
        _announce(jobs, remaining, executor.workers)
    provisional = ProvisionalTable(run.store, registry, _table_names(run))
    try:
        with ProgressDisplay(remaining, len(jobs), provisional=provisional) as display:
            run.begin(setup.command_line())
            drive(run, executor, display)
    except KeyboardInterrupt:
        return setup.interrupted(config.rerun)
    executor.stop()
    return _report(run, config, registry, board)


def _remaining(jobs: Sequence[Job], workers: int) -> Remaining:
    remaining = Remaining(workers)
    for job in jobs:
        remaining.add(job)
    return remaining


def _announce(jobs: Sequence[Job], remaining: Remaining, workers: int) -> None:
    """Say how much there is to do."""
    later, _ = _later_audits(jobs)
    then = f", then audits of at most {format_count(later, 'point')}" if later else ""
    err.print(
        f"{format_count(len(jobs), 'job')}{then}: "
        f"{format_seconds_between(*remaining.between())} on "
        f"{format_count(workers, 'worker')}.",
        markup=False,
    )


def _table_names(run: TrainingRun) -> set[str]:
    """Return the names of the leaderboards that a run adds to."""
    return {u.data.table for u in run.plan.units}


def _report(run: TrainingRun, config: RunConfig, registry: Registry, board: Board | None) -> int:
    """Write and print leaderboards and failures; return the exit code."""
    tables = leaderboard.build(run.store, registry)
    names = _table_names(run)
    others = [table for table in tables if table.dataset not in names]
    written = leaderboard.write_results([t for t in tables if t.dataset in names], config.results)
    leaderboard.write_results(others, config.results)
    problems = 0
    if board is not None and not run.summary.failures:
        problems = show_against(run.store, board, registry, config.results)
    else:
        for table in tables:
            if table.dataset in names:
                show_leaderboard(table.dataset, table.leaderboard)
    fitted, total = run.summary.done, len(run.plan.units)
    err.print(f"{total} units: {fitted} fitted now, {run.summary.reused} from the store.")
    _show_failures(run, config)
    setup.warn_of_metrics(run.audits.faults, ResultsLocation(config.results, config.store))
    for path in written:
        err.print(str(path), markup=False)
    return problems or show_problems(tables) or (1 if run.summary.failures else 0)


def _show_failures(run: TrainingRun, config: RunConfig) -> None:
    """Say what gave nothing, and what to do about it."""
    failures = run.summary.failures
    kept = [failure for failure in failures if failure.earlier_stands]
    for failure in failures:
        err.print(failure.line, markup=False)
    for title, error in run.summary.not_stored:
        err.print(f"encoder not stored: {title}: {error}", markup=False)
    if len(failures) > len(kept):
        where = shlex.join(ResultsLocation(config.results, config.store).options)
        err.print(
            "Try these again with --rerun failed. Where they were raised: "
            f"fairbench status {where} --traceback",
            markup=False,
        )
    if kept:
        # The store has the earlier results in their place, so this is the only telling.
        for traceback in dict.fromkeys(one.traceback for one in kept if one.traceback):
            err.print(clean(traceback), markup=False)
        which = "these" if len(kept) == len(failures) else ", ".join(one.title for one in kept)
        how = "--rerun all" if config.rerun is Rerun.ALL else "the same command"
        err.print(f"Earlier results of {which} stand; try again with {how}.", markup=False)
