"""``fairbench plot``: figures for papers."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairbench.cli.across import tables_across
from fairbench.cli.console import err
from fairbench.cli.nothing import nothing_measured, nothing_replicated
from fairbench.cli.options import LIST, Against, Formats, Results, StoreUrl, complete_datasets
from fairbench.cli.plugins import load_plugins
from fairbench.config import split_names
from fairbench.errors import ConfigError, StoreError, UnknownNameError, nearest
from fairbench.files import write_file
from fairbench.files.paths import within
from fairbench.leaderboard.across import compare_across
from fairbench.leaderboard.boards import find_board
from fairbench.leaderboard.collections import find_collection
from fairbench.models.query import ResultsLocation
from fairbench.registry import Registry
from fairbench.report import figures
from fairbench.report.across_figure import across_figure
from fairbench.report.auditors_figure import auditors_figure
from fairbench.report.gather import DatasetReport, gather, gather_boards
from fairbench.report.identity import Identities
from fairbench.report.panels import Panel
from fairbench.report.ranks_figure import ranks_figure
from fairbench.report.shift_figure import shift_figure
from fairbench.report.style import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "pdf", "svg")

_OF_PANELS = {
    "curves": figures.curves_figure,
    "fronts": figures.fronts_figure,
    "transfer": figures.transfer_figure,
    "shift": shift_figure,
    "cost": figures.cost_figure,
    "ranks": ranks_figure,
}
_NEEDED_COLUMNS = {"transfer": "transfer_at_leakage_10", "shift": "shift_leakage_change"}
"""Of figures that few datasets have anything for."""
_WHERE_FROM = {
    "transfer": "They come from runs on datasets with unseen tasks, such as adults-gender-unseen.",
    "shift": "They come from fairbench run --shift COLUMN.",
}
_AUDITORS, _ACROSS = "auditors", "across"


def plot(
    kind: Annotated[
        str,
        typer.Argument(
            help="Kind of figure: curves, fronts, transfer, shift, cost, ranks, auditors, all, or "
            "across."
        ),
    ] = "all",
    dataset: Annotated[
        str | None,
        typer.Option(help="Dataset [default: all].", autocompletion=complete_datasets),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(metavar=LIST, help="Methods to draw, separated by commas [default: all]."),
    ] = None,
    highlight: Annotated[
        str | None,
        typer.Option(
            metavar=LIST,
            help="Methods to draw in colour, separated by commas; the others are grey.",
        ),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Collection of across: a name or a YAML file [default: the newest].",
        ),
    ] = None,
    formats: Formats = "png,pdf",
    results: Results = None,
    store: StoreUrl = None,
    against: Against = None,
    output: Annotated[
        Path | None, typer.Option(help="Folder to write to [default: figures in the results].")
    ] = None,
) -> None:
    """Draw figures for a paper: curves, fronts, unseen tasks, cost, ranks, auditors."""
    registry, location = load_plugins(), ResultsLocation(results, store)
    kinds = (*_OF_PANELS, _AUDITORS, _ACROSS)
    if kind not in ("all", *kinds):
        raise UnknownNameError("kind of figure", kind, ["all", *kinds])
    extensions = split_formats(formats)
    folder = output or location.folder / "figures"
    if kind == _ACROSS:
        if any(option is not None for option in (dataset, methods, highlight)):
            raise ConfigError(
                "across draws all methods and tables of a collection.",
                "Leave --dataset, --methods and --highlight out.",
            )
        _plot_across(location, registry, collection, against, folder, extensions)
        return
    if collection is not None:
        raise ConfigError(
            f"--collection works only with the figure across, not with {kind}.",
            "Leave --collection out, or draw: fairbench plot across",
        )
    reports = _reports_to_draw(location, registry, against, dataset)
    drawn = 0
    for one in _with_methods(reports, methods, highlight):
        for each in _kinds_of(one):
            if kind not in ("all", each):
                continue
            stem = within(folder, f"{one.name}-{each}")
            write_figure(stem, _draw(each, one), extensions)
            drawn += 1
    if not drawn:
        raise StoreError(
            f"No dataset here has results for a figure of {kind}.",
            _WHERE_FROM[kind],
        )


def _reports_to_draw(
    location: ResultsLocation, registry: Registry, against: str | None, dataset: str | None
) -> tuple[DatasetReport, ...]:
    """What there is on a dataset, or on all; without own results, what is on a board alone."""
    board = None if against is None else find_board(against, registry, dataset)
    if board is not None and not location.has_results:
        gathered = gather_boards([board], registry)
    else:
        gathered = gather(location.open_store(), registry, board)
    known = {one.name: one for one in gathered.datasets}
    if not known:
        raise nothing_measured()
    if dataset is None:
        return gathered.datasets
    if dataset not in known and dataset in registry.datasets:
        dataset = registry.datasets.resolve(dataset)
    if dataset not in known:
        raise ConfigError(f"There are no results on {dataset!r}.", nearest(dataset, known))
    return (known[dataset],)


def _with_methods(
    datasets: Sequence[DatasetReport], methods: str | None, highlight: str | None
) -> tuple[DatasetReport, ...]:
    """Leave out, or draw faintly, what is not asked for; UnknownNameError for what is nowhere."""
    found = {row.method for one in datasets for panel in one.panels for row in panel.rows}
    shown, lit = (split_names(text) if text else () for text in (methods, highlight))
    for name in (*shown, *lit):
        if name not in found:
            raise ConfigError(f"There are no results of {name!r}.", nearest(name, found))

    def changed(panel: Panel) -> Panel:
        kept = panel.only((*shown, *lit)) if shown else panel
        return replace(kept, highlighted=lit or kept.highlighted)

    return tuple(
        replace(one, panels=panels)
        for one in datasets
        if (panels := tuple(panel for panel in map(changed, one.panels) if panel.rows))
    )


def _plot_across(
    location: ResultsLocation,
    registry: Registry,
    name: str | None,
    against: str | None,
    folder: Path,
    extensions: Sequence[str],
) -> None:
    """Draw the verdicts over the tables of a collection, one figure each."""
    collection = find_collection(name, registry)
    tables = tables_across(location, registry, collection, against).tables
    verdicts, _ = compare_across(tables, collection, registry)
    if not verdicts:
        raise nothing_replicated(collection.name)
    for verdict in verdicts:
        words = [collection.name, *verdict.group, verdict.measure.replace("_", "-")]
        stem = within(folder, "-".join(["across", *words]))
        write_figure(stem, across_figure(verdict, Identities.of(registry)), extensions)


def _kinds_of(dataset: DatasetReport) -> Iterator[str]:
    """Figures that there is something to draw in."""
    for kind in (*_OF_PANELS, _AUDITORS):
        needs = _NEEDED_COLUMNS.get(kind)
        if needs is None or any(panel.measures(needs) for panel in dataset.panels):
            yield kind


def _draw(kind: str, dataset: DatasetReport) -> Figure:
    if kind == _AUDITORS:
        return auditors_figure(dataset.panels, dataset.auditors)
    return _OF_PANELS[kind](dataset.panels)


def split_formats(text: str) -> tuple[str, ...]:
    """Split the formats of figures; UnknownNameError where one is unknown."""
    names = tuple(dict.fromkeys(split_names(text)))
    for name in names:
        if name not in FORMATS:
            raise UnknownNameError("format", name, FORMATS)
    return names


def write_figure(stem: Path, figure: Figure, extensions: Sequence[str]) -> None:
    """Write a figure in some formats, and print the paths; equal figures give equal bytes."""
    for extension in extensions:
        metadata: Mapping[str, None] = {
            "png": {"Software": None},
            "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
            "svg": {"Date": None, "Creator": None},
        }[extension]
        buffer = io.BytesIO()
        with styled():
            figure.savefig(buffer, format=extension, metadata=metadata)
        path = stem.with_name(f"{stem.name}.{extension}")
        write_file(path, buffer.getvalue())
        err.print(str(path), markup=False)
