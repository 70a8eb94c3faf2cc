"""``fairbench audit --z FILE --s FILE``: audit arrays from files."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from fairbench.cli.console import spinner
from fairbench.cli.options import Against, DataRoot, complete_datasets
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
        typer.Option(
            metavar="FILE[:COLUMN]",
            help="Sensitive attribute of each row. Required unless --dataset is given.",
        ),
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
    people: Annotated[
        str | None,
        typer.Option(
            metavar="FILE[:COLUMN]",
            help="Person of each row, where people have several rows.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the split and of the auditors [default: drawn].")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a light audit: a first look.")
    ] = False,
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            help="Dataset whose rows, all of them and in their order, z encodes; instead of --s.",
            autocompletion=complete_datasets,
        ),
    ] = None,
    against: Against = None,
    data_root: DataRoot = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Audit arrays of your own: how much does z leak about s?"""
    files = {"z": z, "s": s, "y": y, "x": x, "roles": roles, "people": people}
    # All names are checked before anything large is read.
    sources = {name: parse_source(name, text) for name, text in files.items() if text is not None}
    if dataset is not None and "z" in sources:
        if len(sources) > 1 or seed is not None:
            raise ConfigError(
                "With --dataset, s, y, x, roles, people and seed are the dataset's.",
                "Leave --s, --y, --x, --roles, --people and --seed out.",
            )
        from fairbench.cli.audit_encodings import audit_encodings

        audit_encodings(
            sources["z"],
            dataset,
            against=against,
            quick=quick,
            data_root=data_root,
            as_json=as_json,
        )
        return
    if against is not None:
        raise ConfigError("--against needs the dataset of the board.", "Add --dataset NAME.")
    for name, what in (("z", "the representation"), ("s", "the sensitive attribute")):
        if name not in sources:
            raise ConfigError(
                f"--{name} FILE is missing: {what}, as npy, npz, CSV or Parquet; where z encodes "
                "the rows of a dataset, give --z FILE and --dataset NAME."
            )
    with spinner("reading files") as show_step:
        arrays = read_sources(sources)
        # Loads torch, hence seconds, hence after a mistake in a file's name has been reported.
        from fairbench.auditing.arrays import audit

        report = audit(**arrays, seed=seed, quick=quick, progress=show_step)
    print(json.dumps(report.to_dict(), indent=2) if as_json else report)
