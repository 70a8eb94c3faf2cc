"""Rows of leaderboards, made by hand."""

from dataclasses import fields
from typing import Any

import numpy as np

from fairbench.leaderboard.ranking import LeaderboardEntry
from fairbench.metrics.rows import LeaderboardRow
from fairbench.stats.intervals import Sample


def a_row(method: str, aufdc: float | None, **more: Any) -> LeaderboardRow:
    """A row; what is no field of one is a figure."""
    base = {"track": "blind", "budget": "full", "audit": "strict", "params": "default"}
    base |= {
        "splits": "official",
        "tags": "",
        "dataset": "d",
        "data_source": "real",
        "plugin": "p",
        "fingerprint": "f",
    }
    counts = {"seeds": 1, "seeds_missing": 0, "points": 1, "points_missing": 0}
    ends = dict.fromkeys(("mutual_information_max", "distortion_max"))
    made = {"iterations": 1, "protocol": 1, "audit_version": 1}
    made |= dict.fromkeys(("device", "processor", "fairbench", "python", "torch", "scikit_learn"))
    names = {field.name for field in fields(LeaderboardRow)}
    given = {name: value for name, value in more.items() if name in names}
    figures = {name: value for name, value in more.items() if name not in names}
    return LeaderboardRow(
        **(base | counts | ends | made | {"complete": True} | given),
        method=method,
        figures={"aufdc": aufdc} | figures,
    )


def with_folds(method: str, aufdc: list[float], **columns: Any) -> LeaderboardEntry:
    """A row with all its folds; ``columns`` are fields, or figures by fold."""
    figures = {"aufdc": aufdc} | {k: v for k, v in columns.items() if isinstance(v, list)}
    fields_given = {k: v for k, v in columns.items() if not isinstance(v, list)}
    means = {column: float(np.mean(values)) for column, values in figures.items()}
    words = f"{len(aufdc)} folds"
    made = a_row(method, **means, **fields_given, splits=words, interval_over="splits")
    return LeaderboardEntry(
        made, {}, {column: np.array(values) for column, values in figures.items()}
    )


def one_split(method: str, seed: int, size: float = 0.01, **columns: Any) -> LeaderboardEntry:
    """One seed of the official split; replicates with the standard error given."""
    made = a_row(method, columns.pop("aufdc", None), seeds=1, **columns)
    figures = {k: v for k, v in made.figures.items() if v is not None}
    samples = {k: Sample(np.array([v]), v + _errors(seed, size)) for k, v in figures.items()}
    return LeaderboardEntry(made, samples)


def _errors(seed: int, size: float) -> np.ndarray:
    found = np.random.default_rng(seed).normal(size=(1, 500))
    return size * (found - found.mean()) / found.std()
