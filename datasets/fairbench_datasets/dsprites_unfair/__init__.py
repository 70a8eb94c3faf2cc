"""DSprites-Unfair: binary images whose shape depends on the orientation.

The SoFaiR paper's variant of dSprites (Matthey et al. 2017). X is a 64 x 64 image, S the quadrant
of the orientation (4 groups), Y the shape. The 737,280 images of the original are procedural and
are rendered here (see render.py); where the original ``.npz`` is given it is used instead, and the
records say which (``data_source`` is ``rendered`` or ``real``). Images are dealt to the roles
before they are drawn from, so that no image, nor its pixels, stands in two roles.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fairbench.api import Architecture, DataSource
from fairbench.api.dataset import DataFile, Dataset, Images
from fairbench.errors import DataError
from fairbench.hookspecs import hookimpl

ORIGINAL = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
ORIGINAL_BLOB = "d98996d3f8ee1550e06b9d4ed78d0beb478910d5"
"""The git blob id of the original file in its repository."""


class DSpritesUnfair(Dataset):
    """S is the quadrant of the orientation, Y the shape; a second task is the size."""

    name = "dsprites-unfair"
    aliases = ("dsprites",)
    summary = "64 x 64 images, S = quadrant of orientation (4 groups), rendered here"
    citation = (
        "L. Matthey, I. Higgins, D. Hassabis and A. Lerchner. dSprites: Disentanglement testing "
        "Sprites dataset, 2017. https://github.com/google-deepmind/dsprites-dataset"
    )
    licence = "original images: Apache 2.0; rendered here: none needed"
    url = "https://github.com/google-deepmind/dsprites-dataset"
    folder = "dsprites"
    files = (DataFile(ORIGINAL, (), None, None),)
    optional = True
    rows = 700_000
    sensitive = ("orientation",)
    tasks = ("shape", "large")
    iterations = 546_000  # the paper's Table 3
    # The paper's Table 2; its last "ConvT2d(32, 61)" is a slip for one channel.
    architecture = Architecture(
        hidden=(128,), latent=24, image=(1, 64, 64), channels=(32, 32, 64, 64)
    )

    def load(self, folder: Path) -> Images:
        from fairbench_datasets.dsprites_unfair.render import render_packed
        from fairbench_datasets.dsprites_unfair.sampling import all_latents, draw, image_ids

        latents = all_latents()
        path = folder / ORIGINAL
        given = path.exists()
        packed = read_original(path) if given else render_packed(latents)
        drawn = draw(image_ids(packed), latents)
        labels = {role: latents[rows] for role, rows in drawn.items()}
        return Images(
            pixels={role: packed[rows] for role, rows in drawn.items()},
            s={role: classes[:, 3] // 10 for role, classes in labels.items()},
            groups=tuple(f"quadrant {q}" for q in (1, 2, 3, 4)),
            y={
                role: {
                    "shape": classes[:, 1].copy(),
                    "large": (classes[:, 2] >= 3).astype(np.int64),
                }
                for role, classes in labels.items()
            },
            source=DataSource.REAL if given else DataSource.RENDERED,
        )


class DSpritesUnfairSmall(DSpritesUnfair):
    """The same images for another network: no convolutions, for a fifth of the time of a step."""

    name = "dsprites-unfair-small"
    aliases = ("dsprites-small",)
    summary = "the images of dsprites-unfair, fully connected network"
    iterations = 40_000
    architecture = Architecture(hidden=(512, 512), latent=24, image=(1, 64, 64))


def read_original(path: Path) -> npt.NDArray[np.uint8]:
    """Read the original file, packed images ``(737280, 512)``; DataError for another file."""
    content = path.read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    if blob != ORIGINAL_BLOB:
        raise DataError(
            f"{path} is not the original file: its git blob id is {blob}, not {ORIGINAL_BLOB}.",
            "Download it again, or remove it: the images are then rendered.",
        )
    images = np.load(path)["imgs"]
    parts = [
        np.packbits(part.reshape(len(part), -1), axis=1) for part in np.array_split(images, 64)
    ]
    return np.concatenate(parts)


@hookimpl
def register_datasets() -> Sequence[type[Dataset]]:
    """DSprites-Unfair, for the paper's network and for a smaller one."""
    return [DSpritesUnfair, DSpritesUnfairSmall]
