"""Codes of DSprites-Unfair whose order is known: what the audit reads of the quadrant from each.

    python benchmarks/image_codes.py [--rows 60000] [--audit strict]

The latents of an image tell its quadrant, and the same without the orientation only what the shape
does. Images show the quadrant but where shapes are symmetric; 24 principal axes of the pixels show
little beside where a sprite is. Readings have to be in this order: latents, images, axes, latents
without orientation. The last one is known: .014 nats.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping

import numpy as np
from image_channels import EVALUATED, GROUPS, IMAGE, uniform
from threadpoolctl import threadpool_limits

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role
from fairbench.auditing.axes import image_axes, principal_axes
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.auditing.ensemble import audit
from fairbench.auditing.sample import AuditSample
from fairbench_datasets.dsprites_unfair.render import FACTORS, SHAPES, render
from fairbench_datasets.dsprites_unfair.sampling import shape_given_orientation

AXES = 24
ORIENTATION = list(FACTORS).index("orientation")

Rows = Mapping[Role, Floats]


def draw(rows: int) -> Mapping[Role, Ints]:
    """Latents ``(n, 6)`` of the audit roles; the shape depends on the orientation."""
    rng = np.random.default_rng(rows)
    of_orientation = shape_given_orientation()

    def one(n: int) -> Ints:
        drawn = uniform(rng, n)
        chances = of_orientation[drawn[:, ORIENTATION]].cumsum(axis=1)
        shape = (rng.random(n)[:, None] > chances).sum(axis=1)
        drawn[:, 1] = np.minimum(shape, len(SHAPES) - 1)
        return drawn

    return {role: one(rows if role is Role.AUDITOR_TRAIN else EVALUATED) for role in AUDIT_ROLES}


def codes(latents: Mapping[Role, Ints]) -> Mapping[str, tuple[Rows, Rows | None]]:
    """z, and what auditors see beside it, of each code."""
    images: dict[Role, np.ndarray] = {
        role: render(of).reshape(len(of), -1) for role, of in latents.items()
    }
    shown = image_axes(images[Role.AUDITOR_TRAIN], IMAGE)
    axes = principal_axes(images[Role.AUDITOR_TRAIN][:4000])
    numbers = {role: of[:, 1:].astype(np.float32) for role, of in latents.items()}
    nothing = {role: np.zeros((len(of), 1), np.float32) for role, of in latents.items()}
    return {
        "latents": (numbers, None),
        "images": (nothing, {role: shown.project(of) for role, of in images.items()}),
        f"{AXES} axes of the pixels": (
            {role: axes.project(of)[:, :AXES] for role, of in images.items()},
            None,
        ),
        "latents without orientation": (
            {role: np.delete(of, ORIENTATION - 1, axis=1) for role, of in numbers.items()},
            None,
        ),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=60_000, help="rows that auditors learn from")
    parser.add_argument(
        "--audit", choices=list(AuditPreset), type=AuditPreset, default=AuditPreset.STRICT
    )
    given = parser.parse_args()
    latents = draw(given.rows)
    s = {role: of[:, ORIENTATION] // 10 for role, of in latents.items()}
    found = []
    for name, (z, decoded) in codes(latents).items():
        start = time.process_time()
        with threadpool_limits(1):
            sample = AuditSample(z, s, GROUPS)
            read = audit(sample, config=PRESETS[given.audit], seed=0, decoded=decoded)
        found.append(read.chosen.test_information)
        spent = time.process_time() - start
        print(f"{name:28} {found[-1]:6.3f}  {read.chosen.auditor}, {spent:.0f} s", flush=True)
    in_order = found == sorted(found, reverse=True)
    print("In order." if in_order else "Not in the order that they must have.")
    return int(not in_order)


if __name__ == "__main__":
    sys.exit(main())
