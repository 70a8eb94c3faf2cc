"""``fairbench run``."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairbench import checkpoints, leaderboard
from fairbench.api import Dataset
from fairbench.claims import Claims
from fairbench.commands.results import show_problems
from fairbench.config import Rerun, RunConfig, make_config, read_yaml, split_names
from fairbench.console import Display, err, out, show_leaderboard, show_notes, spell, warn_simulated
from fairbench.data.prepare import Prepared, load_dataset
from fairbench.device import resolve_device
from fairbench.errors import ConfigError
from fairbench.executors import cores, make_executor
from fairbench.executors.shared import SharedExecutor
from fairbench.jobs import FitJob, Job
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
) -> int:
    """Run, or tell what would be run; returns the exit code."""
    registry = load_registry()
    for broken in registry.broken:
        err.print(f"Warning: plugin {broken.source} was left out: {broken.error}", markup=False)
    values = {**given, **_seeds(seeds, seed_list)}
    configured = make_config(config, values)
    if params is not None:
        merged = {registry.methods.resolve(name): v for name, v in configured.params.items()}
        for name, values in _params(params, configured, registry).items():
            merged[registry.methods.resolve(name)] = values
        configured = configured.model_copy(update={"params": merged})
    device = resolve_device(configured.device)
    chosen = _datasets(configured, registry)
    # Names and parameters are checked before any data is read.
    make_plan(configured, registry, [])
    datasets = [
        load_dataset(
            dataset,
            root=configured.data_root,
            require_real=configured.require_real_data,
        )
        for dataset in chosen
    ]
    store = open_store(configured.results, configured.store, dry_run=dry_run)
    run = Run(configured, registry, make_plan(configured, registry, datasets), store, device)
    simulated = [data.info.name for data in datasets if data.source == "simulated"]
    if simulated:
        warn_simulated(simulated)
    _describe(datasets, device)
    workers = configured.workers or cores()
    for title, reason in run.skipped():
        err.print(f"SKIPPED: {title}: {reason}", markup=False)
    jobs = run.jobs()
    if dry_run:
        _show_jobs(jobs, run, workers)
        return 0
    return _execute(jobs, run, configured, registry)


def open_store(results: Path, url: str | None, *, dry_run: bool) -> Store:
    """The store by URL, else the SQLite file of the results folder; a dry run leaves no trace."""
    make_folder(results, keep=not dry_run)
    if url:
        return Store.by_url(url)
    if dry_run and not (results / "fairbench.sqlite").exists():
        return Store("sqlite://")
    return Store.in_folder(results)


def _seeds(seeds: int | None, seed_list: str | None) -> dict[str, tuple[int, ...]]:
    if seeds is not None and seed_list is not None:
        raise ConfigError("--seeds and --seed-list were both given.", "Give one of them.")
    if seeds is not None:
        if seeds < 1:
            raise ConfigError(f"--seeds {seeds}: at least one seed is needed.", "Try --seeds 1.")
        if seeds > MOST_SEEDS:
            raise ConfigError(f"--seeds {seeds}: at most {MOST_SEEDS:,} in one run.")
        return {"seeds": tuple(range(seeds))}
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


def _describe(datasets: list[Prepared], device: str) -> None:
    for data in datasets:
        rows = ", ".join(f"{role.value} {len(part.s):,}" for role, part in data.roles.items())
        err.print(f"{data.info.name}: {data.source} ({data.origin}); rows: {rows}", markup=False)
        show_notes(data.info.name, data.notes)
    err.print(f"device: {device}", markup=False)


def _show_jobs(jobs: list[Job], run: Run, workers: int) -> None:
    for job in jobs:
        out.print(f"{job.title}: about {spell(job.estimate)}", markup=False)
    later, seconds = _audits_to_come(jobs)
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


def _audits_to_come(jobs: list[Job]) -> tuple[int, float]:
    """Points that follow from fits, and the seconds their audits take."""
    fits = [job for job in jobs if isinstance(job, FitJob)]
    seconds = sum(job.expected_points * job.point_estimate for job in fits)
    return sum(job.expected_points for job in fits), seconds


def _execute(jobs: list[Job], run: Run, config: RunConfig, registry: Registry) -> int:
    command = shlex.join(["fairbench", *sys.argv[1:]])
    estimate = sum(job.estimate for job in jobs) + _audits_to_come(jobs)[1]
    _review_checkpoints(jobs, config)
    executor = make_executor(config)
    try:
        with Claims(run.store, run.id) as claims, Display(estimate) as display:
            run.execute(jobs, SharedExecutor(executor, claims, run.settled), display, command)
    except KeyboardInterrupt:
        err.print(
            f"\nInterrupted; what is finished is kept. Resume with:\n  {command}", markup=False
        )
        return 130
    finally:
        executor.stop()
    return _report(run, config, registry)


def _review_checkpoints(jobs: list[Job], config: RunConfig) -> None:
    """Tell which fits go on where they were, and which cannot."""
    checkpoints.make_folder(config.results)
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
    if run.summary.broken:
        err.print("Try these again with --rerun failed.")
    for path in written:
        err.print(str(path), markup=False)
    return show_problems(tables) or (1 if run.summary.broken else 0)
