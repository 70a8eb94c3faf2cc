"""Own results among those of a published board: what a run must keep to, and the table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fairbench.cli.console import (
    can_write_tables,
    err,
    out,
    show_differences,
    show_leaderboard,
    show_problems,
)
from fairbench.config import RunConfig
from fairbench.errors import ConfigError, StoreError
from fairbench.leaderboard import build as tables_of
from fairbench.leaderboard.against import Compared, compare_with, place_in
from fairbench.leaderboard.board import Board, BoardInfo
from fairbench.leaderboard.board_file import SUFFIX
from fairbench.leaderboard.boards import find_board
from fairbench.leaderboard.select import SelectedRecords, read
from fairbench.metrics.rows import named
from fairbench.models.query import ResultsLocation
from fairbench.registry import Registry
from fairbench.report.comparisons import describe_differences
from fairbench.store.database import Store
from fairbench.versions import AUDIT_VERSION, PROTOCOL_VERSION


def follow_board(config: RunConfig, registry: Registry) -> tuple[RunConfig, Board]:
    """Return a run's configuration with the board's splits and budget, and the board.

    Raises ConfigError where an option says otherwise.
    """
    if len(config.datasets) != 1:
        raise ConfigError("--against needs one dataset.", "Give one with --dataset NAME.")
    board = find_board(str(config.against), registry, config.datasets[0])
    info = board.info
    if config.shift is not None:
        raise ConfigError("--shift and --against exclude each other: boards have no shifts.")
    _check_versions(info)
    _check_own_methods(config, board, registry)
    wanted = {"budget": _budget(info), "splits": info.folds or None}
    for name, value in wanted.items():
        if name in config.model_fields_set and getattr(config, name) not in (value, None):
            raise ConfigError(
                f"--{name} {getattr(config, name)} cannot be ranked in the {info.title}, whose "
                f"{name} is {value or 'official'}.",
                f"Leave --{name} out: it is taken from the board.",
            )
    most = board.most_points
    if config.points is not None and config.points > most:
        raise ConfigError(
            f"--points {config.points}: curves of the {info.title} have at most {most} points, and "
            "more can only make an area smaller.",
            f"Give --points {most}, or leave it out.",
        )
    if config.points is None:
        wanted["points"] = most
    # Rows of simulated data stand on no board.
    return config.model_copy(update={**wanted, "require_real_data": True}), board


def _check_versions(info: BoardInfo) -> None:
    """Raise ConfigError where no row that is trained and audited here could stand on a board."""
    ours = {"protocol": PROTOCOL_VERSION, "audit": AUDIT_VERSION}
    theirs = {"protocol": info.protocol, "audit": info.audit_version}
    for name, version in ours.items():
        if theirs[name] != version:
            raise ConfigError(
                f"The {info.title} is of version {theirs[name]} of the {name}; this fairbench has "
                f"version {version}, and rows of two versions do not compare.",
                "Use a board of this version (fairbench board list), or that version of fairbench.",
            )


def _check_own_methods(config: RunConfig, board: Board, registry: Registry) -> None:
    """Raise ConfigError where all methods are baselines of the board, whose rows stay."""
    published = {unit.method for unit in board.units if "baseline" in unit.tags}
    names = [registry.methods.resolve(name) for name in config.methods if name != "all"]
    if names and published.issuperset(names):
        raise ConfigError(
            f"{', '.join(names)}: the rows of baselines on a board stay as published.",
            "Give another method too.",
        )


def _budget(info: BoardInfo) -> str | int:
    return int(info.budget) if info.budget.isdigit() else info.budget


def need_own_rows(location: ResultsLocation, board: Board, given: str, command: str) -> None:
    """Raise StoreError where nothing is there to rank in a board.

    ``given``: what --against said. ``command``: of ``fairbench board``, for the board by itself.
    """
    if not location.has_results:
        raise StoreError(
            f"There are no results in {location.folder} to stand beside the {board.info.title}.",
            f"For the board by itself: fairbench board {command} {_name(board, given)}",
        )


def _name(board: Board, given: str) -> str:
    """What commands of ``fairbench board`` take for a board that --against named."""
    return given if given.endswith(SUFFIX) else board.info.name


def show_against(store: Store, board: Board, registry: Registry, folder: Path) -> int:
    """Print own rows in the board's table, and write it as CSV files; return the exit code."""
    compared = compare_with(read(store), board, registry)
    show_compared(compared)
    # Beside the files of own results alone.
    named = replace(compared.table, dataset=f"{board.info.name}-and-mine")
    if can_write_tables(folder / tables_of.LEADERBOARDS):
        for path in tables_of.write_results([named], folder):
            err.print(str(path), markup=False)
    return show_problems([named])


def show_compared(compared: Compared, whose: str = "yours") -> None:
    """Print own rows, marked, in the board's table."""
    show_leaderboard(compared.table.dataset, compared.table.leaderboard, own=compared.own)
    _show_origins(compared, f"* {whose}. All other rows")
    _show_refused(compared)


def show_compared_rows(
    location: ResultsLocation, board: Board, given: str, registry: Registry, a: str, b: str
) -> int:
    """Print the difference of two methods, whose rows are the board's or one's own.

    ``given``: what --against said. Returns the exit code.
    """
    compared = place_in(read_own(location), board, registry)
    _show_refused(compared)  # first: it may be why a method has no row
    show = f"board show {_name(board, given)}"
    show_differences(describe_differences([compared.table], a, b, show=show))
    rows = (row for row in compared.table.leaderboard if row.variant in compared.own)
    own = ", ".join(named(row.variant, row.label) for row in rows)
    _show_origins(compared, f"Your rows on this board: {own}. All others" if own else "The rows")
    return show_problems([compared.table])


def read_own(location: ResultsLocation) -> SelectedRecords:
    """Read one's own results, none where there are none yet."""
    return read(location.open_store()) if location.has_results else SelectedRecords({}, {})


def _show_origins(compared: Compared, others: str) -> None:
    info = compared.board.info
    out.print(
        f"{others} are of the {info.title}, of {info.made}; they were not trained here.",
        markup=False,
    )


def _show_refused(compared: Compared) -> None:
    for line in compared.refused:
        err.print(f"Not in this table: {line}", markup=False)
