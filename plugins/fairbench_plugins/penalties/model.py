"""Objectives: D plus a weight times a measure of dependence between z and s.

    dependence-penalty:  w E ||x - g(f(x), s)||^2  +  weight * Q(f(X), S)
    fair-disco:          w E ||x - g(z, s)||^2  +  r KL(q(z|x) || N(0, I))  +  beta * V(Z, S)

With p_k the share of group k and mu_k, mu the means of phi(z) in the group and over all rows, phi
the feature map of a kernel, Q is one of

    distance-covariance:  sum_k p_k^2 ||mu_k - mu||^2,  kernel -||z - z'||
    hsic:                 sum_k p_k^2 ||mu_k - mu||^2,  mean of Gaussian kernels
    mmd:                  mean over pairs of groups of ||mu_k - mu_l||^2,  the same kernels
    sipm:                 mean over groups of (E[u_k(z)|k] - E[u_k(z)|not k])^2,  a neuron u_k

* The first two are distance covariance (Szekely, Rizzo and Bakirov 2007, with the distance
  1[s != s'] between groups) and HSIC (Gretton et al. 2005, with the kernel 1[s = s']): for
  categories both take this form (Sejdinovic et al. 2013, theorem 24), and both are estimated
  without bias (Song et al. 2012, equation 5; Szekely and Rizzo 2014).
* The maximum mean discrepancy (Gretton et al. 2012, equation 3) counts all groups of a batch alike
  that have two rows there, so a small group weighs more than by its share; the fewer batches it has
  two rows in, the less.
* sIPM (Kim et al. 2022, arXiv:2202.02943, section 3): u_k(z) = sigmoid(a_k . z + b_k), trained to
  have the largest difference between group k and the rest, against the encoder.
* V = sum_k p_k^2 integral (p(z|k) - p(z))^2 dz is the squared distance of the densities p(z, s) and
  p(z) p(s). For a Gaussian encoder it is the same form once more, with the kernel

      k(x, x') = (4 pi)^(dim z / 2) * integral q(z|x) q(z|x') dz,

  a Gaussian density at m(x) - m(x') with variances v(x) + v(x'). The factor, of ours, is 1 for two
  draws of the prior, so beta has the same meaning for any number of dimensions.

Departures:

* In dependence-penalty the penalised code is standardised by its mean and spread in the batch: else
  codes are scaled down, or far up for Gaussian kernels, until nothing is paid. Also a dimension of
  little spread then counts in full, as it does for auditors. FairDisCo's rate fixes the scale.
* sIPM: the encoder pays the square of the difference, estimated without bias; so it stops where
  groups agree, while the difference itself would have it run on past the neuron. There is one
  neuron per group, against the rest, also for more than two groups.
* FairDisCo: the closed form above is that of the authors' published code. There the encoder of a
  table sees s as well, pairs of a row with itself count, a batch has 2,048 rows, other likelihoods
  stand in the place of the distortion, and the rate's weight r is 1.

A deterministic code can hide s in differences finer than a kernel or a neuron sees, so
dependence-penalty stays readable at every weight (docs/methods.md); FairDisCo's noise blurs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fairbench.training import (
    Batch,
    GaussianModel,
    Networks,
    StackedModel,
    Streams,
    rate,
    summed_squares,
)

if TYPE_CHECKING:
    from fairbench_plugins.penalties import FairDisCoParams, PenaltyParams

_FLOOR = 1e-6
"""Of squared spreads and distances: gradients of roots stay finite."""


class PenaltyModel(StackedModel):
    """A stack of autoencoders with a penalty on dependence.

    Parameters
    ----------
    params : PenaltyParams
    networks : Networks
    groups : int
        Number of values of s.
    weights : sequence of float
        One per model.
    streams : Streams
        One per model.
    """

    recordable = True
    weight: Tensor

    def __init__(
        self,
        params: PenaltyParams,
        networks: Networks,
        groups: int,
        weights: Sequence[float],
        streams: Streams,
    ) -> None:
        super().__init__()
        self.penalty, self.bandwidths = params.penalty, params.bandwidths
        self.distortion_weight = params.distortion_weight
        make = streams.generators("weights")
        self.encoder = networks.encoder(make)
        self.decoder = networks.decoder(make, networks.latent + groups)
        if self.penalty == "sipm":
            self.critic = networks.linear(make, networks.latent, groups)
            self.turns = params.critic_steps
            self.players: Mapping[str, float] = {"critic": params.critic_rate}
        self.register_buffer("weight", torch.tensor(weights, dtype=torch.float32))

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        z = self.encoder(batch.x)
        distortion = summed_squares(batch.x, self._reconstruct(z, batch.s_onehot))
        code = standardised(z)
        others = {}
        if self.penalty == "sipm":
            u = torch.sigmoid(self.critic(code))
            penalty = squared_differences(u, batch.s_onehot)
            others["critic"] = -differences(u, batch.s_onehot)
        elif self.penalty == "mmd":
            kernel = gaussian_kernels(code, self.bandwidths)
            penalty = pairwise_discrepancy(kernel, batch.s_onehot)
        elif self.penalty == "hsic":
            penalty = dependence(gaussian_kernels(code, self.bandwidths), batch.s_onehot)
        else:
            penalty = dependence(-distances(code), batch.s_onehot)
        return {"model": self.distortion_weight * distortion + self.weight * penalty, **others}

    def _reconstruct(self, z: Tensor, s_onehot: Tensor) -> Tensor:
        x_hat: Tensor = self.decoder(torch.cat([z, s_onehot], dim=-1))
        return x_hat

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        z: Tensor = self.encoder(x)
        return z

    def decode(self, z: Tensor, s_onehot: Tensor, knob: Tensor | None) -> Tensor:
        return self._reconstruct(z, s_onehot)


class FairDisCoModel(GaussianModel):
    """A stack of variational autoencoders with FairDisCo's penalty.

    Parameters
    ----------
    params : FairDisCoParams
    networks : Networks
    groups : int
        Number of values of s.
    betas : sequence of float
        One per model.
    streams : Streams
        One per model.
    """

    recordable = True
    beta: Tensor

    def __init__(
        self,
        params: FairDisCoParams,
        networks: Networks,
        groups: int,
        betas: Sequence[float],
        streams: Streams,
    ) -> None:
        super().__init__(networks, groups, streams)
        # So that the product of densities over dimensions stays finite in float32.
        self.log_variances = (max(-8.0, -170.0 / networks.latent), 6.0)
        self.distortion_weight, self.rate_weight = params.distortion_weight, params.rate_weight
        self.register_buffer("beta", torch.tensor(betas, dtype=torch.float32))

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        _, mean, log_variance, distortion = self.draw(batch)
        penalty = dependence(overlaps(mean, log_variance), batch.s_onehot)
        return {
            "model": self.distortion_weight * distortion
            + self.rate_weight * rate(mean, log_variance)
            + self.beta * penalty
        }


def standardised(z: Tensor) -> Tensor:
    """Codes of mean 0 and variance 1 over the rows of each model, ``(models, rows, latent)``."""
    variance, mean = torch.var_mean(z, dim=1, keepdim=True, correction=0)
    return (z - mean) / (variance + _FLOOR).sqrt()


def squared_distances(z: Tensor) -> Tensor:
    """||z_i - z_j||^2 of all pairs of rows, ``(models, rows, rows)``."""
    norms = z.square().sum(-1)
    squares = norms.unsqueeze(2) + norms.unsqueeze(1) - 2 * z @ z.transpose(1, 2)
    return squares.clamp_min(0)


def distances(z: Tensor) -> Tensor:
    """||z_i - z_j|| of all pairs of rows, ``(models, rows, rows)``."""
    return (squared_distances(z) + _FLOOR).sqrt()


def gaussian_kernels(z: Tensor, bandwidths: Sequence[float]) -> Tensor:
    """Mean of exp(-||z_i - z_j||^2 / (width * dimensions)) over the widths."""
    squares = squared_distances(z) / z.shape[-1]
    return torch.stack([torch.exp(-squares / width) for width in bandwidths]).mean(0)


def overlaps(mean: Tensor, log_variance: Tensor) -> Tensor:
    """(4 pi)^(dim / 2) times the integral of q_i q_j, for all pairs, ``(models, rows, rows)``."""
    made: Tensor = _Overlaps.apply(mean, log_variance.exp())  # type: ignore[no-untyped-call]
    return made


class _Overlaps(torch.autograd.Function):
    """Pairs, one dimension at a time: all dimensions at once leave the cache, 5 times as slow."""

    @staticmethod
    def forward(ctx: Any, mean: Tensor, variance: Tensor) -> Tensor:
        exponent = torch.zeros(1, dtype=mean.dtype, device=mean.device)
        for d in range(mean.shape[-1]):
            apart, both = _pairs(mean, variance, d)
            exponent = exponent + apart.square_().div_(both).add_((both / 2).log_())
        kernel = torch.exp(-0.5 * exponent)
        ctx.save_for_backward(mean, variance, kernel)
        return kernel

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        mean, variance, kernel = ctx.saved_tensors
        weight = gradient * kernel
        weight = weight + weight.transpose(1, 2)  # each row stands on both sides of its pairs
        to_mean, to_variance = torch.empty_like(mean), torch.empty_like(variance)
        for d in range(mean.shape[-1]):
            apart, both = _pairs(mean, variance, d)
            inverse = both.reciprocal_()
            slope = apart.mul_(inverse)
            to_mean[..., d] = -(weight * slope).sum(2)
            to_variance[..., d] = 0.5 * slope.square_().sub_(inverse).mul_(weight).sum(2)
        return to_mean, to_variance


def _pairs(mean: Tensor, variance: Tensor, d: int) -> tuple[Tensor, Tensor]:
    """m_i - m_j and v_i + v_j of one dimension, ``(models, rows, rows)`` each."""
    m, v = mean[..., d], variance[..., d]
    return m.unsqueeze(2) - m.unsqueeze(1), v.unsqueeze(2) + v.unsqueeze(1)


def dependence(kernel: Tensor, s_onehot: Tensor) -> Tensor:
    """sum_k p_k^2 ||mu_k - mu||^2 in the kernel's space, without bias, ``(models,)``.

    HSIC of the kernel of z and the kernel 1[s = s'] (Song et al. 2012, equation 5); pairs of a row
    with itself are left out.
    """
    rows = kernel.shape[1]
    off = 1 - torch.eye(rows, device=kernel.device)
    # A constant cancels in exact arithmetic. Taken out first, it leaves no large sums that round.
    mean = (kernel.detach() * off).sum((1, 2), keepdim=True) / (rows * (rows - 1))
    of_z, of_s = (kernel - mean) * off, (s_onehot @ s_onehot.transpose(1, 2)) * off
    by_row_z, by_row_s = of_z.sum(2), of_s.sum(2)
    joint = (of_z * of_s).sum((1, 2))
    apart = by_row_z.sum(1) * by_row_s.sum(1) / ((rows - 1) * (rows - 2))
    crossed = 2 * (by_row_z * by_row_s).sum(1) / (rows - 2)
    return (joint + apart - crossed) / (rows * (rows - 3))


def pairwise_discrepancy(kernel: Tensor, s_onehot: Tensor) -> Tensor:
    """Mean of ||mu_k - mu_l||^2 over the pairs of groups, without bias, ``(models,)``.

    Over the groups with two rows at least; 0 where there are no two of them.
    """
    counts = s_onehot.sum(1)
    sums = s_onehot.transpose(1, 2) @ kernel @ s_onehot
    own = torch.diagonal(kernel, dim1=1, dim2=2).unsqueeze(1) @ s_onehot
    within = torch.diagonal(sums, dim1=1, dim2=2) - own.squeeze(1)
    within = within / (counts * (counts - 1)).clamp_min(1)
    between = sums / (counts.unsqueeze(2) * counts.unsqueeze(1)).clamp_min(1)
    apart = within.unsqueeze(2) + within.unsqueeze(1) - 2 * between
    enough = (counts > 1).float()
    pairs = enough.unsqueeze(2) * enough.unsqueeze(1)
    pairs = pairs * (1 - torch.eye(pairs.shape[1], device=pairs.device))
    return (apart * pairs).sum((1, 2)) / pairs.sum((1, 2)).clamp_min(1)


def differences(u: Tensor, s_onehot: Tensor) -> Tensor:
    """Mean over groups of E[u_k|k] - E[u_k|not k], ``(models,)``; u is ``(models, rows, groups)``.

    Over the groups with two rows at least inside and outside.
    """
    inside, outside, told = _means(u, s_onehot)
    return ((inside - outside) * told).sum(1) / told.sum(1).clamp_min(1)


def squared_differences(u: Tensor, s_onehot: Tensor) -> Tensor:
    """Mean over groups of (E[u_k|k] - E[u_k|not k])^2, without bias, ``(models,)``."""
    inside, outside, told = _means(u, s_onehot)
    counts = s_onehot.sum(1)
    rest = u.shape[1] - counts
    # Var of a mean of n rows: sum (u - mean)^2 / (n (n - 1)).
    spread_in = (s_onehot * (u - inside.unsqueeze(1)).square()).sum(1)
    spread_out = ((1 - s_onehot) * (u - outside.unsqueeze(1)).square()).sum(1)
    bias = spread_in / (counts * (counts - 1)).clamp_min(1)
    bias = bias + spread_out / (rest * (rest - 1)).clamp_min(1)
    squares = (inside - outside).square() - bias
    return (squares * told).sum(1) / told.sum(1).clamp_min(1)


def _means(u: Tensor, s_onehot: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Means of u_k in group k and outside of it, and 1 where both are of two rows at least."""
    counts = s_onehot.sum(1)
    rest = u.shape[1] - counts
    inside = (s_onehot * u).sum(1) / counts.clamp_min(1)
    outside = ((1 - s_onehot) * u).sum(1) / rest.clamp_min(1)
    return inside, outside, ((counts > 1) & (rest > 1)).float()
