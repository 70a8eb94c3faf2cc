"""The base class of stacked networks and losses, written once over a leading model axis."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from fairbench.training.streams import Streams


@dataclass(frozen=True)
class Batch:
    """One training batch of every model of a stack.

    Parameters
    ----------
    x : Tensor, shape (models, batch, features)
    s : Tensor of int64, shape (models, batch)
    s_onehot : Tensor, shape (models, batch, groups)
    done : float, or Tensor of one number
        Share of the budget that has been trained, 0 to 1; :meth:`ramp` is made of it. A tensor
        where the step is recorded or compiled.
    streams : Streams
        Random numbers of each model's own.
    """

    x: Tensor
    s: Tensor
    s_onehot: Tensor
    done: float | Tensor
    streams: Streams

    def ramp(self, share: float) -> float | Tensor:
        """Weight that grows evenly from 0 to 1 over the first ``share`` of the budget, 0 to 1.

        For warm-ups; 1 throughout where ``share`` is 0.
        """
        if not share:
            return 1.0
        grown = self.done / share
        return grown.clamp(max=1.0) if isinstance(grown, Tensor) else min(1.0, grown)


class StackedModel(nn.Module, ABC):
    """Networks of all models of a stack. Required: ``losses`` and ``encode``.

    Every parameter and buffer has the model axis first, so that a stack can be taken apart.
    Submodules named in ``players`` are adversaries: each trains on its own loss alone, at its own
    learning rate; all other parameters belong to the player ``model``. One without a loss of its
    own trains on that of ``model``, in the same backward pass.
    """

    players: Mapping[str, float] = {}
    """Adversarial submodules by name, and the factor on the learning rate for each."""
    turns: int = 1
    """The player ``model`` is updated every ``turns`` steps; adversaries at every step."""
    recordable: bool = False
    """Whether ``losses`` does the same operations at every step, so that one step may be recorded
    on a GPU, or compiled on a CPU, and repeated, which is faster: what it remembers is in buffers
    that it changes in place, it asks for no value of a tensor (no ``if``, no ``.item()``), and
    makes no tensor of Python numbers. It is not called again then. ``fairbench check`` tries it."""
    noise_dimensions: int = 0
    """k of the noise a stochastic encoder takes."""

    @abstractmethod
    def losses(self, batch: Batch) -> dict[str, Tensor]:
        """Loss of ``model`` and of each adversary that has its own, ``(models,)``."""

    @abstractmethod
    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        """Representation ``(models, n, k)``; ``knob`` where single-shot, ``noise`` if stochastic.

        ``x`` is ``(models, n, features)``, ``knob`` and ``noise`` ``(models, n, 1)`` and
        ``(models, n, k)``.
        """

    def gaussian_code(self, x: Tensor, knob: Tensor | None) -> tuple[Tensor, Tensor] | None:
        """Mean and standard deviation of a Gaussian code, each ``(models, n, k)``; else None.

        A model that gives them is drawn from again and again at no further cost of its networks;
        ``encode`` must be the mean plus the standard deviation times ``noise``.
        """
        return None

    def encode_aware(
        self, x: Tensor, s_onehot: Tensor, knob: Tensor | None, noise: Tensor | None
    ) -> Tensor:
        """The same given s, ``(models, n, groups)``; for methods of the aware track."""
        return self.encode(x, knob, noise)

    def decode(self, z: Tensor, s_onehot: Tensor, knob: Tensor | None) -> Tensor | None:
        """Reconstruction ``(models, n, features)``; None: there is no decoder."""
        return None

    def code_length(self, x: Tensor, knob: Tensor | None) -> Tensor | None:
        """Mean code length in nats, ``(models,)``, by the model's own coder; None: it has none."""
        return None

    def code_bits(self, x: Tensor, knob: Tensor | None) -> Tensor:
        """Bits ``(models, n, k, bits)`` of int8: 0, 1, or -1 where masked.

        Needed where the method declares ``has_bits``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no bits")

    def multiply_adds(self) -> int:
        """Multiplications of a stack of one for one row, forward.

        Each trainable parameter is used once, those of a convolution at every place. Override it
        where parameters are used more often.
        """
        return count_products(self)

    def take(self, index: int) -> Self:
        """Return model ``index`` as a stack of one, on the CPU, with memory of its own."""
        memo: dict[int, object] = {}
        for tensor in [*self.parameters(), *self.buffers()]:
            piece = tensor.detach()[index : index + 1].cpu().clone()
            memo[id(tensor)] = nn.Parameter(piece) if isinstance(tensor, nn.Parameter) else piece
        one = copy.deepcopy(self, memo)
        return one.eval()


def count_products(module: nn.Module) -> int:
    """Multiplications of networks for one row, forward, where each is used once."""
    return sum(
        parameter.numel() * getattr(part, "uses", 1)
        for part in module.modules()
        for parameter in part.parameters(recurse=False)
    )


def onehot(s: Tensor, groups: int) -> Tensor:
    """One-hot coding of s as float32, ``(..., groups)``."""
    # PyTorch's own asks for the largest value, which a traced step cannot.
    return (s.unsqueeze(-1) == torch.arange(groups, device=s.device)).to(torch.float32)


def summed_squares(x: Tensor, x_hat: Tensor) -> Tensor:
    """Distortion of each model: squared error summed over features, mean over rows, ``(models,)``.

    It is -log p(x|z, s) of an isotropic Gaussian up to its variance (the paper's section 5.2).
    """
    return (x_hat - x).square().sum(dim=-1).mean(dim=-1)
