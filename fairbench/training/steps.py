"""One step of a stack: a batch of every model, its losses, each player's gradients, the update."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np
import torch
from torch import Tensor, nn

from fairbench.training.model import Batch, StackedModel, onehot
from fairbench.training.schedule import Schedule
from fairbench.training.streams import Streams

Losses = dict[str, Tensor]
"""Loss of each player, ``(models,)``."""


class Steps:
    """Takes the steps of a stack, one after the other.

    Parameters
    ----------
    model : StackedModel
    x : ndarray of float32, or uint8 of 0 and 1, shape (n, features)
    s : ndarray of int64, shape (n,)
    groups : int
        Number of values of s.
    schedule : Schedule
    streams : Streams
    """

    def __init__(
        self,
        model: StackedModel,
        x: np.ndarray,
        s: np.ndarray,
        groups: int,
        schedule: Schedule,
        streams: Streams,
    ) -> None:
        self.model, self.schedule, self.streams = model, schedule, streams
        self.parameters = players_of(model)
        check_parameters(model, len(streams.seeds))
        self.optimizer = torch.optim.Adam(
            [
                {"params": own, "scale": 1.0 if name == "model" else model.players[name]}
                for name, own in self.parameters.items()
            ],
            lr=schedule.learning_rate,
            fused=True,
        )
        self._x = _resident(x, streams.device)
        self._s = torch.tensor(s, device=streams.device)
        self._s_onehot = onehot(self._s, groups)

    def take(self, step: int) -> Losses:
        """Take step number ``step``; return its losses."""
        done = step / self.schedule.iterations
        self.set_rates(done)
        return self.update(done, self.streams, self.resting(step))

    def set_rates(self, done: float) -> None:
        """Set the learning rate of each player, when a share of the budget is done."""
        for group, rate in zip(self.optimizer.param_groups, self.rates(done), strict=True):
            group["lr"] = rate

    def rates(self, done: float) -> list[float]:
        """Return the learning rate of each player, when a share of the budget is done."""
        rate = self.schedule.learning_rate * self.schedule.factor(done)
        return [group["scale"] * rate for group in self.optimizer.param_groups]

    def resting(self, step: int) -> frozenset[str]:
        """Return the players that this step leaves as they are."""
        return frozenset({"model"} if step % self.model.turns else ())

    def update(self, done: float | Tensor, streams: Streams, resting: frozenset[str]) -> Losses:
        """Draw a batch, compute its losses and update who does not rest."""
        losses = self.model.losses(self.batch(done, streams))
        check_losses(losses, len(streams.seeds))
        set_gradients(losses, self.parameters, resting)
        self.optimizer.step()
        return losses

    def batch(self, done: float | Tensor, streams: Streams) -> Batch:
        """Draw a batch of every model."""
        rows = streams.indices("rows", len(self._x), self.schedule.batch_size)
        return Batch(self._x[rows].float(), self._s[rows], self._s_onehot[rows], done, streams)


def _resident(x: np.ndarray, device: torch.device) -> Tensor:
    """x on the device; on the CPU it is not copied, as nothing writes into it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writ")
        return torch.from_numpy(x).to(device)


def check_parameters(model: StackedModel, models: int) -> None:
    """Raise TypeError unless the first axis of every parameter is that of the models."""
    for name, parameter in model.named_parameters():
        if parameter.shape[:1] != (models,):
            raise TypeError(
                f"the parameter {name} has the shape {tuple(parameter.shape)}: the first axis must "
                f"be that of the stack's {models} models; make layers with networks, not torch.nn"
            )


def check_losses(losses: object, models: int) -> None:
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


def players_of(model: StackedModel) -> dict[str, list[nn.Parameter]]:
    """Parameters of each player; ``model`` has those that belong to no adversary."""
    players = {name: list(getattr(model, name).parameters()) for name in model.players}
    taken = {id(p) for own in players.values() for p in own}
    return {"model": [p for p in model.parameters() if id(p) not in taken], **players}


def set_gradients(
    losses: Losses,
    parameters: Mapping[str, Sequence[nn.Parameter]],
    resting: frozenset[str] = frozenset(),
) -> None:
    """Give each player the gradient of its loss and of nothing else; a resting one has none."""
    assign_gradients(parameters, gradients(losses, parameters, resting))


def assign_gradients(
    parameters: Mapping[str, Sequence[nn.Parameter]], given: Mapping[str, Sequence[Tensor]]
) -> None:
    """Give each player its gradients; the optimizer leaves one without any, moments included."""
    for name, own in parameters.items():
        for parameter, gradient in zip(own, given.get(name, [None] * len(own)), strict=True):
            parameter.grad = gradient


def gradients(
    losses: Losses,
    players: Mapping[str, Sequence[Tensor]],
    resting: frozenset[str] = frozenset(),
) -> dict[str, list[Tensor]]:
    """Gradients of each player's loss and of nothing else, by player; none of one that rests.

    Models do not share parameters, so the sum over a stack has, slice by slice, each model's own
    gradient: a NaN of one model stays in its slice.
    """
    unknown = losses.keys() - players.keys()
    if unknown:
        raise ValueError(
            f"losses of {', '.join(sorted(unknown))}: the model has no such player, only "
            f"{', '.join(players)}"
        )
    passes: dict[str, list[str]] = {}  # players by the loss
    for name in players:
        if name not in resting:
            passes.setdefault(name if name in losses else "model", []).append(name)
    found: dict[str, list[Tensor]] = {}
    for i, (loss, names) in enumerate(passes.items(), start=1):
        own = [parameter for name in names for parameter in players[name]]
        all_of_them = torch.autograd.grad(losses[loss].sum(), own, retain_graph=i < len(passes))
        # The fused optimizer walks memory in the parameter's order, whatever the gradient's
        # strides say: that of a transposed weight would silently be applied shuffled.
        rest = iter([gradient.contiguous() for gradient in all_of_them])
        for name in names:
            found[name] = list(islice(rest, len(players[name])))
    return found


def warn_of_plain_steps(model: StackedModel, refused: str, error: Exception) -> str:
    """Warn that a model is trained step by step, as one cannot be recorded or compiled; why."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        why = type(error).__name__
    else:  # a compiler says at its end what it did not like
        why = lines[0] if "compile error" not in lines[0].lower() else f"{lines[0]}: {lines[-1]}"
    why = why.rstrip(".")
    warnings.warn(
        f"{type(model).__name__} is recordable, but a step cannot be {refused}: {why}. It is "
        "trained step by step, which takes longer.",
        stacklevel=3,
    )
    return why
