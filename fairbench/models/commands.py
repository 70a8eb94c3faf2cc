"""The ``fairbench run`` that trains stored models again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbench.api import DataSource
from fairbench.data.splits import Split
from fairbench.metrics.rows import DEFAULT
from fairbench.models.stored_data import Source, root_of, source_of
from fairbench.registry import Registry
from fairbench.runs.curve_points import DEFAULT_POINTS
from fairbench.store.records import UnitRecord


@dataclass(frozen=True)
class TrainingCommand:
    """A command that trains models.

    Parameters
    ----------
    words : sequence of str
        The command.
    note : str
        What stands in the file of hyperparameters that it names, and whose dataset card a
        placeholder stands for; empty where it has neither.
    """

    words: Sequence[str]
    note: str


def command_of(
    units: Sequence[UnitRecord],
    source: Source,
    configs: Sequence[Mapping[str, Any]],
    root: Path | None,
) -> TrainingCommand:
    """Return the command that trains units of one method, dataset and choice of hyperparameters.

    ``configs``: configurations of the runs that trained them, empty where unknown. ``root``: folder
    with the files of the data, if they need one.
    """
    first = units[0]
    words = ["fairbench", "run", "--methods", first.method, *source.options]
    seeds = sorted({unit.seed for unit in units})
    words += ["--seed-list", ",".join(map(str, seeds)), "--budget", first.budget]
    if folds := Split.parse(first.split).folds:
        words += ["--splits", str(folds)]
    if (points := _points(first, configs)) is not None:
        words += ["--points", str(points)]
    if first.params_label != DEFAULT:
        words += ["--params", "params.yaml"]
    if first.label:
        words += ["--label", first.label]
    if root is not None:
        words += ["--data-root", str(root)]
        words += ["--require-real-data"] if first.data_source == DataSource.REAL else []
    notes = [note for note in (params_note(first), source.note) if note]
    return TrainingCommand(words, "; ".join(notes))


def command_of_row(
    units: Sequence[UnitRecord], runs: Mapping[str, Mapping[str, Any]], registry: Registry
) -> TrainingCommand | None:
    """Return the command that makes a row of a leaderboard again, from all of its units.

    ``runs``: configurations of runs by their ids. None: nothing known says where the data are.
    """
    configs = [runs.get(unit.run or "", {}) for unit in units]
    for unit, config in zip(units, configs, strict=True):
        source = source_of(unit, config, registry)
        if source.known:
            return command_of(units, source, configs, root_of(config))
    return None


def changed_params(unit: UnitRecord) -> dict[str, Any]:
    """Return the hyperparameters of a unit that differ from the defaults."""
    if unit.params_label == DEFAULT:
        return {}
    named = {word.partition("=")[0] for word in unit.params_label.split(" ")}
    return {name: value for name, value in unit.params.items() if name in named}


def params_note(unit: UnitRecord) -> str:
    """Say what stands in the file of hyperparameters that a command names; empty where none is."""
    params = changed_params(unit)
    return f"params.yaml: {json.dumps({unit.method: params})}" if params else ""


def _points(unit: UnitRecord, configs: Sequence[Mapping[str, Any]]) -> int | None:
    """Return what ``--points`` was; None: it was not given, or nothing tells.

    A single-shot model's key has their number, so that any other trains another model. Of a
    multi-shot method only the runs tell: a unit is one point of the grid that they took.
    """
    if unit.curve_points is not None:
        return None if unit.curve_points == DEFAULT_POINTS else unit.curve_points
    given = [points for config in configs if (points := config.get("points")) is not None]
    return max(given) if len(given) == len(configs) else None
