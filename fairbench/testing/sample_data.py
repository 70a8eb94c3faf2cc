"""A small table to try methods on: quick, with all features of real ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from fairbench.api import Architecture, DataSource, Role
from fairbench.api.dataset import Dataset, Table
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared, Rows

ROWS = 900

MAX_ROWS = 1_500
"""Most rows per role that are used of a real dataset."""


class SampleTable(Dataset):
    """Three numbers and a category; two of the numbers depend on s, and y depends on all."""

    name = "sample"
    summary = "made by the checks"
    optional = True
    architecture = Architecture(hidden=(16,), latent=3)
    groups = 2

    def load(self, folder: Path) -> Table:
        import pandas as pd

        rng = np.random.default_rng(20_211)
        s = rng.integers(0, self.groups, ROWS)
        a, b, c, noise = rng.normal(size=(4, ROWS))
        frame = pd.DataFrame(
            {
                "leaky": a + s,
                "mixed": b + 0.5 * a - 0.5 * s,
                "free": np.round(c, 1),
                "colour": rng.choice(["red", "green", "blue"], size=ROWS),
            }
        )
        y = (a + b + c + 0.5 * noise > 0).astype(np.int64)
        groups = tuple(f"group-{i}" for i in range(self.groups))
        return Table(frame, s.astype(np.int64), groups, {"task": y})


class ManyGroups(SampleTable):
    """The sample table with five groups."""

    groups = 5


def sample_data(dataset: type[SampleTable] = SampleTable) -> Prepared:
    """Return the prepared sample table."""
    return prepare(
        dataset().load(Path()), dataset, source=DataSource.SIMULATED, origin="the checks"
    )


def shortened(data: Prepared, most: int = MAX_ROWS) -> Prepared:
    """Take at most ``most`` rows of each role, with the same class prior of s."""
    return replace(data, roles={role: _shortened(rows, most) for role, rows in data.roles.items()})


def _shortened(rows: Rows, most: int) -> Rows:
    if len(rows.s) <= most:
        return rows
    by_group = np.argsort(rows.s, kind="stable")
    kept = np.sort(by_group[np.linspace(0, len(rows.s) - 1, most).astype(int)])
    y = {task: labels[kept] for task, labels in rows.y.items()}
    return Rows(rows.stored[kept], rows.s[kept], y, rows.numbers[kept], rows.pixels)


def with_other_labels(data: Prepared) -> Prepared:
    """Permute the task labels; everything that a method may use is unchanged."""
    rng = np.random.default_rng(1)

    def permuted(rows: Rows) -> Rows:
        y = {task: rng.permutation(labels) for task, labels in rows.y.items()}
        return Rows(rows.stored, rows.s, y, rows.numbers, rows.pixels)

    return replace(data, roles={role: permuted(data.roles[role]) for role in Role})
