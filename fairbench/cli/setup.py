"""Steps that several commands take before they run jobs: configuration, data, store."""

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
"""Of one run; more is a slip of the finger."""


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


def review_checkpoints(jobs: Sequence[Job], config: RunConfig) -> None:
    """Tell which fits go on where they were, and which cannot."""
    paths = [job.checkpoint for job in jobs if isinstance(job, FitJob) and job.checkpoint]
    if config.rerun is Rerun.ALL:
        for path in paths:
            checkpoints.drop(path)
    for line in checkpoints.review(paths):
        err.print(line, markup=False)
