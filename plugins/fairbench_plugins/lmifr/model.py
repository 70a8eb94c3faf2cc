"""Objective: the least distortion under two limits, by dual ascent.

With q(z|x) a Gaussian encoder, g(z, s) a decoder and c an adversary (Song et al. 2019, equations 10
and 12):

    max_{a >= 0} min_{q, g} max_c  w D + a1 (C1 / e1 - 1) + a2 (C2 / e2 - 1)

    D  = E ||x - g(z, s)||^2              w D bounds -I(X;Z|S), up to a constant
    C1 = E KL(q(z|x) || N(0, I))          bounds I(Z;S) from above, by far
    C2 = E[log c(s|z) - log p(s)]         is I(Z;S) where the adversary is the best there is

e2 = epsilon and e1 = ``rate_limit`` * epsilon, nats. The multipliers a start at 0 and follow, after
each step of the others, a <- max(0, a + ``dual_rate`` * min(1, v)), v the running mean of
C / e - 1: they grow while a limit is exceeded, fall to 0 where it is not reached, and stay where it
is met.

Departures:

* The encoder sees x alone, as the track requires; the original's also sees s.
* The constraints are divided by their limits, so that one step size suits them and all epsilon: a
  is the paper's lambda times the limit. A violation counts for 100 % at most, so that the first
  steps with a small epsilon do not decide. It is the running mean that counts: C2 of one batch is
  often many times a small epsilon, in either direction, and cut on one side such noise has a mean.
* One knob: both limits are proportional to it, as 10 and .1 nats are in the paper's experiments.
* Encoder and adversary step at the same time, on the same batch. p(s) are the shares of the rows
  seen so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fairbench.training import Batch, GaussianModel, Networks, Streams, rate

if TYPE_CHECKING:
    from fairbench_plugins.lmifr import LMIFRParams

MEMORY = 0.98
"""Of the running mean of violations, per step."""


class LMIFRModel(GaussianModel):
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

    recordable = True
    epsilon: Tensor
    """``(models,)``."""
    multipliers: Tensor
    """a1 and a2, ``(models, 2)``."""
    lately: Tensor
    """Running means of C / e - 1 of both limits, alike."""
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
        super().__init__(networks, groups, streams)
        self.distortion_weight, self.dual_rate = params.distortion_weight, params.dual_rate
        self.rate_limit = params.rate_limit
        make = streams.generators("weights")
        self.adversary = networks.mlp(make, (networks.latent, *params.adversary_hidden, groups))
        self.turns = params.adversary_steps
        self.players: Mapping[str, float] = {"adversary": params.adversary_rate}
        self.register_buffer("epsilon", torch.tensor(epsilons, dtype=torch.float32))
        self.register_buffer("multipliers", torch.zeros(len(epsilons), 2))
        self.register_buffer("lately", torch.zeros(len(epsilons), 2))
        self.register_buffer("seen", torch.ones(len(epsilons), groups))

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        z, mean, log_variance, distortion = self.draw(batch)
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
        return torch.stack([rate(mean, log_variance), prior - cross_entropy], dim=1)

    def _count(self, s_onehot: Tensor) -> None:
        self.seen.add_(s_onehot.view(len(self.seen), -1, s_onehot.shape[-1]).sum(1))

    def prices(self) -> Tensor:
        """a1 and a2, ``(models, 2)``."""
        # A copy: a step of theirs must not change what gradients are computed from.
        return self.multipliers.clone()

    def ascend(self, exceeded: Tensor) -> None:
        """Take a step of the multipliers, also where encoder and decoder rest.

        ``exceeded`` is C / e - 1 of both limits, ``(models, 2)``.
        """
        self.lately.add_((1 - MEMORY) * (exceeded - self.lately))
        self.multipliers.add_(self.dual_rate * self.lately.clamp(max=1)).clamp_(min=0)
