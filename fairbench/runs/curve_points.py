"""Where a single-shot curve is read: evenly over distortion, decided after the fit."""

from __future__ import annotations

import numpy as np

from fairbench.api import Floats, Ints, Point, iterate_points
from fairbench.api.method import Curve, Representation

DEFAULT_POINTS = 16
"""Points at which a single-shot curve is read; both AUFDCs use them."""

_MOST_CELLS = 2_000_000
"""Rows times features used to find them: of images some 500 do, for a forward pass of all
validation rows at 65 settings would take longer than the training."""

_MOST_ROWS = 2_000
"""Rows used to find them: the same ones at each setting, so differences have little noise."""

_GRID = 65
"""Settings of the knob tried to find them."""


def detailed_points(count: int) -> set[int]:
    """Numbers of the points of a curve that audits examine closely: first, middle and last."""
    return {0, count // 2, count - 1} if count else set()


def points_to_read(
    curve: Curve,
    x: Floats,
    s: Ints,
    count: int | None,
    *,
    aware: bool = False,
    stochastic: bool = False,
) -> tuple[Point, ...]:
    """Choose the points of a single-shot curve on the validation set.

    Distortion is measured by the curve's own decoder; without one the points are spread evenly over
    the knob.

    Parameters
    ----------
    x, s : ndarray, shape (n, features) and (n,)
        The validation set.
    count : int, optional
        How many; default: the curve's own list, else 16.
    aware, stochastic : bool
        Whether the encoder is given s, and a generator.

    Returns
    -------
    tuple of Point
        From the informative to the fair end, both included; fewer than ``count`` where neighbours
        coincide.
    """
    every = max(1, x.size // _MOST_CELLS, len(x) // _MOST_ROWS)
    x, s = x[::every], s[::every]
    if curve.points is not None:
        return tuple(iterate_points(curve.points, count))
    most = count or DEFAULT_POINTS
    knob = curve.knob
    spread = np.geomspace if knob.logarithmic else np.linspace
    grid = spread(knob.low, knob.high, _GRID)
    settings = (curve.at(Point.of(**{knob.name: value})) for value in grid)
    generators = np.random.default_rng(0).spawn(_GRID) if stochastic else [None] * _GRID
    distortion = np.array(
        [
            _distortion(representation, x, s, aware, generator)
            for representation, generator in zip(settings, generators, strict=True)
        ]
    )
    if np.isnan(distortion).any():
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
        chosen[0], chosen[-1] = knob.low, knob.high
    values = np.unique([float(f"{value:.6g}") for value in chosen])
    return tuple(Point.of(**{knob.name: float(value)}) for value in values)


def _distortion(
    representation: Representation,
    x: Floats,
    s: Ints,
    aware: bool,
    generator: np.random.Generator | None,
) -> float:
    z = representation.encode(x, s=s if aware else None, generator=generator)
    x_hat = representation.decode(z, s)
    return float("nan") if x_hat is None else float(((x_hat - x) ** 2).sum(axis=1).mean())
