"""The encoded arrays of one representation, as audits take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fairbench.api import AUDIT_ROLES, Coding, Ints, Role, Track
from fairbench.api.method import Method, Representation
from fairbench.data.prepare import Prepared
from fairbench.runs.contract import DECODED_ROLES, ContractError
from fairbench.runs.cost import Meter

DRAWS = 3
"""Draws of a stochastic encoder that audits see; what is released is one of them."""


def encode_point(
    i: int,
    representation: Representation,
    method: Method,
    seed: int,
    data: Prepared,
    features: Mapping[Role, np.ndarray],
    meter: Meter,
) -> dict[str, np.ndarray]:
    """Encode and decode point ``i`` of a unit; see :class:`fairbench.runs.fit_job.UnitResult`.

    ``features`` are x of ``data``, unpacked once. Raises ContractError for arrays that the
    interface does not allow.
    """
    arrays: dict[str, np.ndarray] = {}
    rng = np.random.default_rng([seed, i])
    stochastic = method.coding is Coding.STOCHASTIC
    for role in AUDIT_ROLES:
        x = features[role]
        s = data.roles[role].s if method.track is Track.AWARE else None
        drawn = []
        for generator in rng.spawn(DRAWS) if stochastic else [None]:
            with meter.phase("encode"):
                z = representation.encode(x, s=s, generator=generator)
            drawn.append(_checked(z, len(x), f"{method.name}.encode"))
        arrays[f"{i}/z/{role}"] = np.concatenate(drawn)
    for role in DECODED_ROLES:
        x, labels = features[role], data.roles[role].s
        drawn = np.split(arrays[f"{i}/z/{role}"], DRAWS if stochastic else 1)
        squares = [_squares(representation, z, labels, x, method) for z in drawn]
        if known := [array for array in squares if array is not None]:
            arrays[f"{i}/own/{role}"] = np.mean(known, axis=0)
    x, labels = features[Role.TEST], data.roles[Role.TEST].s
    shuffled = arrays[f"{i}/z/{Role.TEST}"][rng.permutation(len(x))]
    permuted = _squares(representation, shuffled, labels, x, method)
    if permuted is not None:
        arrays[f"{i}/permuted"] = np.array(permuted.mean(dtype=np.float64))
    if method.has_bits:
        packed = pack_bits(representation.bits(x))
        arrays |= {f"{i}/bits/{k}": array for k, array in packed.items()}
    rate = representation.rate(x)
    if rate is not None:
        arrays[f"{i}/rate"] = np.array(rate, dtype=np.float64)
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


def _checked(z: Any, rows: int, what: str) -> np.ndarray:
    array = np.asarray(z)
    if array.ndim != 2 or len(array) != rows or array.shape[1] == 0:
        raise ContractError(f"{what} returned shape {array.shape} for {rows} rows.")
    if array.dtype.kind not in "fiub":
        raise ContractError(f"{what} returned dtype {array.dtype}, not numbers.")
    if array.dtype != np.uint8:  # pixels as they are: a quarter of the memory
        array = array.astype(np.float32, copy=False)
    if not np.isfinite(array).all():
        raise ContractError(f"{what} returned values that are not finite.")
    return array


def _squares(
    representation: Representation, z: np.ndarray, s: Ints, x: np.ndarray, method: Method
) -> np.ndarray | None:
    x_hat = representation.decode(z, s)
    if x_hat is None:
        return None
    if np.shape(x_hat) != x.shape:
        raise ContractError(
            f"{method.name}.decode returned shape {np.shape(x_hat)}; x has {x.shape}."
        )
    squares: np.ndarray = ((np.asarray(x_hat, np.float32) - x) ** 2).sum(axis=1)
    if not np.isfinite(squares).all():
        raise ContractError(f"{method.name}.decode returned values that are not finite.")
    return squares
