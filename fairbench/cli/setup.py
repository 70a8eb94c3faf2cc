"""Steps that several commands share: plugins, seeds, hyperparameters, data, store."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairbench.api.dataset import Dataset
from fairbench.cli.console import err, show_notes, warn_simulated
from fairbench.config import Rerun, RunConfig, read_yaml, split_names
from fairbench.data.prepare import Prepared, load_dataset
from fairbench.errors import ConfigError
from fairbench.registry import Registry
from fairbench.runs.fit_job import FitJob
from fairbench.runs.job import Job
from fairbench.store.database import Store, make_folder
from fairbench.training import checkpoint_files as checkpoints

MOST_SEEDS = 1000
"""Most seeds of one run; more is a slip of the finger."""


def command_line() -> str:
    """Return the command as it was typed, to be typed again."""
    return shlex.join(["fairbench", *sys.argv[1:]])


def load_datasets(config: RunConfig, registry: Registry) -> list[Prepared]:
    """Load and prepare the datasets of a run."""
    return [
        load_dataset(dataset, root=config.data_root, require_real=config.require_real_data)
        for dataset in _datasets(config, registry)
    ]


def interrupted() -> int:
    """Print how to resume after Ctrl-C, and return the exit code."""
    err.print(
        f"\nInterrupted; finished work is stored. Resume with:\n  {command_line()}", markup=False
    )
    return 130


def open_store(results: Path, url: str | None, *, dry_run: bool) -> Store:
    """Open a store by URL, else in the results folder; a dry run leaves no trace."""
    make_folder(results, keep=not dry_run)
    if url:
        return Store.by_url(url)
    if dry_run and not (results / "fairbench.sqlite").exists():
        return Store("sqlite://")
    return Store.in_folder(results)


def chosen_seeds(
    seeds: int | None, seed_list: str | None, *, first: int = 0
) -> tuple[int, ...] | None:
    """Return the seeds that ``--seeds`` (counted from first) or ``--seed-list`` names, if any."""
    if seeds is not None and seed_list is not None:
        raise ConfigError("--seeds and --seed-list exclude each other.", "Give one of them.")
    if seeds is not None:
        if seeds < 1:
            raise ConfigError(f"--seeds {seeds}: at least one seed is needed.", "Try --seeds 1.")
        if seeds > MOST_SEEDS:
            raise ConfigError(f"--seeds {seeds}: at most {MOST_SEEDS:,} in one run.")
        return tuple(range(first, first + seeds))
    if seed_list is not None:
        parts = split_names(seed_list)
        if not parts or not all(re.fullmatch("[0-9]+", part) for part in parts):
            raise ConfigError(
                f"--seed-list {seed_list!r} is not a list of whole numbers from 0.",
                "Try --seed-list 0,1,2",
            )
        return tuple(int(part) for part in parts)
    return None


def _datasets(config: RunConfig, registry: Registry) -> list[type[Dataset]]:
    """Return the datasets of a run, each once; two cards must not have one name."""
    by_name: dict[str, type[Dataset]] = {}
    for text in config.datasets:
        dataset = registry.dataset(text)
        if by_name.setdefault(dataset.name, dataset) is not dataset:
            raise ConfigError(
                f"Two dataset cards of this run have the name {dataset.name!r}.",
                "They would share a leaderboard; change `name:` in one of them.",
            )
    return list(by_name.values())


def with_params(file: Path, config: RunConfig, registry: Registry) -> RunConfig:
    """Add the hyperparameters of a file to a configuration; the file wins."""
    merged = {registry.methods.resolve(name): v for name, v in config.params.items()}
    for name, values in _params(file, config, registry).items():
        merged[registry.methods.resolve(name)] = values
    return config.model_copy(update={"params": merged})


def _params(file: Path, config: RunConfig, registry: Registry) -> Mapping[str, Any]:
    """Read hyperparameters by method; a file without method names is of the run's only method."""
    content = read_yaml(file, "--params")
    if content and not any(isinstance(value, Mapping) for value in content.values()):
        if len(config.methods) != 1 or config.methods[0] == "all":
            raise ConfigError(
                f"--params {file} names no method, and the run has several.",
                "Put the hyperparameters below the method's name, each after two spaces.",
            )
        return {registry.methods.resolve(config.methods[0]): content}
    return content


def describe(datasets: list[Prepared], device: str) -> None:
    """Print which data are used, loudly if simulated, and which device."""
    simulated = [data.info.name for data in datasets if data.source == "simulated"]
    if simulated:
        warn_simulated(simulated)
    for data in datasets:
        rows = ", ".join(f"{role.value} {len(part.s):,}" for role, part in data.roles.items())
        err.print(f"{data.info.name}: {data.source} ({data.origin}); rows: {rows}", markup=False)
        show_notes(data.info.name, data.notes)
    err.print(f"device: {device}", markup=False)


def review_checkpoints(jobs: Sequence[Job], config: RunConfig) -> None:
    """Print which fits continue from a checkpoint, and which cannot."""
    paths = [job.checkpoint for job in jobs if isinstance(job, FitJob) and job.checkpoint]
    if config.rerun is Rerun.ALL:
        for path in paths:
            checkpoints.drop(path)
    for line in checkpoints.review(paths):
        err.print(line, markup=False)
