"""sofair-adv: an adversary's estimate of s from SoFaiR's code is a part of beta's price.

It is not the paper's method: it uses s in training for more than the decoder; searches on Adults
led to it (docs/strict.md).

The paper prices a code by its length, H(z | beta), which bounds I(z; s) from above. On Adults the
bound is some seventy times what it bounds (17 nats against .25), and a bit that reveals s costs
no more than one that does not. With ``adversary`` = c the price of a row is here

    (1 - c) H_q(z | beta)  -  c CE_adversary(s | z, beta)

Its mean is, up to the constant c H(s), a mixture of the paper's upper bound on I(z; s) and of the
adversary's lower bound, H(s) - CE. The adversary minimises its cross-entropy alone, as LATFR's
does (Madras et al. 2018); an encoder that hides from it is still charged for every bit.

z holds all its digits in one number, of which a network uses little but the first. So the
adversary also gets waves, cos(2^k pi z), as short as the digits are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fairbench.training import StackedMLP

_WAVES = 4
"""Cosines of each dimension: about as many digits as a code that leaks little has."""


@dataclass(frozen=True)
class AdversaryShare:
    """The adversary of a model: its share of the price, layers, and factor on the learning rate."""

    share: float
    hidden: tuple[int, ...]
    rate: float


class Adversary(nn.Module):
    """Predicts s from z, and from beta where it differs by row.

    Parameters
    ----------
    generators : sequence of torch.Generator
        One per model.
    dimensions : int
        d, the latent dimensions.
    hidden : sequence of int
        Units of each hidden layer.
    groups : int
        Number of values of s.
    beta_max : float
        Largest beta.
    sees_beta : bool
        Not where beta is fixed.
    """

    def __init__(
        self,
        generators: Sequence[torch.Generator],
        dimensions: int,
        hidden: Sequence[int],
        groups: int,
        beta_max: float,
        *,
        sees_beta: bool,
    ) -> None:
        super().__init__()
        self.beta_max, self.sees_beta = beta_max, sees_beta
        inputs = dimensions * (1 + _WAVES) + sees_beta
        self.network = StackedMLP(generators, (inputs, *hidden, groups))

    def cross_entropy(self, z: Tensor, beta: Tensor, s_onehot: Tensor) -> Tensor:
        """-log c(s | z, beta) of each row, nats, ``(models, batch)``.

        Parameters
        ----------
        z : Tensor, shape (models, d, batch)
        beta : Tensor, shape (models, 1, batch)
            Not read where it is fixed.
        s_onehot : Tensor, shape (models, batch, groups)
        """
        waves = [torch.cos(2.0**k * math.pi * z) for k in range(_WAVES)]
        seen = [2 * z - 1, *waves]
        if self.sees_beta:
            seen.append(beta / self.beta_max)
        log_c = torch.log_softmax(self.network(torch.cat(seen, dim=1).transpose(1, 2)), dim=-1)
        return -(s_onehot * log_c).sum(-1)
