"""The order in which the rows of all audit roles are encoded: by what stands in them.

So a row's place tells nothing that the row does not. An order that is drawn by a seed could be
computed by whoever knows the seed, and would tell him which rows auditors are trained on.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from fairbench.api import Ints
from fairbench.stats.seeds import derive_seed


def hash_rows(x: np.ndarray) -> npt.NDArray[np.uint64]:
    """Return a hash of each row of x ``(n, features)``."""
    rows = np.ascontiguousarray(x)
    digests = (hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in rows)
    return np.frombuffer(b"".join(digests), np.uint64)


def digest_of(hashes: npt.NDArray[np.uint64], s: Ints) -> str:
    """Return the digest of rows and their groups, in the order of their roles.

    It is published nowhere, and no method is given what it is made of: what is drawn by it, no
    method can compute.
    """
    digest = hashlib.sha256(hashes.tobytes())
    digest.update(np.asarray(s, np.int64).tobytes())
    return digest.hexdigest()


def order_by_content(hashes: npt.NDArray[np.uint64], digest: str) -> Ints:
    """Return the numbers of rows in the order of their hashes; equal rows are in a random one."""
    chance = np.random.default_rng(derive_seed("order of equal rows", digest))
    order: Ints = np.lexsort((chance.permutation(len(hashes)), hashes))
    return order
