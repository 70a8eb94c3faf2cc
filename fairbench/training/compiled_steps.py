"""Steps whose losses and gradients are compiled for the CPU.

The networks of tables are so small that starting the operations of a step, some hundreds, takes
longer than most of them run. Compiled, they are a few dozen loops. What a step does is traced once,
as operations on tensors, and then compiled (:mod:`.compiler`). The start takes seconds, and half a
minute the first time: only long trainings gain. Models say by ``recordable`` that they can be
traced. The results are the same but for rounding.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx

from fairbench.training.compiler import compile_for_cpu
from fairbench.training.model import Batch, StackedModel
from fairbench.training.placed_streams import PlacedStreams
from fairbench.training.steps import (
    Losses,
    Steps,
    assign_gradients,
    check_losses,
    gradients,
    warn_of_plain_steps,
)

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

_Many = Sequence[Tensor]
Compile = Callable[["GraphModule"], Callable[..., Any]]
"""Compiles a traced step."""


class CompiledSteps:
    """Takes steps of which each kind is compiled once; a kind is who rests in it.

    Where compiling fails the steps are taken one by one, with a warning.

    Attributes
    ----------
    refused : str or None
        Why steps are taken one by one; None: they are compiled.
    """

    def __init__(self, steps: Steps, compile: Compile = compile_for_cpu) -> None:
        self.refused: str | None = None
        self._steps, self._compile = steps, compile
        self._draws = PlacedStreams(steps.streams)
        # In float64: what is made of it is then rounded as what Python makes of a number.
        self._done = torch.zeros((), dtype=torch.float64)
        self._compiled: dict[frozenset[str], _Compiled] = {}

    def take(self, step: int) -> Losses:
        """Take step number ``step``; return its losses."""
        steps, resting = self._steps, self._steps.resting(step)
        done = step / steps.schedule.iterations
        steps.set_rates(done)
        self._done.fill_(done)
        self._draws.next_step()
        if self.refused is not None:
            return steps.update(self._done, self._draws, resting)
        batch = steps.batch(self._done, self._draws)
        if resting in self._compiled:
            losses, given = self._compiled[resting](batch)
        else:
            try:
                with _process_unchanged():
                    compiled = _Compiled(steps, batch, self._draws, resting, self._compile)
                    losses, given = compiled(batch)
            except Exception as error:  # of the tracer, the compiler, or the model itself
                error = getattr(error, "inner_exception", error)
                self.refused = warn_of_plain_steps(steps.model, "compiled", error)
                self._draws.given_anew()
                return steps.update(self._done, self._draws, resting)
            self._compiled[resting] = compiled
        assign_gradients(steps.parameters, given)
        steps.optimizer.step()
        return losses


class _Compiled:
    """Losses and gradients of one kind of step, as a compiled function of all that they read."""

    def __init__(
        self,
        steps: Steps,
        batch: Batch,
        draws: PlacedStreams,
        resting: frozenset[str],
        compile: Compile,
    ) -> None:
        model, players = steps.model, steps.parameters
        parameters = [parameter for own in players.values() for parameter in own]
        buffers = list(model.buffers())
        _refuse_hooks(parameters)
        # Run once beforehand, so that every draw has its place.
        with torch.no_grad(), _replaced(model, buffers, _copies(buffers)):
            losses = model.losses(replace(batch, streams=draws.going_on()))
            check_losses(losses, len(batch.streams.seeds))
        self._losses = list(losses)
        self._sizes = {who: len(own) for who, own in players.items() if who not in resting}
        self._own = [parameter.detach() for parameter in parameters]
        self._remembered, self._drawn = buffers, draws.places()

        def step(
            own: _Many,
            remembered: _Many,
            drawn: _Many,
            x: Tensor,
            s: Tensor,
            s_onehot: Tensor,
            done: Tensor,
        ) -> list[Tensor]:
            leaves = [
                one.detach().requires_grad_(parameter.requires_grad)
                for one, parameter in zip(own, parameters, strict=True)
            ]
            rest = iter(leaves)
            moved = {who: list(islice(rest, len(its))) for who, its in players.items()}
            given = Batch(x, s, s_onehot, done, draws.going_on(drawn))
            with _replaced(model, [*parameters, *buffers], [*leaves, *remembered]):
                losses = model.losses(given)
            found = gradients(losses, moved, resting)
            return [one.detach() for one in losses.values()] + [
                found[who][i] for who, size in self._sizes.items() for i in range(size)
            ]

        # Tracing runs the step once: it is given copies of the buffers.
        own, _, *others = self._read(batch)
        traced = make_fx(step)(own, _copies(buffers), *others)
        _refuse_what_changes(traced)
        self._step = compile(traced)

    def __call__(self, batch: Batch) -> tuple[Losses, dict[str, list[Tensor]]]:
        """Return losses, and the gradients of each player that does not rest."""
        with torch.no_grad():
            results = iter(self._step(*self._read(batch)))
        losses = dict(zip(self._losses, results, strict=False))
        return losses, {who: list(islice(results, size)) for who, size in self._sizes.items()}

    def _read(self, batch: Batch) -> tuple[Any, ...]:
        of_batch = (batch.x, batch.s, batch.s_onehot, batch.done)
        return (self._own, self._remembered, self._drawn, *of_batch)


def _copies(tensors: _Many) -> list[Tensor]:
    return [tensor.clone() for tensor in tensors]


@contextmanager
def _process_unchanged() -> Iterator[None]:
    """Undo what PyTorch's compiler sets in the process: others run in it too."""
    recursion, environment = sys.getrecursionlimit(), dict(os.environ)
    try:
        with warnings.catch_warnings():
            # PyTorch's, of itself.
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        sys.setrecursionlimit(recursion)
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]


@contextmanager
def _replaced(model: StackedModel, own: _Many, others: _Many) -> Iterator[None]:
    """Put other tensors in the place of parameters and buffers meanwhile, whatever their names.

    A module may hold one tensor, or one submodule, under several names.
    """
    places = {id(one): other for one, other in zip(own, others, strict=True)}
    changed = []
    for module in model.modules():
        for held in (module._parameters, module._buffers):
            for name, tensor in list(held.items()):
                if id(tensor) in places:
                    changed.append((held, name, tensor))
                    held[name] = places[id(tensor)]  # type: ignore[assignment]
    try:
        yield
    finally:
        for held, name, tensor in changed:
            held[name] = tensor  # type: ignore[assignment]


def _refuse_hooks(parameters: Sequence[nn.Parameter]) -> None:
    """Raise ValueError where gradients are changed by what a trace does not see."""
    if any(parameter._backward_hooks for parameter in parameters):
        raise ValueError("a parameter has a hook")


def _refuse_what_changes(traced: GraphModule) -> None:
    """Raise ValueError where a trace would be of one batch alone.

    Tensors that are neither parameters, buffers nor arguments stand in it as constants, and sizes
    that depend on values as those of the batch that was traced.
    """
    for node in traced.graph.nodes:
        if node.op == "get_attr":
            shape = tuple(getattr(getattr(traced, node.target, None), "shape", ()))
            raise ValueError(
                f"losses use a tensor of shape {shape} that is neither a parameter nor a buffer"
            )
        if node.op == "call_function" and _has_sizes_of_values(node):
            raise ValueError(f"the size of what {node.target} returns depends on values")


def _has_sizes_of_values(node: Node) -> bool:
    operation = getattr(node.target, "overloadpacket", None)
    if operation in (torch.ops.aten.index, torch.ops.aten.index_put, torch.ops.aten.index_put_):
        by = [one for one in node.args[1] if one is not None]  # type: ignore[union-attr]
        return any(one.meta["val"].dtype is torch.bool for one in by)  # type: ignore[union-attr]
    tags = getattr(node.target, "tags", ())
    return torch.Tag.dynamic_output_shape in tags or torch.Tag.data_dependent_output in tags
