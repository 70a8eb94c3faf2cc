"""Format figures and counts for people."""

from __future__ import annotations


def format_figure(value: float | None, *, missing: str = "-") -> str:
    """``0.232``."""
    return missing if value is None else f"{round(value, 3) + 0.0:.3f}"  # no minus before zero


def format_count(number: int, noun: str) -> str:
    """``1 point``, ``1,200 points``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
