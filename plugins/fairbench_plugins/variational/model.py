"""Objectives over a Gaussian encoder q(z|x) = N(m(x), diag v(x)) and a decoder g(z, s).

With D = E ||x - g(z, s)||^2, z a draw from q(z|x), and R = E KL(q(z|x) || N(0, I)), nats:

    beta-VAE:  w D + beta R
    CVIB:      (1 + lambda) w D + beta R + lambda P
    VFAE:      w D + beta R + gamma M
    FCRL:      w D + beta (R - kappa C)

* P = E_{i != j} KL(q(z|x_i) || q(z|x_j)), the mean over the pairs of a batch: Moyer et al. 2018,
  equation 8 with the bound of their section 4, by which I(Z;S) is at most what z costs beyond what
  reconstructing x given s is worth (hence 1 + lambda). Means over pairs of diagonal Gaussians
  factorise, so P costs one pass over the batch and no matrix of pairs.
* M = sum_k p_k ||E[phi(z)|s=k] - E[phi(z)]||^2, the maximum mean discrepancy of each group to all
  rows (Louizos et al. 2016, section 2.3 and, for more than two groups, equation 9), weighted by the
  groups' shares. phi belongs to the kernel exp(-||z - z'||^2 / latent dimensions).
* C is InfoNCE's lower bound on I(Z;X|S) (Gupta et al. 2021, section 4.2): a critic picks the row
  behind z among the rows of a batch that share its s. As I(Z;S) = I(Z;X) - I(Z;X|S), the bracket
  with kappa = 1 bounds I(Z;S).

Departures:

* All four are the SoFaiR paper's unsupervised repurposing: the loss of a task label y becomes the
  distortion. VFAE loses its second latent layer, which exists for y; FCRL's critic stands beside
  the decoder, which already rewards information of z on x given s.
* VFAE: the rate has the weight .1, in the original 1. The exact kernel instead of random Fourier
  features, and pairs i = j left out, so that the estimate is centred on zero where the groups
  agree; otherwise its bias alone shrinks z.
* FCRL: the critic is a product of linear maps of z and of an embedding of x, trained by the same
  gradient as the rest (a term of s alone is there too, and is the same for all rows that a row is
  compared with); z has a unit-variance prior and no batch normalisation.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from fairbench.api import Point
from fairbench.training import Batch, GaussianModel, Networks, Streams, rate

if TYPE_CHECKING:
    from fairbench_plugins.variational import FCRLParams, VariationalParams, VFAEParams


class VariationalModel(GaussianModel):
    """A stack of variational autoencoders.

    Parameters
    ----------
    params : VariationalParams
    networks : Networks
    groups : int
        Number of values of s.
    points : sequence of Point
        Knobs, one per model.
    streams : Streams
        One per model.
    """

    recordable = True

    def __init__(
        self,
        params: VariationalParams,
        networks: Networks,
        groups: int,
        points: Sequence[Point],
        streams: Streams,
    ) -> None:
        super().__init__(networks, groups, streams)
        self.weight = params.distortion_weight
        for name, _ in points[0].values:
            knob = torch.tensor([point[name] for point in points], dtype=torch.float32)
            self.register_buffer(f"knob_{name}", knob)

    @abstractmethod
    def price(self, batch: Batch, z: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
        """All of the loss but the distortion, ``(models,)``."""

    def distortion_weight(self) -> Tensor | float:
        """Factor on the distortion."""
        return self.weight

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        z, mean, log_variance, distortion = self.draw(batch)
        price = self.price(batch, z, mean, log_variance)
        return {"model": self.distortion_weight() * distortion + price}


class BetaVAEModel(VariationalModel):
    """beta-VAE."""

    knob_beta: Tensor

    def price(self, batch: Batch, z: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
        return self.knob_beta * rate(mean, log_variance)


class CVIBModel(VariationalModel):
    """CVIB."""

    knob_beta: Tensor
    knob_lambda: Tensor

    def distortion_weight(self) -> Tensor | float:
        return (1 + self.knob_lambda) * self.weight

    def price(self, batch: Batch, z: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
        pairs = mean_pairwise_divergence(mean, log_variance)
        return self.knob_beta * rate(mean, log_variance) + self.knob_lambda * pairs


class VFAEModel(VariationalModel):
    """VFAE."""

    knob_gamma: Tensor
    seen: Tensor
    """Rows of each group seen so far, ``(models, groups)``."""

    def __init__(
        self,
        params: VFAEParams,
        networks: Networks,
        groups: int,
        points: Sequence[Point],
        streams: Streams,
    ) -> None:
        super().__init__(params, networks, groups, points, streams)
        self.beta = params.beta
        self.register_buffer("seen", torch.ones(len(points), groups))

    def price(self, batch: Batch, z: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
        if self.training:
            # A twin gives each model several batches, of a knob each.
            self.seen.add_(batch.s_onehot.view(len(self.seen), -1, self.seen.shape[1]).sum(1))
        shares = self.seen / self.seen.sum(1, keepdim=True)
        shares = shares.repeat_interleave(len(batch.s_onehot) // len(shares), dim=0)
        discrepancy = group_discrepancy(z, batch.s_onehot, shares)
        return self.beta * rate(mean, log_variance) + self.knob_gamma * discrepancy


class FCRLModel(VariationalModel):
    """FCRL."""

    knob_beta: Tensor

    def __init__(
        self,
        params: FCRLParams,
        networks: Networks,
        groups: int,
        points: Sequence[Point],
        streams: Streams,
    ) -> None:
        super().__init__(params, networks, groups, points, streams)
        self.contrast = params.contrast
        make = streams.generators("critic")
        latent = networks.latent
        self.embed_x: nn.Module = networks.encoder(make)
        self.embed_s = networks.linear(make, groups, latent)
        self.embed_z = networks.linear(make, latent, latent)

    def price(self, batch: Batch, z: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
        keys = self.embed_x(batch.x) + self.embed_s(batch.s_onehot)
        scores = self.embed_z(z) @ keys.transpose(1, 2)
        information = conditional_info_nce(scores, batch.s)
        return self.knob_beta * (rate(mean, log_variance) - self.contrast * information)


def mean_pairwise_divergence(mean: Tensor, log_variance: Tensor) -> Tensor:
    """Mean of KL(q_i || q_j) over the pairs i != j of a batch, nats, ``(models,)``.

    KL(q_i || q_j) = 1/2 sum_d [v_i / v_j + (m_i - m_j)^2 / v_j - 1 + log v_j - log v_i]. Averaged
    over all ordered pairs the logarithms cancel and the rest are products of means over i and j;
    pairs i = j add nothing, so leaving them out only rescales.
    """
    rows = mean.shape[1]
    # The differences depend on no shift: centred means lose no digits.
    mean = mean - mean.mean(1, keepdim=True)
    precision = torch.exp(-log_variance)
    spread = (log_variance.exp() + mean.square()).mean(1) * precision.mean(1)
    # The cross term -2 m_i m_j / v_j averages to zero over i, for the means are centred.
    own = (mean.square() * precision).mean(1)
    return 0.5 * (spread + own - 1).sum(-1) * rows / (rows - 1)


def group_discrepancy(z: Tensor, s_onehot: Tensor, shares: Tensor) -> Tensor:
    """Maximum mean discrepancy of the groups to all rows, pairs i != j, ``(models,)``.

    sum_k p_k ||E[phi|k] - E[phi]||^2 = E_ij [k(z_i, z_j) (1[s_i = s_j] / p(s_i) - 1)], with the
    batch's own shares p of the groups that have two rows there. A row that is alone tells nothing
    of its group, so in other batches rows of a rare group count for it: (1 - p) / (Q - p) times,
    where Q is the chance that a row has company of its group, whose share of the training set is p
    in ``shares``, of shape ``(models, groups)``.
    """
    rows, latent = z.shape[1:]
    norms = z.square().sum(-1)
    distances = norms.unsqueeze(2) + norms.unsqueeze(1) - 2 * z @ z.transpose(1, 2)
    kernel = torch.exp(-distances.clamp_min(0) / latent)
    # Given i, a pair j != i shares its group with chance (n_k - 1) / (rows - 1).
    others = s_onehot.sum(1, keepdim=True) - 1
    partner = s_onehot / others.clamp_min(1)
    same = s_onehot @ partner.transpose(1, 2) * (rows - 1)
    company = 1 - (1 - shares) ** (rows - 1)
    counts_for = (1 - shares) / (company - shares).clamp_min(1e-6) * (others.squeeze(1) > 0)
    weight = (same - 1) * (s_onehot @ counts_for.unsqueeze(2))
    diagonal = torch.diagonal(kernel * weight, dim1=1, dim2=2).sum(-1)
    return ((kernel * weight).sum((1, 2)) - diagonal) / (rows * (rows - 1))


def conditional_info_nce(scores: Tensor, s: Tensor) -> Tensor:
    """InfoNCE among the rows of a batch that share s, nats, ``(models,)``.

    ``scores[m, i, j]`` rates z_i beside row j; the answer is at most the log of the group's rows.
    """
    same = s.unsqueeze(2) == s.unsqueeze(1)
    masked = scores.masked_fill(~same, -math.inf)
    log_mean = torch.logsumexp(masked, dim=2) - same.sum(2).log()
    return (torch.diagonal(scores, dim1=1, dim2=2) - log_mean).mean(1)
