"""Stage 1: losses of the same training on the device and on the CPU, seeds and rows alike.

The two are compared in two ways. *From the same weights*: before each step the device takes over
the weights that the CPU has there, so that every loss is computed from equal numbers. *Free
running*: both train on their own.

A difference is the largest, over steps, models and players, of |device - CPU|, divided by the mean
of |CPU| over the steps of that model and player: losses of adversarial methods cross zero, where a
share of the loss itself has no meaning.

Rounding alone can part two trainings: a quantised code jumps where a number crosses the edge of its
cell. So the CPU also trains from weights that are disturbed by a millionth. Where it departs from
itself by more than the limit, the free running device is reported and not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fairbench.api import Shots, TrainingRows
from fairbench.training import NeuralMethod
from fairbench.training.model import Batch
from gpu_stages.records import Outcome, Part, Row, of_unit
from gpu_stages.settings import Settings, adults, counted, training_rows
from gpu_stages.small_data import small_images
from gpu_stages.stacks import Stack, build_stack, method_named, neural_methods, units_of

LIMIT = 1e-3
"""Largest difference of losses, as a share of their mean size."""

DISTURBANCE = 1e-6
"""Standard deviation of the factor on each weight, about 1: some ten roundings of float32."""

NOTE = (
    "Largest |device - CPU| over all steps, models and players, divided by the mean |CPU| over the "
    "steps of that model and player. Same weights: before each step the device takes over the "
    "CPU's weights. Free running: both train on their own; not judged where the CPU, from weights "
    f"disturbed by {DISTURBANCE:g}, departs from itself by more than the limit."
)

Losses = dict[str, npt.NDArray[np.float64]]
"""Losses ``(steps, models)`` by player."""
Weights = list[Tensor]


@dataclass(frozen=True)
class LossComparison(Row):
    """Losses of one method's stack on the device against those on the CPU."""

    method: str
    data: str
    models: int = of_unit("models")
    steps: int = of_unit("steps")
    tf32_convolutions: bool | None = None  # None: there are no convolutions
    same_weights: float = field(default=0.0, metadata={"unit": "share of the mean loss"})
    free_running: float = field(default=0.0, metadata={"unit": "share of the mean loss"})
    cpu_disturbed: float = field(default=0.0, metadata={"unit": "share of the mean loss"})
    free_running_judged: bool = True


def parts(settings: Settings) -> list[Part]:
    """Return one part per method on the table, and per convolutional method on small images."""
    methods = neural_methods(settings)
    on_images = [method_named(name) for name in settings.sizes.image_methods]
    return [
        *(Part(f"losses of {one.name}", _on_table(one)) for one in methods),
        *(Part(f"losses of {one.name} on images", _on_images(one)) for one in on_images),
    ]


def _on_table(method: type[NeuralMethod]) -> Callable[[Settings], Outcome]:
    def run(settings: Settings) -> Outcome:
        rows = training_rows(adults(settings.data_root))
        return _outcome([compare(method(), rows, settings)])

    return run


def _on_images(method: type[NeuralMethod]) -> Callable[[Settings], Outcome]:
    """Compare with and without TensorFloat-32, in which CUDA convolves unless told otherwise."""

    def run(settings: Settings) -> Outcome:
        rows = training_rows(small_images())
        found = []
        for tf32 in (False, True):
            with _convolutions(tf32=tf32):
                found.append(compare(method(), rows, settings, tf32=tf32))
        return _outcome(found)

    return run


@contextmanager
def _convolutions(*, tf32: bool) -> Iterator[None]:
    """Allow or forbid TensorFloat-32 in convolutions meanwhile."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = tf32
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


def _outcome(found: Sequence[LossComparison]) -> Outcome:
    """Judge the comparisons; those in TensorFloat-32, of 10 bits, are reported alone."""
    over = []
    for one in found:
        if one.tf32_convolutions:
            continue
        if one.same_weights > LIMIT:
            over.append(f"{one.same_weights:.1e} from the same weights (limit {LIMIT:g})")
        if one.free_running_judged and one.free_running > LIMIT:
            over.append(f"{one.free_running:.1e} free running (limit {LIMIT:g})")
    text = "; ".join(_text(one) for one in found)
    return Outcome(found, text, NOTE, tuple(over))


def _text(one: LossComparison) -> str:
    free = f"{one.free_running:.1e} free running"
    if not one.free_running_judged:
        free += f" (not judged: the disturbed CPU {one.cpu_disturbed:.1e})"
    tf32 = " in TF32" if one.tf32_convolutions else ""
    return f"{counted(one.models)}, {one.steps} steps{tf32}: {one.same_weights:.1e} apart, {free}"


def compare(
    method: NeuralMethod, rows: TrainingRows, settings: Settings, *, tf32: bool | None = None
) -> LossComparison:
    """Train some models of a method on the CPU and on the device, and compare their losses."""
    sizes = settings.sizes
    seeds = 2 if method.shots is Shots.SINGLE else 1
    units = units_of(method, seeds=seeds, points=sizes.points)

    def losses(
        device: str, *, disturb: bool = False, weights: Iterator[Weights] | None = None
    ) -> tuple[Losses, list[Weights]]:
        stack = build_stack(method, units, rows, device)
        if disturb:
            _disturb(stack)
        with _recorded(stack, weights) as record:
            stack.train(rows, sizes.loss_steps, exact=True)
        return record.losses(), record.weights

    on_cpu, weights = losses("cpu")
    own = difference(on_cpu, losses("cpu", disturb=True)[0])
    return LossComparison(
        method=method.name,
        data=rows.info.name,
        models=len(units),
        steps=sizes.loss_steps,
        tf32_convolutions=tf32,
        same_weights=difference(on_cpu, losses(settings.device, weights=iter(weights))[0]),
        free_running=difference(on_cpu, losses(settings.device)[0]),
        cpu_disturbed=own,
        free_running_judged=own <= LIMIT,
    )


def difference(cpu: Losses, other: Losses) -> float:
    """Return the largest difference, as a share of the mean size; infinite for a loss of NaN.

    A loss that is 0 throughout, as of a part that is still switched off, has no size: there any
    difference is infinite, and none is none.
    """
    worst = 0.0
    for player, losses in cpu.items():
        size = np.abs(losses).mean(axis=0)
        apart = np.abs(other[player] - losses).max(axis=0)
        share = np.divide(apart, size, out=np.where(apart == 0, 0.0, np.inf), where=size > 0)
        worst = max(worst, float(np.where(np.isnan(share), np.inf, share).max()))
    return worst


@dataclass
class _Record:
    """Losses of each step by player, and the weights before it."""

    steps: list[dict[str, Tensor]] = field(default_factory=list)
    weights: list[Weights] = field(default_factory=list)

    def losses(self) -> Losses:
        """Return the losses, waiting for the device."""
        return {
            player: torch.stack([step[player] for step in self.steps]).double().cpu().numpy()
            for player in self.steps[0]
        }


@contextmanager
def _recorded(stack: Stack, replaced: Iterator[Weights] | None = None) -> Iterator[_Record]:
    """Record all steps trained meanwhile; ``replaced`` has the weights to compute each from."""
    model, record = stack.model, _Record()
    own, recordable = model.losses, model.recordable

    def losses(batch: Batch) -> dict[str, Tensor]:
        parameters = list(model.parameters())
        if replaced is not None:
            with torch.no_grad():
                for parameter, weight in zip(parameters, next(replaced), strict=True):
                    parameter.copy_(weight)
        else:
            record.weights.append([parameter.detach().clone() for parameter in parameters])
        found = own(batch)
        record.steps.append({player: loss.detach().clone() for player, loss in found.items()})
        return found

    model.losses = losses  # type: ignore[method-assign]
    model.recordable = False  # these losses do more than the model's
    try:
        yield record
    finally:
        del model.losses  # its class has them
        model.recordable = recordable


def _disturb(stack: Stack) -> None:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in stack.model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.mul_(1 + DISTURBANCE * noise.to(parameter.device))
