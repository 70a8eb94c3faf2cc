"""Where a single-shot curve is read: evenly over distortion, decided after the fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairbench.api import AUDIT_ROLES, Ints, Point, Role, iterate_points
from fairbench.api.method import Curve, Representation
from fairbench.runs.encoding import checked_codes
from fairbench.runs.plugin_values import ContractError
from fairbench.runs.row_order import digest_of, hash_rows, order_by_content
from fairbench.store.returned_values import short_repr

DEFAULT_POINTS = 16
"""Points at which a single-shot curve is read; both AUFDCs use them."""

_MAX_CELLS = 2_000_000
"""Rows of all roles times features used to find them: of images some 500 do, for a forward pass of
all validation rows at 65 settings would take longer than the training."""

_MAX_ROWS = 2_000
"""Rows of a role used to find them: the same ones at each setting, so differences have little
noise."""

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
    features: Mapping[Role, np.ndarray],
    groups: Mapping[Role, Ints],
    count: int | None,
    *,
    aware: bool = False,
    stochastic: bool = False,
) -> tuple[Point, ...]:
    """Choose the points of a curve that lists none, on the validation set.

    Distortion is measured by the curve's own decoder; without one the points are spread evenly over
    the knob. Rows of the other roles are encoded among those of the validation set, so that an
    encoder does not learn which rows these are, and decoded for every group.

    Parameters
    ----------
    features, groups : mapping of Role to ndarray
        x and s of the audit roles.
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
    rows = _MixedRows.of(features, groups)
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
class _MixedRows:
    """Some rows of each audit role, in an order that tells nothing of the roles."""

    x: np.ndarray  # (n, features)
    s: Ints  # (n,)
    validation: npt.NDArray[np.bool_]  # (n,)

    @classmethod
    def of(cls, features: Mapping[Role, np.ndarray], groups: Mapping[Role, Ints]) -> _MixedRows:
        x = features[Role.VALIDATION]
        every = max(1, len(AUDIT_ROLES) * x.size // _MAX_CELLS, len(x) // _MAX_ROWS)
        # The same share of all roles: a row that is in or not in it is of no role rather than of
        # another.
        mixed = np.concatenate([features[role][::every] for role in AUDIT_ROLES])
        s = np.concatenate([groups[role][::every] for role in AUDIT_ROLES])
        counts = [len(groups[role][::every]) for role in AUDIT_ROLES]
        validation = np.repeat([role is Role.VALIDATION for role in AUDIT_ROLES], counts)
        hashes = hash_rows(mixed)
        order = order_by_content(hashes, digest_of(hashes, s))
        return cls(mixed[order], s[order], validation[order])

    def distortion(
        self, representation: Representation, aware: bool, generator: np.random.Generator | None
    ) -> float | None:
        """Mean squared error of validation rows, summed over columns; None without a decoder.

        Raises ContractError: what the method gives cannot be used.
        """
        if not isinstance(representation, Representation):
            raise ContractError(
                f"at(point) of the curve returned a {type(representation).__name__}, not a "
                "Representation."
            )
        s = self.s if aware else None
        z = representation.encode(self.x, s=s, generator=generator)
        z = checked_codes(z, len(self.x), "encode")  # or its decoder would be blamed
        squares = np.empty(len(self.s))
        for group in range(int(self.s.max()) + 1):
            x_hat = representation.decode(z, np.full(len(self.s), group, np.int64))
            if x_hat is None:
                return None
            x_hat = np.asarray(x_hat)  # of a multi-shot method a list will do
            if x_hat.shape != self.x.shape:
                raise ContractError(f"decode returned shape {x_hat.shape}; x has {self.x.shape}.")
            own = self.s == group
            squares[own] = ((x_hat[own] - self.x[own]) ** 2).sum(axis=1)
        mean = float(squares[self.validation].mean())
        if not math.isfinite(mean):
            raise ContractError("decode returned values that are not finite.")
        return mean
