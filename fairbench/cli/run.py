"""``fairbench run``: train, audit and rank methods on datasets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fairbench.cli.console import err, out, show_leaderboard
from fairbench.cli.options import (
    BudgetOption,
    DataRoot,
    Datasets,
    DryRun,
    ExecutorOption,
    InProcess,
    Points,
    RayAddress,
    RealDataOnly,
    RerunOption,
    Results,
    SeedList,
    StoreUrl,
    Timeout,
    TrainOn,
    Workers,
    complete_methods,
)
from fairbench.cli.plugins import load_plugins
from fairbench.cli.progress import ProgressDisplay
from fairbench.cli.results import show_problems
from fairbench.cli.setup import (
    chosen_seeds,
    command_line,
    describe,
    interrupted,
    load_datasets,
    open_store,
    review_checkpoints,
    with_params,
)
from fairbench.cli.tuning import Tuning, searched_methods
from fairbench.config import RunConfig, build_config
from fairbench.leaderboard import build as leaderboard
from fairbench.registry import Registry
from fairbench.report.format import spell
from fairbench.runs.executors import make_executor
from fairbench.runs.executors.shared import SharedExecutor
from fairbench.runs.fit_job import FitJob
from fairbench.runs.job import Job
from fairbench.runs.plan import make_plan
from fairbench.runs.runner import Run
from fairbench.store.claims import Claims
from fairbench.training.device import cores, resolve_device


def run_command(
    methods: Annotated[
        str | None,
        typer.Option(help="Methods, separated by commas, or all.", autocompletion=complete_methods),
    ] = None,
    dataset: Datasets = None,
    seeds: Annotated[
        int | None, typer.Option(help="Number of seeds: 0 to N-1 [default: 1].")
    ] = None,
    seed_list: SeedList = None,
    budget: BudgetOption = None,
    points: Points = None,
    params: Annotated[
        Path | None, typer.Option(help="Hyperparameters file (YAML), by method name.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Configuration file (YAML) of the run; options override it.")
    ] = None,
    results: Results = None,
    device: TrainOn = None,
    executor: ExecutorOption = None,
    ray_address: RayAddress = None,
    in_process: InProcess = None,
    workers: Workers = None,
    data_root: DataRoot = None,
    require_real_data: RealDataOnly = None,
    dry_run: DryRun = False,
    rerun: RerunOption = None,
    timeout: Timeout = None,
    store: StoreUrl = None,
    tune: Annotated[
        int | None,
        typer.Option(
            metavar="TRIALS",
            help="Number of search trials per method; the best hyperparameters are run too.",
        ),
    ] = None,
) -> None:
    """Train, audit and rank methods. A rerun does only what is missing."""
    registry = load_plugins()
    configured = build_config(
        RunConfig,
        config,
        methods=methods,
        datasets=dataset,
        seeds=chosen_seeds(seeds, seed_list),
        budget=budget,
        points=points,
        results=results,
        device=device,
        executor=executor,
        ray_address=ray_address,
        in_process=in_process,
        workers=workers,
        data_root=data_root,
        require_real_data=require_real_data,
        rerun=rerun,
        timeout=timeout,
        store=store,
    )
    if params is not None:
        configured = with_params(params, configured, registry)
    raise typer.Exit(_run(configured, registry, dry_run=dry_run, tune=tune))


def _run(config: RunConfig, registry: Registry, *, dry_run: bool, tune: int | None) -> int:
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
    run = Run(config, registry, plan, store, device)
    for title, reason in run.skipped():
        err.print(f"SKIPPED: {title}: {reason}", markup=False)
    jobs = run.jobs()
    if dry_run:
        _show_jobs(jobs, run, workers)
        return 0
    code = _execute(jobs, run, config, registry)
    return code or (1 if failed_searches else 0)


def _show_jobs(jobs: Sequence[Job], run: Run, workers: int) -> None:
    for job in jobs:
        out.print(f"{job.title}: about {spell(job.estimate)}", markup=False)
    later, seconds = _later_audits(jobs)
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


def _later_audits(jobs: Sequence[Job]) -> tuple[int, float]:
    """Return how many points the fits will give, and the seconds to audit them."""
    fits = [job for job in jobs if isinstance(job, FitJob)]
    seconds = sum(job.expected_points * job.point_estimate for job in fits)
    return sum(job.expected_points for job in fits), seconds


def _execute(jobs: Sequence[Job], run: Run, config: RunConfig, registry: Registry) -> int:
    estimate = sum(job.estimate for job in jobs) + _later_audits(jobs)[1]
    review_checkpoints(jobs, config)
    executor = make_executor(config)
    try:
        with (
            Claims(run.store, run.id) as claims,
            ProgressDisplay(estimate, len(jobs)) as display,
        ):
            executed = SharedExecutor(executor, claims, run.settled)
            run.execute(jobs, executed, display, command_line())
    except KeyboardInterrupt:
        return interrupted()
    finally:
        executor.stop()
    return _report(run, config, registry)


def _report(run: Run, config: RunConfig, registry: Registry) -> int:
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
    for title, error in run.summary.not_kept:
        err.print(f"encoder not stored: {title}: {error}", markup=False)
    if run.summary.broken:
        err.print("Try these again with --rerun failed.")
    for path in written:
        err.print(str(path), markup=False)
    return show_problems(tables) or (1 if run.summary.broken else 0)
