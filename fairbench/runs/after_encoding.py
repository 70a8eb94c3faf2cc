"""What is measured of a representation on the test rows alone.

Such a call tells an encoder which rows are the test rows. So it is made only after all points of
all models of a job are encoded.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fairbench.api import Role
from fairbench.api.method import Method, Representation
from fairbench.data.prepare import Prepared
from fairbench.runs.decoding import GroupDecoder, Limits
from fairbench.runs.encoding import in_parts
from fairbench.runs.reconstructions import FOLDER as KEPT
from fairbench.runs.reconstructions import draw_again, kept_images
from fairbench.stats.seeds import derive_seed


def measure_test_rows(
    representation: Representation,
    method: Method,
    seed: int,
    data: Prepared,
    x: np.ndarray,
    z: npt.NDArray[np.float32],
) -> dict[str, np.ndarray]:
    """Measure what has no part in an audit, of test rows ``x`` and one draw of their codes ``z``.

    Returns
    -------
    dict
        ``permuted``: mean squared error of the own decoder with z permuted across rows; ``rate``;
        ``bits/...``, see :func:`pack_bits`; ``reconstructions/...`` of images. Those that the
        method has.
    """
    test = data.roles[Role.TEST]
    s = test.s
    image = data.info.architecture.image
    limits = Limits.around([x])
    decoder = GroupDecoder(representation, len(data.info.groups), method.name, limits, image)
    arrays: dict[str, np.ndarray] = {}
    if decoder.image is not None:
        kept = kept_images(test, decoder.groups)
        drawn_again = draw_again(decoder, z, x, s, kept)
        arrays |= {f"{KEPT}/{what}": array for what, array in drawn_again.items()}
    rng = np.random.default_rng(derive_seed("permute", data.fingerprint, seed))
    order = rng.permutation(len(x))
    permuted = decoder.squared_errors(
        z[order], s, lambda numbers: x[numbers], in_parts(np.arange(len(x)), x.shape[1])
    )
    if permuted is not None:
        arrays["permuted"] = np.array(permuted.mean(dtype=np.float64))
    if method.has_bits:
        packed = pack_bits(representation.bits(x))
        arrays |= {f"bits/{k}": array for k, array in packed.items()}
    rate = representation.rate(x)
    if rate is not None:
        arrays["rate"] = np.array(rate, dtype=np.float64)
    return arrays


def pack_bits(bits: npt.NDArray[np.int8]) -> dict[str, np.ndarray]:
    """Released bits ``(n, k, bits)`` of 0, 1, or -1 where masked, at two bits each."""
    return {
        "ones": np.packbits(bits == 1),
        "kept": np.packbits(bits >= 0),
        "shape": np.array(bits.shape, np.int64),
    }


def unpack_bits(packed: Mapping[str, np.ndarray]) -> npt.NDArray[np.int8]:
    """What :func:`pack_bits` was given."""
    n, k, width = (int(size) for size in packed["shape"])
    ones, kept = (
        np.unpackbits(packed[name], count=n * k * width).reshape(n, k, width).astype(np.int8)
        for name in ("ones", "kept")
    )
    return ones - (1 - kept)
