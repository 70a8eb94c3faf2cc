"""The bits of a code as CSV: their disparity, and what each step releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from fairbench.leaderboard.frames import to_csv, to_frame
from fairbench.models.bits import BitTable, Step


@dataclass(frozen=True)
class BitRow:
    """A line of the table of bits; dimensions and bits count from 1, see :class:`BitTable`."""

    point: str
    dimension: int
    bit: int
    kept: float
    ones: float
    disparity: float


def bit_rows(tables: Sequence[BitTable]) -> list[BitRow]:
    """List the bits of all tables, one row per point, dimension and bit."""
    return [
        BitRow(
            table.label,
            dimension + 1,
            bit + 1,
            float(table.kept[dimension, bit]),
            float(table.ones[dimension, bit]),
            float(table.disparity[dimension, bit]),
        )
        for table in tables
        for dimension, bit in np.ndindex(table.kept.shape)
    ]


def bits_csv(tables: Sequence[BitTable]) -> bytes:
    """Write the table of bits as CSV, one row per point, dimension and bit."""
    return _csv([asdict(row) for row in bit_rows(tables)])


def information_csv(steps: Sequence[Step]) -> bytes:
    """Write the steps as CSV: from, to, bits, and a column per feature, ``x NAME`` if taken."""
    own = ("from", "to", "bits")
    return _csv(
        [
            dict(zip(own, (step.before, step.after, step.bits), strict=True))
            | {f"x {name}" if name in own else name: r for name, r in step.correlation.items()}
            for step in steps
        ]
    )


def _csv(rows: Sequence[Mapping[str, object]]) -> bytes:
    return to_csv(to_frame(rows)).encode()
