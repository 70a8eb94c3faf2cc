"""SoFaiR, SoFaiR-NOS and MSFaiR: representations that mask the tail of a bit stream.

Objective (the paper's equation 4), over encoder f, decoder g and entropy model q, with beta drawn
anew for every row::

    min E[ w * ||x - g(z, s, beta)||^2 + beta * H_q(z | beta) ],      z = mask(f(x), beta)

The code (section 3.2): e = sigmoid(encoder(x)) in [0, 1]^d; bits ``b = [h_e(e)]``, d x A, ``[.]``
rounding with ties up and identity gradient; ``a_j(beta) = A (1 - tanh(h_a(e)_j beta))``, h_a > 0;
mask ``m_jl = [sigmoid(a_j - l)]``, l = 1 .. A; ``z_j = sum_l m_jl b_jl 2^-l``. For beta' < beta the
bits of z(beta') extend those of z(beta), because a_j falls as beta grows.

SoFaiR-NOS is the same but for a decoder that does not see s. MSFaiR solves the same problem for one
fixed beta a model: every row of a model has that beta, so decoder and entropy model do not read it.

Departures, and why:

* ``distortion_weight`` w = 1 / (2 sigma^2): the paper equates distortion with -log p(x|z, s) "up
  to a constant", but the variance also sets which betas matter. With w = 1 the curve on Adults
  collapses before beta = .2.
* ``beta_max`` = 1.25: beta = beta_max * u^power with u ~ U[0, 1]; the paper draws beta from U[0, 1]
  (1 and 1). On Adults some seeds stop short of the fair end (I > .02) at beta = 1.
* ``rate`` = "lengths": the objective pays for the numbers of bits too. With the rate of the codes
  alone, long training learns to distinguish rows by their numbers of bits, which cost nothing.
* The weights that make bits of e start four times as large as usual, so that the thresholds of a
  dimension split [0, 1] from the start.
* The rate is warmed up linearly over ``warmup`` of the budget: without it some settings collapse to
  D = D_max at once.
* ``balanced`` weighs the rows of a batch by w / (w + beta). What is best for one beta stays the
  same, but rows of large beta do not drown the others: where beta goes far, as on images, D at beta
  = 0 is less (docs/images.md).
* The entropy model's bins are corrected; see entropy.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from fairbench.training import Batch, Networks, StackedLinear, Streams
from fairbench_plugins.sofair.entropy import LogisticMixtureEntropy
from fairbench_plugins.sofair.masked import MaskedAutoencoder

if TYPE_CHECKING:
    from fairbench_plugins.sofair import SofairParams
    from fairbench_plugins.sofair.leakage import AdversaryShare


class _RoundedSigmoid(torch.autograd.Function):
    """[sigmoid(x)], rounding with ties up; backwards the rounding is the identity."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return (x >= 0).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        p = torch.sigmoid(ctx.saved_tensors[0])
        return torch.ops.aten.sigmoid_backward(gradient, p)  # type: ignore[no-any-return]


def rounded_sigmoid(x: Tensor) -> Tensor:
    """[sigmoid(x)] in {0, 1}, ties up, with the gradient of sigmoid (Theis et al. 2017)."""
    return _RoundedSigmoid.apply(x)  # type: ignore[no-any-return, no-untyped-call]


class SofairModel(MaskedAutoencoder):
    """A stack of SoFaiR autoencoders.

    Parameters
    ----------
    params : SofairParams
    networks : Networks
        Sizes; their latent dimensions are d.
    groups : int
        Number of values of s.
    betas : sequence of float, optional
        One per model, where beta is fixed; otherwise it is drawn for every row.
    streams : Streams
        One per model, for the initial weights.
    decoder_sees_s : bool
        Not in SoFaiR-NOS.
    adversary : AdversaryShare, optional
        In sofair-adv alone.
    """

    levels: Tensor

    def __init__(
        self,
        params: SofairParams,
        networks: Networks,
        groups: int,
        betas: Sequence[float] | None,
        streams: Streams,
        *,
        decoder_sees_s: bool = True,
        adversary: AdversaryShare | None = None,
    ) -> None:
        super().__init__()
        self.params = params
        self.groups = groups if decoder_sees_s else 0
        d, bits = networks.latent, params.bits
        make = streams.generators("weights")
        self.encoder = networks.encoder(make)
        self.to_bits = StackedLinear(make, d, d * bits)
        self.to_depth = StackedLinear(make, d, d)
        self.decoder = networks.decoder(make, d + (betas is None) + self.groups)
        self.entropy = LogisticMixtureEntropy(
            make, d, bits, params.components, sees_beta=betas is None
        )
        models = len(streams.seeds)
        self.add_adversary(adversary, make, d, groups, sees_beta=betas is None)
        fixed = None if betas is None else torch.tensor(betas, dtype=torch.float32).view(-1, 1, 1)
        self.register_buffer("fixed_beta", fixed)
        levels = torch.arange(1, bits + 1, dtype=torch.float32)
        self.register_buffer("levels", levels.view(1, bits, 1, 1).repeat(models, 1, 1, 1))
        with torch.no_grad():
            self.to_bits.weight.mul_(4.0)

    def code(self, x: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
        """Bits and mask, both ``(models, A, d, batch)``, with gradients let through rounding.

        ``beta`` is ``(models, 1, batch)``.
        """
        e = torch.sigmoid(self.encoder(x)).transpose(1, 2)
        models, d, rows = e.shape
        bits = rounded_sigmoid(_rows_last(self.to_bits, e)).view(models, -1, d, rows)
        rate = torch.nn.functional.softplus(_rows_last(self.to_depth, e))
        depth = self.params.bits * (1 - torch.tanh(rate * beta))
        mask = rounded_sigmoid(depth.unsqueeze(1) - self.levels)
        return bits, mask

    def released(self, bits: Tensor, mask: Tensor) -> Tensor:
        """z_j = sum_l m_jl b_jl 2^-l, ``(models, d, batch)``."""
        return (mask * bits * torch.exp2(-self.levels)).sum(1)

    def rate(self, z: Tensor, mask: Tensor, beta: Tensor) -> Tensor:
        """Code length by the entropy model, nats, ``(models, batch)``; see entropy.py."""
        nats = self.entropy.rate(z, torch.exp2(-mask.sum(1) - 1), self.beta_as_input(beta))
        if self.params.rate == "lengths":
            nats = nats + self.entropy.rate_of_lengths(z, mask, self.beta_as_input(beta))
        return nats

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        beta = self.drawn_beta(batch)
        bits, mask = self.code(batch.x, beta)
        z = self.released(bits, mask)
        x_hat = self.reconstruct(z, batch.s_onehot, beta)
        losses = self.objective(x_hat, z, self.rate(z, mask, beta), beta, batch)
        if self.params.rate == "codes":
            # The coder of lengths is not part of the objective, but the honest rate is reported:
            # it learns from codes it cannot change. Only its gradient counts: restarts are compared
            # by the objective.
            side = self.entropy.rate_of_lengths(z.detach(), mask.detach(), self.beta_as_input(beta))
            losses["model"] = losses["model"] + side.mean(-1) - side.mean(-1).detach()
        return losses

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        return self.released(*self.code(x, self.read_beta(knob))).transpose(1, 2)

    def code_length(self, x: Tensor, knob: Tensor | None) -> Tensor:
        """The honest length: that of the numbers of bits and of the codes, nats, ``(models,)``."""
        beta = self.read_beta(knob)
        bits, mask = self.code(x, beta)
        z = self.released(bits, mask)
        nats = self.entropy.rate(z, torch.exp2(-mask.sum(1) - 1), self.beta_as_input(beta))
        return (nats + self.entropy.rate_of_lengths(z, mask, self.beta_as_input(beta))).mean(-1)

    def code_bits(self, x: Tensor, knob: Tensor | None) -> Tensor:
        bits, mask = self.code(x, self.read_beta(knob))
        masked = torch.where(mask > 0.5, bits, -torch.ones_like(bits)).to(torch.int8)
        return masked.permute(0, 3, 2, 1)


def _rows_last(layer: StackedLinear, x: Tensor) -> Tensor:
    """The layer on x ``(models, n_in, batch)``, ``(models, n_out, batch)``."""
    return torch.baddbmm(layer.bias.transpose(1, 2), layer.weight.transpose(1, 2), x)
