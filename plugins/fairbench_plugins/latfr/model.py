"""LATFR's objective: min over encoder f and decoder g, max over adversary c of

    E ||x - g(f(x), s)||^2  -  gamma * E[-log c(s | f(x))]

(Madras et al. 2018, equation 2, with the task loss replaced by the distortion as in the SoFaiR
paper's section 5.4). The adversary's own loss is its cross-entropy and its gradients are of that
alone, never scaled by gamma.

Departures: the original bounds the adversary's objective by group-normalised l1 terms for
demographic parity; the SoFaiR paper uses the cross-entropy, and so does this. Encoder and adversary
step at the same time on the same batch rather than in turns, which costs one forward pass, not two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fairbench.training.layers import StackedMLP
from fairbench.training.model import Batch, StackedModel, summed_squares
from fairbench.training.streams import Streams

if TYPE_CHECKING:
    from fairbench_plugins.latfr import LatfrParams


class LatfrModel(StackedModel):
    """A stack of autoencoders, each with an adversary on its code.

    Parameters
    ----------
    params : LatfrParams
    sizes : sequence of int
        Of the encoder.
    groups : int
        Number of values of s.
    gammas : sequence of float
        One a model.
    streams : Streams
        One a model.
    """

    gamma: Tensor

    def __init__(
        self,
        params: LatfrParams,
        sizes: Sequence[int],
        groups: int,
        gammas: Sequence[float],
        streams: Streams,
    ) -> None:
        super().__init__()
        make = streams.generators("weights")
        features, *hidden, latent = sizes
        self.encoder = StackedMLP(make, sizes)
        self.decoder = StackedMLP(make, (latent + groups, *reversed(hidden), features))
        self.adversary = StackedMLP(make, (latent, *params.adversary_hidden, groups))
        self.players: Mapping[str, float] = {"adversary": params.adversary_rate}
        self.register_buffer("gamma", torch.tensor(gammas, dtype=torch.float32))

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        z = self.encoder(batch.x)
        distortion = summed_squares(batch.x, self._reconstruct(z, batch.s_onehot))
        logits = self.adversary(z).transpose(1, 2)  # cross_entropy wants (models, groups, batch)
        cross_entropy = torch.nn.functional.cross_entropy(logits, batch.s, reduction="none").mean(1)
        return {"model": distortion - self.gamma * cross_entropy, "adversary": cross_entropy}

    def _reconstruct(self, z: Tensor, s_onehot: Tensor) -> Tensor:
        x_hat: Tensor = self.decoder(torch.cat([z, s_onehot], dim=-1))
        return x_hat

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        z: Tensor = self.encoder(x)
        return z

    def decode(self, z: Tensor, s_onehot: Tensor, knob: Tensor | None) -> Tensor:
        return self._reconstruct(z, s_onehot)
