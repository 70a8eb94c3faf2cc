"""The base class of variational autoencoders: a Gaussian encoder and a decoder that knows s."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from fairbench.training.model import Batch, StackedModel, summed_squares
from fairbench.training.networks import Networks
from fairbench.training.streams import Streams


class Draw(NamedTuple):
    """One draw of the codes of a batch, and what it costs to reconstruct x from them.

    Attributes
    ----------
    z : Tensor, shape (models, batch, latent)
    mean, log_variance : Tensor, shape (models, batch, latent)
        Of q(z|x), from which z was drawn.
    distortion : Tensor, shape (models,)
        Squared error of g(z, s), summed over features, mean over rows.
    """

    z: Tensor
    mean: Tensor
    log_variance: Tensor
    distortion: Tensor


class GaussianModel(StackedModel):
    """A stack of encoders q(z|x) = N(m(x), diag v(x)) and decoders g(z, s). Required: ``losses``.

    Parameters
    ----------
    networks : Networks
    groups : int
        Number of values of s.
    streams : Streams
        One per model.
    """

    log_variances: tuple[float, float] = (-12.0, 6.0)
    """Range of log v: wide enough for every use, and its exponentials stay finite."""

    def __init__(self, networks: Networks, groups: int, streams: Streams) -> None:
        super().__init__()
        self.noise_dimensions = networks.latent
        make = streams.generators("weights")
        self.encoder = networks.encoder(make, 2 * networks.latent)
        self.decoder = networks.decoder(make, networks.latent + groups)

    def draw(self, batch: Batch) -> Draw:
        """Draw z for each row, and reconstruct x from it."""
        mean, log_variance = self.gaussian(batch.x)
        noise = batch.streams.normal("z", *mean.shape[1:])
        z = mean + torch.exp(0.5 * log_variance) * noise
        distortion = summed_squares(batch.x, self.decode(z, batch.s_onehot, None))
        return Draw(z, mean, log_variance, distortion)

    def gaussian(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log variance of q(z|x), both ``(models, batch, latent)``."""
        mean, log_variance = self.encoder(x).chunk(2, dim=-1)
        return mean, log_variance.clamp(*self.log_variances)

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        assert noise is not None
        mean, deviation = self.gaussian_code(x, knob)
        return mean + deviation * noise

    def gaussian_code(self, x: Tensor, knob: Tensor | None) -> tuple[Tensor, Tensor]:
        mean, log_variance = self.gaussian(x)
        return mean, torch.exp(0.5 * log_variance)

    def decode(self, z: Tensor, s_onehot: Tensor, knob: Tensor | None) -> Tensor:
        x_hat: Tensor = self.decoder(torch.cat([z, s_onehot], dim=-1))
        return x_hat

    def code_length(self, x: Tensor, knob: Tensor | None) -> Tensor:
        """The rate: what a draw of z costs given the prior; it bounds I(Z;X)."""
        return rate(*self.gaussian(x))


def rate(mean: Tensor, log_variance: Tensor) -> Tensor:
    """KL(N(mean, v) || N(0, I)) summed over dimensions, mean over rows, nats, ``(models,)``."""
    each = mean.square() + log_variance.exp() - log_variance - 1
    return 0.5 * each.sum(-1).mean(-1)
