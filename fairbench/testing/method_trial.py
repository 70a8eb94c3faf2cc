"""A method on trial: its fits on a small table, made once and shared by all checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fairbench.api import Coding, FitContext, Point, Role, Shots, Track, TrainingRows, Unit
from fairbench.api.method import Curve, Diverged, Fitted, Method, Representation
from fairbench.data.prepared import Prepared, Rows
from fairbench.runs.curve_points import check_curve
from fairbench.runs.plugin_values import ContractError
from fairbench.stats.rounding import column_spread, distance_from_others, most_rounding
from fairbench.testing.check_results import BrokenPromise, Unmet
from fairbench.testing.sample_data import sample_data, shortened

ITERATIONS = 30
"""Training steps of neural methods: promises hold in the first steps as in the last."""

SEED, OTHER_SEED = 7, 8

TOLERANCE = 1e-3
"""Two codes are the same up to the order of floating-point sums, each on its scale (rows_apart);
one bit that flips at such a difference is tolerated in one row of fifty."""

MAX_APART = 0.02

_SPREADS = 10.0
"""Most that a value counts by its distance from zero, in spreads of its column."""


@dataclass
class MethodTrial:
    """A method, and its test data."""

    method: type[Method]
    # Of a real dataset some rows; default: the sample table
    data: Prepared = field(default_factory=sample_data)
    root: Path | None = None  # data root, whose files a method must not read

    def __post_init__(self) -> None:
        self.data = shortened(self.data)

    @cached_property
    def instance(self) -> Method:
        """The method with its default hyperparameters, if it supports the data."""
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
    def refuses(self) -> str | None:
        """Why it does not support the data; None where it does, or fails to answer."""
        try:
            return self.method().supports(self.data.info)
        except Exception:
            return None

    @property
    def test(self) -> Rows:
        """Held-out rows."""
        return self.data.roles[Role.TEST]

    @property
    def stochastic(self) -> bool:
        """Whether its encoders take a generator."""
        return self.method.coding is Coding.STOCHASTIC

    def units(self, seeds: Sequence[int] = (SEED,), most: int = 3) -> list[Unit]:
        """Return one unit per seed, if single-shot, else the ends and the middle of the grid."""
        if self.method.shots is Shots.SINGLE:
            return [Unit(seed, None) for seed in seeds]
        grid = self.instance.points()
        places = np.unique(np.linspace(0, len(grid) - 1, most).astype(int))
        return [Unit(seed, grid[i]) for seed in seeds for i in places]

    def rows(self) -> TrainingRows:
        """Copy the training set into writable arrays, so that writing into them is noticed."""
        rows = self.data.roles[Role.ENCODER_TRAIN]
        return TrainingRows(rows.x.copy(), rows.s.copy(), self.data.info)

    def fit(
        self, units: Sequence[Unit], *, train: TrainingRows | None = None, device: str = "cpu"
    ) -> Sequence[Fitted]:
        """Fit the method; return the result of its fit."""
        context = FitContext(iterations=ITERATIONS, device=device)
        return self.instance.fit(train or self.rows(), units, context)

    def trained(
        self, units: Sequence[Unit] | None = None, *, device: str = "cpu"
    ) -> list[Representation]:
        """Fit the method to units, by default its usual ones; return the representations."""
        units = units or self.units()
        return self.opened(self.fit(units, device=device), units)

    @cached_property
    def _first(self) -> tuple[Sequence[Fitted], list[Representation]] | None:
        try:
            fitted = self.fit(self.units())
            return fitted, self.opened(fitted, self.units())
        except (Exception, SystemExit):
            return None

    @property
    def fitted(self) -> Sequence[Fitted]:
        """The result of a first fit, behind :attr:`first`."""
        _ = self.first
        assert self._first is not None
        return self._first[0]

    @property
    def first(self) -> list[Representation]:
        """Representations of a first fit, of curves in the middle; Unmet where it fails.

        Another promise is that it does not fail.
        """
        _ = self.instance
        if self._first is None:
            raise Unmet("there is no fit to look at; see above")
        return self._first[1]

    @cached_property
    def _codes_twice(self) -> tuple[list[np.ndarray], list[np.ndarray]] | None:
        """Codes of the test rows, and once more; None where encode gives none that are finite."""
        try:
            first, again = self.codes(self.first), self.codes(self.first)
            finite = all(np.isfinite(z).all() for z in first)  # of objects numpy cannot say
        except Unmet:
            raise
        except (Exception, SystemExit):
            return None
        return (first, again) if finite else None

    @property
    def coders(self) -> list[Representation]:
        """Those of :attr:`first` if they give finite codes; else Unmet, as that is a promise."""
        if self._codes_twice is None:
            raise Unmet("there are no codes to look at; see above")
        return self.first

    @property
    def encoders(self) -> list[Representation]:
        """Those of :attr:`first` if the same rows have the same codes again; else Unmet."""
        coders = self.coders
        assert self._codes_twice is not None
        if not all(map(np.array_equal, *self._codes_twice)):
            raise Unmet("the codes of the same rows differ at each call; see above")
        return coders

    @property
    def everywhere(self) -> list[Representation]:
        """Those of :attr:`encoders`, and of a curve also at both ends."""
        encoders = self.encoders
        return [*encoders, *self.ends()] if self.method.shots is Shots.SINGLE else encoders

    def ends(self) -> tuple[Representation, Representation]:
        """Representations at both ends of the grid, or of a curve."""
        first = self.encoders
        if self.method.shots is not Shots.SINGLE:
            return first[0], first[-1]
        (curve,) = self.fitted
        assert isinstance(curve, Curve)  # or there would be no first fit
        points = tried_points(curve)
        return curve.at(points[0]), curve.at(points[-1])

    def opened(self, fitted: Sequence[Fitted], units: Sequence[Unit]) -> list[Representation]:
        """Return the representations of a fit's results; BrokenPromise for another kind."""
        name = self.method.name
        if not isinstance(fitted, Sequence) or len(fitted) != len(units):
            several = isinstance(fitted, Sequence)
            returned = f"{len(fitted)} results" if several else f"a {type(fitted).__name__}"
            plural = "" if len(units) == 1 else "s"
            raise BrokenPromise(
                f"fit returned {returned} for {len(units)} unit{plural}.",
                "Return a list with one entry per unit, in the order of the units.",
            )
        return [
            self._opened(result, f"{name}, {u.point.label if u.point else 'its curve'}")
            for result, u in zip(fitted, units, strict=True)
        ]

    def _opened(self, result: Any, where: str) -> Representation:
        if isinstance(result, Diverged):
            raise BrokenPromise(
                f"The fit of {where} diverged: {result.reason}.",
                "It must train on a small, well-behaved table: lower the learning rate.",
            )
        single = self.method.shots is Shots.SINGLE
        if single != isinstance(result, Curve) or not isinstance(result, Curve | Representation):
            expected = "Curve" if single else "Representation"
            raise BrokenPromise(
                f"fit returned a {type(result).__name__} for {where}.",
                f"Its shots are {self.method.shots.value}: return a {expected} of fairbench.api.",
            )
        if not isinstance(result, Curve):
            return result
        try:
            check_curve(result, self.method.name)
        except ContractError as error:
            raise BrokenPromise(str(error), "Or correct what fit returns.") from None
        return result.at(middle(result))

    def encode(
        self, representation: Representation, x: np.ndarray, s: np.ndarray, *, seed: int = 0
    ) -> np.ndarray:
        """Encode rows with the inputs of this kind of encoder, and check the shape of the codes."""
        generator = np.random.default_rng(seed) if self.stochastic else None
        s_input = s if self.method.track is Track.AWARE else None
        z = representation.encode(x, s=s_input, generator=generator)
        shape = np.shape(z)
        if len(shape) != 2 or shape[0] != len(x) or shape[1] == 0:
            what = "None" if z is None else f"shape {shape}"
            raise BrokenPromise(
                f"encode returned {what} for {len(x)} rows.",
                "Return an array of shape (n, k), with one row of z per row of x.",
            )
        return np.asarray(z)

    def codes(
        self, representations: Sequence[Representation], *, seed: int = 0
    ) -> list[np.ndarray]:
        """Encode the test rows by each representation."""
        return [self.encode(one, self.test.x, self.test.s, seed=seed) for one in representations]


def tried_points(curve: Curve) -> Sequence[Point]:
    """Return a curve's own points, or else both ends of its knob."""
    ends = (curve.knob.low, curve.knob.high)
    return curve.points or [Point.of(**{curve.knob.name: end}) for end in ends]


def middle(curve: Curve) -> Point:
    """Return a point inside a curve: of its own list, or the middle of its knob."""
    if curve.points:
        return curve.points[len(curve.points) // 2]
    return Point.of(**{curve.knob.name: (curve.knob.low + curve.knob.high) / 2})


def rows_apart(z: np.ndarray, other: np.ndarray) -> float:
    """Return the share of rows whose codes differ beyond rounding; 1 for different shapes."""
    if z.shape != other.shape:
        return 1.0
    columns = int(np.prod(z.shape[1:]))
    a, b = (one.astype(np.float64).reshape(len(z), columns) for one in (z, other))
    # Of the value itself and of its column, which outliers do not widen; of a value far from zero
    # by what tells it from others, or beside 2^23 all codes would be the same.
    size = np.minimum(np.abs(a), _SPREADS * distance_from_others(a))
    allowed = TOLERANCE * (size + np.maximum(column_spread(a), 1.0)) + most_rounding(a)
    return float((~(np.abs(a - b) <= allowed).all(axis=1)).mean())
