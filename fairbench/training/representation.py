"""What neural methods give: one trained model, or one that is read at any setting of its knob."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from fairbench.api import Floats, Ints, Knob, Point, RowCache
from fairbench.api.method import Curve, Representation
from fairbench.training.layers import StackedConv, use_fastest_products
from fairbench.training.model import StackedModel, onehot

_ENCODE_CELLS = 2_000_000
"""Rows times features encoded at once: bounds memory."""

_CONVOLVED_ROWS = 64
"""Images encoded or decoded at once: their activations stay in the cache."""


@dataclass
class NeuralRepresentation(Representation):
    """One trained model of a stack, at one setting of its knob.

    Parameters
    ----------
    model : StackedModel
        A stack of one, on the CPU.
    groups, features : int
        Number of values of s, and of columns of x.
    stochastic : bool
        Whether the encoder takes noise.
    knob : float or None
        Where a single-shot curve is read.
    """

    model: StackedModel
    groups: int
    features: int
    stochastic: bool
    knob: float | None = None
    _gaussian_codes: RowCache[tuple[Floats, Floats] | None] = field(
        default_factory=RowCache, init=False, repr=False, compare=False
    )

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        """Encode in chunks; a stochastic encoder draws its noise from ``generator``.

        ``s`` is given to methods of the aware track alone.
        """
        rng = generator if generator is not None else np.random.default_rng()
        code = None
        if self.stochastic and s is None:
            code = self._gaussian_codes.of(x, self.gaussian_code)
        if code is not None:
            mean, deviation = code
            return np.asarray(mean + deviation * rng.standard_normal(mean.shape).astype(np.float32))

        def one(rows: slice) -> torch.Tensor:
            part = torch.tensor(x[rows], dtype=torch.float32)[None]
            noise = None
            if self.stochastic:
                shape = (1, part.shape[1], self.model.noise_dimensions)
                noise = torch.from_numpy(rng.standard_normal(shape).astype(np.float32))
            knob = self._knob(part.shape[1])
            if s is None:
                return self.model.encode(part, knob, noise)[0]
            group = onehot(torch.tensor(s[rows]), self.groups)
            return self.model.encode_aware(part, group[None], knob, noise)[0]

        return self._in_chunks(len(x), one)

    def gaussian_code(self, x: Floats) -> tuple[Floats, Floats] | None:
        """Mean and deviation of each row's code; None of other encoders."""
        codes = []
        with torch.no_grad():
            for rows in self._chunks(len(x)):
                part = torch.tensor(x[rows], dtype=torch.float32)[None]
                code = self.model.gaussian_code(part, self._knob(part.shape[1]))
                if code is None:
                    return None
                codes.append([tensor[0].numpy() for tensor in code])
        mean, deviation = (np.concatenate(arrays) for arrays in zip(*codes, strict=True))
        return mean, deviation

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        """Decode in chunks; None where the model has no decoder.

        Images are decoded in the CPU's fastest products, which takes less than half the time:
        squared errors differ by .01%. Codes are always in float32, so that they are the same
        everywhere.
        """
        if type(self.model).decode is StackedModel.decode:
            return None

        def one(rows: slice) -> torch.Tensor:
            part = torch.tensor(z[rows], dtype=torch.float32)[None]
            group = onehot(torch.tensor(s[rows]), self.groups)
            x_hat = self.model.decode(part, group[None], self._knob(part.shape[1]))
            assert x_hat is not None
            return x_hat[0]

        with use_fastest_products(self.model) if self._has_convolutions() else nullcontext():
            return self._in_chunks(len(z), one)

    def rate(self, x: Floats) -> float | None:
        """Code length by the model's own coder, nats."""
        total = 0.0
        with torch.no_grad():
            for rows in self._chunks(len(x)):
                part = torch.tensor(x[rows], dtype=torch.float32)
                length = self.model.code_length(part[None], self._knob(len(part)))
                if length is None:
                    return None
                total += float(length[0]) * len(part)
        return total / len(x)

    def bits(self, x: Floats) -> npt.NDArray[np.int8]:
        """Released bits ``(n, k, bits)``, -1 where masked."""

        def one(rows: slice) -> torch.Tensor:
            part = torch.tensor(x[rows], dtype=torch.float32)[None]
            return self.model.code_bits(part, self._knob(part.shape[1]))[0]

        return self._in_chunks(len(x), one)

    def parameters(self) -> int:
        """Trainable parameters of this model, adversaries included."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def multiply_adds(self) -> int:
        """Multiplications of a forward pass of one row."""
        return self.model.multiply_adds()

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        """Weights and buffers, adversaries' included."""
        return {name: tensor.numpy() for name, tensor in self.model.state_dict().items()}

    def _knob(self, rows: int) -> torch.Tensor | None:
        return None if self.knob is None else torch.full((1, rows, 1), float(self.knob))

    def _has_convolutions(self) -> bool:
        return any(isinstance(layer, StackedConv) for layer in self.model.modules())

    def _chunks(self, n: int) -> list[slice]:
        if self._has_convolutions():
            step = _CONVOLVED_ROWS
        else:
            step = int(np.clip(_ENCODE_CELLS // self.features, 256, 8192))
        return [slice(start, start + step) for start in range(0, n, step)]

    def _in_chunks(self, n: int, one: Callable[[slice], torch.Tensor]) -> npt.NDArray[Any]:
        with torch.no_grad():
            return np.concatenate([one(rows).numpy() for rows in self._chunks(n)])


@dataclass
class NeuralCurve(Curve):
    """A single-shot model: one network, read at any setting of its knob."""

    knob: Knob
    representation: NeuralRepresentation

    def at(self, point: Point) -> NeuralRepresentation:
        """The representation at ``point[knob]``."""
        return replace(self.representation, knob=point[self.knob.name])

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        """Weights and buffers."""
        return self.representation.state()
