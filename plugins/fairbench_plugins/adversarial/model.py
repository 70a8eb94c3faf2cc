"""Objectives: encoder f and decoder g against an adversary c that predicts s from z = f(x).

The adversary minimises its cross-entropy, and its gradients are of that alone, never scaled by the
encoder's weight. Encoder and decoder minimise

    LATFR:       w E ||x - g(f(x), s)||^2  -  gamma * E[-log c(s | f(x))]
    MaxEnt-ARL:  w E ||x - g(f(x), s)||^2  -  alpha * E[H(c(. | f(x)))]

(Madras et al. 2018, equation 2; Roy and Boddeti 2019, equation 3; the SoFaiR paper's section 5.4
replaces the downstream loss by the distortion.) H is the entropy of the adversary's predicted
distribution over all groups, nats: raising it pulls the prediction towards uniform, for two groups
and for many.

Departures:

* Madras et al. bound the adversary's objective by group-normalised l1 terms for demographic parity;
  the SoFaiR paper uses the cross-entropy, and so does this.
* Encoder and adversary step at the same time, on the same batch, rather than in turns: one forward
  pass instead of two. With ``adversary_steps`` = k > 1 the encoder moves at every k-th step alone.
* w = ``distortion_weight`` is 1 in the papers.
* LATFR's reward has no upper bound: against a large gamma the encoder may let its codes grow until
  the adversary is certain and wrong, and the decoder never learns. With ``reward_limit`` = r a row
  is rewarded up to a cross-entropy of r log(groups). At r = 1 the encoder gains nothing by an
  adversary that does worse than a uniform guess, and hides more than at r = 1.5 (docs/images.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fairbench.training import Batch, Networks, StackedModel, Streams, summed_squares

if TYPE_CHECKING:
    from fairbench_plugins.adversarial import AdversarialParams


class AdversarialModel(StackedModel):
    """A stack of autoencoders, each with an adversary on its code.

    Parameters
    ----------
    params : AdversarialParams
    networks : Networks
    groups : int
        Number of values of s.
    reward : str
        Quantity of the adversary that the encoder raises: ``cross-entropy`` or ``entropy``.
    weights : sequence of float
        gamma or alpha, one per model.
    streams : Streams
        One per model.
    reward_limit : float or None
        Largest cross-entropy of a row that the encoder is rewarded for, in multiples of
        log(groups).
    """

    recordable = True
    weight: Tensor

    def __init__(
        self,
        params: AdversarialParams,
        networks: Networks,
        groups: int,
        reward: Literal["cross-entropy", "entropy"],
        weights: Sequence[float],
        streams: Streams,
        reward_limit: float | None = None,
    ) -> None:
        super().__init__()
        self.reward = reward
        make = streams.generators("weights")
        self.encoder = networks.encoder(make)
        self.decoder = networks.decoder(make, networks.latent + groups)
        units = [params.adversary_width * n for n in params.adversary_hidden]
        self.adversary = networks.mlp(make, (networks.latent, *units, groups))
        self.distortion_weight = params.distortion_weight
        self.turns = params.adversary_steps
        self.most = None if reward_limit is None else reward_limit * math.log(groups)
        self.players: Mapping[str, float] = {"adversary": params.adversary_rate}
        self.register_buffer("weight", torch.tensor(weights, dtype=torch.float32))

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        z = self.encoder(batch.x)
        distortion = summed_squares(batch.x, self._reconstruct(z, batch.s_onehot))
        distortion = self.distortion_weight * distortion
        if self.reward == "cross-entropy" and self.most is None:
            # Of the adversary's own loss the encoder gets -gamma times the gradient: one pass
            # backwards serves both.
            reversed_z: Tensor = _Reversed.apply(z, self.weight)  # type: ignore[no-untyped-call]
            log_c = torch.log_softmax(self.adversary(reversed_z), dim=-1)
            ce = _cross_entropies(log_c, batch.s_onehot).mean(-1)
            # The value is the encoder's objective, by which restarts are compared; the gradient is
            # that of the cross-entropy.
            return {"model": distortion + ce - ((1 + self.weight) * ce).detach()}
        log_c = torch.log_softmax(self.adversary(z), dim=-1)
        ce = _cross_entropies(log_c, batch.s_onehot)
        if self.reward == "cross-entropy":
            reward = ce.clamp(max=self.most)
        else:
            reward = -(log_c.exp() * log_c).sum(-1)
        return {"model": distortion - self.weight * reward.mean(-1), "adversary": ce.mean(-1)}

    def _reconstruct(self, z: Tensor, s_onehot: Tensor) -> Tensor:
        x_hat: Tensor = self.decoder(torch.cat([z, s_onehot], dim=-1))
        return x_hat

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        z: Tensor = self.encoder(x)
        return z

    def decode(self, z: Tensor, s_onehot: Tensor, knob: Tensor | None) -> Tensor:
        return self._reconstruct(z, s_onehot)


class _Reversed(torch.autograd.Function):
    """z itself; its gradient times -weight (Ganin and Lempitsky 2015, arXiv:1409.7495)."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(weight)
        return z.view_as(z)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (weight,) = ctx.saved_tensors
        return gradient * -weight[:, None, None], None


def _cross_entropies(log_c: Tensor, s_onehot: Tensor) -> Tensor:
    """Return that of each row."""
    return -(s_onehot * log_c).sum(-1)
