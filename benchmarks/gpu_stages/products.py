"""What a training step is made of, and how fast the device multiplies matrices of those sizes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from fairbench.api import TrainingRows, Unit
from fairbench.training import NeuralMethod
from fairbench.training.streams import Streams
from gpu_stages.settings import synchronise
from gpu_stages.stacks import build_stack

_LARGE = {"cuda": (4, 8192, 8192, 8192), "cpu": (4, 512, 512, 512)}
"""Sizes of the large product by device: models, rows, inner size, columns."""


@dataclass(frozen=True)
class Product:
    """``(models, rows, inner) @ (models, inner, columns)`` in float32."""

    models: int
    rows: int
    inner: int
    columns: int

    @property
    def flops(self) -> float:
        """Floating-point operations: a product and a sum for each pair of numbers."""
        return 2.0 * self.models * self.rows * self.inner * self.columns


@dataclass(frozen=True)
class Draw:
    """One call for random numbers: ``indices``, ``uniform`` or ``normal`` of Streams."""

    kind: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class StepContent:
    """Matrix products and draws of one training step of a stack."""

    products: Counter[Product]
    draws: tuple[Draw, ...]

    @property
    def flops(self) -> float:
        """Floating-point operations of all products, backwards included."""
        return sum(product.flops * count for product, count in self.products.items())


class _RecordingStreams(Streams):
    """Streams that remember what was drawn."""

    drawn: list[Draw]

    def indices(self, use: str, high: int, count: int) -> Tensor:
        self._remember("indices", use, high, count)
        return super().indices(use, high, count)

    def uniform(self, use: str, *shape: int) -> Tensor:
        self._remember("uniform", use, *shape)
        return super().uniform(use, *shape)

    def normal(self, use: str, *shape: int) -> Tensor:
        self._remember("normal", use, *shape)
        return super().normal(use, *shape)

    def _remember(self, kind: str, *arguments: Any) -> None:
        self.__dict__.setdefault("drawn", []).append(Draw(kind, arguments))


class _ProductRecorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the matrix products that run meanwhile, forwards and backwards."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.products: Counter[Product] = Counter()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = func.overloadpacket.__name__
        if name in ("mm", "bmm", "addmm", "baddbmm"):
            one, other = args[-2:]
            models = one.shape[0] if one.dim() == 3 else 1
            rows, inner = one.shape[-2:]
            self.products[Product(models, rows, inner, other.shape[-1])] += 1
        return func(*args, **kwargs or {})


def content_of(method: NeuralMethod, units: Sequence[Unit], rows: TrainingRows) -> StepContent:
    """Record one training step of a stack, on the CPU.

    Operations and draws are the same on every device. Products of few columns are not: the CPU
    takes them transposed (fairbench.training.layers), and so they are timed here on a GPU too,
    though its own steps do not transpose them.
    """
    stack = build_stack(method, units, rows, "cpu", _RecordingStreams)
    recorder = _ProductRecorder()
    with recorder:
        stack.train(rows, 1)
    assert isinstance(stack.streams, _RecordingStreams)
    return StepContent(recorder.products, tuple(stack.streams.drawn))


def draw_seconds(content: StepContent, seeds: Sequence[int], steps: int = 128) -> float:
    """Seconds of one step that go into drawing random numbers, on one thread of the CPU."""
    streams = Streams(seeds, "cpu")
    start = time.perf_counter()
    for _ in range(steps):  # a multiple of the blocks in which numbers are drawn
        for draw in content.draws:
            getattr(streams, draw.kind)(*draw.arguments)
    return (time.perf_counter() - start) / steps


@dataclass(frozen=True)
class Peak:
    """Seconds that some products take alone, and how they were launched."""

    seconds: float
    launched: str  # ``as a graph``: without the time of launching them; else ``one by one``


def peak_of(products: Counter[Product], device: str, seconds: float) -> Peak:
    """Time these products one after the other on the device, nothing else between them.

    ``seconds``: how long they are repeated, about; the quickest of three such rounds counts.
    """
    pairs = []
    for product, count in products.items():
        one = torch.randn(product.models, product.rows, product.inner, device=device)
        other = torch.randn(product.models, product.inner, product.columns, device=device)
        pairs += [(one, other)] * count

    def multiply() -> None:
        for one, other in pairs:
            torch.bmm(one, other)

    multiply()  # libraries choose their kernels
    graph = _graph_of(multiply) if device == "cuda" else None
    if graph is not None:
        return Peak(_quickest(graph, device, seconds), "as a graph")
    return Peak(_quickest(multiply, device, seconds), "one by one")


def _graph_of(work: Callable[[], None]) -> Callable[[], None] | None:
    """Record CUDA work as a graph, which is launched at once; None where that is not possible."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            work()
    except RuntimeError:
        return None
    return graph.replay


@cache
def large_product_rate(device: str) -> float:
    """FLOP/s of a batched product of large matrices, float32."""
    product = Product(*_LARGE[device])
    return product.flops / peak_of(Counter([product]), device, 0.5).seconds


def _quickest(work: Callable[[], None], device: str, seconds: float) -> float:
    """Seconds of one call, of the quickest of three rounds of many."""

    def timed(times: int) -> float:
        synchronise(device)
        start = time.perf_counter()
        for _ in range(times):
            work()
        synchronise(device)
        return (time.perf_counter() - start) / times

    timed(2)  # libraries choose their kernels
    times = max(1, round(seconds / 3 / timed(2)))
    return min(timed(times) for _ in range(3))
