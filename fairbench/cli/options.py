"""Options that several commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbench.config import Device, ExecutorName

Results = Annotated[
    Path | None, typer.Option("--results", help="Results folder [default: ./fairbench-results].")
]
DataRoot = Annotated[
    Path | None,
    typer.Option("--data-root", help="Folder with data files [default: FAIRBENCH_DATA]."),
]
Executing = Annotated[ExecutorName | None, typer.Option("--executor", help="How to run jobs.")]
RayAddress = Annotated[
    str | None, typer.Option(help="Ray cluster to join [default: one of this machine alone].")
]
InProcess = Annotated[
    bool, typer.Option("--in-process", help="Jobs in this process, for debuggers.")
]
StoreUrl = Annotated[str | None, typer.Option(help="Database URL [default: SQLite].")]
Timeout = Annotated[str | None, typer.Option(help="Limit for a job: 90s, 30m, 2h.")]
OneDataset = Annotated[
    str | None, typer.Option(help="Dataset, or card (.yaml) [default: the only one].")
]
Workers = Annotated[int | None, typer.Option(help="Jobs at a time [default: cores].")]
AskedPoints = Annotated[int | None, typer.Option(help="Points a curve [default: the grid].")]
SeedList = Annotated[str | None, typer.Option(help="Seeds, separated by commas.")]
OfPoint = Annotated[str | None, typer.Option(help='Setting of the knob, "beta=0.3".')]
AskedBudget = Annotated[
    str | None, typer.Option(help="full, quick, or a number of iterations [default: full].")
]
TrainOn = Annotated[Device | None, typer.Option(help="Where to train.")]
Formats = Annotated[str, typer.Option("--format", help="Comma-separated: png, pdf, svg.")]
OfMethod = Annotated[str | None, typer.Option(help="Method; needed but with --unit.")]
OfUnit = Annotated[
    str | None, typer.Option(metavar="KEY", help="Start of the key, where several models fit.")
]
RealDataOnly = Annotated[bool, typer.Option("--require-real-data", help="Refuse simulated twins.")]
OfSeed = Annotated[int | None, typer.Option(help="Seed of the model [default: the first].")]
DatasetName = Annotated[str, typer.Argument(help="Dataset, or the card (.yaml) of an own table.")]
