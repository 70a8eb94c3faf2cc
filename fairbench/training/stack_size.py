"""The number of models that train together: as many as fit, spread over all devices.

Memory is estimated on the large side: a stack that does not fit is lost as a whole, while one that
is smaller than it could be only costs some launches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from fairbench.api.types import Architecture

LARGEST_STACK = {"cpu": 10, "cuda": 1024}
"""Units trained together at most, by device: bounds memory, and what a single failure can cost.

On a core a model in a stack of ten takes four fifths of its time in one of five; in still larger
ones it gains little, and they share out worse. A GPU is bound by launches until it is full.
"""
LARGEST_COMPILED_STACK = 8
"""The same on a CPU where steps are compiled: there five models take as long each as ten, and ten
models are shared out to two cores."""
LARGEST_IMAGE_STACK = {"cpu": 1, "cuda": 128}
"""The same for models of images. One of them keeps a core busy by itself; a stack of them would
only end later, all at once."""

USABLE = 0.8
"""Share of a device's free memory to plan with: the allocator and libraries need some."""

CONTEXT_BYTES = 1.0e9
"""Memory of a GPU that a process takes before its first tensor: CUDA context and libraries."""

IMAGE_MODEL_BYTES = 100.0e6
"""Activations of one convolutional model at batch 128, measured."""

_COPIES = 6
"""Of each weight: itself, its gradient, Adam's two means, and room for temporaries."""

_ACTIVATION_COPIES = 8
"""Of each activation: itself, its gradient, and temporaries of losses and adversaries."""

_SHARES = (1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6, 1 / 8, 1 / 10)
"""Shares of a GPU that jobs request: more than ten on one would only share its launches."""


def model_bytes(architecture: Architecture, features: int, batch_size: int) -> float:
    """Device memory of one model of a stack, bytes, estimated from its dataset's architecture.

    An encoder, a decoder and an adversary of the dataset's hidden layers; methods whose networks
    are of another size differ.
    """
    widths = [features, *architecture.hidden, architecture.latent]
    weights = sum((a + 1) * b for a, b in pairwise(widths))
    activations = 3 * batch_size * sum(widths)
    total = 4.0 * (3 * weights * _COPIES + activations * _ACTIVATION_COPIES)
    if architecture.image is not None:
        total += IMAGE_MODEL_BYTES * batch_size / 128
    return total


def largest_stack(
    device: str,
    *,
    image: bool,
    bytes_per_unit: float,
    data_bytes: float,
    free_bytes: float | None,
    models_per_unit: int = 1,
    compiled: bool = False,
) -> int:
    """Most units in one stack.

    ``bytes_per_unit`` counts all models of a unit, ``data_bytes`` the rows, which are resident
    once; ``free_bytes`` is of the device; None: no bound. A unit has several models where the
    best of them is selected.
    """
    most = (LARGEST_IMAGE_STACK if image else LARGEST_STACK)[device]
    if compiled and device == "cpu":
        most = min(most, LARGEST_COMPILED_STACK)
    most //= models_per_unit
    if free_bytes is not None:
        room = USABLE * free_bytes - CONTEXT_BYTES - data_bytes
        most = min(most, int(room // bytes_per_unit))
    return max(1, most)


def spread(units: int, most: int, devices: int) -> list[int]:
    """Sizes of the stacks of ``units`` models: none above ``most``, and as even as can be.

    Even ones end together on the cores that they are shared out to. At least one per GPU.
    """
    count = max(math.ceil(units / most), min(devices, units))
    return [(units + i) // count for i in reversed(range(count))]


def gpu_share(needed_bytes: float, free_bytes: float) -> float:
    """The smallest of the usual shares of a GPU that holds a job; 1 where none does."""
    fitting = [s for s in _SHARES if needed_bytes + CONTEXT_BYTES <= USABLE * free_bytes * s]
    return min(fitting, default=1.0)


def free_device_bytes(device: str) -> Sequence[float]:
    """Free bytes of each CUDA device that this process sees; none for the CPU."""
    if device != "cuda":
        return []
    import torch

    return [float(torch.cuda.mem_get_info(i)[0]) for i in range(torch.cuda.device_count())]
