"""Steps that several commands share before they run jobs: data, store, checkpoints."""

from __future__ import annotations

import datetime as dt
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fairbench.api import Role
from fairbench.api.dataset import Dataset
from fairbench.cli.console import err, show_notes, warn_simulated
from fairbench.config import Rerun, RunConfig
from fairbench.data.card_dataset import CardDataset
from fairbench.data.checks import note_few_rows
from fairbench.data.files import data_root, paths_of_files
from fairbench.data.loading import load_dataset, load_folds
from fairbench.data.prepared import Prepared
from fairbench.data.shift import shifted
from fairbench.errors import ConfigError, DataError, FairbenchError
from fairbench.models.query import ResultsLocation
from fairbench.registry import Registry
from fairbench.report.format import format_count
from fairbench.runs.fit_job import FitJob
from fairbench.runs.job import Job
from fairbench.store.database import Store, make_folder
from fairbench.store.secrets import redact_words
from fairbench.training import checkpoint_files as checkpoints

_SKEW = dt.timedelta(minutes=10)
"""By which clocks of machines that share a store may differ without a word."""


def command_line() -> str:
    """Return the command as it was typed, to be typed again, but for passwords in URLs."""
    return shlex.join(redact_words(["fairbench", *sys.argv[1:]]))


def load_datasets(config: RunConfig, registry: Registry) -> list[Prepared]:
    """Load and prepare the datasets of a run, in all its splits; raise if one cannot be loaded."""
    loaded, failed = try_datasets(config, registry)
    for error in failed.values():
        raise error
    return loaded


def try_datasets(
    config: RunConfig, registry: Registry
) -> tuple[list[Prepared], dict[str, FairbenchError]]:
    """Load the same; return those that can be loaded, and by name the errors of the others.

    Raises the error where there is no dataset without one.
    """
    root, real = config.data_root, config.require_real_data
    loaded: list[Prepared] = []
    failed: dict[str, FairbenchError] = {}
    for dataset in _datasets(config, registry):
        try:
            if config.splits is None:
                loaded.append(load_dataset(dataset, root=root, require_real=real))
            else:
                loaded += load_folds(dataset, config.splits, root=root, require_real=real)
        except FairbenchError as error:
            failed[dataset.name] = error
    if not loaded:
        raise next(iter(failed.values()))
    return loaded, failed


def paths_of_data(config: RunConfig, registry: Registry) -> list[Path]:
    """Return where all data may be that a run or a plugin could load: files, and their folders."""
    paths = [one.card.file for one in _datasets(config, registry) if issubclass(one, CardDataset)]
    roots = [data_root(config.data_root)]
    with suppress(DataError):  # --data-root was given in its place
        roots.append(data_root(None))
    for root in roots:
        paths += paths_of_files(registry.datasets.classes.values(), root)
    return paths


def interrupted(rerun: Rerun | None = None) -> int:
    """Print how to resume after Ctrl-C, and return the exit code; ``rerun``: what was asked for."""
    text = f"\nInterrupted; finished work is stored. Resume with:\n  {command_line()}"
    if rerun is Rerun.ALL:
        text += (
            "\nWith --rerun all it begins again, with all models. What was not yet trained again "
            "keeps its earlier results."
        )
    err.print(text, markup=False)
    return 130


def open_store(results: Path, url: str | None, *, dry_run: bool) -> Store:
    """Open a store by URL, else in the results folder; a dry run leaves no trace."""
    make_folder(results, keep=not dry_run)
    if url:
        return Store.open_or_create(url, create=not dry_run)
    if dry_run and not Store.is_in(results):
        return Store("sqlite://")
    return Store.in_folder(results)


def _datasets(config: RunConfig, registry: Registry) -> list[type[Dataset]]:
    """Return the datasets of a run, each once; two cards must not have one name."""
    by_name: dict[str, type[Dataset]] = {}
    for text in config.datasets:
        dataset = registry.dataset(text)
        if config.shift is not None:
            dataset = shifted(dataset, config.shift)
        if by_name.setdefault(dataset.name, dataset) is not dataset:
            raise ConfigError(
                f"Two dataset cards of this run have the name {dataset.name!r}.",
                "They would share a leaderboard; change `name:` in one of them.",
            )
    return list(by_name.values())


def describe(datasets: list[Prepared], device: str) -> None:
    """Print which data are used, loudly if simulated, and which device."""
    simulated = [data.info.name for data in datasets if data.simulated]
    if simulated:
        warn_simulated(list(dict.fromkeys(simulated)))
    for data in datasets:
        rows = ", ".join(f"{role.value} {len(part.s):,}" for role, part in data.roles.items())
        err.print(f"{data.title}: {data.source} ({data.origin}); rows: {rows}", markup=False)
    for name, notes in {data.info.name: data.notes for data in datasets}.items():
        show_notes(name, notes)
        fewest = min(len(one.roles[Role.VALIDATION].s) for one in datasets if one.info.name == name)
        if (few := note_few_rows(fewest)) is not None:
            show_notes(name, [few])
    err.print(f"device: {device}", markup=False)


def warn_of_clock(store: Store) -> None:
    """Warn where an earlier run is recorded as later than now: tables show what was used last."""
    started = max((run.started for run in store.runs()), default="")
    if started > (dt.datetime.now(dt.UTC) + _SKEW).isoformat(timespec="seconds"):
        err.print(
            f"Warning: an earlier run is recorded as started {started}, later than "
            "now: this clock or that one is wrong. Leaderboards show the code and data that were "
            "used last, so until then they may leave out what is trained now. Set the clock "
            "right, or use other results: --results DIR, or --store URL.",
            markup=False,
        )


def warn_of_metrics(faults: Mapping[str, int], location: ResultsLocation) -> None:
    """Print what metrics raised, and at how many points."""
    for fault, points in faults.items():
        err.print(
            f"Warning: {fault} Its columns are missing at {format_count(points, 'point')}.",
            markup=False,
        )
    if faults:
        where = shlex.join(location.options)
        err.print(f"Fix the error, then measure them: fairbench audit {where}", markup=False)


def review_checkpoints(jobs: Sequence[Job], config: RunConfig) -> None:
    """Print which fits continue from a checkpoint, and which cannot."""
    paths = [job.checkpoint for job in jobs if isinstance(job, FitJob) and job.checkpoint]
    if config.rerun is Rerun.ALL:
        return  # each fit begins anew
    for line in checkpoints.review(paths):
        err.print(line, markup=False)
