"""What boosted trees read of the quadrant from images of DSprites-Unfair, by view, shape and rows.

    python benchmarks/image_reading.py

The trees are the audit's own, on principal axes of the pixels and on what auditors see of images
(fairbench.auditing.axes). In nats of 20,000 test images; at most ln 4 = 1.386 could be there, but a
square looks the same after a quarter of a turn, up to single pixels, and an ellipse after half.
"""

from __future__ import annotations

import sys
import time

from threadpoolctl import threadpool_limits

from fairbench.api import Role
from fairbench.auditing.auditors.samples import prior_of
from fairbench.auditing.axes import image_axes, principal_axes
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.auditing.members import fit_boosted_trees
from fairbench.data.loading import load_dataset
from fairbench.stats.scores import information, mix_in_prior
from fairbench_datasets.dsprites_unfair import DSpritesUnfair

ROWS = (5_000, 20_000, 60_000)
SHAPES = ("square", "ellipse", "heart")


def main() -> int:
    data = load_dataset(DSpritesUnfair)
    train, test = data.roles[Role.AUDITOR_TRAIN], data.roles[Role.TEST]
    x, held = train.x, test.x
    prior = prior_of(train.s, 4)
    print(f"{'view':10} {'rows':>7}   all  " + "  ".join(f"{s:7}" for s in SHAPES) + "  seconds")
    for view, axes in (
        ("pixels", principal_axes(x[:4000])),
        ("images", image_axes(x, (1, 64, 64))),
    ):
        seen, asked = axes.project(x), axes.project(held)
        for rows in ROWS:
            start = time.process_time()
            with threadpool_limits(1):
                read = fit_boosted_trees(
                    seen[:rows],
                    train.s[:rows],
                    classes=4,
                    config=PRESETS[AuditPreset.STRICT],
                    seed=0,
                )
                likely = mix_in_prior(read(asked), prior)
            spent = time.process_time() - start
            of_shape = [test.y["shape"] == shape for shape in range(len(SHAPES))]
            by_shape = [information(likely[own], test.s[own]) for own in of_shape]
            found = "  ".join(f"{one:7.3f}" for one in by_shape)
            print(f"{view:10} {rows:7,}  {information(likely, test.s):.3f}  {found}  {spent:7.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
