"""Own rows among those of a published board: what may stand there, and why the rest may not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairbench.errors import ConfigError
from fairbench.leaderboard.board import Board
from fairbench.leaderboard.build import Tables, build_tables
from fairbench.leaderboard.row_curves import choose_curves
from fairbench.leaderboard.select import CurveRecords, Identity, SelectedRecords
from fairbench.metrics.rows import Variant
from fairbench.registry import Registry


@dataclass(frozen=True)
class Compared:
    """A published table with own rows in it.

    Parameters
    ----------
    table : Tables
        All rows, ranked together.
    own : tuple of Variant
        Those that are not of the board.
    refused : tuple of str
        A line for each own row that cannot stand there, with the reason.
    """

    board: Board
    table: Tables
    own: tuple[Variant, ...]
    refused: tuple[str, ...]


def compare_with(own: SelectedRecords, board: Board, registry: Registry) -> Compared:
    """Rank the own rows of a board's dataset among those of the board.

    An own row takes the place of a published one of the same method and hyperparameters, if it is
    as complete. What curves are normalised by is the board's, where it has it, so that published
    areas stay as they are.

    Raises
    ------
    ConfigError
        No own row can stand there.
    """
    compared = place_in(own, board, registry)
    if not compared.own:
        why = f" ({compared.refused[0]})" if compared.refused else ""
        if not why and any(unit.dataset == board.info.dataset for unit in own.units):
            why = " (baselines stay as published)"
        raise ConfigError(
            f"None of your rows can be ranked in the {board.info.title}{why}.",
            f"Run one: fairbench run --methods METHOD --dataset {board.info.dataset} --against "
            "published",
        )
    return compared


def place_in(own: SelectedRecords, board: Board, registry: Registry) -> Compared:
    """Put own rows that fit into the board's table; where none fits it is the published table."""
    published = board.records()
    references = {**own.references, **published.references}
    kept: dict[Identity, list[CurveRecords]] = {}
    refused: list[str] = []
    for identity, curves in own.curves.items():
        unit = curves[0].units[0]
        if unit.dataset != board.info.dataset:
            continue
        # A curve that failed stays with the row, which would look complete without it.
        fitting = [curve for curve in curves if not _why_not(curve, board, published)]
        reasons = dict.fromkeys(
            _why_not(curve, board, published) or _without_points(curve) for curve in curves
        )
        if any(curve.done for curve in fitting) and not unit.simulated:
            if identity not in published.curves:
                kept[identity] = fitting
            elif "baseline" not in unit.tags:  # one that joined the run is on the board already
                mine = SelectedRecords({identity: fitting}, references)
                if less := _less_complete(mine, published, identity):
                    reasons[less] = None
                else:
                    kept[identity] = fitting
        name = Variant(unit.method, unit.params_label).label
        refused += [f"{name}: {reason}" for reason in reasons if reason]
    # An own model may have the key of the published one whose place it takes.
    replaced = {curve.key for one in kept if one in published.curves for curve in kept[one]}
    replicates = {k: of for k, of in published.curve_replicates.items() if k not in replaced}
    records = SelectedRecords({**published.curves, **kept}, references, replicates)
    (table,) = build_tables(records, registry)
    own_rows = {
        Variant(curves[0].units[0].method, curves[0].units[0].params_label)
        for curves in kept.values()
    }
    return Compared(
        board=board,
        table=table,
        own=tuple(sorted(own_rows)),
        refused=tuple(refused),
    )


def _less_complete(own: SelectedRecords, published: SelectedRecords, identity: Identity) -> str:
    """Why an own row must not take the place of the published one; empty where it may."""
    mine, theirs = (
        choose_curves(records.curves[identity], records.is_complete) for records in (own, published)
    )
    whole = all(map(own.is_complete, mine.curves)) or not all(
        map(published.is_complete, theirs.curves)
    )
    seeds, their_seeds = (len({curve.seed for curve in row.curves}) for row in (mine, theirs))
    if mine.folds >= theirs.folds and whole and seeds >= their_seeds:
        return ""
    here, there = "", ""
    if seeds < their_seeds:
        here, there = f" with seeds: {seeds}", f" with seeds: {their_seeds}"
    return (
        f"it is measured on {mine.words}{here}{'' if whole else ', not all points'}; the published "
        f"row, on {theirs.words}{there}, stays"
    )


def _without_points(curve: CurveRecords) -> str:
    return "" if curve.done else f"no point of it is measured ({curve.split})"


def _why_not(curve: CurveRecords, board: Board, published: SelectedRecords) -> str:
    """Why a curve cannot be compared with those of a board; empty where it can."""
    info, unit = board.info, curve.units[0]
    known: Mapping[str, tuple[object, object]] = {
        "data": (unit.data_source, board.units[0].data_source),
        "budget": (unit.budget, info.budget),
        "audit": (curve.audit, info.audit),
        "version of the protocol": (unit.protocol, info.protocol),
        "version of the audit": (
            curve.audit_version or info.audit_version,
            info.audit_version,
        ),
    }
    for name, (mine, theirs) in known.items():
        if mine != theirs:
            return f"its {name} is {mine}; the board's is {theirs}"
    if unit.fingerprint not in {key.fingerprint for key in published.references}:
        return f"its rows of data ({curve.split}) are not those of the board"
    if len(curve.points) > board.most_points:
        return (
            f"its curve has {len(curve.points)} points; the board's have at most "
            f"{board.most_points}, and more can only make an area smaller"
        )
    return ""
