"""One model for all settings of a knob: the single-shot twin of a multi-shot method.

The idea is the SoFaiR paper's, apart from its bits. The knob is drawn anew at every step, from low
to high on a logarithmic scale; encoder, decoder and adversary see it as a further input; and each
row's loss is weighted by the knob that its networks saw. So the networks learn the whole curve::

    min  E_k [ loss of the method at knob k, with networks f(x, k), g(z, s, k), c(z, k) ]

Losses are those of the method itself. Rows of a batch that share a knob are handed to it as the
batch of a model of its own: ``rows_per_knob`` of them, 1 where the loss is a mean over rows, more
where it compares the rows of a batch with each other. Knobs are dealt evenly over the range in each
batch (stratified), which lowers the variance of gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn

from fairbench.training.model import Batch, StackedModel
from fairbench.training.networks import Networks
from fairbench.training.streams import Streams

FREQUENCIES = 3
"""Half waves over the range of the knob, as inputs beside its place."""

_INPUTS = 1 + FREQUENCIES


@dataclass(frozen=True)
class KnobRange:
    """The range that a knob is drawn from, evenly in its logarithm."""

    low: float
    high: float

    def knob(self, place: Tensor) -> Tensor:
        """Return the knob at a place from 0 (low) to 1 (high)."""
        return self.low * (self.high / self.low) ** place

    def place(self, knob: Tensor) -> Tensor:
        """Return the place of a knob; one outside the range is at its end."""
        ratio = knob.clamp(self.low, self.high) / self.low
        return torch.log(ratio) / math.log(self.high / self.low)


@dataclass
class _Seen:
    """The place of the knob that the networks see at the moment, ``(models, rows, 1)``."""

    place: Tensor | None = None

    def features(self) -> Tensor:
        """Inputs made of it, ``(models, rows, inputs)``."""
        assert self.place is not None
        waves = torch.arange(1, FREQUENCIES + 1, device=self.place.device) * math.pi
        return torch.cat([2 * self.place - 1, torch.cos(self.place * waves)], dim=-1)


class _Conditioned(nn.Module):
    """A network with the knob's inputs beside its own.

    Takes rows folded by knob, ``(models * knobs, rows, n)``, or plain, ``(models, rows, n)``.
    """

    def __init__(self, network: nn.Module, seen: _Seen) -> None:
        super().__init__()
        self.network = network
        self._seen = seen

    def forward(self, x: Tensor) -> Tensor:
        features = self._seen.features()
        plain = x.reshape(*features.shape[:2], x.shape[-1])
        out: Tensor = self.network(torch.cat([plain, features], dim=-1))
        return out.reshape(*x.shape[:2], out.shape[-1])


@dataclass(frozen=True, kw_only=True)
class _ConditionedNetworks(Networks):
    """Networks that see the knob."""

    seen: _Seen

    def mlp(self, generators: Sequence[torch.Generator], sizes: Sequence[int]) -> nn.Module:
        network = super().mlp(generators, (sizes[0] + _INPUTS, *sizes[1:]))
        return _Conditioned(network, self.seen)

    def linear(self, generators: Sequence[torch.Generator], n_in: int, n_out: int) -> nn.Module:
        return _Conditioned(super().linear(generators, n_in + _INPUTS, n_out), self.seen)


class _FoldedStreams(Streams):
    """Streams of the models of a stack, dealt to the knobs of each."""

    def __init__(self, streams: Streams, knobs: int) -> None:
        self._streams, self._knobs = streams, knobs
        self.seeds, self.device = streams.seeds, streams.device

    def normal(self, use: str, *shape: int) -> Tensor:
        return self._streams.normal(use, self._knobs, *shape).flatten(0, 1)

    def uniform(self, use: str, *shape: int) -> Tensor:
        return self._streams.uniform(use, self._knobs, *shape).flatten(0, 1)

    def indices(self, use: str, high: int, count: int) -> Tensor:
        return self._streams.indices(use, high, self._knobs * count).view(-1, count)


class KnobConditioned(StackedModel):
    """A stack of single-shot twins.

    Parameters
    ----------
    make : callable
        Makes the method's own stack of given networks.
    networks : Networks
        Sizes of the networks; of tables only.
    knob : KnobRange
    buffers : mapping of str to float
        Buffers of the method's stack that hold knobs, ``(models,)``, and by what the knob is
        multiplied to be their values.
    rows_per_knob : int
        Rows of a batch that share a knob, at least; fewer where a batch has fewer.
    """

    def __init__(
        self,
        make: Callable[[Networks], StackedModel],
        networks: Networks,
        knob: KnobRange,
        buffers: Mapping[str, float],
        rows_per_knob: int,
    ) -> None:
        super().__init__()
        sizes = {field.name: getattr(networks, field.name) for field in fields(networks)}
        self._seen = _Seen()
        self.inner = make(_ConditionedNetworks(**sizes, seen=self._seen))
        self.knob, self.factors, self.rows_per_knob = knob, dict(buffers), rows_per_knob
        self.players, self.turns = self.inner.players, self.inner.turns
        self.recordable = self.inner.recordable
        self.noise_dimensions = self.inner.noise_dimensions

    def __getattr__(self, name: str) -> Any:
        # Adversaries are found by name, as those of any stack.
        if name != "players" and name in self.__dict__.get("players", {}):
            return getattr(self.inner, name)
        return super().__getattr__(name)

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        models, rows = batch.s.shape
        knobs = max(1, rows // self.rows_per_knob)
        shared = rows // knobs
        used = knobs * shared
        steps = torch.arange(knobs, device=batch.x.device) / knobs
        place = steps + batch.streams.uniform("knob", 1) / knobs  # (models, knobs)
        self._seen.place = place.repeat_interleave(shared, dim=1).unsqueeze(-1)

        def folded(rows_of_models: Tensor) -> Tensor:
            kept = rows_of_models[:, :used]
            return kept.reshape(models * knobs, shared, *kept.shape[2:])

        with self._at(self.knob.knob(place).flatten()):
            losses = self.inner.losses(
                Batch(
                    folded(batch.x),
                    folded(batch.s),
                    folded(batch.s_onehot),
                    batch.done,
                    _FoldedStreams(batch.streams, knobs),
                )
            )
        return {name: loss.view(models, knobs).mean(1) for name, loss in losses.items()}

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        self._see(knob)
        return self.inner.encode(x, None, noise)

    def gaussian_code(self, x: Tensor, knob: Tensor | None) -> tuple[Tensor, Tensor] | None:
        self._see(knob)
        return self.inner.gaussian_code(x, None)

    def decode(self, z: Tensor, s_onehot: Tensor, knob: Tensor | None) -> Tensor | None:
        self._see(knob)
        return self.inner.decode(z, s_onehot, None)

    def code_length(self, x: Tensor, knob: Tensor | None) -> Tensor | None:
        self._see(knob)
        return self.inner.code_length(x, None)

    def _see(self, knob: Tensor | None) -> None:
        assert knob is not None
        self._seen.place = self.knob.place(knob)

    def _at(self, knobs: Tensor) -> _Knobs:
        values = {name: factor * knobs for name, factor in self.factors.items()}
        return _Knobs(self.inner, values)


class _Knobs:
    """Gives a stack the knobs of one step, then its own buffers, of one value per model, again."""

    def __init__(self, model: StackedModel, values: Mapping[str, Tensor]) -> None:
        self._model, self._values = model, values

    def __enter__(self) -> None:
        self._own = {name: getattr(self._model, name) for name in self._values}
        for name, value in self._values.items():
            setattr(self._model, name, value)

    def __exit__(self, *_: object) -> None:
        for name, value in self._own.items():
            setattr(self._model, name, value)
