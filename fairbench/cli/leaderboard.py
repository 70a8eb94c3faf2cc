"""``fairbench leaderboard``: the tables of a store, of a collection, or beside a board."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from fairbench.cli.across import show_own, show_unranked, show_verdict, tables_across, write_across
from fairbench.cli.against import need_own_rows, show_against, show_compared_rows
from fairbench.cli.console import (
    can_write_tables,
    err,
    show_differences,
    show_leaderboard,
    show_problems,
)
from fairbench.cli.nothing import nothing_measured, nothing_replicated
from fairbench.cli.options import Against, Results, StoreUrl, complete_datasets
from fairbench.cli.plugins import load_plugins
from fairbench.cli.stored_code import note_other_code
from fairbench.errors import ConfigError, StoreError, nearest
from fairbench.files.paths import twin_name
from fairbench.leaderboard import build as tables_of
from fairbench.leaderboard.across import compare_across
from fairbench.leaderboard.boards import find_board
from fairbench.leaderboard.collections import check_tables, find_collection
from fairbench.leaderboard.frames import to_csv, to_frame
from fairbench.leaderboard.select import read
from fairbench.models.query import ResultsLocation
from fairbench.registry import Registry
from fairbench.report.comparisons import describe_differences
from fairbench.report.tables import TableFormat, render


def leaderboard(
    results: Results = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="Dataset [default: all].", autocompletion=complete_datasets),
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Two methods: print their difference, its confidence interval and p-value only.",
        ),
    ] = None,
    form: Annotated[
        TableFormat, typer.Option("--format", help="Format to print in.")
    ] = TableFormat.TABLE,
    across: Annotated[
        bool, typer.Option("--across", help="Compare the methods over all tables of a collection.")
    ] = False,
    collection: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Collection of --across: a name or a YAML file [default: the newest].",
        ),
    ] = None,
    against: Against = None,
    store: StoreUrl = None,
) -> None:
    """Print the leaderboards, and write them as CSV files."""
    registry, location = load_plugins(), ResultsLocation(results, store)
    if across or collection is not None:
        if compare is not None:
            raise ConfigError("--across and --compare cannot be used together.", "Leave one out.")
        if dataset is not None:
            raise ConfigError(
                "--across is over the tables of a collection.",
                "Leave --dataset out, or leave --across out.",
            )
        show_across(location, registry, collection, form, against)
        return
    if against is not None:
        if form is not TableFormat.TABLE:
            raise ConfigError("--against prints its own table.", "Leave --format out.")
        board = find_board(against, registry, dataset)
        if compare is not None:
            raise typer.Exit(show_compared_rows(location, board, against, registry, *compare))
        need_own_rows(location, board, against, "show")
        raise typer.Exit(show_against(location.open_store(), board, registry, location.folder))
    records = read(location.open_store())
    tables = tables_of.build_tables(records, registry)
    if dataset is not None:
        tables = _of_dataset(tables, dataset, registry)
    if not tables:
        raise nothing_measured()
    if compare is not None:
        if form is not TableFormat.TABLE:
            raise ConfigError("--compare prints text.", "Leave --format out.")
        show = shlex.join(["leaderboard", *location.options])
        show_differences(describe_differences(tables, *compare, show=show))
        raise typer.Exit(show_problems(tables))
    if form is TableFormat.TABLE:
        for table in tables:
            show_leaderboard(table.dataset, table.leaderboard)
    else:
        sys.stdout.write(render(tables, form))
    if can_write_tables(location.folder / tables_of.LEADERBOARDS):
        for path in tables_of.write_results(tables, location.folder):
            err.print(str(path), markup=False)
    shown = {table.dataset for table in tables}
    note_other_code((u for u in records.units if u.table in shown), registry)
    raise typer.Exit(show_problems(tables))


def _of_dataset(
    tables: Sequence[tables_of.Tables], name: str, registry: Registry
) -> list[tables_of.Tables]:
    """The leaderboards of a dataset, its simulated twin's too; ConfigError if none."""
    real = registry.datasets.resolve(name) if name in registry.datasets else name
    chosen = [t for t in tables if t.dataset in (name, real, twin_name(real))]
    if not chosen:
        raise ConfigError(
            f"There are no results on {name!r}.", nearest(name, [t.dataset for t in tables])
        )
    return chosen


def show_across(
    location: ResultsLocation,
    registry: Registry,
    name: str | None,
    form: TableFormat,
    against: str | None,
) -> None:
    """Print a verdict over the tables of a collection, and write it as a CSV file."""
    collection = find_collection(name, registry)
    found = tables_across(location, registry, collection, against)
    check_tables(collection, {table.dataset for table in found.tables}, registry)
    verdicts, unranked = compare_across(found.tables, collection, registry)
    if not verdicts and not unranked:
        names = ", ".join(table.dataset for table in collection.tables)
        raise StoreError(
            f"Nothing of the collection {collection.name} has been measured yet.",
            f"Its tables: {names}. What is published: fairbench leaderboard --across --against "
            "published",
        )
    if form is TableFormat.CSV or form is TableFormat.JSON:
        if not verdicts:
            raise nothing_replicated(collection.name)
        rows = [row.cells() for verdict in verdicts for row in verdict.rows]
        text = to_csv(to_frame(rows)) if form is TableFormat.CSV else json.dumps(rows, indent=1)
        sys.stdout.write(text.rstrip("\n") + "\n")
    elif form is TableFormat.TABLE:
        for verdict in verdicts:
            show_verdict(verdict, found.own)
        for shown in unranked:
            show_unranked(shown)
        show_own(found)
    else:
        raise ConfigError(
            f"--across has no {form.value} table.", "Use --format table, csv or json."
        )
    if verdicts and can_write_tables(location.folder / tables_of.LEADERBOARDS):
        named = collection.name if against is None else f"{collection.name}-and-mine"
        write_across(verdicts, named, location.folder)
