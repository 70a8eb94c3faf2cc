"""Treatment of values in new rows that are not in the training table."""

from __future__ import annotations

import enum


class Unknown(enum.StrEnum):
    """Treatment of values that are not in the training table."""

    REFUSE = "refuse"
    """An error names the first, and nothing is encoded."""
    COMMON = "common"
    """A category becomes the most common one, a missing number the mean; they are counted."""
