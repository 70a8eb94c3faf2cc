"""Objective: groups whose encoded densities agree, rows that move little.

With a flow f_k and a density q_k of x for each group k, the code z = f_k(x) of a row of that group
has the density (Balunovic et al. 2022, equation 3)

    log p_k(z) = log q_k(f_k^-1(z)) + log |det of the Jacobian of f_k^-1 at z|

and the flows minimise

    (1 - gamma) E ||f_s(x) - x||^2  +  gamma mean_k [KL(p_k || p_-k) + KL(p_-k || p_k)]

where p_-k is the mixture of the other groups' densities, by their shares. For two groups the
second term is the paper's, KL(p_0 || p_1) + KL(p_1 || p_0) (section 4).

The first term stands where the paper has the loss of a classifier of y, which no method sees here.
As f is invertible, distortion would not do: it is 0 for every flow, and would leave a code that has
nothing to do with x. Keeping rows where they are gives each code the meaning of its columns in both
groups, so that a classifier trained on codes serves both. It also settles which of all flows that
match the groups is meant: the one that moves rows least, to the groups' barycentre in squared
distance (Gouic, Loubes and Rigollet 2020, arXiv:2005.11720).

Departures:

* q is fitted along with the flows, as a player of its own that maximises the likelihood: so a stack
  trains as one. The paper fits it before, a Gaussian mixture or an autoregressive model.
* More than two groups: each against the mixture of the others.
* Categories are columns of integer codes like others. The paper treats tables of categories by a
  matching of rows without flows; this is its method for numbers.
* Uniform noise as wide as the smallest step of a column, but at least .1 standard deviations, is
  added in training and whenever rows are encoded (dequantisation), as in the authors' code. Without
  it the groups' codes of columns of few values are different numbers, and tell s exactly. The
  decoder returns the nearest value that the training set has, where a column has at most 256.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fairbench.api import Floats
from fairbench.training import Batch, StackedModel, Streams, count_products, onehot
from fairbench_plugins.fnf.density import Density
from fairbench_plugins.fnf.flow import Flow

if TYPE_CHECKING:
    from fairbench_plugins.fnf import FNFParams


class FlowModel(StackedModel):
    """A stack of models, each with a flow per group and a density of x.

    Parameters
    ----------
    params : FNFParams
    widths : ndarray, shape (columns,)
        Width of the noise in each column.
    values : ndarray, shape (columns, k)
        The values that each column may have, ascending, infinite from there on; of columns that
        may have any value all are.
    groups : int
        Number of values of s.
    gammas : sequence of float
        One per model.
    streams : Streams
        One per model.
    """

    recordable = True
    gamma: Tensor
    widths: Tensor
    values: Tensor
    seen: Tensor
    """Rows of each group seen so far, ``(models, groups)``."""

    def __init__(
        self,
        params: FNFParams,
        widths: Floats,
        values: Floats,
        groups: int,
        gammas: Sequence[float],
        streams: Streams,
    ) -> None:
        super().__init__()
        self.groups, self.warmup = groups, params.warmup
        columns, models = len(widths), len(gammas)
        self.noise_dimensions = columns
        make = streams.generators("weights")
        self.flow = Flow(make, groups, columns, params.couplings, params.coupling_hidden)
        self.density = Density(
            make, groups, columns, params.density_hidden, params.density_components
        )
        self.players: Mapping[str, float] = {"density": 1.0}
        self.register_buffer("gamma", torch.tensor(gammas, dtype=torch.float32))
        self.register_buffer("widths", torch.tensor(widths).repeat(models, 1))
        self.register_buffer("values", torch.tensor(values).repeat(models, 1, 1))
        self.register_buffer("seen", torch.ones(models, groups))

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        x = batch.x
        if self.training:
            noise = batch.streams.uniform("noise", *x.shape[1:]) - 0.5
            x = x + noise * self.widths.unsqueeze(1)
            self.seen.add_(batch.s_onehot.sum(1))
        z = self.move(x, batch.s)
        moved = (z - x).square().sum(-1).mean(-1)
        divergence = self.divergence(self.log_densities(z), batch.s_onehot)
        gamma = self.gamma * batch.ramp(self.warmup)
        return {
            "model": (1 - self.gamma) * moved + gamma * divergence,
            "density": -self.density(x, batch.s_onehot).mean(-1),
        }

    def move(self, x: Tensor, s: Tensor) -> Tensor:
        """Each row by the flow of its group, ``(models, rows, columns)``."""
        z, _ = self.flow(self._for_all(x))
        return _of_group(z, s)

    def log_densities(self, z: Tensor) -> Tensor:
        """log p_k(z) of all groups, ``(models, groups, rows)``."""
        x, log_determinant = self.flow.inverse(self._for_all(z))
        models, groups, rows, _ = x.shape
        each = torch.arange(groups, device=z.device).repeat_interleave(rows)
        s_onehot = onehot(each, groups).expand(models, -1, -1)
        log_q = self.density(x.flatten(1, 2), s_onehot).unflatten(1, (groups, rows))
        log_p: Tensor = log_q + log_determinant
        return log_p

    def divergence(self, log_p: Tensor, s_onehot: Tensor) -> Tensor:
        """Mean over groups of KL(p_k || p_-k) + KL(p_-k || p_k), nats, ``(models,)``."""
        log_shares = (self.seen / self.seen.sum(1, keepdim=True)).log()
        weighed = log_p + log_shares.unsqueeze(2)
        inside = s_onehot.transpose(1, 2)
        others = []
        for group in range(self.groups):
            share = torch.logsumexp(_without(log_shares, group), dim=1, keepdim=True)
            others.append(torch.logsumexp(_without(weighed, group), dim=1) - share)
        ratio = log_p - torch.stack(others, dim=1)
        counts = inside.sum(2)
        forward = (inside * ratio).sum(2) / counts.clamp_min(1)
        outside = 1 - inside
        backward = -(outside * ratio).sum(2) / outside.sum(2).clamp_min(1)
        # A group of which the batch has no row says nothing in this step.
        there = ((counts > 0) & (outside.sum(2) > 0)).float()
        return ((forward + backward) * there).sum(1) / there.sum(1).clamp_min(1)

    def multiply_adds(self) -> int:
        """Flows run forward and back; the density of the row, and of it as of each group."""
        return 2 * count_products(self.flow) + (1 + self.groups) * count_products(self.density)

    def _for_all(self, x: Tensor) -> Tensor:
        """All rows for the flow of every group."""
        return x.unsqueeze(1).expand(-1, self.groups, -1, -1)

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        raise NotImplementedError("the flow depends on s: see encode_aware")

    def encode_aware(
        self, x: Tensor, s_onehot: Tensor, knob: Tensor | None, noise: Tensor | None
    ) -> Tensor:
        if noise is not None:
            x = x + (torch.special.ndtr(noise) - 0.5) * self.widths.unsqueeze(1)
        return self.move(x, s_onehot.argmax(-1))

    def decode(self, z: Tensor, s_onehot: Tensor, knob: Tensor | None) -> Tensor:
        x, _ = self.flow.inverse(self._for_all(z))
        return self._nearest_values(_of_group(x, s_onehot.argmax(-1)))

    def _nearest_values(self, x: Tensor) -> Tensor:
        """Take the noise off, ``(models, rows, columns)``, where a column has few values."""
        by_column = x.transpose(1, 2).contiguous()
        above = torch.searchsorted(self.values, by_column)
        low = self.values.gather(2, (above - 1).clamp_min(0))
        high = self.values.gather(2, above.clamp_max(self.values.shape[2] - 1))
        nearest = torch.where(by_column - low <= high - by_column, low, high)
        return torch.where(nearest.isfinite(), nearest, by_column).transpose(1, 2)


def _of_group(rows: Tensor, s: Tensor) -> Tensor:
    """Pick each row as the flow of its group has it, of ``(models, groups, rows, columns)``."""
    index = s[:, None, :, None].expand(-1, 1, -1, rows.shape[-1])
    return rows.gather(1, index).squeeze(1)


def _without(of_groups: Tensor, group: int) -> Tensor:
    """Return the other groups, the second axis being the groups'."""
    return torch.cat([of_groups[:, :group], of_groups[:, group + 1 :]], dim=1)
