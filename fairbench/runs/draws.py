"""Draws from an encoder: which are taken, in which order, by which seeds.

A stochastic encoder is drawn from several times. It must not know which draws an audit sees, nor
which rows train auditors, so no generator that it is given tells more than the draw that it is for.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairbench.api import Access, Floats, Ints
from fairbench.stats.seeds import derive_seed

DRAWS = 3
"""Draws of a stochastic encoder that audits see; what is released is one of them."""
_MAX_DRAWN = 100_000
"""Rows of the auditor training set, draws counted: of many rows fewer draws are enough."""
FRESH_DRAWS = 3
"""Further draws of the auditor training set, for members that gain from them."""
_QUERIES = {access.draws: access for access in Access if access.draws}
"""Accesses by repeated queries, by the number of draws."""
_ROWS_FOR_AXES = 4_000
_COMPACT_ERROR = 1e-3
"""Most rounding of a column by half precision: root mean square, in standard deviations."""


class DrawUse(enum.StrEnum):
    """What a draw of all codes is for."""

    AUDITED = "audited"
    FRESH = "further draw of the auditor training set"
    QUERY = "repeated query"


@dataclass(frozen=True)
class NumberedDraw:
    """One of the draws for a use, by number."""

    use: DrawUse
    number: int


ONCE = NumberedDraw(DrawUse.AUDITED, 0)
"""All that a deterministic encoder is asked for."""


def drawn_of_stochastic(rows: int, detailed: bool) -> tuple[NumberedDraw, ...]:
    """Return all draws from a stochastic encoder.

    ``rows``: of the auditor training set. ``detailed``: whether it is queried repeatedly.
    """
    counts = {
        DrawUse.AUDITED: int(np.clip(_MAX_DRAWN // rows, 1, DRAWS)),
        DrawUse.FRESH: FRESH_DRAWS,
        DrawUse.QUERY: max(_QUERIES) if detailed else 0,
    }
    return tuple(
        NumberedDraw(use, number) for use, count in counts.items() for number in range(count)
    )


@dataclass(frozen=True)
class EncodingSeeds:
    """All that is drawn by chance when a point of a unit is encoded.

    Seeds are hashes, so nobody can compute one from another, nor without the digest: a generator
    that an encoder is given does not tell which draw it is for.
    """

    digest: str  # of the rows, see :mod:`fairbench.runs.row_order`
    seed: int  # of the unit
    point: int  # its number

    def order(self) -> np.random.Generator:
        """Return the generator of the order of draws."""
        return np.random.default_rng(self._derive("encode"))

    def sample(self, rows: int) -> Ints:
        """Return the numbers of the rows that axes of wide reconstructions are fitted to."""
        return np.random.default_rng(self._derive("axes")).permutation(rows)[:_ROWS_FOR_AXES]

    def audited(self, draws: int) -> list[int]:
        """Return the seeds of the draws that audits see."""
        return [self._seed(NumberedDraw(DrawUse.AUDITED, number)) for number in range(draws)]

    def generator(self, draw: NumberedDraw) -> np.random.Generator:
        """Return the generator of a draw."""
        return np.random.default_rng(self._seed(draw))

    def _seed(self, draw: NumberedDraw) -> int:
        return self._derive("draw", draw.use, draw.number)

    def _derive(self, *use: str | int) -> int:
        return derive_seed(*use, self.digest, self.seed, self.point)


@dataclass
class Spread:
    """Mean and standard deviation of each column of z over ever more draws, for repeated queries.

    They are summed up draw by draw, as the draws would not fit into memory.
    """

    draws: int = 0
    mean: Any = 0.0
    squares: Any = 0.0
    by_access: dict[Access, Floats] = field(default_factory=dict)  # (n, 2 k)

    def add(self, z: Floats) -> None:
        """Add a draw ``(n, k)``."""
        self.draws += 1
        before = z - self.mean
        self.mean = self.mean + before / self.draws
        self.squares = self.squares + before * (z - self.mean)
        if self.draws in _QUERIES:
            together = np.hstack([self.mean, np.sqrt(self.squares / self.draws)])
            self.by_access[_QUERIES[self.draws]] = together.astype(np.float32)


def compact(drawn: Floats) -> np.ndarray:
    """Return draws in half precision, where that loses next to nothing."""
    with np.errstate(over="ignore", invalid="ignore"):
        compact = drawn.astype(np.float16)
        error = np.sqrt(((compact - drawn.astype(np.float64)) ** 2).mean(axis=0))
    close = error <= _COMPACT_ERROR * drawn.std(axis=0, dtype=np.float64)
    return compact if close.all() else drawn
