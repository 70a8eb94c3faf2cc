"""Options that several commands share, each declared once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from fairbench.config import Device, ExecutorName

LIST = "A,B,..."
"""Placeholder, in the help, of a list of values: what takes one is known by it."""


def complete_methods(incomplete: str) -> Iterator[str]:
    """Complete the last of several method names, for the shell."""
    from fairbench.registry import load_registry

    yield from _complete_last(incomplete, (*load_registry().methods.classes, "all"))


def complete_datasets(incomplete: str) -> Iterator[str]:
    """Complete the last of several dataset names, for the shell."""
    from fairbench.registry import load_registry

    datasets = load_registry().datasets.classes.values()
    yield from _complete_last(incomplete, [n for d in datasets for n in (d.name, *d.aliases)])


def _complete_last(incomplete: str, names: tuple[str, ...] | list[str]) -> Iterator[str]:
    before, comma, last = incomplete.rpartition(",")
    yield from (f"{before}{comma}{name}" for name in names if name.startswith(last))


# ---- what to run -----------------------------------------------------------------------------

Datasets = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        metavar=LIST,
        help="Datasets or dataset cards (.yaml), separated by commas.",
        autocompletion=complete_datasets,
    ),
]
OneDataset = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        help="Dataset or dataset card (.yaml) [default: the only one in the results].",
        autocompletion=complete_datasets,
    ),
]
DatasetName = Annotated[
    str,
    typer.Argument(help="Dataset or dataset card (.yaml).", autocompletion=complete_datasets),
]
SeedList = Annotated[str | None, typer.Option(metavar=LIST, help="Seeds, separated by commas.")]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget", help="Training budget: full, quick or a number of iterations [default: full]."
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="BOARD",
        help="Published board to compare with: published (the newest of the dataset), a name from "
        "fairbench board list, or a .board file.",
    ),
]
Points = Annotated[
    int | None, typer.Option(help="Number of points per curve [default: the method's own].")
]

# ---- a stored model --------------------------------------------------------------------------

OfMethod = Annotated[
    str | None,
    typer.Option(
        "--method", help="Method. Required unless --unit is given.", autocompletion=complete_methods
    ),
]
OfSeed = Annotated[
    int | None, typer.Option("--seed", help="Seed of the model [default: the first].")
]
OfPoint = Annotated[
    str | None,
    typer.Option("--point", metavar="KNOB=VALUE", help="Point of the curve, such as beta=0.3."),
]
OfUnit = Annotated[
    str | None,
    typer.Option(
        "--unit",
        metavar="KEY",
        help="Key of the model, or its first digits, as printed by recommend.",
    ),
]

# ---- files -----------------------------------------------------------------------------------


def _expand(folder: Path | None) -> Path | None:
    """Expand ``~``: shells do not in ``--results=~/here``."""
    return folder and folder.expanduser()


Results = Annotated[
    Path | None,
    typer.Option(
        "--results", help="Results folder [default: ./fairbench-results].", callback=_expand
    ),
]
StoreUrl = Annotated[
    str | None,
    typer.Option("--store", help="Database URL [default: the SQLite file in the results folder]."),
]
DataRoot = Annotated[
    Path | None,
    typer.Option(
        "--data-root", help="Folder with data files [default: FAIRBENCH_DATA].", callback=_expand
    ),
]
RealDataOnly = Annotated[
    bool | None,
    typer.Option(
        "--require-real-data", help="Fail where real files are missing, instead of simulating."
    ),
]
Formats = Annotated[
    str,
    typer.Option(
        "--format",
        metavar=LIST,
        help="File formats of the figures, separated by commas: png, pdf, svg.",
    ),
]

# ---- how to run jobs ---------------------------------------------------------------------------

TrainOn = Annotated[
    Device | None, typer.Option("--device", help="Device to train on [default: auto].")
]
ExecutorOption = Annotated[
    ExecutorName | None, typer.Option("--executor", help="How jobs are run [default: inline].")
]
RayAddress = Annotated[
    str | None, typer.Option(help="Ray cluster to join [default: one on this machine].")
]
InProcess = Annotated[
    bool | None, typer.Option("--in-process", help="Run jobs in this process, for debuggers.")
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Number of concurrent jobs [default: one per core]."),
]
Timeout = Annotated[str | None, typer.Option(help="Time limit of a job, such as 90s, 30m or 2h.")]
