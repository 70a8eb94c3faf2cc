"""What is measured of a representation on the test rows alone.

Such a call tells an encoder which rows are the test rows. So it is made only after all points of
all models of a job are encoded.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from fairbench.api import Role
from fairbench.runs.encoding import FittedPoint, RowsToEncode, in_parts
from fairbench.runs.example_reconstructions import choose_example_images, reconstruct_examples
from fairbench.runs.packed_bits import pack_bits
from fairbench.runs.plugin_values import finite_number
from fairbench.runs.point_arrays import ArrayName, Kind
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
    if point.declared.has_bits:
        packed = pack_bits(representation.bits(x), len(x))
        arrays |= {named(Kind.BITS, part): array for part, array in packed.items()}
    rate = representation.rate(x)
    if rate is not None:
        arrays[named(Kind.RATE)] = np.array(finite_number(rate, f"{point.declared.name}.rate"))
    return {str(name): array for name, array in arrays.items()}
