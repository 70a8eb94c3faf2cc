"""``fairbench results export``, ``import`` and ``remove``."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path
from typing import Annotated

import typer

from fairbench.cli.console import confirm, err, out
from fairbench.cli.options import Results, StoreUrl
from fairbench.cli.outputs import keep_other_kinds
from fairbench.config import DEFAULT_RESULTS
from fairbench.errors import ConfigError, UnknownNameError
from fairbench.files import write_file
from fairbench.leaderboard.board_file import SUFFIX, read_board
from fairbench.leaderboard.build import LEADERBOARDS
from fairbench.models.query import ResultsLocation
from fairbench.report.format import format_count
from fairbench.store.database import Store
from fairbench.store.export import read_export
from fairbench.store.origins import check_origin
from fairbench.store.records import PointRecord, UnitRecord


def results_export(
    file: Annotated[Path, typer.Argument(help="File to write: JSON lines; .gz is compressed.")],
    results: Results = None,
    store: StoreUrl = None,
) -> None:
    """Write all finished records to a text file, without representations."""
    keep_other_kinds(file, ".jsonl", ".jsonl.gz")
    opened = ResultsLocation(results, store).open_store()
    lines = list(opened.export())
    content = "".join(f"{line}\n" for line in lines).encode()
    if file.suffix == ".gz":
        content = gzip.compress(content, mtime=0)  # the same records, the same bytes
    write_file(file, content)
    out.print(f"{len(lines) - 1} records written to {file}", markup=False)
    records = [*opened.records(UnitRecord), *opened.records(PointRecord)]
    if unfinished := sum(not record.status.ended for record in records):
        err.print(
            f"Warning: {format_count(unfinished, 'record')} of models and points wait or run, and "
            "are not in the file: rows that lack them may look complete where it is imported. "
            "Export again when the run has ended.",
            markup=False,
        )


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
    incoming = (
        read_board(file).all_records() if file.suffix == SUFFIX else read_export(file, own=own)
    )
    target = Store.open_or_create(store) if store else Store.in_folder(results or DEFAULT_RESULTS)
    taken = target.merge(incoming, name)
    counts = ", ".join(f"{count} {name}" for name, count in taken.items())
    out.print(f"Imported {counts}; what was there already is kept.", markup=False)
    # Where nothing was taken, no record has the origin, and there is none to remove.
    if name is not None and name in target.origins():
        words = ["--origin", name, *ResultsLocation(results, store).options]
        out.print(
            f"Leaderboards show them as from {name}, where nothing of the kind was made here. "
            f"To take them out: {shlex.join(['fairbench', 'results', 'remove', *words])}",
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
    location = ResultsLocation(results, store)
    target = location.open_store()
    known = target.origins()
    if origin not in known:
        raise UnknownNameError("origin", origin, known)
    out.print(f"{known[origin]} records were imported from {origin}.", markup=False)
    if dry_run:
        return
    if not yes:
        confirm("Delete them?")
    out.print(f"{target.remove(origin)} records deleted.")
    if any((location.folder / LEADERBOARDS).glob("*.csv")):
        words = shlex.join(["fairbench", "leaderboard", *location.options])
        out.print(
            f"Tables that were written to {location.folder / LEADERBOARDS} before may have them "
            f"still. To write those again of which something is left: {words}",
            markup=False,
        )
