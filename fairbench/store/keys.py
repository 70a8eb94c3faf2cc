"""Keys of what the store holds: hashes of everything that a figure depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def hash_of(content: Any) -> str:
    """Return the sha256 of plain values."""
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def point_key(unit: str, label: str, audit: Mapping[str, Any], version: int) -> str:
    """Return the key of one audited point: of a unit's key, by an audit's settings and version."""
    return hash_of([unit, label, dict(audit), version])
