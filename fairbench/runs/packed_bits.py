"""Bits of codes, packed for the store: which are 1, and which are masked."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fairbench.runs.plugin_values import ContractError
from fairbench.runs.point_arrays import BIT_PARTS


def pack_bits(bits: npt.NDArray[np.int8], rows: int) -> dict[str, np.ndarray]:
    """Released bits ``(n, k, bits)`` of 0, 1, or -1 where masked, at two bits each.

    Raises ContractError: they are not such bits of so many rows.
    """
    bits = np.asarray(bits)
    if bits.ndim != 3 or len(bits) != rows:
        raise ContractError(f"bits() returned shape {bits.shape}, not (n, k, bits) of {rows} rows.")
    if not np.isin(bits, (-1, 0, 1)).all():
        raise ContractError("bits() returned other values than 0, 1 and -1.")
    packed = np.packbits(bits == 1), np.packbits(bits >= 0), np.array(bits.shape, np.int64)
    return dict(zip(BIT_PARTS, packed, strict=True))


def unpack_bits(packed: Mapping[str, np.ndarray]) -> npt.NDArray[np.int8]:
    """What :func:`pack_bits` was given."""
    *flat, shape = (packed[part] for part in BIT_PARTS)
    ones, kept = (
        np.unpackbits(one, count=int(shape.prod())).reshape(shape).astype(np.int8) for one in flat
    )
    return ones - (1 - kept)
