"""The images of dSprites (Matthey et al. 2017), drawn from their latent classes.

A sprite is an outline around its own origin, in pixels at scale 1, u to the right and v downwards.
It is scaled, turned counter-clockwise as seen on the image, and moved; a pixel is on if its centre
lies inside. Row y, column x of an image has its centre at (x, y). Three outlines are all there is:
no image is stored, and every one of the 737,280 is drawn on its own.

How the numbers below came about: ``datasets/tools/fit_dsprites_renderer.py`` puts the pixels of 160
original frames back into the coordinates of the sprite and looks for the outline between those that
are on and those that are off. All squares and ellipses come out as in the original, pixel by
pixel, and little more than .003 pixel of their size is left to choose. Of all hearts together, 18
pixels differ. That centres decide, not covered areas, is what the frames say: the largest square
has 400 pixels when upright but 364 to 372 when turned, and this rule gives all from one size.

Source: L. Matthey, I. Higgins, D. Hassabis, A. Lerchner. dSprites: disentanglement testing sprites
dataset, 2017.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

SIDE = 64
"""Height and width of an image, in pixels."""

FACTORS = {"colour": 1, "shape": 3, "scale": 6, "orientation": 40, "x": 32, "y": 32}
"""The columns of latents, in their order, and how many classes each has."""

SHAPES = ("square", "ellipse", "heart")
"""Classes of the factor shape."""

# Where sprites have their origin at classes 0 and 31 of x and of y. The steps between are 32/31
# pixel: the original's images differ from class to class by more than a shift.
FIRST_CENTRE, LAST_CENTRE = 15.5, 47.5

SQUARE = 9.5982
"""Half the side of the square."""

ELLIPSE = (12.7659, 7.2123)
"""Half the axes of the ellipse, along u and along v."""

HEART = (
    ((0.0, -5.147), (2.017, -11.950), (9.588, -9.612), (9.588, -4.059)),
    ((9.588, -4.059), (9.588, 1.581), (1.242, 4.966), (0.0, 9.681)),
)
"""Control points (u, v) of the heart's right half: two cubic Bezier curves, from the dip between
the lobes to the rightmost point and on to the tip. The left half is its mirror image."""

# No sprite reaches further than the square's corner, so this many pixels across hold any of them.
_REACH = SQUARE * np.sqrt(2.0)
_BOX = int(np.ceil(2 * _REACH))

# The heart's outline is looked up by |u|, at this many steps per pixel.
_STEPS = 2048

# Images drawn at a time: their arrays stay in the processor's cache.
_CHUNK = 256


def render(latents: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Draw images.

    Parameters
    ----------
    latents : integer array of shape (n, 6)
        Classes of colour, shape, scale, orientation, x and y, as in the original: `FACTORS` says
        how many each has. Scale runs evenly from .5 to 1, orientation from 0 to 2 pi with both
        ends included: its classes 0 and 39 give the same image.

    Returns
    -------
    array of uint8 of shape (n, 64, 64)
        1 inside the sprite, 0 elsewhere; rows from top to bottom.

    Raises
    ------
    ValueError
        If `latents` are not integers, have another shape, or hold a class out of range.
    """
    latents = _checked(latents)
    images = np.zeros((len(latents), SIDE, SIDE), dtype=np.uint8)
    for start in range(0, len(latents), _CHUNK):
        _draw(latents[start : start + _CHUNK], images[start : start + _CHUNK])
    return images


def render_packed(latents: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Draw images, eight pixels per byte: all 737,280 take 377 MB.

    ``latents (n, 6)``: as for :func:`render`, which raises the same errors. Returns ``(n, 512)``:
    ``np.unpackbits(packed, axis=1).reshape(-1, 64, 64)`` are the images.
    """
    latents = _checked(latents)
    packed = np.empty((len(latents), SIDE * SIDE // 8), dtype=np.uint8)
    images = np.empty((_CHUNK, SIDE, SIDE), dtype=np.uint8)
    for start in range(0, len(latents), _CHUNK):
        rows = latents[start : start + _CHUNK]
        images[:] = 0
        _draw(rows, images[: len(rows)])
        flat = images[: len(rows)].reshape(len(rows), -1)
        packed[start : start + _CHUNK] = np.packbits(flat, axis=1)
    return packed


def placement(latents: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
    """Positions of sprites, and the map from the image to their own coordinates.

    ``latents (n, 6)``: as for :func:`render`; not checked here. Returns x, y, cos, sin ``(n,)``:
    origin of the sprite, in pixels, and sine and cosine of its orientation over its scale. A point
    at (dx, dy) from the origin has the coordinates u = cos dx - sin dy and v = sin dx + cos dy.
    """
    _, _, scale_class, orientation, *position = latents.T
    scale = 0.5 + 0.1 * scale_class
    # A whole turn is exactly none.
    angle = 2 * np.pi / 39 * (orientation % 39)
    x, y = (FIRST_CENTRE + (LAST_CENTRE - FIRST_CENTRE) / 31 * classes for classes in position)
    return x, y, np.cos(angle) / scale, np.sin(angle) / scale


def _checked(latents: NDArray[np.integer]) -> NDArray[np.int64]:
    latents = np.asarray(latents)
    if latents.ndim != 2 or latents.shape[1] != len(FACTORS):
        raise ValueError(f"latents have shape {latents.shape} instead of (n, {len(FACTORS)})")
    if not np.issubdtype(latents.dtype, np.integer):
        raise ValueError(f"latents are {latents.dtype} instead of integers")
    for column, (factor, classes) in enumerate(FACTORS.items()):
        wrong = (latents[:, column] < 0) | (latents[:, column] >= classes)
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"latents: {factor} of row {row} is {latents[row, column]}, "
                f"but its classes are 0 to {classes - 1}"
            )
    return latents.astype(np.int64)


def _draw(latents: NDArray[np.int64], images: NDArray[np.uint8]) -> None:
    """Draw sprites onto empty images, shape (n, 64, 64)."""
    x, y, cos, sin = placement(latents)
    # Only pixels of a box around the sprite are computed.
    left, top = (np.ceil(centre - _REACH).astype(np.int64) for centre in (x, y))
    dx = (left - x)[:, None] + np.arange(_BOX)
    dy = (top - y)[:, None] + np.arange(_BOX)
    cos, sin = cos[:, None], sin[:, None]
    u = (cos * dx)[:, None, :] - (sin * dy)[:, :, None]
    v = (sin * dx)[:, None, :] + (cos * dy)[:, :, None]
    boxes = np.lib.stride_tricks.sliding_window_view(images, (_BOX, _BOX), (1, 2), writeable=True)
    for kind, inside in enumerate((_inside_square, _inside_ellipse, _inside_heart)):
        rows = np.flatnonzero(latents[:, 1] == kind)
        boxes[rows, top[rows], left[rows]] = inside(u[rows], v[rows])


def _inside_square(u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (np.abs(u) <= SQUARE) & (np.abs(v) <= SQUARE)


def _inside_ellipse(u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.bool_]:
    a, b = ELLIPSE
    return (u / a) ** 2 + (v / b) ** 2 <= 1


def _inside_heart(u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.bool_]:
    upper, lower = _heart_by_column()
    # The last column is for everything to the right of the heart.
    column = np.minimum(np.abs(u) * _STEPS, len(upper) - 1).astype(np.intp)
    inside: NDArray[np.bool_] = (upper[column] <= v) & (v <= lower[column])
    return inside


@cache
def _heart_by_column() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least and largest v inside the heart, in steps of |u|; the last column is outside."""
    columns = np.arange(0.5, HEART[0][-1][0] * _STEPS) / _STEPS
    t = np.linspace(0, 1, 4 * _STEPS)
    (upper_u, upper_v), (lower_u, lower_v) = (bezier(curve, t) for curve in np.array(HEART))
    upper = np.interp(columns, upper_u, upper_v)
    lower = np.interp(columns, lower_u[::-1], lower_v[::-1])
    return np.append(upper, np.inf), np.append(lower, -np.inf)


def bezier(points: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points of a cubic Bezier curve.

    ``points (4, 2)``: its control points. ``t (n,)``: where on it, from 0 to 1. Returns ``(2, n)``.
    """
    weights = np.stack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
    curve: NDArray[np.float64] = points.T @ weights
    return curve
