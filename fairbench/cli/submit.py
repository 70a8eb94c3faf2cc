"""``fairbench submit``: write one row of the results as a file for a published board."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from fairbench.cli.console import err, out
from fairbench.cli.options import Results, StoreUrl, complete_datasets, complete_methods
from fairbench.cli.plugins import load_plugins
from fairbench.data.splits import OFFICIAL
from fairbench.errors import ConfigError, StoreError, UnknownNameError, say_where, say_why
from fairbench.files.paths import is_file_name
from fairbench.leaderboard.against import compare_with
from fairbench.leaderboard.board import Board
from fairbench.leaderboard.boards import PUBLISHED, find_board
from fairbench.leaderboard.select import CurveRecords, SelectedRecords, read
from fairbench.metrics.rows import LeaderboardRow
from fairbench.models.query import ResultsLocation
from fairbench.registry import Registry, plugin_source, plugin_version
from fairbench.report.format import format_count
from fairbench.runs.verification import SubmittedRow
from fairbench.store.database import lines_of, now
from fairbench.store.export import parse_export
from fairbench.store.records import Record
from fairbench.store.submission import SUFFIX, Submission, SubmissionInfo, write_submission


def submit_command(
    method: Annotated[
        str, typer.Option(help="Method of the row.", autocompletion=complete_methods)
    ],
    dataset: Annotated[
        str, typer.Option(help="Dataset of the board.", autocompletion=complete_datasets)
    ],
    against: Annotated[
        str, typer.Option("--against", metavar="BOARD", help="Published board that it is for.")
    ] = PUBLISHED,
    params: Annotated[
        str,
        typer.Option(
            help="Hyperparameters of the row, as in the column params; needed if the method has "
            "several rows."
        ),
    ] = "",
    submitter: Annotated[str, typer.Option(help="Who submits: a name, or an address.")] = "",
    code: Annotated[str, typer.Option(help="Where the plugin's source is, such as a URL.")] = "",
    output: Annotated[
        Path | None,
        typer.Option(help=f"File to write [default: METHOD-BOARD{SUFFIX}]."),
    ] = None,
    results: Results = None,
    store: StoreUrl = None,
) -> None:
    """Write one row of the results as a small file, to be verified and added to a board."""
    registry, location = load_plugins(), ResultsLocation(results, store)
    name = registry.methods.resolve(method)
    board = find_board(against, registry, dataset)
    records = read(location.open_store())
    row = _row(records, board, registry, name, params)
    try:
        info = SubmissionInfo(
            board=board.info.name,
            dataset=row.dataset,
            method=name,
            params=row.params,
            plugin=plugin_version(registry.methods[name]),
            source=dict(plugin_source(registry.methods[name])),
            submitter=submitter,
            code=code,
            made=now(),
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(
            f"The row cannot be submitted: {say_where(first)}: {say_why(first)}.",
            "--submitter is one line of at most 200 characters, --code of 400.",
        ) from None
    # What a verifier would refuse is not written.
    submission = Submission(info, _records(records, board, row))
    try:
        parse_export(lines_of(submission.records))
    except StoreError as error:
        raise ConfigError(f"The row cannot be submitted: {error.message}", error.hint) from None
    SubmittedRow(submission, board)
    path = output or Path(f"{name}-{board.info.name}{SUFFIX}")
    if not path.name.endswith(SUFFIX) or not is_file_name(path.name):
        raise ConfigError(f"--output {path}: the name of a submission ends in {SUFFIX}.")
    size = write_submission(path, submission)
    points = format_count(row.points, "point")
    out.print(f"{path}: {points}, {size:,} bytes. Anyone can check it:", markup=False)
    words = ["fairbench", "verify", str(path), "--against", against]
    if row.dataset not in registry.datasets:
        words += ["--dataset", _named(row, registry)]
    out.print(shlex.join(words), markup=False)


def _row(
    records: SelectedRecords, board: Board, registry: Registry, method: str, params: str
) -> LeaderboardRow:
    """The own row that is meant; an error where there is none, or it is not complete."""
    compared = compare_with(records, board, registry)
    rows = [row for row in compared.table.leaderboard if row.variant in compared.own]
    of_method = [row for row in rows if row.method == method]
    if not of_method:
        raise UnknownNameError("row of yours", method, [row.method for row in rows])
    chosen = [row for row in of_method if not params or row.params == params]
    if len(chosen) != 1:
        labels = ", ".join(repr(row.params) for row in of_method)
        raise ConfigError(
            f"{method} has {len(chosen)} such rows.", f"Name one with --params: {labels}"
        )
    row = chosen[0]
    if not row.complete:
        raise ConfigError(
            f"The row of {method} is not complete: {row.points_missing} points are missing.",
            "Give the command of the run again; add --rerun failed for what failed.",
        )
    if board.info.folds and not row.replicated:
        raise ConfigError(
            f"The row of {method} is of: {row.splits}; the board ranks over {board.info.folds} "
            "folds.",
            f"Run it on all: fairbench run --methods {method} --dataset {_named(row, registry)} "
            f"--against {board.info.name}",
        )
    return row


def _named(row: LeaderboardRow, registry: Registry) -> str:
    """Return a row's dataset as commands take it: a table of one's own by its card."""
    return row.dataset if row.dataset in registry.datasets else f"{row.dataset}.yaml"


def _records(records: SelectedRecords, board: Board, row: LeaderboardRow) -> list[Record]:
    """Units, points and references of a row; the files of models stay here.

    Of splits and seeds that the board compares by: own ones beside them stay here too.
    """
    seen = {(one.fingerprint, one.seed) for one in board.references}

    def is_of(curve: CurveRecords) -> bool:
        unit = curve.units[0]
        return (
            (unit.dataset, unit.method, unit.params_label, unit.budget)
            == (row.dataset, row.method, row.params, row.budget)
            and curve.audit == row.audit
            and not unit.simulated
            and unit.track == row.track
            and (unit.fingerprint, unit.seed) in seen
        )

    curves = [curve for own in records.curves.values() for curve in own if is_of(curve)]
    official = [curve for curve in curves if curve.split == OFFICIAL.name]
    if board.info.folds and any(curve.missing for curve in official):
        err.print(
            "The official split is left out: points of it are missing. Ranks are of the folds."
        )
        curves = [curve for curve in curves if curve.split != OFFICIAL.name]
    references = {one.key: one for curve in curves if (one := records.reference(curve))}
    units = [
        unit.replace(artefact=None, encoder=None, run=None, traceback=None)
        for curve in curves
        for unit in curve.units
    ]
    points = [point.replace(traceback=None) for curve in curves for point in curve.points]
    return [record.replace(origin=None) for record in (*units, *points, *references.values())]
