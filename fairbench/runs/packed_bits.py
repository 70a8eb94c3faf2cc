"""Bits of codes, packed for the store: which are 1, and which are masked."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fairbench.runs.point_arrays import BIT_PARTS


def pack_bits(bits: npt.NDArray[np.int8]) -> dict[str, np.ndarray]:
    """Released bits ``(n, k, bits)`` of 0, 1, or -1 where masked, at two bits each."""
    packed = np.packbits(bits == 1), np.packbits(bits >= 0), np.array(bits.shape, np.int64)
    return dict(zip(BIT_PARTS, packed, strict=True))


def unpack_bits(packed: Mapping[str, np.ndarray]) -> npt.NDArray[np.int8]:
    """What :func:`pack_bits` was given."""
    *flat, shape = (packed[part] for part in BIT_PARTS)
    ones, kept = (
        np.unpackbits(one, count=int(shape.prod())).reshape(shape).astype(np.int8) for one in flat
    )
    return ones - (1 - kept)
