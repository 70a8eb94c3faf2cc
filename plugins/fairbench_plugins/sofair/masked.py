"""The base of both codes of SoFaiR: beta, its warm-up and price, a decoder of z, beta and s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from fairbench.training import Batch, StackedModel
from fairbench_plugins.sofair.leakage import Adversary, AdversaryShare

if TYPE_CHECKING:
    from fairbench_plugins.sofair import SofairParams


class MaskedAutoencoder(StackedModel):
    """A stack whose code depends on beta. Required beside a StackedModel's: the networks.

    Attributes
    ----------
    params : SofairParams
    groups : int
        Number of values of s that the decoder sees; 0 where it does not.
    decoder : Module
        Of z, beta where it is not fixed, and one-hot s where it is seen.
    fixed_beta : Tensor or None
        One per model, ``(models, 1, 1)``, where beta is fixed; otherwise it is drawn for every row.
    adversary : Adversary or None
        Where it has a share of the price, ``adversary_share``.
    """

    recordable = True
    params: SofairParams
    groups: int
    decoder: nn.Module
    fixed_beta: Tensor | None
    adversary: Adversary | None
    adversary_share: float = 0.0

    def add_adversary(
        self,
        given: AdversaryShare | None,
        make: Sequence[torch.Generator],
        dimensions: int,
        groups: int,
        *,
        sees_beta: bool,
    ) -> None:
        """Add the adversary, where there is one."""
        self.adversary = None
        if given is not None:
            self.adversary_share = given.share
            self.adversary = Adversary(
                make, dimensions, given.hidden, groups, self.params.beta_max, sees_beta=sees_beta
            )
            self.players = {"adversary": given.rate}

    def drawn_beta(self, batch: Batch) -> Tensor:
        """beta_max * u^power, u ~ U[0, 1] by row, ``(models, 1, batch)``; or the fixed one."""
        if self.fixed_beta is not None:
            return self.fixed_beta
        u = batch.streams.uniform("beta", 1, batch.x.shape[1])
        return self.params.beta_max * u**self.params.beta_power

    def objective(
        self, x_hat: Tensor, z: Tensor, rate: Tensor, beta: Tensor, batch: Batch
    ) -> dict[str, Tensor]:
        """Mean over rows of w D + beta times the price of a code, and the losses of other players.

        ``rate`` is the length of each code, ``(models, batch)``, nats; leakage.py has the price
        where an adversary has a share of it.
        """
        w = self.params.distortion_weight
        squares = (x_hat - batch.x).square().sum(-1)
        price, others = rate, {}
        if self.adversary is not None:
            share = self.adversary_share
            error = self.adversary.cross_entropy(z, beta, batch.s_onehot)
            price = (1 - share) * rate - share * error
            others = {"adversary": error.mean(-1)}
        price = beta.squeeze(1) * price
        if self.params.balanced:
            weight = w / (w + beta.squeeze(1))
            squares, price = weight * squares, weight * price
        warm = batch.ramp(self.params.warmup)
        return {"model": w * squares.mean(-1) + warm * price.mean(-1), **others}

    def reconstruct(self, z: Tensor, s_onehot: Tensor, beta: Tensor) -> Tensor:
        """x from z ``(models, d, batch)`` and the other inputs of this decoder."""
        seen = [z.transpose(1, 2)]
        if self.fixed_beta is None:
            seen.append(self.beta_as_input(beta).transpose(1, 2))
        if self.groups:
            seen.append(s_onehot)
        x_hat: Tensor = self.decoder(torch.cat(seen, dim=-1))
        return x_hat

    def beta_as_input(self, beta: Tensor) -> Tensor:
        """Beta as the decoder and the entropy model see it."""
        return beta / self.params.beta_max if self.params.scaled_beta else beta

    def read_beta(self, knob: Tensor | None) -> Tensor:
        """The beta at which the curve is read, ``(models, 1, n)``, or the fixed one."""
        beta = self.fixed_beta if knob is None else knob.transpose(1, 2)
        assert beta is not None
        return beta

    def decode(self, z: Tensor, s_onehot: Tensor, knob: Tensor | None) -> Tensor:
        return self.reconstruct(z.transpose(1, 2), s_onehot, self.read_beta(knob))
