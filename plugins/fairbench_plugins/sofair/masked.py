"""What both codes of SoFaiR share: beta, its warm-up, and a decoder that reads z, beta and s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from fairbench.training.model import Batch, StackedModel

if TYPE_CHECKING:
    from fairbench_plugins.sofair import SofairParams


class MaskedAutoencoder(StackedModel):
    """A stack whose code depends on beta. Required beside a StackedModel's: the networks.

    Attributes
    ----------
    params : SofairParams
    groups : int
        Number of values of s; 0 for a decoder that does not see it.
    decoder : Module
        Of z, beta where it is not fixed, and one-hot s where it is seen.
    fixed_beta : Tensor or None
        One a model, ``(models, 1, 1)``, where beta is fixed; otherwise it is drawn for every row.
    """

    params: SofairParams
    groups: int
    decoder: nn.Module
    fixed_beta: Tensor | None

    def drawn_beta(self, batch: Batch) -> Tensor:
        """beta_max * u^power with u ~ U[0, 1] a row, ``(models, 1, batch)``, or the fixed one."""
        if self.fixed_beta is not None:
            return self.fixed_beta
        u = batch.streams.uniform("beta", 1, batch.x.shape[1])
        return self.params.beta_max * u**self.params.beta_power

    def warm(self, done: float) -> float:
        """Weight of the rate once ``done`` of the budget is behind."""
        return min(1.0, done / self.params.warmup) if self.params.warmup else 1.0

    def reconstruct(self, z: Tensor, s_onehot: Tensor, beta: Tensor) -> Tensor:
        """x from z ``(models, d, batch)`` and what else this decoder sees."""
        seen = [z.transpose(1, 2)]
        if self.fixed_beta is None:
            seen.append(beta.transpose(1, 2))
        if self.groups:
            seen.append(s_onehot)
        x_hat: Tensor = self.decoder(torch.cat(seen, dim=-1))
        return x_hat

    def read_beta(self, knob: Tensor | None) -> Tensor:
        """Where the curve is read, ``(models, 1, n)``, or the fixed beta."""
        beta = self.fixed_beta if knob is None else knob.transpose(1, 2)
        assert beta is not None
        return beta

    def decode(self, z: Tensor, s_onehot: Tensor, knob: Tensor | None) -> Tensor:
        return self.reconstruct(z.transpose(1, 2), s_onehot, self.read_beta(knob))
