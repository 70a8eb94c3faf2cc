"""``fairbench encode``: new rows through a stored encoder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from fairbench.cli.console import err
from fairbench.cli.options import (
    OfMethod,
    OfPoint,
    OfSeed,
    OfUnit,
    OneDataset,
    Results,
    StoreUrl,
)
from fairbench.cli.plugins import load_plugins
from fairbench.config import split_names
from fairbench.data.unknown import Unknown
from fairbench.models.encode import EncodeConfig, EncodingSummary, RowEncoder, make_row_encoder
from fairbench.models.lookup import StoredModel, find_model
from fairbench.models.points import describe_point, find_neighbours
from fairbench.models.query import ModelQuery, ResultsLocation, dataset_cards


def encode_command(
    input_: Annotated[
        Path, typer.Option("--input", metavar="FILE", help="New rows: CSV or Parquet, any size.")
    ],
    output: Annotated[
        Path, typer.Option(metavar="FILE", help="File to write z to, .parquet or .csv.")
    ],
    method: OfMethod = None,
    dataset: OneDataset = None,
    seed: OfSeed = None,
    point: OfPoint = None,
    unit: OfUnit = None,
    unknown: Annotated[
        Unknown,
        typer.Option(
            help="Values not seen in training: refuse them, or replace them by the most common one."
        ),
    ] = Unknown.REFUSE,
    keep: Annotated[
        str | None,
        typer.Option(help="Columns of the input to copy to the output, separated by commas."),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Field separator of a CSV input [default: detected].")
    ] = None,
    random_state: Annotated[
        int | None, typer.Option(min=0, help="Seed of the draws of a stochastic encoder.")
    ] = None,
    results: Results = None,
    store: StoreUrl = None,
) -> None:
    """Encode new rows with a trained model."""
    columns = split_names(keep) if keep is not None else ()
    config = EncodeConfig(input_, output, unknown, columns, separator, random_state)
    query = ModelQuery(method, dataset, seed, point, unit)
    location = ResultsLocation(results, store, cards=dataset_cards(dataset))
    model = find_model(query, location, load_plugins())
    encoder = make_row_encoder(model, point, unknown=unknown, random_state=random_state)
    field_separator = config.field_separator()
    started = time.perf_counter()
    with _progress(output) as show_rows:
        described = False

        def report(rows: int) -> None:
            nonlocal described
            if not described:  # not before the file has turned out to be one that can be encoded
                _describe(model, encoder)
                described = True
            show_rows(rows)

        summary = encoder.encode_file(
            config.input, config.output, keep=config.keep, separator=field_separator, report=report
        )
    _summarise(summary, encoder, output, time.perf_counter() - started)


def _describe(model: StoredModel, encoder: RowEncoder) -> None:
    """Print which model and point encode, and the audited figures of the point."""
    unit, point = model.unit, encoder.point
    label = "" if point is None or not point.values else f", {point.label}"
    err.print(f"{unit.title}{label} ({unit.params_label}, budget {unit.budget})", markup=False)
    if unit.simulated:
        err.print(
            "SIMULATED DATA: this encoder was trained on a simulated twin, not on real data.",
            markup=False,
        )
    known = [p for p in model.points if point is None or p.label == point.label]
    if known:
        figures = describe_point(known[0])
        err.print(f"Audited figures of this point, on the test set: {figures}", markup=False)
        return
    err.print("This very point was not audited: what its z leaks is not known.", markup=False)
    if point is not None and point.values:
        for neighbour in find_neighbours(point, model.points):
            err.print(f"  audited nearby: {describe_point(neighbour)}", markup=False)


@contextmanager
def _progress(output: Path) -> Iterator[Callable[[int], None]]:
    """Show the number of rows on a terminal; an interruption prints it."""
    done = 0

    def show_rows(rows: int) -> None:
        nonlocal done
        done = rows
        if bars is not None:
            bars.update(task, description=f"{rows:,} rows")

    bars = None
    if err.is_terminal:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
        bars = Progress(*columns, console=err, transient=True)
        task = bars.add_task("reading", total=None)
        bars.start()
    try:
        yield show_rows
    except KeyboardInterrupt:
        err.print(f"Stopped after row {done:,}; {output} was not written.", markup=False)
        raise
    finally:
        if bars is not None:
            bars.stop()


def _summarise(summary: EncodingSummary, encoder: RowEncoder, output: Path, seconds: float) -> None:
    """Print what was replaced, and what was written."""
    for name, count in summary.replaced.items():
        substitute = encoder.preprocessing.substitute(name)
        err.print(f"{name}: {count:,} unknown values became {substitute}", markup=False)
    columns = "z0" if summary.dimensions == 1 else f"z0 to z{summary.dimensions - 1}"
    err.print(f"{summary.rows:,} rows, {columns}, in {seconds:.1f} s: {output}", markup=False)
