"""A method on trial: its fits on a small table, done once and looked at by many promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fairbench.api import Coding, FitContext, Point, Role, Shots, Track, TrainingRows, Unit
from fairbench.api.method import Curve, Diverged, Fitted, Method, Representation
from fairbench.data.prepare import Prepared, Rows
from fairbench.testing.sample_data import sample_data, shortened
from fairbench.testing.verdicts import BrokenPromise, Unmet

ITERATIONS = 30
"""Of neural methods: promises are kept or broken in the first steps as in the last."""

SEED, OTHER_SEED = 7, 8

TOLERANCE = 1e-3
"""Two codes are the same up to the order of floating-point sums, each on the scale of its column;
one bit that flips at such a difference is forgiven in one row of fifty."""

MOST_APART = 0.02


@dataclass
class MethodTrial:
    """A method, and what it is tried on.

    Parameters
    ----------
    method : type of Method
    data : Prepared
        Of a real dataset the first rows; default: the checks' own table.
    root : Path, optional
        Data root, whose files a method must not read.
    """

    method: type[Method]
    data: Prepared = field(default_factory=sample_data)
    root: Path | None = None

    def __post_init__(self) -> None:
        self.data = shortened(self.data)

    @cached_property
    def instance(self) -> Method:
        """The method with its default parameters, if it is fit for the data."""
        try:
            made = self.method()
            points, reason = made.points(), made.supports(self.data.info)
        except Exception:
            raise Unmet("it cannot be made; see above") from None
        if reason is not None:
            raise Unmet(f"it does not support this data: {reason}")
        if not points:
            raise Unmet("it has no points; see above")
        return made

    @property
    def test(self) -> Rows:
        """Rows that no fit has seen."""
        return self.data.roles[Role.TEST]

    @property
    def stochastic(self) -> bool:
        """Whether its encoders are given a generator."""
        return self.method.coding is Coding.STOCHASTIC

    def units(self, seeds: Sequence[int] = (SEED,), most: int = 3) -> list[Unit]:
        """A unit a seed of a single-shot method, else the ends and the middle of its grid."""
        if self.method.shots is Shots.SINGLE:
            return [Unit(seed, None) for seed in seeds]
        grid = self.instance.points()
        places = np.unique(np.linspace(0, len(grid) - 1, most).astype(int))
        return [Unit(seed, grid[i]) for seed in seeds for i in places]

    def rows(self, data: Prepared | None = None) -> TrainingRows:
        """Encoder-train in arrays of its own, writable: who writes into them is found out."""
        data = data or self.data
        rows = data.roles[Role.ENCODER_TRAIN]
        return TrainingRows(rows.x.copy(), rows.s.copy(), data.info)

    def fit(
        self, units: Sequence[Unit], *, train: TrainingRows | None = None, device: str = "cpu"
    ) -> Sequence[Fitted]:
        """What the method's fit returns."""
        context = FitContext(iterations=ITERATIONS, device=device)
        return self.instance.fit(train or self.rows(), units, context)

    @cached_property
    def _first(self) -> tuple[Sequence[Fitted], list[Representation]] | None:
        try:
            fitted = self.fit(self.units())
            return fitted, self.opened(fitted, self.units())
        except (Exception, SystemExit):
            return None

    @property
    def fitted(self) -> Sequence[Fitted]:
        """What a first fit returned, behind :attr:`first`."""
        _ = self.first
        assert self._first is not None
        return self._first[0]

    @property
    def first(self) -> list[Representation]:
        """Representations of a first fit; Unmet where that fails, which a promise of its own says.

        Curves are read in the middle of their knob.
        """
        _ = self.instance
        if self._first is None:
            raise Unmet("there is no fit to look at; see above")
        return self._first[1]

    def opened(self, fitted: Sequence[Fitted], units: Sequence[Unit]) -> list[Representation]:
        """The representations behind what a fit returned; BrokenPromise where it may not return that."""
        name = self.method.name
        if not isinstance(fitted, Sequence) or len(fitted) != len(units):
            count = len(fitted) if isinstance(fitted, Sequence) else f"a {type(fitted).__name__}"
            raise BrokenPromise(
                f"fit returned {count} results for {len(units)} units.",
                "Return a list with one entry a unit, in the order of the units.",
            )
        return [
            self._opened(found, f"{name}, {u.point.label if u.point else 'its curve'}")
            for found, u in zip(fitted, units, strict=True)
        ]

    def _opened(self, found: Any, where: str) -> Representation:
        if isinstance(found, Diverged):
            raise BrokenPromise(
                f"The fit of {where} diverged: {found.reason}.",
                "It must train on a small, well-behaved table: lower the learning rate.",
            )
        single = self.method.shots is Shots.SINGLE
        if single != isinstance(found, Curve) or not isinstance(found, Curve | Representation):
            wanted = "Curve" if single else "Representation"
            raise BrokenPromise(
                f"fit returned a {type(found).__name__} for {where}.",
                f"Its shots are {self.method.shots.value}: return a {wanted} of fairbench.api.",
            )
        if isinstance(found, Curve):
            return found.at(middle(found))
        return found

    def encode(
        self, found: Representation, x: np.ndarray, s: np.ndarray, *, seed: int = 0
    ) -> np.ndarray:
        """Codes of rows, with what the core gives this kind of encoder, checked for their shape."""
        generator = np.random.default_rng(seed) if self.stochastic else None
        given = s if self.method.track is Track.AWARE else None
        z = found.encode(x, s=given, generator=generator)
        shape = np.shape(z)
        if len(shape) != 2 or shape[0] != len(x) or shape[1] == 0:
            raise BrokenPromise(
                f"encode returned shape {shape} for {len(x)} rows.",
                "Return an array of shape (n, k): a row of z for every row of x.",
            )
        return np.asarray(z)

    def codes(self, found: Sequence[Representation], *, seed: int = 0) -> list[np.ndarray]:
        """Codes of the test rows by each representation."""
        return [self.encode(one, self.test.x, self.test.s, seed=seed) for one in found]


def middle(curve: Curve) -> Point:
    """A point inside a curve: of its own list, or the middle of its knob."""
    if curve.points:
        return curve.points[len(curve.points) // 2]
    return Point.of(**{curve.knob.name: (curve.knob.low + curve.knob.high) / 2})


def rows_apart(z: np.ndarray, other: np.ndarray) -> float:
    """Share of the rows whose codes differ by more than floating-point sums do; 1: other shapes."""
    if z.shape != other.shape:
        return 1.0
    a, b = z.astype(np.float64), other.astype(np.float64)
    scale = np.maximum(np.abs(a).max(axis=0, initial=0.0), 1.0)
    return float((~(np.abs(a - b) <= TOLERANCE * scale).all(axis=1)).mean())
