"""SoFaiR by resolution: each dimension is quantised as the paper's section 3.2 first defines it.

Objective as in model.py; what differs is the code. With e = sigmoid(encoder(x)) in [0, 1]^d and a
resolution r_j(beta) = 2^n_j(beta), the released z_j is e_j rounded to the middle of its cell:

    z_j = (floor(e_j r_j) + 1/2) / r_j,      n_j(beta) = [A (1 - tanh(h_j beta / beta_max))]

so that bits are the binary digits of e_j itself, and for beta' < beta those of z(beta') extend
those of z(beta). The paper goes on to make bits by a layer of their own, ``b = [h_e(e)]``, and to
let their number depend on the row (model.py); here h_j > 0 is a parameter, the same for all rows:

* the number of bits is the same for all rows, so the entropy model's rate is itself a code length;
* rounding moves e by half a cell at most, so the straight-through gradient is nearly the true one.
  With thresholds of their own, bits of one dimension are unrelated, and gradients through 8 of them
  are noise.

Gradients: d z_j / d e_j = 1, and d z_j / d n_j = -ln 2 (z_j - e_j), by z_j = e_j + 2^-n_j u_j with
the place u_j in the cell held fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from fairbench.training import Batch, Networks, Streams
from fairbench_plugins.sofair.entropy import LogisticMixtureEntropy
from fairbench_plugins.sofair.masked import MaskedAutoencoder

if TYPE_CHECKING:
    from fairbench_plugins.sofair import SofairParams
    from fairbench_plugins.sofair.leakage import AdversaryShare


class ResolutionModel(MaskedAutoencoder):
    """A stack of SoFaiR autoencoders that quantise e itself.

    Parameters
    ----------
    params, networks, groups, betas, streams, decoder_sees_s, adversary
        As for :class:`fairbench_plugins.sofair.model.SofairModel`.
    """

    def __init__(
        self,
        params: SofairParams,
        networks: Networks,
        groups: int,
        betas: Sequence[float] | None,
        streams: Streams,
        *,
        decoder_sees_s: bool = True,
        adversary: AdversaryShare | None = None,
    ) -> None:
        super().__init__()
        self.params, self.groups = params, groups if decoder_sees_s else 0
        d, models = networks.latent, len(streams.seeds)
        make = streams.generators("weights")
        self.encoder = networks.encoder(make)
        self.decoder = networks.decoder(make, d + (betas is None) + self.groups)
        self.entropy = LogisticMixtureEntropy(
            make, d, params.bits, params.components, sees_beta=betas is None, codes_lengths=False
        )
        # Dimensions start at different paces, so that they do not all lose a bit at the same beta.
        self.pace = nn.Parameter(torch.linspace(-1, 1, d).view(1, d, 1).repeat(models, 1, 1))
        self.add_adversary(adversary, make, d, groups, sees_beta=betas is None)
        fixed = None if betas is None else torch.tensor(betas, dtype=torch.float32).view(-1, 1, 1)
        self.register_buffer("fixed_beta", fixed)

    def embed(self, x: Tensor) -> Tensor:
        """e, ``(models, d, batch)``."""
        e: Tensor = torch.sigmoid(self.encoder(x)).transpose(1, 2)
        return e

    def digits(self, beta: Tensor) -> Tensor:
        """n_j(beta), whole, with the gradient of what was rounded; ``(models, d, batch)``."""
        pace = 2 * nn.functional.softplus(self.pace)
        n = self.params.bits * (1 - torch.tanh(pace * beta / self.params.beta_max))
        return n + (n.round() - n).detach()

    def quantise(self, e: Tensor, n: Tensor) -> Tensor:
        """z, ``(models, d, batch)``: the middle of e's cell of width 2^-n."""
        step = torch.exp2(-n)
        with torch.no_grad():
            # e = 1 belongs to the last cell.
            middle = torch.minimum((torch.floor(e / step) + 0.5) * step, 1 - step / 2)
            place = (middle - e) / step
        # Added as zeros: rows of one cell must get one and the same value, to the last bit.
        return middle + (e - e.detach()) + place * (step - step.detach())

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        beta = self.drawn_beta(batch)
        n = self.digits(beta)
        z = self.quantise(self.embed(batch.x), n)
        x_hat = self.reconstruct(z, batch.s_onehot, beta)
        rate = self.entropy.rate(z, torch.exp2(-n - 1), self.beta_as_input(beta))
        return self.objective(x_hat, z, rate, beta, batch)

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        n = self.digits(self.read_beta(knob))
        return self.quantise(self.embed(x), n).transpose(1, 2)

    def code_length(self, x: Tensor, knob: Tensor | None) -> Tensor:
        beta = self.read_beta(knob)
        n = self.digits(beta)
        z = self.quantise(self.embed(x), n)
        return self.entropy.rate(z, torch.exp2(-n - 1), self.beta_as_input(beta)).mean(-1)

    def code_bits(self, x: Tensor, knob: Tensor | None) -> Tensor:
        n = self.digits(self.read_beta(knob)).unsqueeze(-1)
        levels = torch.arange(1, self.params.bits + 1, dtype=torch.float32)
        z = self.quantise(self.embed(x), n.squeeze(-1)).unsqueeze(-1)
        bits = torch.floor(z * torch.exp2(levels)) % 2
        return torch.where(levels <= n, bits, -1.0).to(torch.int8).transpose(1, 2)
