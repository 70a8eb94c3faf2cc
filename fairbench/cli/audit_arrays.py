"""``fairbench audit --z FILE --s FILE``: audit arrays from files."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from fairbench.cli.console import spinner
from fairbench.data.array_files import parse_source, read_sources
from fairbench.errors import ConfigError


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
    sources = {name: parse_source(name, text) for name, text in files.items() if text is not None}
    for name, what in (("z", "the representation"), ("s", "the sensitive attribute")):
        if name not in sources:
            raise ConfigError(f"--{name} FILE is missing: {what}, as npy, npz, CSV or Parquet.")
    with spinner("reading files") as show_step:
        arrays = read_sources(sources)
        # Loads torch, hence seconds, hence after a mistake in a file's name has been reported.
        from fairbench.auditing.arrays import audit

        report = audit(**arrays, seed=seed or 0, quick=quick, progress=show_step)
    print(json.dumps(report.to_dict(), indent=2) if as_json else report)
