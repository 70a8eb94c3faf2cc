"""What is done about values in new rows that no encoder has seen."""

from __future__ import annotations

import enum


class Unknown(enum.StrEnum):
    """What becomes of values that no encoder has seen."""

    REFUSE = "refuse"
    """The first is told, and nothing is encoded."""
    COMMON = "common"
    """A category becomes the commonest one, a missing number the mean; how many is told."""
