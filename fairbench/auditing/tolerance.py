"""How far two readings of the same information may differ."""

from __future__ import annotations

ABSOLUTE, RELATIVE = 0.02, 0.08
"""Nats, and a share of the information, whichever is larger: what calibration allows."""


def tolerance(information: float) -> float:
    """Return how far below some information an estimate of it may be, nats."""
    return max(ABSOLUTE, RELATIVE * information)
