"""``fairbench model-card``: what is known of one stored point, as Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbench.cli import options
from fairbench.cli.console import err, show_warnings
from fairbench.cli.outputs import keep_other_kinds
from fairbench.cli.plugins import load_plugins
from fairbench.cli.stored_code import warn_of_changed_code
from fairbench.errors import ConfigError, FairbenchError
from fairbench.files import write_file
from fairbench.models.certify import SelectedCertificate
from fairbench.models.lookup import StoredPoint, find_model
from fairbench.models.query import ModelQuery, ResultsLocation, dataset_cards
from fairbench.report.model_card import model_card


def model_card_command(
    method: options.OfMethod = None,
    dataset: options.OneDataset = None,
    seed: options.OfSeed = None,
    point: options.OfPoint = None,
    unit: options.OfUnit = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write [default: print the card].")
    ] = None,
    results: options.Results = None,
    data_root: options.DataRoot = None,
    store: options.StoreUrl = None,
) -> None:
    """Write the model card of a trained encoder (Markdown): data, leakage, limits, commands."""
    check_card_file(output)
    query = ModelQuery(method, dataset, seed, point, unit)
    location = ResultsLocation(results, store, data_root, dataset_cards(dataset))
    stored = find_model(query, location, load_plugins()).measured_point(point)
    show_warnings(stored.model.results.card_data.notes)
    warn_of_changed_code(stored.model)
    text = make_card(stored)
    if output is None:
        print(text, end="")
    else:
        write_card(output, text)


def make_card(stored: StoredPoint, certificate: SelectedCertificate | None = None) -> str:
    """Make the model card of a stored point; warn where its data are not available."""
    problem = stored.model.data_or_error
    if isinstance(problem, FairbenchError):
        err.print(f"Rows of roles are left out of the card: {problem.message}", markup=False)
    return model_card(stored, certificate)


def check_card_file(output: Path | None) -> None:
    """Raise ConfigError where a file to write is one of another kind, by its name."""
    if output is not None and output.suffix.lower() in (".yaml", ".yml"):
        raise ConfigError(
            f"{output} is named like a dataset card; a model card is Markdown.",
            f"Write it to a .md file: {output.with_suffix('.md').name}",
        )
    keep_other_kinds(output, ".md", ".markdown", ".txt")


def write_card(output: Path, text: str) -> None:
    """Write a card to a file; StoreError where that is not possible."""
    write_file(output, text.encode())
    err.print(str(output), markup=False)
