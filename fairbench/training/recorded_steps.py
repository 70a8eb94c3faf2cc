"""Steps that a GPU records once and then replays.

The networks of tables are so small that launching the kernels of a step, some hundreds, takes many
times as long as running them. A recorded step (a CUDA graph) is launched as a whole. A recording
knows nothing of Python: it does the same operations on the same memory each time. So what differs
from step to step has a place that stays: random numbers, the rows of the batch, the learning rate,
and how much of the budget is done. A model says by ``recordable`` that its losses are like that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from fairbench.training.placed_streams import PlacedStreams
from fairbench.training.steps import Losses, Steps, warn_of_plain_steps

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
                warn_of_plain_steps(self._steps.model, "recorded", error)
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


@contextmanager
def on_own_stream(device: torch.device) -> Iterator[None]:
    """Launch on a CUDA stream of its own meanwhile: nothing is recorded on the default one."""
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        yield
    torch.cuda.current_stream(device).wait_stream(stream)
