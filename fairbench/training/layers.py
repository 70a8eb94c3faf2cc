"""Layers with a leading model axis: one batched matrix product serves a whole stack of networks.

Every parameter and buffer has shape ``(models, ...)``. Model ``i`` of a stack reads and writes
slice ``i`` alone, so the gradient of the sum of all losses is, slice by slice, each model's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

_FEW_COLUMNS = range(2, 13)
"""Of products that a CPU takes faster transposed."""
_WIDE = 100
"""Inputs and outputs from which on a layer's products are taken in a faster dtype: casting costs
what narrower ones gain."""


class StackedLinear(nn.Module):
    """``y[m] = x[m] @ weight[m] + bias[m]`` for all models ``m`` in one product.

    Parameters
    ----------
    generators : sequence of torch.Generator
        One per model, so that a model's initial weights do not depend on what it is stacked with.
    n_in, n_out : int
        Features in and out.
    """

    def __init__(self, generators: Sequence[torch.Generator], n_in: int, n_out: int) -> None:
        super().__init__()
        # PyTorch's own default for Linear: uniform in +-1/sqrt(fan in), for weights and biases.
        self.bound = 1.0 / math.sqrt(n_in) if n_in else 0.0
        self.inputs = n_in  # that each output sums over
        self.weight = _uniform(generators, self.bound, n_in, n_out)
        self.bias = _uniform(generators, self.bound, 1, n_out)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(models, batch, n_in)`` to ``(models, batch, n_out)``."""
        return torch.baddbmm(self.bias, x, self.weight)


def _uniform(generators: Sequence[torch.Generator], bound: float, *shape: int) -> nn.Parameter:
    drawn = [torch.rand(shape, generator=g) * 2 * bound - bound for g in generators]
    return nn.Parameter(torch.stack(drawn))


def _product(a: Tensor, b: Tensor) -> Tensor:
    """``a @ b`` of stacks; a CPU takes float32 products of few columns transposed.

    Of 2 to 12 columns that takes a third of the time or less (AMD Zen 4, MKL).
    """
    if b.shape[-1] in _FEW_COLUMNS and b.dtype is torch.float32 and not b.is_cuda:
        return torch.bmm(b.transpose(1, 2), a.transpose(1, 2)).transpose(1, 2)
    return torch.bmm(a, b)


def mlp_forward(
    x: Tensor, products: torch.dtype, parameters: Sequence[Tensor]
) -> tuple[Tensor, list[Tensor]]:
    """Linear layers with ReLU between them: the output, and what :func:`mlp_backward` needs.

    ``parameters`` are weight and bias of each layer in turn. Only products of wide layers are taken
    in ``products``; everything else is in the dtype of the weights.
    """
    inputs, weights = [], []
    layers = len(parameters) // 2
    for i in range(layers):
        weight, bias = parameters[2 * i], parameters[2 * i + 1]
        dtype = products if min(weight.shape[1:]) >= _WIDE else weight.dtype
        inputs.append(x.to(dtype))
        weights.append(weight.to(dtype))
        if i + 1 == layers:
            x = _product(inputs[i], weights[i]).to(bias.dtype).contiguous().add_(bias)
        else:
            x = torch.baddbmm(bias.to(dtype), inputs[i], weights[i]).to(bias.dtype).relu_()
    return x, inputs + weights


def mlp_backward(
    saved: Sequence[Tensor], gradient: Tensor, *, to_input: bool
) -> tuple[Tensor | None, list[Tensor]]:
    """Gradients of :func:`mlp_forward`: of x, if asked for, and of its parameters in their order.

    In place: activations of a stack hardly fit the cache, so each pass that is saved counts.
    """
    layers = len(saved) // 2
    inputs, weights = saved[:layers], saved[layers:]
    given = gradient.dtype
    found: list[Tensor] = []  # of bias and weight, the last layer first
    for i in reversed(range(layers)):
        found.append(gradient.sum(1, keepdim=True))
        near = gradient.to(weights[i].dtype)
        found.append(_product(inputs[i].transpose(1, 2), near).to(given))
        if i or to_input:
            gradient = _product(near, weights[i].transpose(1, 2)).to(given)
        if i:
            torch.ops.aten.threshold_backward.grad_input(
                gradient, inputs[i], 0, grad_input=gradient
            )
    return gradient if to_input else None, found[::-1]


class _MLP(torch.autograd.Function):
    """A whole network as one node: networks are so small that each node of autograd counts."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, products: torch.dtype, *parameters: Tensor) -> Tensor:
        out, saved = mlp_forward(x, products, parameters)
        ctx.save_for_backward(*saved)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        to_x, found = mlp_backward(
            ctx.saved_tensors, gradient, to_input=bool(ctx.needs_input_grad[0])
        )
        return to_x, None, *found


class StackedMLP(nn.Module):
    """Stacked fully connected network with ReLU between layers and none after the last.

    ``sizes`` are the features of each layer, input first: ``(9, 128, 128, 8)``.
    """

    products: torch.dtype | None = None
    """Dtype in which matrices are multiplied, see :func:`use_fastest_products`; None: that of the
    weights. What is returned and all updates are in the dtype of the weights."""

    def __init__(self, generators: Sequence[torch.Generator], sizes: Sequence[int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(StackedLinear(generators, a, b) for a, b in pairwise(sizes))

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(models, batch, sizes[0])`` to ``(models, batch, sizes[-1])``."""
        products = self.layers[0].weight.dtype
        if self.products is not None:
            products = self.products
        parameters = [p for layer in self.layers for p in (layer.weight, layer.bias)]
        out: Tensor = _MLP.apply(x, products, *parameters)  # type: ignore[no-untyped-call]
        return out


def fastest_products() -> torch.dtype:
    """Return the dtype in which this CPU multiplies matrices fastest: bfloat16 where that pays.

    Decided by what the CPU is, not by a timing: one machine must repeat its figures exactly.
    """
    able = torch.cpu.get_capabilities()
    # AMD's AVX-512 takes bfloat16 at twice the speed of float32 (Zen 4: 175 and 72 GFLOP/s), that
    # of Intel's at half of it (Xeon: 76 and 163); Intel's tiles are what is fast there.
    of_intel = "intel" in str(able.get("cpu_name", "")).lower()
    pays = able.get("amx_bf16") or (able.get("avx512_bf16") and not of_intel)
    return torch.bfloat16 if pays else torch.float32


@contextmanager
def use_fastest_products(model: nn.Module) -> Iterator[None]:
    """Within the block, have all layers of a model multiply in the fastest dtype of this CPU."""
    layers = [module for module in model.modules() if isinstance(module, StackedMLP | StackedConv)]
    for layer in layers:
        layer.products = fastest_products()
    try:
        yield
    finally:
        for layer in layers:
            layer.products = None


class StackedConv(nn.Module):
    """Stacked convolution with kernel 4, stride 2 and padding 1: halves height and width.

    All models run as one convolution with one group of channels per model.

    Parameters
    ----------
    n_in, n_out : int
        Channels in and out.
    transposed : bool
        Doubles height and width instead.
    uses : int
        Positions of an image at which each weight is used, to count operations.
    """

    KERNEL = 4

    products: torch.dtype | None = None
    """Dtype of products, and of what is returned, see :func:`use_fastest_products`; None: that of
    the weights."""

    def __init__(
        self,
        generators: Sequence[torch.Generator],
        n_in: int,
        n_out: int,
        *,
        transposed: bool = False,
        uses: int = 1,
    ) -> None:
        super().__init__()
        self.transposed, self.uses = transposed, uses
        # PyTorch's own defaults: fan in counts the second axis of the weight.
        first, second = (n_in, n_out) if transposed else (n_out, n_in)
        self.bound = 1.0 / math.sqrt(second * self.KERNEL**2)
        # That each output sums over: of a transposed one every second row and column is 0.
        self.inputs = n_in * self.KERNEL**2 // (4 if transposed else 1)
        self.weight = _uniform(generators, self.bound, first, second, self.KERNEL, self.KERNEL)
        self.bias = _uniform(generators, self.bound, n_out)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(batch, models * n_in, height, width)`` to ``(batch, models * n_out, ...)``."""
        weight, groups = self.weight.flatten(0, 1), len(self.weight)
        bias = self.bias.flatten()
        if self.products is not None:
            x, weight, bias = (tensor.to(self.products) for tensor in (x, weight, bias))
        if groups == 1 and x.device.type == "cpu":
            applied = _Convolution.apply(x, weight, bias, self.transposed)  # type: ignore[no-untyped-call]
            return applied  # type: ignore[no-any-return]
        convolve = functional.conv_transpose2d if self.transposed else functional.conv2d
        return convolve(x, weight, bias, stride=2, padding=1, groups=groups)


class _Convolution(torch.autograd.Function):
    """A :class:`StackedConv` of one model on a CPU, in the layout ``channels_last`` throughout.

    With channels innermost it takes half the time, and gradients stay so only if every one of them
    says so. Biases are summed here: that of a transposed convolution in bfloat16 would take three
    times as long as all the rest.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, transposed: bool) -> Tensor:
        x, weight = _channels_innermost(x), _channels_innermost(weight)
        ctx.save_for_backward(x, weight)
        ctx.transposed = transposed
        if transposed and weight.shape[1] == 1 and x.dtype is torch.float32:
            return _to_one_channel(x, weight) + bias
        convolve = functional.conv_transpose2d if transposed else functional.conv2d
        return convolve(x, weight, bias, stride=2, padding=1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        gradient = _channels_innermost(gradient)
        stride, padding, dilation, output_padding = [2, 2], [1, 1], [1, 1], [0, 0]
        to_x, to_weight, _ = torch.ops.aten.convolution_backward(
            *(gradient, x, weight, None, stride, padding, dilation),
            *(ctx.transposed, output_padding, 1, [ctx.needs_input_grad[0], True, False]),
        )
        return to_x, to_weight, gradient.sum((0, 2, 3)), None


def _to_one_channel(x: Tensor, weight: Tensor) -> Tensor:
    """Transposed convolution to one channel: a product, then the overlapping patches summed.

    A CPU's own pads the channel to a whole register: this takes half the time in float32.
    """
    batch, channels, height, width = x.shape
    rows = x.permute(0, 2, 3, 1).reshape(batch, height * width, channels)
    patches = (rows @ weight.reshape(channels, -1)).transpose(1, 2)
    kernel = weight.shape[-1]
    return functional.fold(patches, (2 * height, 2 * width), kernel, padding=1, stride=2)


def _channels_innermost(x: Tensor) -> Tensor:
    """x in the layout ``channels_last``; of one channel only its strides have to say so."""
    if x.shape[1] == 1:
        _, _, height, width = x.shape
        return x.contiguous().as_strided(x.shape, (height * width, 1, width, 1))
    return x.contiguous(memory_format=torch.channels_last)
