"""``fairbench audit``: of anyone's arrays, or of the representations that a store keeps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from fairbench.cli.console import err
from fairbench.data.array_files import parse_source, read_sources
from fairbench.errors import ConfigError


def check_form(of_arrays: Sequence[str], of_store: Sequence[str]) -> None:
    """Raise ConfigError unless the options given are those of one of the two uses."""
    if of_arrays and of_store:
        raise ConfigError(
            f"{of_arrays[0]} is for arrays and {of_store[0]} for a store: give --z and --s, or "
            "--results DIR, and not options of both."
        )
    if not of_arrays and "--results" not in of_store and "--store" not in of_store:
        raise ConfigError(
            "Nothing to audit: give --z FILE and --s FILE, or --results DIR for the "
            "representations that a store keeps."
        )
    if of_arrays:
        for name, what in (("--z", "the representation"), ("--s", "the sensitive attribute")):
            if name not in of_arrays:
                raise ConfigError(f"{name} FILE is missing: {what}, as npy, npz, CSV or Parquet.")


def arrays_command(files: Mapping[str, str], *, seed: int, quick: bool, as_json: bool) -> None:
    """Read files, audit what is in them, and print the report, or its JSON and nothing else."""
    # All names are looked at before anything large is read.
    sources = {name: parse_source(name, text) for name, text in files.items()}
    with _progress() as told:
        told("reading files")
        found = read_sources(sources)
        # Loads torch, hence seconds, hence after a mistake in a file's name has been told.
        from fairbench.auditing.arrays import audit

        report = audit(**found, seed=seed, quick=quick, progress=told)
    print(json.dumps(report.to_dict(), indent=2) if as_json else report)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """On a terminal a line with a clock, gone at the end; nothing anywhere else."""
    if not err.is_terminal:
        yield lambda step: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=err, transient=True) as bars:
        task = bars.add_task("", total=None)
        yield lambda step: bars.update(task, description=step)
