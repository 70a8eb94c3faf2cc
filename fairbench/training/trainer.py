"""Train a stack: one fused optimizer, gradients by player, diverging models masked out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import torch
from torch import Tensor, nn

from fairbench.training.checkpoint import Checkpoint
from fairbench.training.divergence import CHECK_EVERY, DivergenceMonitor
from fairbench.training.layers import use_fastest_products
from fairbench.training.model import Batch, StackedModel, onehot
from fairbench.training.schedule import Schedule
from fairbench.training.streams import Streams


def train(
    model: StackedModel,
    x: np.ndarray,
    s: np.ndarray,
    *,
    groups: int,
    schedule: Schedule,
    streams: Streams,
    progress: Callable[[float, str], None],
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
    device = streams.device
    data = _resident(x, device)
    attribute = torch.tensor(s, device=device)
    attribute_onehot = onehot(attribute, groups)
    parameters = players_of(model)
    optimizer = torch.optim.Adam(
        [
            {"params": own, "scale": 1.0 if name == "model" else model.players[name]}
            for name, own in parameters.items()
        ],
        lr=schedule.learning_rate,
        fused=True,
    )
    watch = DivergenceMonitor(len(streams.seeds))
    model.train()
    first = 0
    if checkpoint is not None:
        first = checkpoint.restore(model, optimizer, streams, watch, schedule)
    with use_fastest_products(model) if fast and device.type == "cpu" else nullcontext():
        for step in range(first, schedule.iterations):
            done = step / schedule.iterations
            for group in optimizer.param_groups:
                group["lr"] = schedule.learning_rate * group["scale"] * schedule.factor(done)
            rows = streams.indices("rows", len(data), schedule.batch_size)
            batch = Batch(
                data[rows].float(), attribute[rows], attribute_onehot[rows], done, streams
            )
            losses = model.losses(batch)
            if step == first:
                _check_losses(losses, len(streams.seeds))
            resting = frozenset({"model"} if step % model.turns else ())
            set_gradients(losses, parameters, resting)
            optimizer.step()
            if step % CHECK_EVERY == 0 or step == schedule.iterations - 1:
                watch.check_losses(losses, parameters, step)
                progress(done, f"step {step:,} of {schedule.iterations:,}")
                if checkpoint is not None and checkpoint.due():
                    checkpoint.save(step + 1, model, optimizer, streams, watch, schedule)
                if deadline is not None and time.monotonic() > deadline:
                    raise TimeoutError(
                        f"deadline passed at step {step:,} of {schedule.iterations:,}"
                    )
    watch.check_parameters(parameters)
    progress(1.0, "trained")
    model.eval()
    return watch.reasons


def _check_losses(losses: object, models: int) -> None:
    """Raise TypeError unless losses are a vector, one number per model, of each player."""
    if isinstance(losses, dict) and all(
        isinstance(loss, Tensor) and loss.shape == (models,) for loss in losses.values()
    ):
        return
    shapes = (
        {name: tuple(getattr(loss, "shape", ())) for name, loss in losses.items()}
        if isinstance(losses, dict)
        else type(losses).__name__
    )
    raise TypeError(
        "losses must return {'model': tensor of shape (models,)}, and the same for each adversary; "
        f"here are {models} models, and it returned {shapes}"
    )


def _resident(x: np.ndarray, device: torch.device) -> Tensor:
    """x on the device; on the CPU it is not copied, as nothing writes into it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writ")
        return torch.from_numpy(x).to(device)


def players_of(model: StackedModel) -> dict[str, list[nn.Parameter]]:
    """Parameters of each player; ``model`` has those that belong to no adversary."""
    players = {name: list(getattr(model, name).parameters()) for name in model.players}
    taken = {id(p) for own in players.values() for p in own}
    return {"model": [p for p in model.parameters() if id(p) not in taken], **players}


def set_gradients(
    losses: dict[str, Tensor],
    parameters: dict[str, list[nn.Parameter]],
    resting: frozenset[str] = frozenset(),
) -> None:
    """Give each player the gradient of its loss and of nothing else; a resting one has none.

    Models do not share parameters, so the sum over a stack has, slice by slice, each model's own
    gradient: a NaN of one model stays in its slice.
    """
    unknown = losses.keys() - parameters.keys()
    if unknown:
        raise ValueError(f"losses of {', '.join(sorted(unknown))}: the model has no such player")
    for name in resting:
        for parameter in parameters[name]:
            parameter.grad = None  # the optimizer leaves it as it is, its moments included
    passes: dict[str, list[nn.Parameter]] = {}  # by the loss
    for name, own in parameters.items():
        if name not in resting:
            passes.setdefault(name if name in losses else "model", []).extend(own)
    for i, (name, own) in enumerate(passes.items(), start=1):
        gradients = torch.autograd.grad(losses[name].sum(), own, retain_graph=i < len(passes))
        for parameter, gradient in zip(own, gradients, strict=True):
            # The fused optimizer walks memory in the parameter's order, whatever the gradient's
            # strides say: that of a transposed weight would silently be applied shuffled.
            parameter.grad = gradient.contiguous()
