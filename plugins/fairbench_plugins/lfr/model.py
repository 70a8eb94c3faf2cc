"""The objective: K soft prototypes that reconstruct x and that all groups use alike.

A row is assigned to prototypes v_k by its distances to them,

    M_k(x) = softmax_k( -sum_i alpha_i (x_i - v_ki)^2 ),      x_hat = sum_k M_k(x) v_k,

and v and alpha minimise (Zemel et al. 2013, without their A_y L_y: there is no y)

    E ||x - x_hat||^2  +  A_z sum_s sum_k | E[M_k|s] - mean_s' E[M_k|s'] |.

The second term, their L_z, is 0 where each prototype has the same share of every group. z = M(x),
of which x_hat is a function; the decoder is the authors', x_hat, and does not see s.

Departures:

* More than two groups are each compared with the mean over the groups; of two this is the authors'
  sum_k |E[M_k|1] - E[M_k|0]|.
* One alpha for all groups, as the encoder does not see s; the authors learn one for each.
* A_x is 1 and errors are means over rows, so that A_z does not depend on their number.
* Adam on batches, not L-BFGS on all rows. Batches are large, for the means of small ones differ
  even where groups agree. A group without rows in a batch is left out of its L_z.
* K is the size of the representation, as of the other neural methods; the authors try 10 to 30.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fairbench.training import Batch, Networks, StackedModel, Streams, summed_squares


class LFRModel(StackedModel):
    """A stack of sets of prototypes.

    Parameters
    ----------
    networks : Networks
        Of which only the sizes are used: features, and ``latent`` prototypes.
    weights : sequence of float
        A_z, one per model.
    streams : Streams
        One per model.
    """

    recordable = True
    weight: Tensor

    def __init__(self, networks: Networks, weights: Sequence[float], streams: Streams) -> None:
        super().__init__()
        shape = (networks.latent, networks.features)
        drawn = [torch.randn(shape, generator=g) for g in streams.generators("weights")]
        self.prototypes = nn.Parameter(torch.stack(drawn))
        # Distances have one scale at the start, however many columns they are summed over.
        start = -0.5 * math.log(networks.features)
        self.log_alpha = nn.Parameter(torch.full((len(weights), 1, networks.features), start))
        self.register_buffer("weight", torch.tensor(weights, dtype=torch.float32))

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        assigned = self.encode(batch.x, None, None)
        distortion = summed_squares(batch.x, assigned @ self.prototypes)
        return {"model": distortion + self.weight * parity_gap(assigned, batch.s_onehot)}

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        alpha = self.log_alpha.exp()
        # |x|^2 is the same for all prototypes, so softmax does not see it.
        products = (x * alpha) @ self.prototypes.transpose(1, 2)
        own = (alpha * self.prototypes.square()).sum(-1).unsqueeze(1)
        return torch.softmax(2 * products - own, dim=-1)

    def multiply_adds(self) -> int:
        """The prototypes are used for the distances, and again for x_hat."""
        return 2 * self.prototypes.numel()

    def decode(self, z: Tensor, s_onehot: Tensor, knob: Tensor | None) -> Tensor:
        return z @ self.prototypes


def parity_gap(assigned: Tensor, s_onehot: Tensor) -> Tensor:
    """L_z: how much the groups differ in their use of prototypes, ``(models,)``; at most 2 a group.

    ``assigned`` is ``(models, batch, prototypes)``, ``s_onehot`` ``(models, batch, groups)``.
    """
    rows = s_onehot.sum(1)
    there = (rows > 0).to(assigned.dtype).unsqueeze(-1)
    means = s_onehot.transpose(1, 2) @ assigned / rows.clamp_min(1).unsqueeze(-1)
    middle = (there * means).sum(1, keepdim=True) / there.sum(1, keepdim=True)
    return (there * (means - middle)).abs().sum((1, 2))
