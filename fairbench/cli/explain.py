"""``fairbench explain``: the bits of a method's code, for methods that have bits."""

from __future__ import annotations

from typing import Annotated

import typer

from fairbench.cli import options
from fairbench.cli.console import err, out
from fairbench.cli.plugins import load_plugins
from fairbench.cli.report import split_formats, write, write_figure
from fairbench.files.paths import within
from fairbench.metrics.rows import DEFAULT
from fairbench.models.query import ModelQuery, ResultsLocation, dataset_cards
from fairbench.models.select import KEY_DIGITS
from fairbench.report.bits import bits_figure, information_figure
from fairbench.report.explain import (
    bits_csv,
    explain_bits,
    find_explained_model,
    information_csv,
)


def explain_command(
    method: Annotated[
        str | None, typer.Argument(help="Single-shot method with bits, such as sofair.")
    ] = None,
    dataset: options.OneDataset = None,
    seed: options.OfSeed = None,
    unit: options.OfUnit = None,
    formats: options.Formats = "png,pdf",
    results: options.Results = None,
    store: options.StoreUrl = None,
    data_root: options.DataRoot = None,
) -> None:
    """Show which bits of a representation are released as the constraint loosens."""
    extensions = split_formats(formats)
    query = ModelQuery(method, dataset, seed, unit=unit)
    location = ResultsLocation(results, store, data_root, dataset_cards(dataset))
    model = find_explained_model(query, location, load_plugins())
    explanation = explain_bits(model)
    title, key = model.unit.title, model.unit.key[:KEY_DIGITS]
    stem = f"{model.unit.dataset}-{model.unit.method}-seed{model.unit.seed}"
    if model.unit.params_label != DEFAULT:
        stem, title = f"{stem}-{key}", f"{title}, model {key}"
    target = location.folder / "explain"
    path = within(target, stem)
    figures = {"bits": bits_figure(explanation.tables, title)}
    if explanation.steps:
        figures["information"] = information_figure(explanation.steps, title)
    write(path.with_name(f"{stem}-bits.csv"), bits_csv(explanation.tables))
    write(path.with_name(f"{stem}-information.csv"), information_csv(explanation.steps))
    err.print(str(target / f"{stem}-bits.csv"), markup=False)
    for kind, figure in figures.items():
        write_figure(path.with_name(f"{stem}-{kind}"), figure, extensions)
    information = {p.label: p.figures["mutual_information"] for p in model.points}
    for step in explanation.steps:
        before, after = information.get(step.before), information.get(step.after)
        out.print(step.sentence(before, after), markup=False)
