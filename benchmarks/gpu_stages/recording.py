"""Stage 1: a training whose steps are recorded and replayed ends as one taken step by step."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch

from fairbench.api import Shots, TrainingRows
from fairbench.training import Batch, NeuralMethod, Streams, onehot
from gpu_stages.losses import Losses, difference
from gpu_stages.records import Outcome, Part, Row, of_unit
from gpu_stages.settings import Settings, adults, counted, training_rows
from gpu_stages.stacks import Stack, build_stack, neural_methods, units_of

LIMIT = 1e-3
"""Largest difference of a loss, as a share of the mean loss."""

_ROWS = 512

NOTE = (
    "Trained step by step twice, and once with recorded steps: the largest difference between the "
    f"losses of the trained models on {_ROWS} rows, divided by the mean loss of that player. Where "
    "the device does not repeat a training step by step within the limit, that is reported and not "
    "judged. A step that cannot be recorded is a failure."
)


@dataclass(frozen=True)
class RecordedComparison(Row):
    """Losses after a training with recorded steps, against one step by step."""

    method: str
    models: int = of_unit("models")
    steps: int = of_unit("steps")
    repeated: float = of_unit("share of the mean loss")
    recorded: float = of_unit("share of the mean loss")


def parts(settings: Settings) -> list[Part]:
    """Return one part per method."""
    return [Part(f"recorded steps of {one.name}", _of(one)) for one in neural_methods(settings)]


def _of(method: type[NeuralMethod]) -> Callable[[Settings], Outcome]:
    def run(settings: Settings) -> Outcome:
        rows = training_rows(adults(settings.data_root))
        return _outcome(compare(method(), rows, settings))

    return run


def _outcome(one: RecordedComparison) -> Outcome:
    """Judge a comparison, unless the device does not repeat a training either."""
    text = f"{counted(one.models)}, {one.steps} steps: {one.recorded:.1e} apart"
    exceeded = one.recorded > LIMIT >= one.repeated
    over = (f"{one.recorded:.1e} (limit {LIMIT:g})",) if exceeded else ()
    return Outcome([one], text, NOTE, over)


def compare(method: NeuralMethod, rows: TrainingRows, settings: Settings) -> RecordedComparison:
    """Train some models of a method in both ways."""
    seeds = 2 if method.shots is Shots.SINGLE else 1
    units = units_of(method, seeds=seeds, points=settings.sizes.points)
    steps = settings.sizes.resume_steps

    def trained(*, recorded: bool) -> Losses:
        stack = build_stack(method, units, rows, settings.device)
        if not recorded:
            stack.model.recordable = False
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # a step that cannot be recorded
            stack.train(rows, steps, exact=True)
        return _losses(stack, rows)

    one_by_one = trained(recorded=False)
    return RecordedComparison(
        method=method.name,
        models=len(units),
        steps=steps,
        repeated=difference(one_by_one, trained(recorded=False)),
        recorded=difference(one_by_one, trained(recorded=True)),
    )


def _losses(stack: Stack, rows: TrainingRows) -> Losses:
    """Losses of the trained models on the same rows and draws, ``(1, models)`` by player."""
    models, device = len(stack.streams.seeds), stack.streams.device
    x = torch.tensor(rows.x[:_ROWS], device=device).float().expand(models, -1, -1)
    s = torch.tensor(rows.s[:_ROWS], device=device).expand(models, -1)
    streams = Streams(stack.streams.seeds, device)
    batch = Batch(x, s, onehot(s, len(rows.info.groups)), 1.0, streams)
    found = stack.model.losses(batch)
    return {who: loss.detach()[None].double().cpu().numpy() for who, loss in found.items()}
