"""Images whose information about S is known: what the audit reads of them.

    python benchmarks/image_channels.py [--rows 60000] [--audit strict]

Each channel draws images as a decoder might, and shows them to the auditors as they see images
(fairbench.auditing.axes). S is one of four quadrants, equally likely. A heart shows the quadrant,
which is another one with some chance: I = ln 4 - H(what is shown | S). Or the shape alone depends
on S, as in DSprites-Unfair.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from fairbench.api import AUDIT_ROLES, Ints, Role
from fairbench.auditing.axes import image_axes
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.auditing.ensemble import audit
from fairbench.auditing.sample import AuditSample
from fairbench_datasets.dsprites_unfair.render import FACTORS, SHAPES, render
from fairbench_datasets.dsprites_unfair.sampling import shape_given_orientation

GROUPS = 4
IMAGE = (1, 64, 64)
EVALUATED = 20_000
"""Rows of the validation set, and of the test set."""

Latents = Callable[[np.random.Generator, Ints], Ints]
"""Maps s ``(n,)`` to the latents of images ``(n, 6)``."""


@dataclass(frozen=True)
class ImageChannel:
    name: str
    truth: float  # nats
    latents: Latents


def uniform(rng: np.random.Generator, n: int) -> Ints:
    return np.stack([rng.integers(0, classes, n) for classes in FACTORS.values()], axis=1)


def hearts(wrong: float) -> ImageChannel:
    """Hearts in the quadrant of s, or with a chance in one of the other three."""

    def latents(rng: np.random.Generator, s: Ints) -> Ints:
        drawn = uniform(rng, len(s))
        shown = np.where(rng.random(len(s)) < wrong, s + rng.integers(1, GROUPS, len(s)), s)
        drawn[:, 1] = SHAPES.index("heart")
        # Not the first class: it shows the same angle as the last one.
        drawn[:, 3] = 10 * (shown % GROUPS) + rng.integers(1, 10, len(s))
        return drawn

    chances = np.array([1 - wrong, *[wrong / (GROUPS - 1)] * (GROUPS - 1)])
    chances = chances[chances > 0]
    truth = math.log(GROUPS) + float((chances * np.log(chances)).sum())
    return ImageChannel(f"hearts, {wrong:.0%} in a wrong quadrant", max(truth, 0.0), latents)


def shapes() -> ImageChannel:
    """Upright sprites of a shape that depends on s."""
    of_quadrant = shape_given_orientation().reshape(GROUPS, -1, len(SHAPES)).mean(axis=1)
    joint = of_quadrant / GROUPS
    ratio = joint / (joint.sum(axis=0) / GROUPS)

    def latents(rng: np.random.Generator, s: Ints) -> Ints:
        drawn = uniform(rng, len(s))
        drawn[:, 1] = (rng.random(len(s))[:, None] > of_quadrant.cumsum(axis=1)[s]).sum(axis=1)
        drawn[:, 3] = 0
        return drawn

    return ImageChannel("upright, the shape depends on s", (joint * np.log(ratio)).sum(), latents)


CHANNELS = [hearts(0.0), hearts(0.25), hearts(0.5), hearts(0.75), shapes()]


def rows_of(
    channel: ImageChannel, rows: int
) -> tuple[Mapping[Role, np.ndarray], Mapping[Role, Ints]]:
    """Images ``(n, 4096)`` and s ``(n,)`` of the three audit roles."""
    rng = np.random.default_rng([CHANNELS.index(channel), rows])
    sizes = {role: rows if role is Role.AUDITOR_TRAIN else EVALUATED for role in AUDIT_ROLES}
    s = {role: rng.integers(0, GROUPS, size) for role, size in sizes.items()}
    images = {role: render(channel.latents(rng, s[role])).reshape(len(s[role]), -1) for role in s}
    return images, s


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=60_000, help="rows that auditors learn from")
    parser.add_argument(
        "--audit", choices=list(AuditPreset), type=AuditPreset, default=AuditPreset.STRICT
    )
    given = parser.parse_args()
    print(f"{'channel':36} {'true':>6} {'read':>6} {'difference':>11}  auditor, seconds")
    worst = 0.0
    for channel in CHANNELS:
        images, s = rows_of(channel, given.rows)
        start = time.process_time()
        with threadpool_limits(1):
            axes = image_axes(images[Role.AUDITOR_TRAIN], IMAGE)
            nothing = {role: np.zeros((len(rows), 1), np.float32) for role, rows in images.items()}
            read = audit(
                AuditSample(nothing, s, GROUPS),
                config=PRESETS[given.audit],
                seed=0,
                decoded={role: axes.project(rows) for role, rows in images.items()},
            )
        found = read.chosen.test_information
        difference = found - channel.truth
        worst = max(worst, abs(difference) - max(0.02, 0.08 * channel.truth))
        spent = time.process_time() - start
        print(
            f"{channel.name:36} {channel.truth:6.3f} {found:6.3f} {difference:+11.3f}  "
            f"{read.chosen.auditor} {read.chosen.view}, {spent:.0f}",
            flush=True,
        )
    print("All within the larger of .02 nats and 8%." if worst <= 0 else f"Missed by {worst:.3f}.")
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main())
