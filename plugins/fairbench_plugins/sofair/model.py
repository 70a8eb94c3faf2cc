"""SoFaiR: single-shot fair representations by masking the tail of a bit stream.

Objective (the paper's equation 4), over encoder f, decoder g and entropy model q, with beta drawn
anew for every row::

    min E[ w * ||x - g(z, s, beta)||^2 + beta * H_q(z | beta) ],      z = mask(f(x), beta)

The code (section 3.2): e = sigmoid(encoder(x)) in [0, 1]^d; bits ``b = [h_e(e)]``, d x A, ``[.]``
rounding with ties up and identity gradient; ``a_j(beta) = A (1 - tanh(h_a(e)_j beta))``, h_a > 0;
mask ``m_jl = [sigmoid(a_j - l)]``, l = 1 .. A; ``z_j = sum_l m_jl b_jl 2^-l``. For beta' < beta the
bits of z(beta') extend those of z(beta), because a_j falls as beta grows.

Departures, and why:

* ``distortion_weight`` w = 1 / (2 sigma^2): the paper equates distortion with -log p(x|z, s) "up
  to a constant", but the variance also sets which betas matter. With w = 1 the curve on Adults
  collapses before beta = .2.
* ``beta_max`` = 1.25: beta = beta_max * u^power with u ~ U[0, 1]; the paper draws beta from U[0, 1]
  (1 and 1). On Adults some seeds stop short of the fair end (I > .02) at beta = 1.
* ``rate`` = "lengths": the objective pays for the numbers of bits too. With the rate of the codes
  alone, long training learns to tell rows apart by how many bits they keep, which costs nothing.
* The weights that make bits of e start four times as large as usual, so that the thresholds of a
  dimension split [0, 1] from the start.
* The rate is warmed up linearly over ``warmup`` of the budget: without it some settings collapse to
  D = D_max at once.
* The entropy model's bins are corrected; see entropy.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fairbench.training.layers import StackedLinear, StackedMLP
from fairbench.training.model import Batch, StackedModel, summed_squares
from fairbench.training.streams import Streams
from fairbench_plugins.sofair.entropy import LogisticMixtureEntropy

if TYPE_CHECKING:
    from fairbench_plugins.sofair import SofairParams


def round_through(p: Tensor) -> Tensor:
    """Round p in [0, 1], ties up, and let gradients through unchanged (Theis et al. 2017)."""
    return p + ((p >= 0.5).to(p.dtype) - p).detach()


class SofairModel(StackedModel):
    """A stack of SoFaiR autoencoders.

    Parameters
    ----------
    params : SofairParams
    sizes : sequence of int
        Features of x, hidden layers, d: ``(9, 128, 128, 8)``.
    groups : int
        Number of values of s.
    streams : Streams
        One a model, for the initial weights.
    """

    levels: Tensor

    def __init__(
        self, params: SofairParams, sizes: Sequence[int], groups: int, streams: Streams
    ) -> None:
        super().__init__()
        self.params = params
        self.groups = groups
        features, *hidden, d = sizes
        bits = params.bits
        make = streams.generators("weights")
        self.encoder = StackedMLP(make, sizes)
        self.to_bits = StackedLinear(make, d, d * bits)
        self.to_depth = StackedLinear(make, d, d)
        self.decoder = StackedMLP(make, (d + 1 + groups, *reversed(hidden), features))
        self.entropy = LogisticMixtureEntropy(make, d, bits, params.components)
        models = len(streams.seeds)
        levels = torch.arange(1, bits + 1, dtype=torch.float32)
        self.register_buffer("levels", levels.expand(models, 1, 1, -1).contiguous())
        with torch.no_grad():
            self.to_bits.weight.mul_(4.0)

    def code(self, x: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
        """Bits and mask, both ``(models, batch, d, A)``, with gradients let through rounding."""
        e = torch.sigmoid(self.encoder(x))
        shape = (*e.shape, self.params.bits)
        bits = round_through(torch.sigmoid(self.to_bits(e)).view(shape))
        rate = torch.nn.functional.softplus(self.to_depth(e))
        depth = self.params.bits * (1 - torch.tanh(rate * beta))
        mask = round_through(torch.sigmoid(depth.unsqueeze(-1) - self.levels))
        return bits, mask

    def released(self, bits: Tensor, mask: Tensor) -> Tensor:
        """z_j = sum_l m_jl b_jl 2^-l, ``(models, batch, d)``."""
        return (mask * bits * torch.exp2(-self.levels)).sum(-1)

    def rate(self, z: Tensor, mask: Tensor, beta: Tensor) -> Tensor:
        """Code length by the entropy model, nats, ``(models, batch)``; see entropy.py."""
        kept = mask.sum(-1)
        nats = self.entropy.rate(z, torch.exp2(-kept - 1), beta)
        if self.params.rate == "lengths":
            nats = nats + self.entropy.rate_of_lengths(z, _lengths(mask), beta)
        return nats

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        p = self.params
        beta = p.beta_max * batch.streams.uniform("beta", batch.x.shape[1], 1) ** p.beta_power
        bits, mask = self.code(batch.x, beta)
        z = self.released(bits, mask)
        x_hat = self._reconstruct(z, batch.s_onehot, beta)
        distortion = summed_squares(batch.x, x_hat)
        rate = (beta.squeeze(-1) * self.rate(z, mask, beta)).mean(-1)
        warm = min(1.0, batch.done / p.warmup) if p.warmup else 1.0
        loss = p.distortion_weight * distortion + warm * rate
        if p.rate == "codes":
            # The coder of lengths is not part of the objective, but the honest rate is reported:
            # it learns from codes it cannot change.
            side = self.entropy.rate_of_lengths(z.detach(), _lengths(mask.detach()), beta)
            loss = loss + side.mean(-1)
        return {"model": loss}

    def _reconstruct(self, z: Tensor, s_onehot: Tensor, beta: Tensor) -> Tensor:
        x_hat: Tensor = self.decoder(torch.cat([z, beta, s_onehot], dim=-1))
        return x_hat

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        assert knob is not None
        return self.released(*self.code(x, knob))

    def decode(self, z: Tensor, s_onehot: Tensor, knob: Tensor | None) -> Tensor:
        assert knob is not None
        return self._reconstruct(z, s_onehot, knob)

    def code_length(self, x: Tensor, knob: Tensor | None) -> Tensor:
        """The honest length: that of the numbers of bits and of the codes, nats, ``(models,)``."""
        assert knob is not None
        bits, mask = self.code(x, knob)
        z = self.released(bits, mask)
        nats = self.entropy.rate(z, torch.exp2(-mask.sum(-1) - 1), knob)
        return (nats + self.entropy.rate_of_lengths(z, _lengths(mask), knob)).mean(-1)

    def code_bits(self, x: Tensor, knob: Tensor | None) -> Tensor:
        assert knob is not None
        bits, mask = self.code(x, knob)
        return torch.where(mask > 0.5, bits, -torch.ones_like(bits)).to(torch.int8)


def _lengths(mask: Tensor) -> Tensor:
    """One-hot of the numbers of bits kept, ``(models, batch, A + 1, d)``, from the mask.

    The indicator of n = k is m_k - m_(k+1), with m_0 = 1 and m_(A+1) = 0: differentiable.
    """
    kept = mask.transpose(2, 3)
    ones, zeros = torch.ones_like(kept[:, :, :1]), torch.zeros_like(kept[:, :, :1])
    return torch.cat([ones, kept], dim=2) - torch.cat([kept, zeros], dim=2)
