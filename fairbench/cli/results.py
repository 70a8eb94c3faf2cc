"""``fairbench leaderboard``, ``results export``, ``import`` and ``remove``, and ``clean``."""

from __future__ import annotations

import contextlib
import gzip
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fairbench.cli.across import (
    show_own,
    show_unranked,
    show_verdict,
    tables_across,
    write_across,
)
from fairbench.cli.against import need_own_rows, show_against
from fairbench.cli.console import (
    can_write_tables,
    err,
    out,
    show_comparison,
    show_leaderboard,
    show_problems,
)
from fairbench.cli.options import Against, Results, StoreUrl, complete_datasets
from fairbench.cli.plugins import load_plugins
from fairbench.config import DEFAULT_RESULTS
from fairbench.errors import ConfigError, StoreError, UnknownNameError, nearest
from fairbench.files import remove_file, size_of, write_file
from fairbench.leaderboard import build as tables_of
from fairbench.leaderboard import ranking
from fairbench.leaderboard.across import compare_across
from fairbench.leaderboard.board_file import SUFFIX, read_board
from fairbench.leaderboard.boards import find_board
from fairbench.leaderboard.collections import check_tables, find_collection
from fairbench.leaderboard.frames import to_csv, to_frame
from fairbench.models.query import ResultsLocation
from fairbench.registry import Registry
from fairbench.report.tables import TableFormat, render
from fairbench.runs import job_logs
from fairbench.store import encoders
from fairbench.store import files as artefacts
from fairbench.store.claims import Claims
from fairbench.store.database import Store
from fairbench.store.door import check_origin
from fairbench.store.export import read_export
from fairbench.training import checkpoint_files as checkpoints


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
        bool, typer.Option("--across", help="One verdict over all tables of a collection.")
    ] = False,
    collection: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE", help="Which tables --across is over [default: the newest list]."
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
        if compare is not None or form is not TableFormat.TABLE:
            raise ConfigError("--against prints its own table; leave the other options out.")
        board = find_board(against, registry, dataset)
        need_own_rows(location, board, against, "show")
        raise typer.Exit(show_against(location.open_store(), board, registry, location.folder))
    tables = tables_of.build(location.open_store(), registry)
    if dataset is not None:
        tables = _of_dataset(tables, dataset, registry)
    if compare is not None:
        show_differences(tables, *compare)
        raise typer.Exit(show_problems(tables))
    if form is TableFormat.TABLE:
        for table in tables:
            show_leaderboard(table.dataset, table.leaderboard)
    else:
        sys.stdout.write(render(tables, form))
    if can_write_tables(location.folder / tables_of.LEADERBOARDS):
        for path in tables_of.write_results(tables, location.folder):
            err.print(str(path), markup=False)
    raise typer.Exit(show_problems(tables))


def _of_dataset(
    tables: Sequence[tables_of.Tables], name: str, registry: Registry
) -> list[tables_of.Tables]:
    """The leaderboards of a dataset, its simulated twin's too; ConfigError if none."""
    real = registry.datasets.resolve(name) if name in registry.datasets else name
    chosen = [t for t in tables if t.dataset in (name, real, f"{real}-simulated")]
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


def show_differences(tables: Sequence[tables_of.Tables], a: str, b: str) -> None:
    """Print the difference of two methods, wherever both have a row; ConfigError if nowhere."""
    ranking.check_names([entry for table in tables for entry in table.entries], a, b)
    compared = False
    for table in tables:
        for comparison in ranking.compare(table.entries, a, b):
            compared = True
            show_comparison(table.dataset, comparison)
    if not compared:
        raise ConfigError(
            f"{a} and {b} have no complete rows on one dataset, track, budget and audit.",
            "See what there is: fairbench leaderboard",
        )


def results_export(
    file: Annotated[Path, typer.Argument(help="File to write: JSON lines; .gz is compressed.")],
    results: Results = None,
    store: StoreUrl = None,
) -> None:
    """Write all records to a text file, without representations."""
    lines = list(ResultsLocation(results, store).open_store().export())
    content = "".join(f"{line}\n" for line in lines).encode()
    if file.suffix == ".gz":
        content = gzip.compress(content, mtime=0)  # the same records, the same bytes
    write_file(file, content)
    out.print(f"{len(lines) - 1} records written to {file}", markup=False)


def results_import(
    file: Annotated[Path, typer.Argument(help="Export (.gz is decompressed) or .board file.")],
    results: Results = None,
    store: StoreUrl = None,
    origin: Annotated[
        str | None,
        typer.Option(help="Name that leaderboards show beside the rows [default: FILE's name]."),
    ] = None,
    own: Annotated[
        bool,
        typer.Option("--own", help="Take the rows as made here: a backup, or your other machine."),
    ] = False,
) -> None:
    """Merge exported records by key; your own results are kept."""
    if own and origin is not None:
        raise ConfigError("--own and --origin exclude each other.", "Leave one of them out.")
    try:
        name = None if own else check_origin(file.name if origin is None else origin)
    except ValueError as error:
        raise ConfigError(f"--origin: {error}.") from None
    incoming = read_board(file).all_records() if file.suffix == SUFFIX else read_export(file)
    target = Store.by_url(store) if store else Store.in_folder(results or DEFAULT_RESULTS)
    taken = target.merge(incoming, name)
    counts = ", ".join(f"{count} {name}" for name, count in taken.items())
    out.print(f"Imported {counts}; what was there already is kept.", markup=False)
    if name is not None:
        out.print(
            f"Leaderboards show them as from {name}, where nothing of the kind was made here. "
            f"To take them out: fairbench results remove --origin {shlex.quote(name)}",
            markup=False,
        )


def results_remove(
    origin: Annotated[str, typer.Option(help="Name that the rows were imported under.")],
    results: Results = None,
    store: StoreUrl = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be deleted, and exit.")
    ] = False,
) -> None:
    """Delete imported records; your own results are kept."""
    target = ResultsLocation(results, store).open_store()
    known = target.origins()
    if origin not in known:
        raise UnknownNameError("origin", origin, known)
    out.print(f"{known[origin]} records imported from {origin} are deleted.", markup=False)
    if dry_run:
        return
    if not yes:
        typer.confirm("Delete them?", abort=True)
    out.print(f"{target.remove(origin)} records deleted.")


def clean(
    results: Results = None,
    store: StoreUrl = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be deleted, and exit.")
    ] = False,
) -> None:
    """Delete stored representations, encoders and logs; results stay.

    Where runs keep their results in a database (--store), name it, so that the files of a running
    one are not deleted.
    """
    folder = results or DEFAULT_RESULTS
    stored = artefacts.files(folder / artefacts.FOLDER)
    trained = artefacts.files(folder / encoders.FOLDER)
    unfinished = checkpoints.files(folder)
    logs = job_logs.files(folder)
    files = [*stored, *trained, *unfinished, *logs]
    if not files:  # of a store elsewhere, files are all that is here
        Store.in_folder(folder, create=False)
    size = sum(size_of(path) for path in files)
    out.print(
        f"Representations: {len(stored)} files in {folder / artefacts.FOLDER}; encoders: "
        f"{len(trained)}; checkpoints of unfinished training: {len(unfinished)}; logs of jobs: "
        f"{len(logs)}. {size / 1e6:.1f} MB.\n"
        "They are deleted; records and leaderboards stay. Without them, auditing more points or "
        "encoding new rows needs the models trained again.",
        markup=False,
    )
    if dry_run or not files:
        return
    if not yes:
        typer.confirm("Delete them?", abort=True)
    _check_idle(folder, store)
    for path in files:
        remove_file(path)
    out.print(f"{size / 1e6:.1f} MB freed.")


def _check_idle(folder: Path, store: str | None) -> None:
    """Raise StoreError where a living run uses the files of a results folder.

    ``store``: URL of the database of its runs, where that is not in the folder.
    """
    running = None
    if store is not None:
        running = Claims(ResultsLocation(folder, store).open_store(), "clean").living_holder()
    # Files beside a store that cannot be read, or that has another place, can still be deleted.
    with contextlib.suppress(StoreError):
        running = running or Claims(Store.in_folder(folder, create=False), "clean").living_holder()
    if running is not None:
        raise StoreError(
            f"A run uses these files: {running}. Nothing was deleted.",
            "Wait for it to end (fairbench status), or stop it with Ctrl-C.",
        )
