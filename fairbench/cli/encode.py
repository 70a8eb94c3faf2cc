"""``fairbench encode``: new rows through a stored encoder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from fairbench.api import Point
from fairbench.cli import options
from fairbench.cli.console import err, say_unused_columns, show_warnings, spinner
from fairbench.cli.plugins import load_plugins
from fairbench.cli.stored_code import warn_of_changed_code
from fairbench.config import split_names
from fairbench.data.unknown import Unknown
from fairbench.models.certified_codes import CertifiedCodes, read_certified_codes
from fairbench.models.encode import (
    FAR,
    EncodingSummary,
    RowEncoder,
    detect_separator,
    make_row_encoder,
    parse_separator,
)
from fairbench.models.lookup import StoredModel, find_model
from fairbench.models.points import describe_point, find_neighbours
from fairbench.models.query import ModelQuery, ResultsLocation, dataset_cards
from fairbench.report.format import format_count
from fairbench.store.records import PointRecord


def encode_command(
    input_: Annotated[
        Path, typer.Option("--input", metavar="FILE", help="New rows: CSV or Parquet, any size.")
    ],
    output: Annotated[
        Path, typer.Option(metavar="FILE", help="File to write z to, .parquet or .csv.")
    ],
    method: options.OfMethod = None,
    dataset: options.OneDataset = None,
    seed: options.OfSeed = None,
    point: options.OfPoint = None,
    unit: options.OfUnit = None,
    unknown: Annotated[
        Unknown,
        typer.Option(
            help="Values not seen in training: refuse them, or replace them by the most common one."
        ),
    ] = Unknown.REFUSE,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar=options.LIST,
            help="Columns of the input to copy to the output, separated by commas.",
        ),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Field separator of a CSV input [default: detected].")
    ] = None,
    random_state: Annotated[
        int | None, typer.Option(min=0, help="Seed of the draws of a stochastic encoder.")
    ] = None,
    results: options.Results = None,
    store: options.StoreUrl = None,
) -> None:
    """Encode new rows with a trained model."""
    columns = split_names(keep) if keep is not None else ()
    given = None if separator is None else parse_separator(separator)
    query = ModelQuery(method, dataset, seed, point, unit)
    location = ResultsLocation(results, store, cards=dataset_cards(dataset))
    model = find_model(query, location, load_plugins())
    show_warnings(model.results.card_data.notes)
    encoder = make_row_encoder(model, point, unknown=unknown, random_state=random_state)
    between = given or detect_separator(input_)
    audited = _audited(model, encoder.point)
    codes = None if audited is None else read_certified_codes(model, audited)
    started, done = time.perf_counter(), 0
    with spinner("reading") as show:

        def report(rows: int) -> None:
            nonlocal done
            if not done:  # not before the file has turned out to be one that can be encoded
                _describe(model, encoder)
            done = rows
            show(f"{rows:,} rows")

        try:
            summary = encoder.encode_file(
                input_, output, keep=columns, separator=between, codes=codes, report=report
            )
        except KeyboardInterrupt:
            err.print(f"Stopped after row {done:,}; {output} was not written.", markup=False)
            raise
    _summarise(summary, encoder, output, time.perf_counter() - started)
    if codes is not None:
        _compare_codes(summary, codes, audited)
    # The last words: what was said before them does not hold of a column that is empty now.
    for warning in encoder.preprocessing.warnings_of(summary.replaced, summary.rows):
        err.print(f"Warning: {warning}", markup=False)


def _audited(model: StoredModel, point: Point | None) -> PointRecord | None:
    """Return the measured point that encodes; None where this very point was not audited."""
    return next((one for one in model.points if point is None or one.label == point.label), None)


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
    if unused := encoder.used.unused:
        err.print(say_unused_columns(unused), markup=False)
    changed = warn_of_changed_code(model)
    audited = _audited(model, point)
    if audited is not None:
        figures = describe_point(audited)
        code = ", of the earlier code" if changed else ""
        err.print(f"Audited figures of this point, on the test set{code}: {figures}", markup=False)
        return
    err.print("This very point was not audited: what its z leaks is not known.", markup=False)
    if point is not None and point.values:
        for neighbour in find_neighbours(point, model.points):
            err.print(f"  audited nearby: {describe_point(neighbour)}", markup=False)


def _summarise(summary: EncodingSummary, encoder: RowEncoder, output: Path, seconds: float) -> None:
    """Print what was replaced, and what was written."""
    for name, replaced in summary.replaced.items():
        substitute = encoder.preprocessing.substitute(name)
        values = format_count(replaced.count, "unknown value")
        err.print(f"{name}: {values} became {substitute}", markup=False)
    for name, count in summary.far.items():
        err.print(
            f"Warning: {name}: {format_count(count, 'number')} more than {FAR:g} standard "
            "deviations from the mean of the training. Is its unit the same?",
            markup=False,
        )
    columns = "z0" if summary.dimensions == 1 else f"z0 to z{summary.dimensions - 1}"
    err.print(f"{summary.rows:,} rows, {columns}, in {seconds:.1f} s: {output}", markup=False)


def _compare_codes(
    summary: EncodingSummary, codes: CertifiedCodes, audited: PointRecord | None
) -> None:
    """Print how many rows have a code that the certificate does not count."""
    if not summary.other_codes:
        bound = None if audited is None else audited.figures.get("certified_mutual_information")
        says = "" if bound is None else f" (I(Z;S) is at most {bound:.3f} nats)"
        err.print(f"All codes are among those that the certificate counts{says}.", markup=False)
        return
    said = (
        f"{summary.other_codes:,} of {format_count(summary.rows, 'row')} "
        f"({summary.other_codes / summary.rows:.2%}) have a code that the certificate does not "
        f"count; of the test rows {codes.overflow:.2%} had one."
    )
    if not codes.are_too_many(summary.other_codes, summary.rows):
        err.print(said, markup=False)
        return
    err.print(
        f"Warning: {said} It does not hold for these rows: audit what you hand out, with "
        "fairbench audit --z and --s.",
        markup=False,
    )
