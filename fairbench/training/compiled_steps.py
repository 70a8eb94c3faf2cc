"""Steps whose losses and gradients are compiled for the CPU.

The networks of tables are so small that starting the operations of a step, some hundreds, takes
longer than most of them run. Compiled, they are a few dozen loops. What a step does is traced once,
as operations on tensors; PyTorch's compiler writes C++ for it, which needs a compiler on the
machine. It keeps what it made in TORCHINDUCTOR_CACHE_DIR, by default in the folder for temporary
files. Starting it takes seconds, and half a minute the first time: only long trainings win. Models
say by ``recordable`` that they can be traced. The results are the same but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.fx.experimental.proxy_tensor import make_fx

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
    from torch.fx import GraphModule

_Many = Sequence[Tensor]
Compile = Callable[["GraphModule"], Callable[..., Any]]
"""Compiles a traced step."""


def compile_for_cpu(traced: GraphModule) -> Callable[..., Any]:
    """Compile a traced step when it is first called, in this process: a job has one thread."""
    options: dict[str, Any] = {
        "compile_threads": 1,
        # With larger loops PyTorch 2.13 fails at l-mifr-ss (KeyError), and is not faster elsewhere.
        "realize_reads_threshold": 2,
    }
    compiled: Callable[..., Any] = torch.compile(
        traced, fullgraph=True, dynamic=False, options=options
    )
    return compiled


class CompiledSteps:
    """Takes steps of which each kind is compiled once; a kind is who rests in it.

    Where compiling fails the steps are taken one by one, with a warning.

    Attributes
    ----------
    refused : str or None
        Why they are.
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
        players, losses_of = steps.parameters, _LossesOf(steps.model)
        names = {id(parameter): name for name, parameter in losses_of.named_parameters()}
        buffers = dict(losses_of.named_buffers())

        def copies() -> list[Tensor]:
            return [buffer.clone() for buffer in buffers.values()]

        with torch.no_grad():  # so that every draw has its place
            at = dict(zip(buffers, copies(), strict=True))
            losses = functional_call(losses_of, at, (replace(batch, streams=draws.going_on()),))
            check_losses(losses, len(batch.streams.seeds))
        self._losses = list(losses)
        self._sizes = {who: len(own) for who, own in players.items() if who not in resting}
        self._own = [parameter.detach() for own in players.values() for parameter in own]
        self._remembered = list(buffers.values())
        self._drawn = draws.places()

        def step(
            own: _Many,
            remembered: _Many,
            drawn: _Many,
            x: Tensor,
            s: Tensor,
            s_onehot: Tensor,
            done: Tensor,
        ) -> list[Tensor]:
            leaves = iter([one.detach().requires_grad_() for one in own])
            moved = {who: list(islice(leaves, len(its))) for who, its in players.items()}
            at = {
                names[id(parameter)]: leaf
                for who, its in players.items()
                for parameter, leaf in zip(its, moved[who], strict=True)
            }
            at |= dict(zip(buffers, remembered, strict=True))
            given = Batch(x, s, s_onehot, done, draws.going_on(drawn))
            losses = functional_call(losses_of, at, (given,))
            found = gradients(losses, moved, resting)
            return [one.detach() for one in losses.values()] + [
                found[who][i] for who, size in self._sizes.items() for i in range(size)
            ]

        # Tracing takes the step: what it remembers of it, it must forget.
        own, _, *rest = self._read(batch)
        self._step = compile(make_fx(step)(own, copies(), *rest))

    def __call__(self, batch: Batch) -> tuple[Losses, dict[str, list[Tensor]]]:
        """Return losses, and the gradients of each player that does not rest."""
        with torch.no_grad():
            results = iter(self._step(*self._read(batch)))
        losses = dict(zip(self._losses, results, strict=False))
        return losses, {who: list(islice(results, size)) for who, size in self._sizes.items()}

    def _read(self, batch: Batch) -> tuple[Any, ...]:
        of_batch = (batch.x, batch.s, batch.s_onehot, batch.done)
        return (self._own, self._remembered, self._drawn, *of_batch)


class _LossesOf(nn.Module):
    """A model's losses, as what a module returns."""

    def __init__(self, model: StackedModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Losses:
        return self.model.losses(batch)
