"""Stacks of the methods' networks, on any device, seeded as a run seeds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairbench.api import Shots, TrainingRows, Unit
from fairbench.api.types import iterate_points
from fairbench.registry import load_registry
from fairbench.stats.seeds import derive_seed
from fairbench.training import NeuralMethod
from fairbench.training.checkpoint import Checkpoint
from fairbench.training.model import StackedModel
from fairbench.training.schedule import Schedule
from fairbench.training.streams import Streams
from fairbench.training.trainer import train
from gpu_stages.settings import Settings


def neural_methods(settings: Settings) -> list[type[NeuralMethod]]:
    """Return the methods on the engine, by name; the quick ones alone where that is asked for."""
    found = {
        name: method
        for name, method in sorted(load_registry().methods.classes.items())
        if issubclass(method, NeuralMethod)
    }
    return [found[name] for name in settings.sizes.methods or found]


def method_named(name: str) -> type[NeuralMethod]:
    """Return a method on the engine."""
    method = load_registry().methods[name]
    assert issubclass(method, NeuralMethod)
    return method


def units_of(method: NeuralMethod, *, seeds: int, points: int | None) -> list[Unit]:
    """Return so many seeds of every point, spread over the grid where there are more."""
    if method.shots is Shots.SINGLE:
        return [Unit(seed, None) for seed in range(seeds)]
    chosen = list(iterate_points(method.points(), points))
    return [Unit(seed, point) for seed in range(seeds) for point in chosen]


@dataclass(frozen=True)
class Stack:
    """The models of some units of a method, untrained, on a device."""

    method: NeuralMethod
    model: StackedModel
    streams: Streams

    def train(
        self,
        rows: TrainingRows,
        steps: int,
        *,
        progress: Callable[[float, str], None] = lambda fraction, note: None,
        checkpoint: Checkpoint | None = None,
        exact: bool = False,
    ) -> list[str | None]:
        """Train for so many steps with the method's own batch size and learning rate.

        ``exact``: in float32, to compare the CPU with a device.
        """
        params = self.method.params
        return train(
            self.model,
            rows.x,
            rows.s,
            groups=len(rows.info.groups),
            schedule=Schedule(steps, params.batch_size, params.learning_rate),
            streams=self.streams,
            progress=progress,
            checkpoint=checkpoint,
            fast=not exact and self.method.multiplies_fast(rows.x.shape[1]),
        )


def build_stack(
    method: NeuralMethod,
    units: Sequence[Unit],
    rows: TrainingRows,
    device: str,
    streams_class: type[Streams] = Streams,
) -> Stack:
    """Build the networks of some units, as NeuralMethod.fit does."""
    seeds = [
        derive_seed(method.name, unit.seed, unit.point.label if unit.point else "")
        for unit in units
    ]
    streams = streams_class(seeds, device)
    model = method.build(units, rows.info, method.networks(rows.info), streams)
    return Stack(method, model.to(device), streams)
