"""Random streams, one per model: its draws never depend on what it is stacked with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from fairbench.stats.seeds import derive_seed

_BLOCK_STEPS = 64
"""Steps drawn at once: one generator call per model and step would cost more than the step."""


class Streams:
    """Random numbers of each model, drawn in blocks on the CPU and moved to ``device``.

    Drawing on the CPU gives CPU and CUDA runs the same numbers. From each model's seed its streams
    for different uses are derived.
    """

    def __init__(self, seeds: Sequence[int], device: torch.device | str = "cpu") -> None:
        self.seeds = tuple(seeds)
        self.device = torch.device(device)
        self._generators: dict[str, list[torch.Generator]] = {}
        self._blocks: dict[str, Tensor] = {}
        self._used: dict[str, int] = {}

    def generators(self, use: str) -> list[torch.Generator]:
        """One CPU generator per model for the named use; the same objects at every call."""
        if use not in self._generators:
            generators = [torch.Generator().manual_seed(derive_seed(s, use)) for s in self.seeds]
            self._generators[use] = generators
        return self._generators[use]

    def indices(self, use: str, high: int, count: int) -> Tensor:
        """Row numbers below ``high``, ``(models, count)``, int64, drawn with replacement."""
        return self._next(f"{use}/{high}/{count}", (count,), high)

    def uniform(self, use: str, *shape: int) -> Tensor:
        """Numbers from U[0, 1), ``(models, *shape)``, float32."""
        return self._next(f"{use}/uniform/{shape}", shape, 0)

    def normal(self, use: str, *shape: int) -> Tensor:
        """Standard normal numbers, ``(models, *shape)``, float32."""
        return self._next(f"{use}/normal/{shape}", shape, -1)

    def state(self) -> dict[str, Any]:
        """The state that later draws depend on, as tensors and numbers."""
        return {
            "generators": {
                k: [g.get_state() for g in all_] for k, all_ in self._generators.items()
            },
            "blocks": {key: block.cpu() for key, block in self._blocks.items()},
            "used": dict(self._used),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a :meth:`state`."""
        for use, states in state["generators"].items():
            for generator, one in zip(self.generators(use), states, strict=True):
                generator.set_state(one)
        self._blocks = {key: block.to(self.device) for key, block in state["blocks"].items()}
        self._used = dict(state["used"])

    def _next(self, key: str, shape: tuple[int, ...], kind: int) -> Tensor:
        used = self._used.get(key, _BLOCK_STEPS)
        if used == _BLOCK_STEPS:
            size = (_BLOCK_STEPS, *shape)
            blocks = []
            for g in self.generators(key):
                if kind > 0:
                    blocks.append(torch.randint(kind, size, generator=g))
                elif kind == 0:
                    blocks.append(torch.rand(size, generator=g))
                else:
                    blocks.append(torch.randn(size, generator=g))
            self._blocks[key] = torch.stack(blocks, dim=1).to(self.device)
            used = 0
        self._used[key] = used + 1
        return self._blocks[key][used]
