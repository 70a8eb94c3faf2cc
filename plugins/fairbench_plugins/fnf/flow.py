"""Flows of affine couplings (Dinh, Sohl-Dickstein and Bengio 2017, "Density estimation using Real
NVP"), one for each group of each model: tensors are ``(models, groups, rows, columns)``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

_STRETCH = 2.0
"""Largest logarithm of a coupling's scale: what is far squeezed cannot be inverted in float32."""


class Flow(nn.Module):
    """x -> z, one to one, the identity before training.

    Parameters
    ----------
    generators : sequence of torch.Generator
        One per model.
    groups, columns : int
    couplings : int
        Layers. Each moves half of the columns, by amounts that depend on the other half.
    hidden : sequence of int
        Units of the hidden layers of their networks.
    """

    def __init__(
        self,
        generators: Sequence[torch.Generator],
        groups: int,
        columns: int,
        couplings: int,
        hidden: Sequence[int],
    ) -> None:
        super().__init__()
        models = len(generators)
        self.log_scale = nn.Parameter(torch.zeros(models, groups, 1, columns))
        self.shift = nn.Parameter(torch.zeros(models, groups, 1, columns))
        sizes = (columns, *hidden, 2 * columns)
        self.networks = nn.ModuleList(
            GroupedMLP(generators, groups, sizes) for _ in range(couplings)
        )
        for layer in range(couplings):
            stays = torch.tensor(_half(layer, columns)).repeat(models, 1, 1, 1)
            self.register_buffer(f"stays{layer}", stays, persistent=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """z and the log determinant of its Jacobian, ``(models, groups, rows)``."""
        log_scale = self._bounded(self.log_scale)
        x = x * log_scale.exp() + self.shift
        log_determinant = log_scale.sum(-1)
        for layer in range(len(self.networks)):
            log_scale, shift = self._affine(layer, x)
            x = x * log_scale.exp() + shift
            log_determinant = log_determinant + log_scale.sum(-1)
        return x, log_determinant

    def inverse(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """x and the log determinant of the inverse's Jacobian."""
        log_determinant = torch.zeros((), device=z.device)
        for layer in reversed(range(len(self.networks))):
            log_scale, shift = self._affine(layer, z)
            z = (z - shift) * (-log_scale).exp()
            log_determinant = log_determinant - log_scale.sum(-1)
        log_scale = self._bounded(self.log_scale)
        return (z - self.shift) * (-log_scale).exp(), log_determinant - log_scale.sum(-1)

    def _affine(self, layer: int, x: Tensor) -> tuple[Tensor, Tensor]:
        """Log scale and shift of each column, 0 for those that stay."""
        stays: Tensor = getattr(self, f"stays{layer}")
        log_scale, shift = self.networks[layer](x * stays).chunk(2, dim=-1)
        return self._bounded(log_scale) * (1 - stays), shift * (1 - stays)

    @staticmethod
    def _bounded(log_scale: Tensor) -> Tensor:
        return _STRETCH * torch.tanh(log_scale / _STRETCH)


def _half(layer: int, columns: int) -> list[float]:
    """1 for the columns that stay in a layer: two layers in a row move every column once.

    The halves differ from pair to pair, the same ones for every model and seed.
    """
    generator = torch.Generator().manual_seed(layer // 2)
    order = torch.randperm(columns, generator=generator).tolist()
    stays = set(order[: columns // 2])
    return [float((column in stays) == (layer % 2 == 0)) for column in range(columns)]


class GroupedMLP(nn.Module):
    """Fully connected networks of all models and groups, SiLU between; the last layer starts at 0.

    ``sizes`` are the features of each layer, input first.
    """

    def __init__(
        self, generators: Sequence[torch.Generator], groups: int, sizes: Sequence[int]
    ) -> None:
        super().__init__()
        models = len(generators)
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for layer, (n_in, n_out) in enumerate(pairwise(sizes), start=2):
            bound = 0.0 if layer == len(sizes) else 1.0 / math.sqrt(n_in)
            drawn = [torch.rand(groups, n_in, n_out, generator=g) for g in generators]
            self.weights.append(nn.Parameter((2 * torch.stack(drawn) - 1) * bound))
            self.biases.append(nn.Parameter(torch.zeros(models, groups, 1, n_out)))

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(models, groups, rows, sizes[0])`` to ``(models, groups, rows, sizes[-1])``."""
        models, groups = x.shape[:2]
        x = x.flatten(0, 1)
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.baddbmm(bias.flatten(0, 1), x, weight.flatten(0, 1))
            if i < last:
                x = nn.functional.silu(x)
        return x.view(models, groups, *x.shape[1:])
