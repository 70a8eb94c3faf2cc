"""Steps that a GPU records once and then replays.

The networks of tables are so small that launching the kernels of a step, some hundreds, takes many
times as long as running them. A recorded step (a CUDA graph) is launched as a whole. A recording
knows nothing of Python: it does the same operations on the same memory each time. So what differs
from step to step has a place that stays: random numbers, the rows of the batch, the learning rate,
and how much of the budget is done. A model says by ``recordable`` that its losses are like that.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from fairbench.training.steps import Losses, Steps
from fairbench.training.streams import Streams

WARM_UP = 3
"""Steps of each kind before one is recorded: libraries and the optimizer allocate in the first."""

Replay = Callable[[], object]
"""Takes a recorded step once more."""
Record = Callable[[Callable[[], Losses]], tuple[Replay, Losses]]
"""Records a step without taking it; returns its replay, and where its losses will be."""


def record_on_gpu(step: Callable[[], Losses]) -> tuple[Replay, Losses]:
    """Record what a step launches on the present CUDA stream."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        losses = step()
    return graph.replay, losses


class RecordedSteps:
    """Takes steps of which each kind is recorded once; a kind is who rests in it.

    Where recording fails the steps are taken one by one, with a warning.
    """

    def __init__(self, steps: Steps, record: Record = record_on_gpu) -> None:
        self._steps, self._record = steps, record
        self._draws = PlacedStreams(steps.streams)
        # In float64: what is made of it is then rounded as what Python makes of a number.
        self._done = torch.zeros((), dtype=torch.float64, device=steps.streams.device)
        self._taken: Counter[frozenset[str]] = Counter()
        self._recorded: dict[frozenset[str], tuple[Replay, Losses]] = {}
        self._refused = False

    def take(self, step: int) -> Losses:
        """Take step number ``step``; return its losses."""
        self._set(step / self._steps.schedule.iterations)
        self._draws.next_step()
        resting = self._steps.resting(step)

        def update() -> Losses:
            return self._steps.update(self._done, self._draws, resting)

        if self._refused or self._taken[resting] < WARM_UP:
            self._taken[resting] += 1
            return update()
        if resting not in self._recorded:
            try:
                self._recorded[resting] = self._recording(update)
            except RuntimeError as error:
                self._refused = True
                name = type(self._steps.model).__name__
                warnings.warn(
                    f"{name} is recordable, but a step cannot be recorded: "
                    f"{_first_line(error)}. It is trained step by step, which takes longer.",
                    stacklevel=2,
                )
                self._draws.given_anew()  # what was drawn for the recording is this step's
                return update()
        replay, losses = self._recorded[resting]
        replay()
        return losses

    def _set(self, done: float) -> None:
        """Write what this step needs to where a recording reads it."""
        self._done.fill_(done)
        groups = self._steps.optimizer.param_groups
        if not self._taken:  # the optimizer was just made, or restored
            for group in groups:
                group["lr"] = torch.zeros((), device=self._done.device)
        for group, rate in zip(groups, self._steps.rates(done), strict=True):
            group["lr"].fill_(rate)

    def _recording(self, update: Callable[[], Losses]) -> tuple[Replay, Losses]:
        """Record a step; the optimizer wants to be told, and warns where no step is recorded."""
        try:
            for group in self._steps.optimizer.param_groups:
                group["capturable"] = True
            return self._record(update)
        finally:
            for group in self._steps.optimizer.param_groups:
                group["capturable"] = False


class PlacedStreams(Streams):
    """Streams that draw into the same memory at every step: what one step drew, the next draws."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self.seeds, self.device = streams.seeds, streams.device
        self._places: dict[tuple[Any, ...], list[Tensor]] = {}
        self._given: Counter[Hashable] = Counter()

    def next_step(self) -> None:
        """Draw everything anew."""
        for key, places in self._places.items():
            for place in places:
                place.copy_(self._draw(key))
        self.given_anew()

    def given_anew(self) -> None:
        """Give the draws of this step once more, from the first."""
        self._given.clear()

    def generators(self, use: str) -> list[torch.Generator]:
        return self._streams.generators(use)

    def indices(self, use: str, high: int, count: int) -> Tensor:
        return self._placed("indices", use, high, count)

    def uniform(self, use: str, *shape: int) -> Tensor:
        return self._placed("uniform", use, *shape)

    def normal(self, use: str, *shape: int) -> Tensor:
        return self._placed("normal", use, *shape)

    def _placed(self, *key: Any) -> Tensor:
        """Return the next draw of this kind in this step."""
        places, number = self._places.setdefault(key, []), self._given[key]
        self._given[key] += 1
        if number == len(places):
            places.append(self._draw(key).clone())
        return places[number]

    def _draw(self, key: tuple[Any, ...]) -> Tensor:
        kind, *arguments = key
        drawn: Tensor = getattr(self._streams, kind)(*arguments)
        return drawn


@contextmanager
def on_own_stream(device: torch.device) -> Iterator[None]:
    """Launch on a CUDA stream of its own meanwhile: nothing is recorded on the default one."""
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream(device).wait_stream(stream)


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
