"""Small images and a small table, drawn at random, for what is measured in little time."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from fairbench.api import Architecture, Role
from fairbench.api.dataset import Dataset, Images
from fairbench.data.loading import load_dataset
from fairbench.data.prepared import Prepared

SIDE, GROUPS = 16, 4
ROWS = {Role.ENCODER_TRAIN: 2000, Role.AUDITOR_TRAIN: 200, Role.VALIDATION: 100, Role.TEST: 100}


class SmallImages(Dataset):
    """Rectangles on black; s is the quarter that one lies in, most of the time."""

    name = "small-images"
    summary = "16 x 16 rectangles in four groups"
    architecture = Architecture(hidden=(32,), latent=8, image=(1, SIDE, SIDE), channels=(8, 8))
    iterations = 1000

    def load(self, folder: Path) -> Images:
        rng = np.random.default_rng(0)
        pixels, s, y = {}, {}, {}
        for role, rows in ROWS.items():
            group = rng.integers(0, GROUPS, rows)
            place = np.where(rng.random(rows) < 0.9, group, rng.integers(0, GROUPS, rows))
            size = rng.integers(3, 8, (rows, 2))
            top = (place // 2) * (SIDE // 2) + rng.integers(0, SIDE // 2 - size[:, 0] + 1)
            left = (place % 2) * (SIDE // 2) + rng.integers(0, SIDE // 2 - size[:, 1] + 1)
            i, j = np.indices((SIDE, SIDE))
            down, right = i - top[:, None, None], j - left[:, None, None]
            inside = (down >= 0) & (down < size[:, :1, None]) & (right >= 0)
            inside &= right < size[:, 1:, None]
            pixels[role] = np.packbits(inside.reshape(rows, -1), axis=1)
            s[role] = group.astype(np.int64)
            y[role] = {"tall": (size[:, 0] > size[:, 1]).astype(np.int64)}
        groups = tuple(f"quarter {number}" for number in range(1, GROUPS + 1))
        return Images(pixels, s, groups, y, "rendered")


@cache
def small_images() -> Prepared:
    """Return the images, prepared."""
    return load_dataset(SmallImages)


_CARD = """\
name: small-table
file: small-table.csv
sensitive: group
labels: {column: task, positive: "1"}
features: {shifted: number, scaled: number, noise: number}
iterations: 400
"""


def write_small_table(folder: Path, rows: int = 2000) -> Path:
    """Write a table of three columns and its dataset card; return the path of the card."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, rows)
    frame = pd.DataFrame(
        {
            "shifted": rng.normal(size=rows) + group,
            "scaled": rng.normal(size=rows) * (1 + group),
            "noise": rng.normal(size=rows),
            "group": np.where(group, "one", "other"),
        }
    )
    frame["task"] = (frame["shifted"] + frame["noise"] > 0.5).astype(int)
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(folder / "small-table.csv", index=False)
    card = folder / "small-table.yaml"
    card.write_text(_CARD)
    return card
