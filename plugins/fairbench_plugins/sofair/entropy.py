"""The entropy model of SoFaiR: an autoregressive mixture of logistics over quantised codes.

The paper (appendix, "Entropy estimation") factorises ``P(z|beta) = prod_j P(z_j | z_<j, beta)`` and
takes for each factor the mass that a mixture of K = 5 logistics puts on the bin of z_j; means,
log-scales and mixture weights are functions of beta, linear in z_<j.

Departures from the printed formulas, and why:

* The paper's bins are ``[z - 2^-a, z + 2^-a]``. Codes lie 2^-a apart, so such bins overlap and
  their masses sum to nearly 2: no code length. Here the half-width is ``h = 2^-(n+1)``, n the
  number of bits kept, so that the bins of one resolution tile the line.
* The paper prints ``sigma((z + mu) / gamma + h)``; the half-width belongs inside the scaling and mu
  is subtracted: ``sigma((z - mu + h) / gamma)``.
* Even so the sum bounds H(Z|beta) only where n depends on beta and z_<j alone. In SoFaiR it depends
  on the row, and codes of different lengths can coincide in value. ``rate`` is then a training
  surrogate. ``rate_of_lengths`` adds the code of n_j, ahead of z_j: the sum of both is a true upper
  bound on H(Z|beta), for it is the length of a decodable code of (n, z).

Rows come last in every tensor, ``(models, d, batch)``: sums over the few dimensions, components and
bits then run along contiguous rows, which halves what the objective costs beside the networks.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fairbench.training import StackedLinear

_TINY = 1e-9
"""Least mass of a bin: keeps the logarithm finite where a code is far from every mixture part."""


class LogisticMixtureEntropy(nn.Module):
    """Code length of quantised codes z in [0, 1)^d, with n_j bits kept in dimension j.

    Parameters
    ----------
    generators : sequence of torch.Generator
        One per model.
    dimensions : int
        d, the latent dimensions.
    bits : int
        A, the largest number of bits per dimension.
    components : int
        K, the logistics in each mixture.
    sees_beta : bool
        Whether the coder depends on beta; not where beta is fixed.
    codes_lengths : bool
        Whether the numbers of bits differ by row, and so have to be coded too.
    """

    allowed: Tensor

    def __init__(
        self,
        generators: Sequence[torch.Generator],
        dimensions: int,
        bits: int,
        components: int = 5,
        *,
        sees_beta: bool = True,
        codes_lengths: bool = True,
    ) -> None:
        super().__init__()
        d, k = dimensions, components
        self.sees_beta = sees_beta
        self.dimensions, self.bits, self.components = d, bits, k
        # Inputs of every conditional: z, beta * z, beta (and a bias), so that mean, log-scale and
        # weight are each a function of beta plus a beta-dependent linear function of z_<j.
        before = torch.tril(torch.ones(d, d), diagonal=-1)  # before[j, i] = 1 where i < j
        seen = [before, before, torch.ones(d, 1)] if sees_beta else [before]
        allowed = torch.cat(seen, dim=1).T  # (2d + 1 or d, d)
        self.mixture = StackedLinear(generators, len(allowed), 3 * d * k)
        if codes_lengths:
            self.lengths = StackedLinear(generators, len(allowed), d * (bits + 1))
        models = len(self.mixture.weight)
        self.register_buffer("allowed", allowed.expand(models, -1, -1).contiguous())
        with torch.no_grad():
            # Start with the means spread over [0, 1] and scales of a fifth: every code is likely.
            bias = self.mixture.bias.view(models, 1, 3, k, d)
            self.mixture.weight.mul_(0.1)
            bias.mul_(0.1)
            bias[:, :, 0] += torch.linspace(0.1, 0.9, k)[:, None]
            bias[:, :, 1] += -1.6

    def _conditionals(self, layer: StackedLinear, z: Tensor, beta: Tensor) -> Tensor:
        """Parameters of every conditional, ``(models, parameters, d, batch)``."""
        inputs = torch.cat([z, beta * z, beta], dim=1) if self.sees_beta else z
        models, n_in, outputs = layer.weight.shape
        weight = layer.weight.view(models, n_in, -1, self.dimensions)
        weight = (weight * self.allowed[:, :, None, :]).view(models, n_in, outputs)
        out = torch.baddbmm(layer.bias.transpose(1, 2), weight.transpose(1, 2), inputs)
        return out.view(models, -1, self.dimensions, z.shape[2])

    def rate(self, z: Tensor, half_width: Tensor, beta: Tensor) -> Tensor:
        """Minus log mass of the bins of z, summed over dimensions, nats, ``(models, batch)``.

        Parameters
        ----------
        z : Tensor, shape (models, d, batch)
        half_width : Tensor, shape (models, d, batch)
            ``2^-(n+1)``.
        beta : Tensor, shape (models, 1, batch)
            Not read where the coder does not depend on it.
        """
        mean, log_scale, logit = self._conditionals(self.mixture, z, beta).chunk(3, dim=1)
        inverse = torch.exp(-log_scale.clamp(-7.0, 5.0))
        centred = (z.unsqueeze(1) - mean) * inverse
        half = half_width.unsqueeze(1) * inverse
        mass = torch.sigmoid(centred + half) - torch.sigmoid(centred - half)
        mixed = (mass * torch.softmax(logit, dim=1)).sum(1)
        return -(mixed + _TINY).log().sum(1)

    def rate_of_lengths(self, z: Tensor, mask: Tensor, beta: Tensor) -> Tensor:
        """Code length of the numbers of bits n, summed over dimensions, ``(models, batch)``.

        ``mask`` is ``(models, A, d, batch)``, 1 for the first n bits of each dimension: the length
        is differentiable in it. The indicator of n = k is m_k - m_(k+1) with m_0 = 1, so
        sum_k 1[n = k] log q_k = log q_0 + sum_k m_k (log q_k - log q_(k-1)).
        """
        log_q = torch.log_softmax(self._conditionals(self.lengths, z, beta), dim=1)
        steps = log_q[:, 1:] - log_q[:, :-1]
        return -(log_q[:, 0] + (mask * steps).sum(1)).sum(1)
