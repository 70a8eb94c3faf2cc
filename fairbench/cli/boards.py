"""``fairbench board list``, ``show``, ``page``, ``changes`` and ``export``: published boards."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fairbench.cli.console import (
    err,
    out,
    show_columns,
    show_leaderboard,
    show_problems,
    show_table,
    show_warnings,
)
from fairbench.cli.options import DatasetName, Results, StoreUrl
from fairbench.cli.outputs import keep_other_kinds
from fairbench.cli.plugins import load_plugins
from fairbench.errors import ConfigError, StoreError
from fairbench.files import write_file
from fairbench.leaderboard import build
from fairbench.leaderboard.board import make_board
from fairbench.leaderboard.board_changes import compare_boards
from fairbench.leaderboard.board_file import SUFFIX, from_bytes, read_board, to_bytes
from fairbench.leaderboard.boards import PUBLISHED, find_board, installed_board, models_of
from fairbench.leaderboard.select import read
from fairbench.metrics.rows import LeaderboardRow
from fairbench.models.query import ResultsLocation, dataset_cards
from fairbench.models.results import StoredResults
from fairbench.models.stored_data import find_source
from fairbench.report.format import format_figure
from fairbench.report.gather import gather_boards
from fairbench.report.page import page
from fairbench.report.tables import TableFormat, render
from fairbench.store.records import UnitRecord


def board_list() -> None:
    """List the published boards that are installed."""
    registry = load_plugins()
    rows = []
    for name in sorted(registry.boards):
        try:
            info, models = models_of(name, registry)
        except StoreError as error:  # the others can be shown
            show_warnings([f"{name}: {error.message}"])
            continue
        methods = {(unit.method, unit.params_label) for unit in models}
        folds = f"{info.folds}" if info.folds else "1: no ranks"
        audit = f"{info.audit}, version {info.audit_version}"
        rows.append((name, info.dataset, info.budget, audit, folds, str(len(methods)), info.made))
    if not rows:
        out.print("No published boards are installed.")
        return
    show_table(("board", "dataset", "budget", "audit", "splits", "rows", "made"), rows)


def board_show(
    board: Annotated[str, typer.Argument(help="Name of a board, or a .board file.")],
    form: Annotated[
        TableFormat, typer.Option("--format", help="Format to print in.")
    ] = TableFormat.TABLE,
    output: Annotated[
        Path | None, typer.Option(help="Folder to write its rows and points to, as CSV files.")
    ] = None,
) -> None:
    """Print a published board, and write it as CSV files if asked to."""
    registry = load_plugins()
    found = find_board(board, registry)
    tables = build.build_tables(found.records(), registry)
    if form is TableFormat.TABLE:
        for table in tables:
            # All of them are of the board: no note needs to say so.
            rows = [replace(row, origin=None) for row in table.leaderboard]
            show_leaderboard(f"{table.dataset}, edition {found.info.version}", rows)
    else:
        sys.stdout.write(render(tables, form))
    if output is not None:
        # Named as the board is: a later edition has files of its own.
        for path in build.write([replace(one, dataset=found.info.name) for one in tables], output):
            err.print(str(path), markup=False)
    raise typer.Exit(show_problems(tables))


def board_page(
    boards: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names of boards, or .board files [default: the newest of each table]."
        ),
    ] = None,
    output: Annotated[Path, typer.Option(help="File to write.")] = Path("boards.html"),
) -> None:
    """Write published boards as one HTML page; it opens offline."""
    keep_other_kinds(output, ".html", ".htm")
    registry = load_plugins()
    datasets = sorted({board.dataset for board in registry.boards.values()})
    found = (
        [find_board(name, registry) for name in boards]
        if boards
        else [find_board(PUBLISHED, registry, dataset) for dataset in datasets]
    )
    if not found:
        raise ConfigError("No published boards are installed.", "Name a file: FILE.board")
    content = page(gather_boards(found, registry)).encode()
    write_file(output, content)
    out.print(f"{output} ({len(content) / 1e6:.1f} MB): open it in a browser.", markup=False)


def board_changes(
    before: Annotated[str, typer.Argument(help="Earlier edition: a name, or a .board file.")],
    now: Annotated[str, typer.Argument(help="Later edition.")],
) -> None:
    """Print how each row moved from one edition of a board to another."""
    registry = load_plugins()
    old, new = find_board(before, registry), find_board(now, registry)

    def area(row: LeaderboardRow | None) -> str:
        value = None if row is None else row.figures.get("aufdc")
        return "-" if value is None else format_figure(value, decimals=3)

    def place(number: int | None) -> str:
        return "-" if number is None else str(number)

    lines = [
        (
            change.name,
            change.track,
            area(change.before),
            area(change.now),
            place(change.place_before),
            place(change.place_now),
            "new" if change.before is None else "retired" if change.now is None else "",
        )
        for change in compare_boards(old, new, registry)
    ]
    for board in (old, new):
        info = board.info
        out.print(
            f"{info.title}: {info.made}, protocol {info.protocol}, audit {info.audit_version}, "
            f"{f'{info.folds} folds' if info.folds else 'one split'}",
            markup=False,
        )
    heads = ("method", "track", "AUFDC before", "now", "place before", "now", "")
    show_columns(heads, lines, words=2)


def board_export(
    dataset: DatasetName,
    version: Annotated[int, typer.Option(min=1, max=10_000, help="Number of this edition.")],
    budget: Annotated[
        str, typer.Option(help="Budget of the rows: full, quick or a number of iterations.")
    ] = "full",
    output: Annotated[
        Path | None, typer.Option(help="File to write [default: DATASET-VERSION.board].")
    ] = None,
    results: Results = None,
    store: StoreUrl = None,
) -> None:
    """Write the results on a dataset as a board, which others can rank their methods in."""
    registry = load_plugins()
    location = ResultsLocation(results, store, cards=dataset_cards(dataset))
    opened = location.open_store()
    # A table of one's own goes by the name that its results have.
    stored = {unit.dataset: unit for unit in opened.records(UnitRecord)}
    name = dataset if dataset in stored else registry.dataset(dataset).name
    records = read(opened)
    path = output or Path(f"{name}-{version}{SUFFIX}")
    if path.suffix != SUFFIX:
        raise ConfigError(f"--output {path}: the name of a board ends in {SUFFIX}.")
    # An earlier edition has the intervals of rows that were imported from it.
    earlier = read_board(path) if path.exists() else installed_board(name, registry)
    if earlier is not None and earlier.info.dataset != name:
        raise ConfigError(
            f"{path} is there already, and is the {earlier.info.title}: it is kept.",
            "Name another file to write with --output.",
        )
    board = make_board(records, name, registry, version=version, budget=budget, earlier=earlier)
    content = to_bytes(board)
    try:
        from_bytes(content)
    except StoreError as error:
        why = error.message.removeprefix("it is no board: ")
        raise ConfigError(
            f"Nothing was written: the board could not be read back: {why}",
            "A row holds what no board may, such as a hyperparameter of 10^40. Run the others in a "
            "results folder of their own.",
        ) from None
    write_file(path, content)
    source = find_source(stored[name], StoredResults(location, registry, opened))
    rank_in_it = ["fairbench", "run", "--methods", "METHOD", *source.options]
    rank_in_it += ["--against", str(path), *location.options]
    out.print(
        f"{path}: {len(board.units)} models, {len(board.points)} points, {len(content):,} bytes. "
        f"Rank in it: {shlex.join(rank_in_it)}",
        markup=False,
    )
    if board.incomplete:
        err.print(
            f"Warning: of {', '.join(board.incomplete)} some curves failed, or are not finished. "
            f"Which: {shlex.join(['fairbench', 'status', *location.options])}",
            markup=False,
        )
