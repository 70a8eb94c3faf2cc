"""Where a single-shot curve is read: evenly over distortion, decided after the fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairbench.api import Ints, Point, iterate_points
from fairbench.api.method import Curve, Representation
from fairbench.data.prepared import Rows
from fairbench.runs.encoding import checked_codes
from fairbench.runs.plugin_values import ContractError
from fairbench.store.returned_values import short_repr

DEFAULT_POINTS = 16
"""Points at which a single-shot curve is read; both AUFDCs use them."""

_MAX_ROWS, _MAX_VALUES = 2_000, 2_000_000
"""Rows used to find them, and values of x in these rows: of images some 500 rows do, for a forward
pass of more at 65 settings would take longer than the training."""

_GRID = 65
"""Settings of the knob tried to find them."""


def detailed_point_numbers(points: Sequence[Point | None]) -> set[int]:
    """Numbers of the points of a curve that audits examine closely: first, middle and last.

    In the order of their knobs, from the end that comes first in the list: in any other order a
    method could spare points that leak when they are queried repeatedly.
    """
    rising = sorted(range(len(points)), key=lambda number: _knobs(points[number]))
    order = rising[::-1] if rising[::-1] == list(range(len(points))) else rising
    return {order[place] for place in (0, len(order) // 2, -1)} if order else set()


def _knobs(point: Point | None) -> tuple[tuple[str, float], ...]:
    return () if point is None else tuple(sorted(point.values))


def check_curve(curve: Curve, name: str) -> None:
    """Raise ContractError unless points of a curve, of the method ``name``, can be read."""
    points, knob = curve.points, curve.knob
    if points is not None:
        if not isinstance(points, tuple | list) or not all(isinstance(p, Point) for p in points):
            raise ContractError(
                f"The points of the curve of {name} are {short_repr(points)}: give a tuple of "
                "fairbench.api.Point, or leave points None."
            )
        if not points:
            raise ContractError(
                f"The curve of {name} has an empty list of points: list some, or leave points None."
            )
    elif not (math.isfinite(knob.low) and math.isfinite(knob.high)):
        raise ContractError(
            f"The knob {knob.name!r} of the curve of {name} has no end: give it finite ends, or "
            "the curve a list of points."
        )
    elif knob.logarithmic and knob.low <= 0:
        raise ContractError(
            f"The knob {knob.name!r} of the curve of {name} is logarithmic from {knob.low:g}: "
            "give it a low above 0, or leave logarithmic False."
        )


def listed_points(curve: Curve, count: int | None) -> tuple[Point, ...] | None:
    """Return ``count`` points of the curve's own list, or all; None: it has no list."""
    listed = curve.points
    return None if listed is None else tuple(iterate_points(listed, count))


def points_to_read(
    curve: Curve,
    training: Rows,
    count: int | None,
    *,
    aware: bool = False,
    stochastic: bool = False,
) -> tuple[Point, ...]:
    """Choose the points of a curve that lists none, on the encoder's training rows.

    Distortion is measured by the curve's own decoder; without one the points are spread evenly over
    the knob. On rows of the audit the chosen points would tell the method of their groups.

    Parameters
    ----------
    training : Rows
        Rows that the method has had for its training, with their groups.
    count : int, optional
        How many; default: 16.
    aware, stochastic : bool
        Whether the encoder is given s, and a generator.

    Returns
    -------
    tuple of Point
        From the informative to the fair end, both included; fewer than ``count`` where neighbours
        coincide.
    """
    most = count or DEFAULT_POINTS
    knob = curve.knob
    spread = np.geomspace if knob.logarithmic else np.linspace
    grid = spread(knob.low, knob.high, _GRID)
    settings = (curve.at(Point.of(**{knob.name: value})) for value in grid)
    generators = np.random.default_rng(0).spawn(_GRID) if stochastic else [None] * _GRID
    rows = _SomeRows.of(training)
    measured = [
        rows.distortion(representation, aware, generator)
        for representation, generator in zip(settings, generators, strict=True)
    ]
    known = [one for one in measured if one is not None]
    distortion = np.array(known)
    falling = bool(known) and known[0] > known[-1]  # a knob of which less is fairer
    if falling:
        grid, distortion = grid[::-1], distortion[::-1]
    if len(known) < len(measured):
        chosen = spread(knob.low, knob.high, most)
    else:
        # Noise makes the measured curve dip; a running maximum is monotone and can be inverted.
        rising = np.maximum.accumulate(distortion)
        targets = np.linspace(rising[0], rising[-1], most)
        # Of a plateau only its far end counts: nothing is gained by reading along it.
        steps = np.concatenate([np.diff(rising) > 1e-9, [True]])
        scaled = np.log(grid) if knob.logarithmic else grid
        chosen = np.interp(targets, rising[steps], scaled[steps])
        chosen = np.exp(chosen) if knob.logarithmic else chosen
        chosen[0], chosen[-1] = (knob.high, knob.low) if falling else (knob.low, knob.high)
    values = np.unique(np.clip([float(f"{v:.6g}") for v in chosen], knob.low, knob.high))
    if falling:
        values = values[::-1]
    return tuple(Point.of(**{knob.name: float(value)}) for value in values)


@dataclass(frozen=True)
class _SomeRows:
    """Some training rows, the same ones at each setting, so that differences have little noise."""

    x: np.ndarray  # (n, features)
    s: Ints  # (n,)

    @classmethod
    def of(cls, rows: Rows) -> _SomeRows:
        every = max(1, rows.x_values // _MAX_VALUES, len(rows.s) // _MAX_ROWS)
        return cls(rows.some_x(every), rows.s[::every])

    def distortion(
        self, representation: Representation, aware: bool, generator: np.random.Generator | None
    ) -> float | None:
        """Mean squared error, summed over columns; None without a decoder.

        Raises ContractError: what the method gives cannot be used.
        """
        if not isinstance(representation, Representation):
            raise ContractError(
                f"at(point) of the curve returned a {type(representation).__name__}, not a "
                "Representation."
            )
        z = representation.encode(self.x, s=self.s if aware else None, generator=generator)
        z = checked_codes(z, len(self.x), "encode")  # or its decoder would be blamed
        x_hat = representation.decode(z, self.s)
        if x_hat is None:
            return None
        x_hat = np.asarray(x_hat)  # of a multi-shot method a list will do
        if x_hat.shape != self.x.shape:
            raise ContractError(f"decode returned shape {x_hat.shape}; x has {self.x.shape}.")
        mean = float(((x_hat - self.x) ** 2).sum(axis=1).mean())
        if not math.isfinite(mean):
            raise ContractError("decode returned values that are not finite.")
        return mean
