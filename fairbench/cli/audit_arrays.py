"""``fairbench audit --z FILE --s FILE``: audit arrays from files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import typer

from fairbench.cli.console import err
from fairbench.data.array_files import ArraySource, parse_source, read_sources
from fairbench.errors import ConfigError


@dataclass(frozen=True)
class ArrayAudit:
    """An audit of arrays from files.

    Parameters
    ----------
    sources : tuple of ArraySource
        Files of z and s, and possibly of y, x and roles.
    seed : int
        Seed of the split and of the auditors.
    quick : bool
        Whether the audit is a light one.
    """

    sources: tuple[ArraySource, ...]
    seed: int
    quick: bool

    def __post_init__(self) -> None:
        names = [source.name for source in self.sources]
        for name, what in (("z", "the representation"), ("s", "the sensitive attribute")):
            if name not in names:
                raise ConfigError(f"--{name} FILE is missing: {what}, as npy, npz, CSV or Parquet.")


def audit_arrays_command(
    z: Annotated[
        str | None,
        typer.Option(
            metavar="FILE[:COLUMNS]",
            help="Representation: npy, npz, or columns of CSV or Parquet. Required.",
        ),
    ] = None,
    s: Annotated[
        str | None,
        typer.Option(metavar="FILE[:COLUMN]", help="Sensitive attribute of each row. Required."),
    ] = None,
    y: Annotated[
        str | None,
        typer.Option(metavar="FILE[:COLUMNS]", help="Task labels of each row, to measure A_y."),
    ] = None,
    x: Annotated[
        str | None,
        typer.Option(
            metavar="FILE[:COLUMNS]",
            help="Features that z was made from, to measure D and I(X;S).",
        ),
    ] = None,
    roles: Annotated[
        str | None,
        typer.Option(
            metavar="FILE[:COLUMN]",
            help="Role of each row: train, validation or test [default: a random split].",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the split and of the auditors [default: 0].")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a light audit: a first look.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Audit arrays of your own: how much does z leak about s?"""
    files = {"z": z, "s": s, "y": y, "x": x, "roles": roles}
    # All names are checked before anything large is read.
    sources = tuple(parse_source(name, text) for name, text in files.items() if text is not None)
    _audit(ArrayAudit(sources, seed or 0, quick), as_json=as_json)


def _audit(config: ArrayAudit, *, as_json: bool) -> None:
    """Read files, audit their arrays, and print the report, or its JSON and nothing else."""
    with _progress() as report_step:
        report_step("reading files")
        arrays = read_sources({source.name: source for source in config.sources})
        # Loads torch, hence seconds, hence after a mistake in a file's name has been reported.
        from fairbench.auditing.arrays import audit

        report = audit(**arrays, seed=config.seed, quick=config.quick, progress=report_step)
    print(json.dumps(report.to_dict(), indent=2) if as_json else report)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Show the step on a terminal, with a clock, until the end; nothing anywhere else."""
    if not err.is_terminal:
        yield lambda step: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=err, transient=True) as bars:
        task = bars.add_task("", total=None)
        yield lambda step: bars.update(task, description=step)
