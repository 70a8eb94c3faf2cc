"""The training schedule: iterations, batch size and learning rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

FEWEST_COMPILED = 10_000
"""Trainings of at least so many steps are compiled on a CPU: shorter ones would lose at the start
what they gain."""


@dataclass(frozen=True)
class Schedule:
    """Steps, rows per model and step (drawn with replacement), and learning rate of a stack.

    The learning rate is Adam's at its peak; it decays to zero along a half cosine, or stays.
    """

    iterations: int
    batch_size: int = 128
    learning_rate: float = 1e-3
    decay: bool = True

    def factor(self, done: float) -> float:
        """Return the share of the peak that the learning rate has when a share of steps is done."""
        return 0.5 * (1 + math.cos(math.pi * done)) if self.decay else 1.0
