"""``fairbench explain``: the bits of a method's code, and of images what is left of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from fairbench.api import Shots
from fairbench.cli import options
from fairbench.cli.console import err, out, show_warnings
from fairbench.cli.plot import split_formats, write_figure
from fairbench.cli.plugins import load_plugins
from fairbench.errors import StoreError
from fairbench.files import write_file
from fairbench.files.paths import within
from fairbench.metrics.rows import DEFAULT
from fairbench.models.bits import explain_bits, find_explained_model
from fairbench.models.query import ModelQuery, ResultsLocation, dataset_cards
from fairbench.models.reconstructions import image_shape, read_reconstructions
from fairbench.models.results import StoredResults
from fairbench.models.select import KEY_DIGITS, resolve_dataset, stored_method
from fairbench.registry import Registry
from fairbench.report.bits import bits_figure, information_figure
from fairbench.report.explain import bits_csv, information_csv
from fairbench.report.reconstructions import reconstructions_figure


def explain_command(
    method: Annotated[
        str | None,
        typer.Argument(
            help="Single-shot method with bits, such as sofair; for images any method "
            "[default for images: all]."
        ),
    ] = None,
    dataset: options.OneDataset = None,
    seed: options.OfSeed = None,
    unit: options.OfUnit = None,
    formats: options.Formats = "png,pdf",
    results: options.Results = None,
    store: options.StoreUrl = None,
    data_root: options.DataRoot = None,
) -> None:
    """Show which bits of a representation are released as the knob loosens.

    For datasets of images, draw the reconstructions at each setting.
    """
    extensions = split_formats(formats)
    query = ModelQuery(method, dataset, seed, unit=unit)
    location = ResultsLocation(results, store, data_root, dataset_cards(dataset))
    registry = load_plugins()
    stored = StoredResults.open(location, registry)
    drawn = dataset is not None and _draw_images(query, stored, extensions)
    if drawn and (method is None or not _has_curve_of_bits(method, registry)):
        return
    model = find_explained_model(query, stored)
    show_warnings(model.results.card_data.notes)
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
    tables = {"bits": bits_csv(explanation.tables)}
    if explanation.steps:
        tables["information"] = information_csv(explanation.steps)
    for kind, content in tables.items():
        write_file(path.with_name(f"{stem}-{kind}.csv"), content)
        err.print(str(target / f"{stem}-{kind}.csv"), markup=False)
    for kind, figure in figures.items():
        write_figure(path.with_name(f"{stem}-{kind}"), figure, extensions)
    information = {p.label: p.figures["mutual_information"] for p in model.points}
    for step in explanation.steps:
        before, after = information.get(step.before), information.get(step.after)
        out.print(step.sentence(before, after), markup=False)


def _has_curve_of_bits(method: str, registry: Registry) -> bool:
    one = registry.methods[registry.methods.resolve(method)]
    return one.has_bits and one.shots is Shots.SINGLE


def _draw_images(query: ModelQuery, stored: StoredResults, extensions: Sequence[str]) -> bool:
    """Write the figure of reconstructions by the models of one dataset; False for a table."""
    registry, folder = stored.registry, stored.folder
    fitted = stored.fitted_units()
    table = resolve_dataset(fitted, query.dataset, registry)
    dataset = next(one.dataset for one in fitted if one.table == table)
    image = image_shape(dataset, registry)
    if image is None:
        return False
    method = None if query.method is None else stored_method(query.method, fitted, registry)
    # Those of leaderboards, unless one is named: a model trained again is another curve.
    counted = stored.leaderboard_records.units if query.unit is None else fitted
    units = [
        unit
        for unit in counted
        if unit.done
        and unit.table == table
        and (method is None or unit.method == method)
        and (query.seed is None or unit.seed == query.seed)
        and (query.unit is None or unit.key.startswith(query.unit))
    ]
    rows = read_reconstructions(folder, units, image)
    if not rows:
        raise StoreError(
            f"No reconstructions of {table} are in {folder}.",
            "Train methods on it first: fairbench run --methods sofair --dataset " + dataset,
        )
    stem = table if method is None else f"{table}-{method}"
    path = within(folder / "explain", f"{stem}-reconstructions")
    write_figure(path, reconstructions_figure(rows, table), extensions)
    return True
