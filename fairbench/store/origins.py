"""Names of what rows were imported from."""

from __future__ import annotations

MAX_ORIGIN = 128
"""Characters of a name, as databases hold it."""


def check_origin(name: str) -> str:
    """Return the name of an origin; ValueError where it is none."""
    if not 0 < len(name) <= MAX_ORIGIN or not name.isprintable() or name != name.strip():
        raise ValueError(f"an origin is a name of 1 to {MAX_ORIGIN} characters")
    return name
