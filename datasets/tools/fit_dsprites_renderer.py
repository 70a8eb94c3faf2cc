"""Fit the outlines of the dSprites renderer to original frames, and compare what it draws.

    python datasets/tools/fit_dsprites_renderer.py FRAMES.npz

FRAMES.npz holds `frames`, shape (n, 64, 64), and `frame_index`, shape (n,), the place of each in
the walk through the factors that dSprites is shown with. Prints the fitted numbers, to be copied
into ``fairbench_datasets/dsprites_unfair/render.py``, and the overlap (intersection over union) of
the frames with what the module draws as it stands. Needs torch; a minute on one CPU core.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter, minimum_filter
from scipy.optimize import linprog, minimize
from torch import Tensor

from fairbench_datasets.dsprites_unfair import render as renderer

# Softness of the heart's loss, in pixels: far-off pixels pull first, then only the nearest.
SOFTNESS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
#: Where the fit of the heart starts: rough control points of its right half.
HEART_START = ((0, -5), (2, -12), (9.6, -9), (9.6, -4), (9.6, 2), (1, 5), (0, 9.6))
SEGMENTS = 80


def walk() -> NDArray[np.int64]:
    """Latents of the walk's 320 frames, shape (320, 6).

    Heart, ellipse, square, one after the other: up, down and up again the scales, once round, and
    down the scales. The heart, before it shrinks, goes along the four edges of the square of
    positions.
    """
    up, down = list(range(6)), list(range(6))[::-1]
    rows = []
    for shape in (2, 1, 0):
        rows += [(0, shape, scale, 0, 0, 0) for scale in up + down + up]
        rows += [(0, shape, 5, turn, 0, 0) for turn in range(40)]
        if shape == 2:
            forth, back = range(32), range(31, -1, -1)
            rows += [(0, shape, 5, 39, 0, y) for y in forth]
            rows += [(0, shape, 5, 39, x, 31) for x in forth]
            rows += [(0, shape, 5, 39, 31, y) for y in back]
            rows += [(0, shape, 5, 39, x, 0) for x in back]
        rows += [(0, shape, scale, 39, 0, 0) for scale in down]
    return np.array(rows)


def overlap(images: NDArray[np.uint8], frames: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Intersection over union of images of 0 and 1, shape (n,)."""
    union = (images | frames).sum(axis=(1, 2))
    ratio: NDArray[np.float64] = (images & frames).sum(axis=(1, 2)) / union
    return ratio


def edge_pixels(
    latents: NDArray[np.int64], frames: NDArray[np.uint8]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Pixels beside an edge, each once: u without its sign, v, and 1 where on, -1 where off."""
    beside = maximum_filter(frames, (1, 3, 3)) != minimum_filter(frames, (1, 3, 3))
    x, y, cos, sin = (part[:, None, None] for part in renderer.placement(latents))
    grid = np.arange(renderer.SIDE)
    dx, dy = grid - x, grid[:, None] - y
    u, v = np.abs(cos * dx - sin * dy)[beside], (sin * dx + cos * dy)[beside]
    sign = np.where(frames[beside] > 0, 1.0, -1.0)
    unique = np.unique(np.round(np.stack([u, v, sign]), 6), axis=1)
    return unique[0], unique[1], unique[2]


def fit_square(u: NDArray[np.float64], v: NDArray[np.float64], sign: NDArray[np.float64]) -> float:
    """Half the side: the middle of what separates on from off."""
    reach = np.maximum(u, np.abs(v))
    least, most = reach[sign > 0].max(), reach[sign < 0].min()
    print(f"square: half side in ({least:.5f}, {most:.5f})")
    return float((least + most) / 2)


def fit_ellipse(
    u: NDArray[np.float64], v: NDArray[np.float64], sign: NDArray[np.float64]
) -> tuple[float, float]:
    """Half the axes: p u^2 + q v^2 <= 1 with the largest margin on both sides."""
    rows = np.stack([sign * u**2, sign * v**2, np.ones_like(u)], axis=1)
    p, q, margin = linprog([0, 0, -1], A_ub=rows, b_ub=sign, bounds=(None, None)).x
    print(f"ellipse: margin {margin:.1e} of 1 (negative if the pixels cannot be separated)")
    return float(p**-0.5), float(q**-0.5)


def heart_outline(free: Tensor) -> Tensor:
    """Corners of a polygon along both Bezier curves, shape (2 * SEGMENTS + 1, 2).

    `free`, shape (10,): v of the dip; the point after it; v of the points before, at and after the
    rightmost one, which share their u; the point before the tip; v of the tip.
    """
    dip, u1, v1, right, before, at, after, u5, v5, tip = free
    zero = torch.zeros(())
    upper = [(zero, dip), (u1, v1), (right, before), (right, at)]
    lower = [(right, at), (right, after), (u5, v5), (zero, tip)]
    t = torch.linspace(0, 1, SEGMENTS + 1)
    weights = torch.stack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3], dim=1)
    first, second = (
        weights @ torch.stack([torch.stack(p) for p in curve]) for curve in (upper, lower)
    )
    return torch.cat([first, second[1:]])


def depth(outline: Tensor, points: Tensor) -> Tensor:
    """Distance of points from the outline, positive inside, shape (n,)."""
    start, step = outline[:-1], outline[1:] - outline[:-1]
    to_point = points[:, None] - start
    along = ((to_point * step).sum(-1) / (step * step).sum(-1)).clamp(0, 1)
    distance2, nearest = (to_point - along[..., None] * step).square().sum(-1).min(dim=1)
    step, to_point = step[nearest], to_point[torch.arange(len(points)), nearest]
    # The outline runs clockwise on the image, with the inside on its right.
    cross = step[:, 0] * to_point[:, 1] - step[:, 1] * to_point[:, 0]
    return distance2.clamp_min(1e-12).sqrt() * cross.detach().sign()


def fit_heart(
    u: NDArray[np.float64], v: NDArray[np.float64], sign: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Control points, shape (7, 2): logistic regression of on and off on the depth of pixels."""
    points, signs = torch.tensor(np.stack([u, v], axis=1)), torch.tensor(sign)
    p = HEART_START
    free = np.array([p[0][1], *p[1], *p[2], p[3][1], p[4][1], *p[5], p[6][1]], dtype=float)
    for softness in SOFTNESS:

        def loss(values: NDArray[np.float64], scale: float = softness) -> tuple[float, object]:
            leaf = torch.tensor(values, requires_grad=True)
            margin = signs * depth(heart_outline(leaf), points) / scale
            total = torch.nn.functional.softplus(-margin).sum() * scale
            (gradient,) = torch.autograd.grad(total, leaf)
            return total.item(), gradient.numpy()

        free = minimize(loss, free, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    margins = (signs * depth(heart_outline(torch.tensor(free)), points)).numpy()
    wrong = (margins < 0).sum()
    print(
        f"heart: {wrong} of {len(u)} edge pixels wrong, by at most {-min(margins.min(), 0):.4f} px"
    )
    dip, u1, v1, right, before, at, after, u5, v5, tip = free
    return np.array(
        [(0, dip), (u1, v1), (right, before), (right, at), (right, after), (u5, v5), (0, tip)]
    )


def main() -> None:
    """Read the frames named on the command line, fit, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("frames", type=Path, help="npz file with frames and frame_index")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    with np.load(arguments.frames) as file:
        frames, latents = file["frames"], walk()[file["frame_index"]]
    pixels = [
        edge_pixels(latents[rows], frames[rows])
        for rows in (latents[:, 1] == shape for shape in range(3))
    ]
    print(f"SQUARE = {fit_square(*pixels[0]):.4f}")
    print("ELLIPSE = ({:.4f}, {:.4f})".format(*fit_ellipse(*pixels[1])))
    print(f"HEART, from dip to tip = {fit_heart(*pixels[2]).round(3).tolist()}")

    images = renderer.render(latents)
    ratios = overlap(images, frames)
    print("\nthe module as it stands: overlap with the frames")
    for shape, name in enumerate(renderer.SHAPES):
        rows = latents[:, 1] == shape
        differ = (images[rows] != frames[rows]).sum()
        print(
            f"{name:8} mean {ratios[rows].mean():.5f}  minimum {ratios[rows].min():.5f}  "
            f"{differ} pixels differ in {rows.sum()} frames"
        )
    print(f"all      mean {ratios.mean():.5f}  minimum {ratios.min():.5f}")


if __name__ == "__main__":
    main()
