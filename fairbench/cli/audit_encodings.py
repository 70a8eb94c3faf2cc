"""``fairbench audit --z FILE --dataset NAME``: encodings of a dataset's rows beside its board."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairbench.api import Track
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.cli.console import out, show_columns, spinner, warn_simulated
from fairbench.cli.plugins import load_plugins
from fairbench.data.array_files import ArraySource, read_sources
from fairbench.data.loading import load_dataset
from fairbench.data.prepared import Prepared
from fairbench.data.splits import Split
from fairbench.errors import ConfigError
from fairbench.leaderboard.board import Board
from fairbench.leaderboard.boards import find_board
from fairbench.leaderboard.build import Tables, build_tables
from fairbench.metrics.rows import AttainmentRow, LeaderboardRow
from fairbench.report.format import format_figure
from fairbench.runs.external_encodings import measure_encodings

_MEDIAN = 50


def audit_encodings(
    source: ArraySource,
    dataset: str,
    *,
    against: str | None,
    quick: bool,
    data_root: Path | None,
    as_json: bool,
) -> None:
    """Audit encodings of all rows of a dataset, and show them beside the rows of a board."""
    registry = load_plugins()
    board = None if against is None else find_board(against, registry, dataset)
    data = load_dataset(registry.dataset(dataset), root=data_root, require_real=board is not None)
    if data.simulated:
        warn_simulated([data.info.name])
    if board is not None:
        prints = {data.fingerprint}
        if board.info.folds:  # a dataset without a test set of its own is on boards in folds alone
            fold = Split(1, board.info.folds)
            own = registry.dataset(dataset)
            prints.add(load_dataset(own, root=data_root, split=fold).fingerprint)
        _check(board, data.info.name, prints, quick=quick)
    audit = AuditPreset.QUICK if quick else AuditPreset.STRICT
    if board is not None:
        audit = AuditPreset(board.info.audit)
    config = PRESETS[audit]
    with spinner("reading files") as show_step:
        z = read_sources({"z": source})["z"]
        measured = measure_encodings(
            z, data, config, registry, lambda share, text: show_step("auditing")
        )
    figures = {name: value for name, value in measured.values.items() if value is not None}
    tables = [] if board is None else build_tables(board.records(), registry)
    same_distortion = _at(figures["distortion"], tables[0]) if tables else {}
    if as_json:
        found = {
            "dataset": data.info.name,
            "data_source": data.source,
            "audit": audit.value,
            "figures": figures,
            "blind": None,  # unknown
            "board": None if board is None else board.info.name,
            "leakage_of_the_board_at_this_distortion": same_distortion,
        }
        print(json.dumps(found, indent=2))
        return
    _show(data, audit, figures)
    if board is not None:
        _show_beside(board, figures, same_distortion, tables[0])


def _check(board: Board, dataset: str, fingerprints: set[str], *, quick: bool) -> None:
    """Raise ConfigError where encodings of these rows cannot stand beside a board."""
    info = board.info
    if not fingerprints & {one.fingerprint for one in board.references}:
        raise ConfigError(
            f"The data here are not those of the {info.title}.",
            "See what is here: fairbench data check " + dataset,
        )
    if quick and info.audit != AuditPreset.QUICK.value:
        raise ConfigError(f"--quick: the {info.title} is of strict audits.", "Leave it out.")


def _at(distortion: float, table: Tables) -> dict[str, float]:
    """I of each row of a board at a distortion, on its curve; of rows of the blind track."""
    curves: dict[str, list[AttainmentRow]] = {}
    for vertex in table.attainment:
        if vertex.level == _MEDIAN and vertex.track == Track.BLIND:
            curves.setdefault(vertex.variant.label, []).append(vertex)
    found = {}
    for name, vertices in curves.items():
        curve = sorted(vertices, key=lambda vertex: vertex.distortion)
        d = np.array([vertex.distortion for vertex in curve])
        i = np.array([vertex.mutual_information for vertex in curve])
        found[name] = float(np.interp(distortion, d, i))
    return found


def _show(data: Prepared, audit: AuditPreset, figures: Mapping[str, Any]) -> None:
    def of(name: str) -> str:
        value = figures.get(name)
        return "none" if value is None else format_figure(value, decimals=3)

    low, high = of("mutual_information_low"), of("mutual_information_high")
    simulated = " (SIMULATED DATA)" if data.simulated else ""
    out.print(
        f"Encodings of {data.info.name}{simulated}, official split, {audit.value} audit. Whether "
        "their encoder saw s is unknown: they are not ranked.\n"
        f"  I(Z;S)  {of('mutual_information')} nats [{low}, {high}]\n"
        f"  D       {of('distortion')}, by a decoder fitted here\n"
        f"  A_s     {of('accuracy_s')}\n"
        f"  A_y     {of('accuracy_y')}",
        markup=False,
    )


def _show_beside(
    board: Board, figures: Mapping[str, float], leakage: Mapping[str, float], table: Tables
) -> None:
    rows: dict[str, LeaderboardRow] = {row.variant.label: row for row in table.leaderboard}
    lines = [
        (name, format_figure(value, decimals=3), _area(rows.get(name)))
        for name, value in leakage.items()
    ]
    own = format_figure(figures["mutual_information"], decimals=3)
    lines.append(("* these encodings", own, "not ranked"))
    order = {**leakage, "* these encodings": figures["mutual_information"]}
    lines.sort(key=lambda line: order[line[0]])
    d = format_figure(figures["distortion"], decimals=3)
    out.print(f"At the same distortion, D = {d}, in the {board.info.title}:", markup=False)
    show_columns(("method", "I, nats", "AUFDC"), lines)


def _area(row: LeaderboardRow | None) -> str:
    value = None if row is None else row.figures.get("aufdc")
    return "" if value is None else format_figure(value, decimals=3)
