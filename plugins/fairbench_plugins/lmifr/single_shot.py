"""The multipliers of L-MIFR as functions of epsilon, for one model of all epsilon.

A multiplier a(epsilon) is linear in log epsilon between nodes. At each step a node moves by the
mean violation that it has seen lately, of knobs near it: a batch has few rows of each knob, and a
step by these alone would follow their noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fairbench.training import Networks, Streams
from fairbench_plugins.lmifr.model import MEMORY, LMIFRModel

if TYPE_CHECKING:
    from fairbench_plugins.lmifr import LMIFRParams

NODES = 12


class LMIFRCurveModel(LMIFRModel):
    """L-MIFR's stack where rows of several epsilon stand for models of their own.

    ``low`` and ``high`` are the range of epsilon; the others as those of LMIFRModel.
    """

    multipliers: Tensor
    """a1 and a2 at the nodes, ``(models, nodes, 2)``."""
    lately: Tensor
    """Running mean of the violations there, alike."""

    def __init__(
        self,
        params: LMIFRParams,
        networks: Networks,
        groups: int,
        epsilons: Sequence[float],
        streams: Streams,
        *,
        low: float,
        high: float,
    ) -> None:
        super().__init__(params, networks, groups, epsilons, streams)
        self.low, self.high = low, high
        self.register_buffer("multipliers", torch.zeros(len(epsilons), NODES, 2))
        self.register_buffer("lately", torch.zeros(len(epsilons), NODES, 2))

    def prices(self) -> Tensor:
        """a1 and a2 at each epsilon, ``(models * knobs, 2)``."""
        return torch.bmm(self._nearness(), self.multipliers).flatten(0, 1)

    def ascend(self, exceeded: Tensor) -> None:
        """Take a step of the nodes; ``exceeded`` is ``(models * knobs, 2)``."""
        nearness = self._nearness().transpose(1, 2)
        weight = nearness.sum(2, keepdim=True)
        seen = torch.bmm(nearness, exceeded.view(len(nearness), -1, 2))
        part = (1 - MEMORY) * weight.clamp(max=1)
        self.lately.add_(part * (seen / weight.clamp_min(1e-6) - self.lately))
        self.multipliers.add_(self.dual_rate * self.lately.clamp(max=1)).clamp_(min=0)

    def _nearness(self) -> Tensor:
        """Weight of each node at each epsilon, ``(models, knobs, nodes)``; they sum to 1."""
        place = torch.log(self.epsilon / self.low) / math.log(self.high / self.low)
        nodes = torch.arange(NODES, device=place.device)
        apart = place.view(len(self.multipliers), -1, 1) * (NODES - 1) - nodes
        return (1 - apart.abs()).clamp_min(0)
