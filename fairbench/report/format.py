"""Format numbers, intervals and durations for people."""

from __future__ import annotations


def spell(seconds: float) -> str:
    """``45 s``, ``6 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def with_interval(value: float, low: float | None, high: float | None) -> str:
    """``.232 [.221, .243]``."""
    text = _plain(value)
    return text if low is None or high is None else f"{text} [{_plain(low)}, {_plain(high)}]"


def _plain(value: float) -> str:
    """Three decimals, without the zero before the point."""
    text = f"{round(value, 3) + 0.0:.3f}".replace("-0.", "-.")  # no minus before zero
    return text.removeprefix("0") if text.startswith("0.") else text
