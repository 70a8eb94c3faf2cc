"""Seeds derived by hashing: the same in every process, on every machine, in any order of work."""

from __future__ import annotations

import hashlib


def derive_seed(*parts: object) -> int:
    """Hash ``parts`` into a 63-bit seed."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
