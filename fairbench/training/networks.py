"""Encoders and decoders by a dataset's architecture: fully connected, or convolutional for images.

A method takes both from its :class:`Networks` and need not know their kind: rows are always flat,
``(models, batch, features)``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from fairbench.training.layers import StackedConv, StackedLinear, StackedMLP

_FAINT = 0.1
"""Scale of the last layer of a decoder of images, at first."""


@dataclass(frozen=True)
class Networks:
    """The sizes of an autoencoder (the paper's Table 2), and the networks themselves.

    Parameters
    ----------
    features : int
        Columns of x; of an image, channels times height times width.
    hidden, latent, image, channels
        See :class:`fairbench.api.types.Architecture`; convolutions, if any, lie between x and
        ``hidden``.
    """

    features: int
    hidden: tuple[int, ...]
    latent: int
    image: tuple[int, int, int] | None = None
    channels: tuple[int, ...] = ()

    def mlp(self, generators: Sequence[torch.Generator], sizes: Sequence[int]) -> nn.Module:
        """Fully connected network, inputs first: an adversary of z, or a critic."""
        return StackedMLP(generators, sizes)

    def linear(self, generators: Sequence[torch.Generator], n_in: int, n_out: int) -> nn.Module:
        """Linear map of ``n_in`` to ``n_out`` numbers."""
        return StackedLinear(generators, n_in, n_out)

    def encoder(
        self, generators: Sequence[torch.Generator], outputs: int | None = None
    ) -> nn.Module:
        """Network from x to ``outputs`` numbers, ``latent`` unless given."""
        width = outputs or self.latent
        if self.image is not None and self.channels:
            return StackedConvEncoder(generators, self.image, self.channels, (*self.hidden, width))
        network = self.mlp(generators, (self.features, *self.hidden, width))
        if self.image is not None:
            keep_variance(network)
        return network

    def decoder(self, generators: Sequence[torch.Generator], inputs: int) -> nn.Module:
        """Network from ``inputs`` numbers (z and other inputs of the decoder) to x."""
        sizes = (inputs, *reversed(self.hidden))
        if self.image is not None and self.channels:
            return StackedConvDecoder(generators, sizes, self.channels, self.image)
        network = self.mlp(generators, (*sizes, self.features))
        if self.image is not None:
            keep_variance(network)
            _begin_faint(network)
        return network


class StackedConvEncoder(nn.Module):
    """Convolutions, each halving height and width, then fully connected layers; ReLU between.

    ``sizes`` are those of the fully connected layers, outputs last.
    """

    def __init__(
        self,
        generators: Sequence[torch.Generator],
        image: tuple[int, int, int],
        channels: Sequence[int],
        sizes: Sequence[int],
    ) -> None:
        super().__init__()
        self.image = image
        pixels = image[1] * image[2]
        self.convolutions = nn.ModuleList(
            StackedConv(generators, a, b, uses=pixels // 4**i)
            for i, (a, b) in enumerate(pairwise((image[0], *channels)), start=1)
        )
        flat = math.prod(_smallest(image, channels))
        self.dense = StackedMLP(generators, (flat, *sizes))
        keep_variance(self)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(models, batch, features)`` to ``(models, batch, sizes[-1])``."""
        models = len(x)
        x = _to_channels(x, self.image)
        for convolution in self.convolutions:
            x = torch.relu(convolution(x))
        out: Tensor = self.dense(_to_rows(x, models))
        return out


class StackedConvDecoder(nn.Module):
    """Fully connected layers, then transposed convolutions that mirror an encoder's.

    ``sizes`` are those of the fully connected layers, inputs first; ``channels`` the encoder's.
    """

    def __init__(
        self,
        generators: Sequence[torch.Generator],
        sizes: Sequence[int],
        channels: Sequence[int],
        image: tuple[int, int, int],
    ) -> None:
        super().__init__()
        self.smallest = _smallest(image, channels)
        self.dense = StackedMLP(generators, (*sizes, math.prod(self.smallest)))
        pixels = self.smallest[1] * self.smallest[2]
        self.convolutions = nn.ModuleList(
            StackedConv(generators, a, b, transposed=True, uses=pixels * 4**i)
            for i, (a, b) in enumerate(pairwise((*reversed(channels), image[0])))
        )
        keep_variance(self)
        _begin_faint(self)

    def forward(self, z: Tensor) -> Tensor:
        """Map ``(models, batch, sizes[0])`` to ``(models, batch, features)``."""
        x = _to_channels(self.dense(z), self.smallest)
        for convolution in self.convolutions:
            x = convolution(torch.relu(x))
        return _to_rows(x, len(z))


def keep_variance(networks: nn.Module) -> None:
    """Scale initial weights so that what differs between inputs still differs at the output.

    Each layer behind a ReLU gets weights of variance 2 / (inputs of an output), and no biases (He
    et al. 2015, arXiv:1502.01852). With the usual scale each layer keeps a sixth of the variance:
    after four convolutions and two more layers the outputs of two images differ by less than .001,
    so all images begin with the same code of bits, and a decoder cannot learn what bits mean.
    """
    with torch.no_grad():
        for layer in networks.modules():
            if isinstance(layer, StackedConv | StackedLinear):
                # Weights are uniform: of variance bound^2 / 3.
                layer.weight.mul_(math.sqrt(6 / layer.inputs) / layer.bound)
                layer.bias.zero_()


def _begin_faint(decoder: nn.Module) -> None:
    """Scale the last layer down, so that the first reconstructions are faint, not noise."""
    *_, last = (m for m in decoder.modules() if isinstance(m, StackedConv | StackedLinear))
    with torch.no_grad():
        last.weight.mul_(_FAINT)


def _smallest(image: tuple[int, int, int], channels: Sequence[int]) -> tuple[int, int, int]:
    """Channels, height and width after the last convolution."""
    _, height, width = image
    shrunk = 2 ** len(channels)
    if height % shrunk or width % shrunk:
        raise ValueError(f"{height} x {width} pixels cannot be halved {len(channels)} times")
    return (channels[-1], height // shrunk, width // shrunk)


def _to_channels(x: Tensor, image: tuple[int, int, int]) -> Tensor:
    """``(models, batch, pixels)`` to ``(batch, models * channels, height, width)``."""
    models, batch, _ = x.shape
    channels, height, width = image
    return x.transpose(0, 1).reshape(batch, models * channels, height, width)


def _to_rows(x: Tensor, models: int) -> Tensor:
    """``(batch, models * channels, height, width)`` to ``(models, batch, pixels)``, float32."""
    return x.reshape(len(x), models, -1).transpose(0, 1).float()
