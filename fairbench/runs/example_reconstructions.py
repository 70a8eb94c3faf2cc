"""A few test images and what a decoder makes of them, kept with a representation to be looked at.

One image of each group, all of the most common class of the main task: they differ in s most. Each
is decoded for its own group, and again for one group that is the same for all: what then still
tells the groups apart comes from z.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fairbench.api import Floats, Ints
from fairbench.data.prepared import Rows
from fairbench.runs.decoding import GroupDecoder
from fairbench.runs.point_arrays import PICTURES

_BRIGHTEST = 255


def choose_example_images(test: Rows, groups: int) -> Ints:
    """Numbers of one test image of each group that has any."""
    usual = np.ones(len(test.s), bool)
    if (labels := next(iter(test.y.values()), None)) is not None:
        usual = labels == np.bincount(labels).argmax()
    kept = []
    for group in range(groups):
        own = test.s == group
        found = np.flatnonzero(own & usual) if (own & usual).any() else np.flatnonzero(own)
        kept += found[:1].tolist()
    return np.array(kept, np.int64)


def reconstruct_examples(
    decoder: GroupDecoder, z: Floats, x: Floats, s: Ints, rows: Ints
) -> Mapping[str, npt.NDArray[np.uint8]]:
    """Some images ``(k, pixels)`` and their reconstructions, of 0 to 255.

    ``own`` are for the group of each, ``same`` all for the first group. Empty where the method has
    no decoder.

    Parameters
    ----------
    z, x, s : ndarray
        Of the test set.
    rows : ndarray of int
        Numbers of images in it.
    """
    by_group = decoder.for_all_groups(z[rows], x.shape[1])
    if by_group is None:
        return {}
    own = np.stack([by_group[group][i] for i, group in enumerate(s[rows])])
    return dict(zip(PICTURES, map(_bytes, (x[rows], own, by_group[0])), strict=True))


def _bytes(images: Floats) -> npt.NDArray[np.uint8]:
    scaled = np.rint(_BRIGHTEST * images.astype(np.float32))
    return np.clip(scaled, 0, _BRIGHTEST).astype(np.uint8)
