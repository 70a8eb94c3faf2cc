"""Objective: the least distortion under two limits, by dual ascent.

With q(z|x) a Gaussian encoder, g(z, s) a decoder and c an adversary (Song et al. 2019, equations 10
and 12):

    max_{a >= 0} min_{q, g} max_c  w D + a1 (C1 / e1 - 1) + a2 (C2 / e2 - 1)

    D  = E ||x - g(z, s)||^2              w D bounds -I(X;Z|S), up to a constant
    C1 = E KL(q(z|x) || N(0, I))          bounds I(Z;S) from above, by far
    C2 = E[log c(s|z) - log p(s)]         is I(Z;S) where the adversary is the best there is

e2 = epsilon and e1 = ``rate_limit`` * epsilon, nats. The multipliers a start at 0 and follow, after
each step of the others, a <- max(0, a + ``dual_rate`` * min(1, C / e - 1)): they grow while a limit
is exceeded, fall to 0 where it is not reached, and stay where it is met.

Departures:

* The encoder sees x alone, as the track requires; the original's also sees s.
* The constraints are divided by their limits, so that one step size suits them and all epsilon: a
  is the paper's lambda times the limit. A violation counts for 100 % at most, so that the first
  steps with a small epsilon do not decide.
* One knob: both limits are proportional to it, as 10 and .1 nats are in the paper's experiments.
* Encoder and adversary step at the same time, on the same batch. p(s) are the shares of the rows
  seen so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fairbench.training import Batch, Networks, StackedModel, Streams, summed_squares

if TYPE_CHECKING:
    from fairbench_plugins.lmifr import LMIFRParams

_LOG_VARIANCES = (-12.0, 6.0)
"""Range of log v: wide enough for every use, and its exponentials stay finite."""


class LMIFRModel(StackedModel):
    """A stack of variational autoencoders, each with an adversary and two multipliers.

    Parameters
    ----------
    params : LMIFRParams
    networks : Networks
    groups : int
        Number of values of s.
    epsilons : sequence of float
        One per model.
    streams : Streams
        One per model.
    """

    epsilon: Tensor
    """``(models,)``."""
    multipliers: Tensor
    """a1 and a2, ``(models, 2)``."""
    seen: Tensor
    """Rows of each group seen so far, ``(models, groups)``."""

    def __init__(
        self,
        params: LMIFRParams,
        networks: Networks,
        groups: int,
        epsilons: Sequence[float],
        streams: Streams,
    ) -> None:
        super().__init__()
        self.distortion_weight, self.dual_rate = params.distortion_weight, params.dual_rate
        self.rate_limit = params.rate_limit
        self.noise_dimensions = networks.latent
        make = streams.generators("weights")
        self.encoder = networks.encoder(make, 2 * networks.latent)
        self.decoder = networks.decoder(make, networks.latent + groups)
        self.adversary = networks.mlp(make, (networks.latent, *params.adversary_hidden, groups))
        self.turns = params.adversary_steps
        self.players: Mapping[str, float] = {"adversary": params.adversary_rate}
        self.register_buffer("epsilon", torch.tensor(epsilons, dtype=torch.float32))
        self.register_buffer("multipliers", torch.zeros(len(epsilons), 2))
        self.register_buffer("seen", torch.ones(len(epsilons), groups))

    def gaussian(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log variance of q(z|x), both ``(models, batch, latent)``."""
        mean, log_variance = self.encoder(x).chunk(2, dim=-1)
        return mean, log_variance.clamp(*_LOG_VARIANCES)

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        mean, log_variance = self.gaussian(batch.x)
        noise = batch.streams.normal("z", *mean.shape[1:])
        z = mean + torch.exp(0.5 * log_variance) * noise
        distortion = summed_squares(batch.x, self._reconstruct(z, batch.s_onehot))
        log_c = torch.log_softmax(self.adversary(z), dim=-1)
        cross_entropy = -(batch.s_onehot * log_c).sum(-1).mean(-1)
        constraints = self._constraints(mean, log_variance, cross_entropy, batch.s_onehot)
        limits = torch.stack([self.rate_limit * self.epsilon, self.epsilon], dim=1)
        exceeded = constraints / limits - 1
        paid = (self.prices() * exceeded).sum(1)
        if self.training:
            self._count(batch.s_onehot)
            self.ascend(exceeded.detach())
        return {"model": self.distortion_weight * distortion + paid, "adversary": cross_entropy}

    def _constraints(
        self, mean: Tensor, log_variance: Tensor, cross_entropy: Tensor, s_onehot: Tensor
    ) -> Tensor:
        """C1 and C2, ``(models, 2)``."""
        shares = self.seen / self.seen.sum(1, keepdim=True)
        shares = shares.repeat_interleave(len(s_onehot) // len(shares), dim=0)
        # Of the batch's own rows: their chance shares of groups cancel.
        prior = -(s_onehot * shares.log().unsqueeze(1)).sum(-1).mean(-1)
        return torch.stack([_rate(mean, log_variance), prior - cross_entropy], dim=1)

    def _count(self, s_onehot: Tensor) -> None:
        self.seen.add_(s_onehot.view(len(self.seen), -1, s_onehot.shape[-1]).sum(1))

    def prices(self) -> Tensor:
        """a1 and a2, ``(models, 2)``."""
        # A copy: a step of theirs must not change what gradients are computed from.
        return self.multipliers.clone()

    def ascend(self, exceeded: Tensor) -> None:
        """Take a step of the multipliers, with those of player ``model`` alone.

        ``exceeded`` is C / e - 1 of both limits, ``(models, 2)``.
        """
        self.multipliers.add_(self.dual_rate * exceeded.clamp(max=1)).clamp_(min=0)

    def _reconstruct(self, z: Tensor, s_onehot: Tensor) -> Tensor:
        x_hat: Tensor = self.decoder(torch.cat([z, s_onehot], dim=-1))
        return x_hat

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        assert noise is not None
        mean, deviation = self.gaussian_code(x, knob)
        return mean + deviation * noise

    def gaussian_code(self, x: Tensor, knob: Tensor | None) -> tuple[Tensor, Tensor]:
        mean, log_variance = self.gaussian(x)
        return mean, torch.exp(0.5 * log_variance)

    def decode(self, z: Tensor, s_onehot: Tensor, knob: Tensor | None) -> Tensor:
        return self._reconstruct(z, s_onehot)

    def code_length(self, x: Tensor, knob: Tensor | None) -> Tensor:
        """C1: it bounds I(Z;X)."""
        return _rate(*self.gaussian(x))


def _rate(mean: Tensor, log_variance: Tensor) -> Tensor:
    """KL(N(mean, v) || N(0, I)) summed over dimensions, mean over rows, nats, ``(models,)``."""
    each = mean.square() + log_variance.exp() - log_variance - 1
    return 0.5 * each.sum(-1).mean(-1)
