"""``fairbench run``."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairbench import checkpoints, leaderboard
from fairbench.api import Dataset
from fairbench.claims import Claims
from fairbench.commands.results import show_problems
from fairbench.commands.tuning import Tuning, searched_methods
from fairbench.config import Rerun, RunConfig, make_config, read_yaml, split_names
from fairbench.console import err, out, show_leaderboard, show_notes, spell, warn_simulated
from fairbench.data.prepare import Prepared, load_dataset
from fairbench.device import cores, resolve_device
from fairbench.errors import ConfigError
from fairbench.executors import make_executor
from fairbench.executors.shared import SharedExecutor
from fairbench.jobs import FitJob, Job
from fairbench.live import Display
from fairbench.plan import make_plan
from fairbench.registry import Registry, load_registry
from fairbench.runner import Run
from fairbench.store import Store, make_folder

MOST_SEEDS = 1000
"""Of one run; more is a slip of the finger."""


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
    run = Run(configured, registry, plan, store, device)
    for title, reason in run.skipped():
        err.print(f"SKIPPED: {title}: {reason}", markup=False)
    jobs = run.jobs()
    if dry_run:
        _show_jobs(jobs, run, workers)
        return 0
    code = _execute(jobs, run, configured, registry)
    return code or (1 if untuned else 0)


def load_datasets(config: RunConfig, registry: Registry) -> list[Prepared]:
    """The datasets asked for, prepared."""
    return [
        load_dataset(dataset, root=config.data_root, require_real=config.require_real_data)
        for dataset in _datasets(config, registry)
    ]


def interrupted() -> int:
    """Say how to go on after Ctrl-C; the exit code."""
    resume = shlex.join(["fairbench", *sys.argv[1:]])
    err.print(f"\nInterrupted; what is finished is kept. Resume with:\n  {resume}", markup=False)
    return 130


def open_store(results: Path, url: str | None, *, dry_run: bool) -> Store:
    """The store by URL, else the SQLite file of the results folder; a dry run leaves no trace."""
    make_folder(results, keep=not dry_run)
    if url:
        return Store.by_url(url)
    if dry_run and not (results / "fairbench.sqlite").exists():
        return Store("sqlite://")
    return Store.in_folder(results)


def chosen_seeds(
    seeds: int | None, seed_list: str | None, *, first: int = 0
) -> dict[str, tuple[int, ...]]:
    """``seeds`` of a configuration, if either option was given; ``--seeds`` counts from first."""
    if seeds is not None and seed_list is not None:
        raise ConfigError("--seeds and --seed-list were both given.", "Give one of them.")
    if seeds is not None:
        if seeds < 1:
            raise ConfigError(f"--seeds {seeds}: at least one seed is needed.", "Try --seeds 1.")
        if seeds > MOST_SEEDS:
            raise ConfigError(f"--seeds {seeds}: at most {MOST_SEEDS:,} in one run.")
        return {"seeds": tuple(range(first, first + seeds))}
    if seed_list is not None:
        parts = split_names(seed_list)
        if not parts or not all(re.fullmatch("[0-9]+", part) for part in parts):
            raise ConfigError(
                f"--seed-list {seed_list!r} is not a list of whole numbers from 0.",
                "Try --seed-list 0,1,2",
            )
        return {"seeds": tuple(int(part) for part in parts)}
    return {}


def _datasets(config: RunConfig, registry: Registry) -> list[type[Dataset]]:
    """The datasets asked for, each once; two cards must not have one name."""
    found: dict[str, type[Dataset]] = {}
    for text in config.datasets:
        dataset = registry.dataset(text)
        if found.setdefault(dataset.name, dataset) is not dataset:
            raise ConfigError(
                f"Two of the cards of this run have the name {dataset.name!r}.",
                "Their leaderboards would be one; change `name:` in one of them.",
            )
    return list(found.values())


def with_params(file: Path, config: RunConfig, registry: Registry) -> RunConfig:
    """The configuration with the parameters of a file, which win over its own."""
    merged = {registry.methods.resolve(name): v for name, v in config.params.items()}
    for name, values in _params(file, config, registry).items():
        merged[registry.methods.resolve(name)] = values
    return config.model_copy(update={"params": merged})


def _params(file: Path, config: RunConfig, registry: Registry) -> Mapping[str, Any]:
    """Parameters by method; a file without method names belongs to the only method asked for."""
    content = read_yaml(file, "--params")
    if content and not any(isinstance(value, Mapping) for value in content.values()):
        if len(config.methods) != 1 or config.methods[0] == "all":
            raise ConfigError(
                f"--params {file} names no method, and the run has several.",
                "Put the parameters below the method's name: 'sofair:' and two spaces before each.",
            )
        return {registry.methods.resolve(config.methods[0]): content}
    return content


def describe(datasets: list[Prepared], device: str) -> None:
    """Say which data this is, loudly if it is simulated, and where methods train."""
    simulated = [data.info.name for data in datasets if data.source == "simulated"]
    if simulated:
        warn_simulated(simulated)
    for data in datasets:
        rows = ", ".join(f"{role.value} {len(part.s):,}" for role, part in data.roles.items())
        err.print(f"{data.info.name}: {data.source} ({data.origin}); rows: {rows}", markup=False)
        show_notes(data.info.name, data.notes)
    err.print(f"device: {device}", markup=False)


def _show_jobs(jobs: list[Job], run: Run, workers: int) -> None:
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


def _execute(jobs: list[Job], run: Run, config: RunConfig, registry: Registry) -> int:
    command = shlex.join(["fairbench", *sys.argv[1:]])
    estimate = sum(job.estimate for job in jobs) + audits_to_come(jobs)[1]
    review_checkpoints(jobs, config)
    executor = make_executor(config)
    try:
        with Claims(run.store, run.id) as claims, Display(estimate, len(jobs)) as display:
            executed = SharedExecutor(executor, claims, run.settled)
            run.execute(jobs, executed, display, command)
    except KeyboardInterrupt:
        return interrupted()
    finally:
        executor.stop()
    return _report(run, config, registry)


def review_checkpoints(jobs: Sequence[Job], config: RunConfig) -> None:
    """Tell which fits go on where they were, and which cannot."""
    paths = [job.checkpoint for job in jobs if isinstance(job, FitJob) and job.checkpoint]
    if config.rerun is Rerun.ALL:
        for path in paths:
            checkpoints.drop(path)
    for line in checkpoints.review(paths):
        err.print(line, markup=False)


def _report(run: Run, config: RunConfig, registry: Registry) -> int:
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
    for title, error in run.summary.not_kept:
        err.print(f"encoder not kept: {title}: {error}", markup=False)
    if run.summary.broken:
        err.print("Try these again with --rerun failed.")
    for path in written:
        err.print(str(path), markup=False)
    return show_problems(tables) or (1 if run.summary.broken else 0)
