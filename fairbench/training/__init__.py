"""The training of neural methods: all points and seeds of a method at once, as one stack.

Plugins import from here. A method declares itself with ``NeuralMethod`` and ``NeuralParams``;
``SingleShotTwin`` makes the single-shot twin of one: a model for all settings of its knob. These
three load no torch. The other names are for the module with networks and losses, and are loaded
when they are first used:

StackedModel, Batch
    The base class of networks and losses, and what ``losses`` is given.
GaussianModel, Draw, rate
    That of variational autoencoders, one draw of their codes, and what a code costs.
Networks, Streams
    Encoders and decoders that suit a dataset; random numbers of each model's own.
StackedLinear, StackedMLP, StackedConv
    Layers with a leading model axis.
summed_squares, onehot, count_products
    The distortion; one-hot coding of s; multiplications of a network.
"""

from typing import TYPE_CHECKING

from fairbench.training.neural_method import NeuralMethod, NeuralParams
from fairbench.training.single_shot import SingleShotTwin

if TYPE_CHECKING:
    from fairbench.training.gaussian import Draw, GaussianModel, rate
    from fairbench.training.layers import StackedConv, StackedLinear, StackedMLP
    from fairbench.training.model import Batch, StackedModel, count_products, onehot, summed_squares
    from fairbench.training.networks import Networks
    from fairbench.training.streams import Streams

__all__ = [
    "Batch",
    "Draw",
    "GaussianModel",
    "Networks",
    "NeuralMethod",
    "NeuralParams",
    "SingleShotTwin",
    "StackedConv",
    "StackedLinear",
    "StackedMLP",
    "StackedModel",
    "Streams",
    "count_products",
    "onehot",
    "rate",
    "summed_squares",
]

_LAZY = {
    "gaussian": ("Draw", "GaussianModel", "rate"),
    "layers": ("StackedConv", "StackedLinear", "StackedMLP"),
    "model": ("Batch", "StackedModel", "count_products", "onehot", "summed_squares"),
    "networks": ("Networks",),
    "streams": ("Streams",),
}


def __getattr__(name: str) -> object:
    """Load a name that needs torch when it is first used."""
    from importlib import import_module

    for module, names in _LAZY.items():
        if name in names:
            return getattr(import_module(f"fairbench.training.{module}"), name)
    raise AttributeError(f"module 'fairbench.training' has no attribute {name!r}")
