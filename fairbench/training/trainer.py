"""Train a stack: one step after the other, diverging models masked out, checkpoints saved."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np

from fairbench.api.types import Progress
from fairbench.training.checkpoint import Checkpoint
from fairbench.training.compiler import are_compiled
from fairbench.training.divergence import CHECK_EVERY, DivergenceMonitor
from fairbench.training.layers import use_fastest_products
from fairbench.training.model import StackedModel
from fairbench.training.recorded_steps import RecordedSteps, on_own_stream
from fairbench.training.schedule import Schedule
from fairbench.training.steps import Losses, Steps
from fairbench.training.streams import Streams


def train(
    model: StackedModel,
    x: np.ndarray,
    s: np.ndarray,
    *,
    groups: int,
    schedule: Schedule,
    streams: Streams,
    progress: Progress,
    deadline: float | None = None,
    checkpoint: Checkpoint | None = None,
    fast: bool = False,
) -> list[str | None]:
    """Train all models of a stack together, in place.

    A model whose loss is not finite, or explodes, is masked: its parameters are frozen at zero and
    the reason is returned; the others are not affected.

    Parameters
    ----------
    model : StackedModel
        On the device where it should train.
    x : ndarray of float32, or uint8 of 0 and 1, shape (n, features)
    s : ndarray of int64, shape (n,)
    groups : int
        Number of values of s.
    progress : callable
        ``progress(fraction, note)``.
    deadline : float, optional
        Value of ``time.monotonic()``; TimeoutError is raised soon after.
    checkpoint : Checkpoint, optional
        Training continues from it, and is saved to it now and then.
    fast : bool
        Multiply matrices in bfloat16 on a CPU that is fast in it.

    Returns
    -------
    list of str or None
        For each model, why it diverged, or None.
    """
    on_cpu = streams.device.type == "cpu"
    recorded = not on_cpu and model.recordable
    products = use_fastest_products(model) if fast and on_cpu else nullcontext()
    with products, on_own_stream(streams.device) if recorded else nullcontext():
        steps = Steps(model, x, s, groups, schedule, streams)
        take = _taken_by(steps)
        watch = DivergenceMonitor(len(streams.seeds))
        model.train()
        first = 0
        if checkpoint is not None:
            first = checkpoint.restore(model, steps.optimizer, streams, watch, schedule)
        for step in range(first, schedule.iterations):
            losses = take(step)
            if step % CHECK_EVERY == 0 or step == schedule.iterations - 1:
                watch.check_losses(losses, steps.parameters, step)
                progress(step / schedule.iterations, f"step {step:,} of {schedule.iterations:,}")
                if checkpoint is not None and checkpoint.due():
                    checkpoint.save(step + 1, model, steps.optimizer, streams, watch, schedule)
                if deadline is not None and time.monotonic() > deadline:
                    raise TimeoutError(
                        f"deadline passed at step {step:,} of {schedule.iterations:,}"
                    )
        watch.check_parameters(steps.parameters)
    progress(1.0, "trained")
    model.eval()
    return watch.reasons


def _taken_by(steps: Steps) -> Callable[[int], Losses]:
    """How steps are taken: recorded on a GPU, compiled on a CPU if there are many, or plainly."""
    if not steps.model.recordable:
        return steps.take
    if steps.streams.device.type != "cpu":
        return RecordedSteps(steps).take
    if not are_compiled(steps.schedule.iterations, "cpu"):
        return steps.take
    from fairbench.training.compiled_steps import CompiledSteps  # its imports take a second

    return CompiledSteps(steps).take
