"""The density of x in each group: autoregressive, mixtures of logistic distributions.

log q(x|s) = sum_j log q(x_j | x_<j, s), all columns by one network whose weights are masked so that
the outputs of column j see s and the columns before j alone (Germain et al. 2015, "MADE").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

_LOG_SCALES = (-4.0, 3.0)
"""Range of the logistic's log scales: gradients with respect to x stay bounded."""


class Density(nn.Module):
    """The densities of all models of a stack, with s among the inputs.

    Groups share the weights, so a group of few rows has a density near the others'.

    Parameters
    ----------
    generators : sequence of torch.Generator
        One per model.
    groups, columns : int
    hidden : sequence of int
        Units of the hidden layers.
    components : int
        Logistic components of a column.
    """

    def __init__(
        self,
        generators: Sequence[torch.Generator],
        groups: int,
        columns: int,
        hidden: Sequence[int],
        components: int,
    ) -> None:
        super().__init__()
        self.groups, self.columns, self.components = groups, columns, components
        models = len(generators)
        degrees = [_degrees(groups, columns, n) for n in (0, *hidden)]
        degrees.append(torch.arange(columns).repeat(3 * components))
        for layer, (below, above) in enumerate(pairwise(degrees)):
            mask = (above >= below.unsqueeze(1)).float().repeat(models, 1, 1)
            self.register_buffer(f"mask{layer}", mask, persistent=False)
        sizes = (columns + groups, *hidden, 3 * components * columns)
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for n_in, n_out in pairwise(sizes):
            drawn = [torch.rand(n_in, n_out, generator=g) for g in generators]
            self.weights.append(nn.Parameter((2 * torch.stack(drawn) - 1) / math.sqrt(n_in)))
            self.biases.append(nn.Parameter(torch.zeros(models, 1, n_out)))
        with torch.no_grad():  # components apart, over where standardised columns lie
            start = torch.zeros(3, components, columns)
            start[1] = torch.linspace(-2, 2, components).unsqueeze(1) if components > 1 else 0.0
            start[2] = -1.0
            self.biases[-1] += start.flatten()

    def forward(self, x: Tensor, s_onehot: Tensor) -> Tensor:
        """log q(x|s), nats, ``(models, rows)``, of x ``(models, rows, columns)``."""
        h = torch.cat([s_onehot, x], dim=-1)
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = torch.baddbmm(bias, h, weight * getattr(self, f"mask{i}"))
            if i < last:
                h = nn.functional.silu(h)
        outputs = h.view(*h.shape[:-1], 3, self.components, self.columns)
        logits, means, log_scales = outputs.unbind(-3)
        log_scales = log_scales.clamp(*_LOG_SCALES)
        u = (x.unsqueeze(-2) - means) * (-log_scales).exp()
        # Of the logistic distribution: e^-u / (1 + e^-u)^2, by the scale.
        each = -u - 2 * nn.functional.softplus(-u) - log_scales
        weighed = torch.log_softmax(logits, dim=-2) + each
        return torch.logsumexp(weighed, dim=-2).sum(-1)


def _degrees(groups: int, columns: int, units: int) -> Tensor:
    """The first column whose outputs may see each unit; of the inputs where ``units`` is 0."""
    if units == 0:
        return torch.cat([torch.zeros(groups, dtype=torch.int64), torch.arange(1, columns + 1)])
    return torch.arange(units) % columns
