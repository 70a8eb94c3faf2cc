"""What is measured of a representation on the test rows alone.

Such a call tells an encoder which rows are the test rows. So it is made only after all points of
all models of a job are encoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

from fairbench.api import Role
from fairbench.runs.contract import finite_number
from fairbench.runs.encoding import FittedPoint, RowsToEncode, in_parts
from fairbench.runs.point_arrays import BIT_PARTS, ArrayName, Kind
from fairbench.runs.reconstructions import choose_example_images, reconstruct_examples
from fairbench.stats.seeds import derive_seed


def measure_test_rows(
    point: FittedPoint, rows: RowsToEncode, z: npt.NDArray[np.float32]
) -> dict[str, np.ndarray]:
    """Measure what has no part in an audit, of the test rows and one draw of their codes ``z``.

    These are PERMUTED, RATE, BITS and RECONSTRUCTIONS of :class:`fairbench.runs.point_arrays.Kind`,
    those that the method has.
    """
    representation = point.representation
    test, x = rows.data.roles[Role.TEST], rows.x[Role.TEST]
    decoder = point.decoder(rows, [Role.TEST])
    named = partial(ArrayName, point.number, target=rows.target)
    arrays: dict[ArrayName, np.ndarray] = {}
    if decoder.image is not None:
        kept = choose_example_images(test, decoder.groups)
        drawn_again = reconstruct_examples(decoder, z, x, test.s, kept)
        arrays |= {named(Kind.RECONSTRUCTIONS, part): one for part, one in drawn_again.items()}
    rng = np.random.default_rng(derive_seed("permute", rows.data.fingerprint, point.seed))
    order = rng.permutation(len(x))
    permuted = decoder.squared_errors(
        z[order], test.s, lambda numbers: x[numbers], in_parts(np.arange(len(x)), x.shape[1])
    )
    if permuted is not None:
        arrays[named(Kind.PERMUTED)] = np.array(permuted.mean(dtype=np.float64))
    if point.method.has_bits:
        packed = pack_bits(representation.bits(x))
        arrays |= {named(Kind.BITS, part): array for part, array in packed.items()}
    rate = representation.rate(x)
    if rate is not None:
        arrays[named(Kind.RATE)] = np.array(finite_number(rate, f"{point.method.name}.rate"))
    return {str(name): array for name, array in arrays.items()}


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
