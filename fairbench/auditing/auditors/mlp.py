"""Stacked MLPs for audits: classifiers of s or y, and regressors of x.

Several networks on the same rows (the repeats of an auditor) train as one stack; each has its own
initial weights and its own order of rows, and keeps its best epoch on held-out rows.

A one-cycle learning rate (a rise over the first epochs, then a cosine down to 0) reaches a lower
loss in 8 to 12 epochs than a constant one in 20: docs/calibration.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from fairbench.api import Floats, Ints
from fairbench.auditing.auditors.samples import MemberRows
from fairbench.stats.seeds import derive_seed
from fairbench.training.layers import (
    StackedMLP,
    fastest_products,
    mlp_backward,
    mlp_forward,
)

_HELD_OUT = 0.1
"""Share of the auditor training set that is held out."""
_RISE = 0.15
"""Share of a one-cycle schedule in which the learning rate rises, from a tenth of its peak."""
_MAX_ROWS = 250_000
"""Rows of a one-cycle schedule, over all epochs, about: large tables get fewer epochs."""
_MIN_EPOCHS = 3
_WHOLE = 512
"""Grouped rows up to which every step takes all of them, weighted, not a random batch."""

_COLLECTED = 16
"""Steps whose rows are collected at once."""
_MAX_WHOLE_STEPS = 40
"""Most such steps per epoch."""


@dataclass(frozen=True)
class _Loss:
    """A loss of each row ``(models, rows)``, and its gradient by the outputs.

    Both take outputs ``(models, rows, outputs)`` and targets. Gradients by hand, as those of the
    network: autograd would take a third of the time of such small steps.
    """

    value: Callable[[Tensor, Tensor], Tensor]
    gradient: Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class MLPSettings:
    """Hyperparameters of a stack of MLPs; see AuditConfig for each."""

    hidden: tuple[int, ...]
    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float


@dataclass(frozen=True)
class _Order:
    """Rows to train on and rows held out to choose the best epoch, with their weights."""

    # rest, held_out: (models, rows)
    rest: Tensor
    held_out: Tensor
    epoch: int  # rows of an epoch
    # (rows,): if given, every step takes all of ``rest`` with these weights
    weights: Tensor | None = None
    held_weights: Tensor | None = None  # (held-out rows,)


def fit_classifiers(
    z: Floats,
    labels: Ints,
    *,
    classes: int,
    settings: MLPSettings,
    seeds: Sequence[int],
    draws: int = 1,
) -> Callable[[Floats], Floats]:
    """Train one classifier per seed on rows ``(n, k)``, ``draws`` draws of n / draws rows.

    Each holds out rows of its own. Returns a callable that maps ``(m, k)`` to probabilities
    ``(len(seeds), m, classes)``.
    """
    order = _own_hold_outs(len(z), seeds, draws)
    target = torch.from_numpy(labels.copy())
    predict = _fit(z, target, classes, _CROSS_ENTROPY, settings, seeds, order)
    return lambda rows: torch.softmax(predict(rows), dim=-1).numpy()


def fit_weighted_classifiers(
    training: MemberRows, *, settings: MLPSettings, seeds: Sequence[int], soft: bool = False
) -> Callable[[Floats], Floats]:
    """Train one classifier per seed on grouped rows, all with the same rows held out.

    ``soft``: learn the soft labels instead of the labels; the best epoch is that of the labels.
    Returns a callable that maps ``(m, k)`` to probabilities ``(len(seeds), m, classes)``.
    """
    fit, held = training.fit, training.held
    x = np.concatenate([fit.x, held.x])
    labels = np.concatenate([fit.labels, held.labels])
    target, loss = torch.from_numpy(labels), _CROSS_ENTROPY
    if soft:
        if fit.soft is None:
            raise ValueError("no soft labels")
        known = np.eye(training.classes, dtype=np.float32)[held.labels]
        target, loss = torch.from_numpy(np.concatenate([fit.soft, known])), _SOFT_CROSS_ENTROPY
    whole = len(fit.labels) < fit.total and len(fit.labels) <= _WHOLE
    rest = np.arange(len(fit.labels)) if whole else fit.repeated()
    order = _Order(
        rest=torch.from_numpy(rest).expand(len(seeds), -1),
        held_out=torch.arange(len(fit.labels), len(x)).expand(len(seeds), -1),
        epoch=fit.total // training.draws,
        weights=torch.from_numpy(fit.weights / fit.total).float() if whole else None,
        held_weights=torch.from_numpy(held.weights / held.total).float(),
    )
    predict = _fit(x, target, training.classes, loss, settings, seeds, order)
    return lambda rows: torch.softmax(predict(rows), dim=-1).numpy()


def fit_regressors(
    z: Floats,
    targets: Floats,
    fit_and_held_out: tuple[Ints, Ints],
    *,
    settings: MLPSettings,
    seeds: Sequence[int],
    draws: int = 1,
) -> Callable[[Floats], Floats]:
    """Train one regressor per seed on rows ``(n, k)``, targets ``(n / draws, d)``, squared error.

    ``fit_and_held_out``: the rows to fit on, all draws, and those held out. Returns a callable that
    maps ``(m, k)`` to the mean prediction, ``(m, d)``.
    """
    rest, held = (torch.from_numpy(part).expand(len(seeds), -1) for part in fit_and_held_out)
    order = _Order(rest, held, rest.shape[1] // draws)
    goal = torch.from_numpy(targets.copy())
    predict = _fit(z, goal, targets.shape[1], _SQUARES, settings, seeds, order)
    return lambda rows: predict(rows).mean(dim=0).numpy()


_SQUARES = _Loss(
    lambda out, target: (out - target).square().sum(-1),
    lambda out, target: (out - target).mul_(2),
)
_CROSS_ENTROPY = _Loss(
    lambda out, target: cross_entropy(out.transpose(1, 2), target, reduction="none"),
    lambda out, target: torch.softmax(out, dim=-1).sub_(one_hot(target, out.shape[-1])),
)
_SOFT_CROSS_ENTROPY = _Loss(
    lambda out, target: -(target * torch.log_softmax(out, dim=-1)).sum(-1),
    lambda out, target: torch.softmax(out, dim=-1).mul_(target.sum(-1, keepdim=True)).sub_(target),
)


@torch.no_grad()
def _fit(
    z: Floats,
    target: Tensor,
    outputs: int,
    loss: _Loss,
    settings: MLPSettings,
    seeds: Sequence[int],
    order: _Order,
) -> Callable[[Floats], Tensor]:
    models = len(seeds)
    weights = [torch.Generator().manual_seed(derive_seed(seed, "weights")) for seed in seeds]
    orders = [np.random.default_rng(derive_seed(seed, "order")) for seed in seeds]
    own = z.dtype == np.float32 and z.flags.writeable  # torch shares no read-only memory
    data = torch.from_numpy(z if own else z.astype(np.float32))
    stack = StackedMLP(weights, (data.shape[1], *settings.hidden, outputs)).eval()
    parameters = list(stack.parameters())
    optimizer = torch.optim.Adam(
        parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
    )
    products = fastest_products()
    best = [p.clone() for p in parameters]
    best_loss = torch.full((models,), torch.inf)
    epochs = min(settings.epochs, max(_MIN_EPOCHS, round(_MAX_ROWS / order.epoch)))
    steps = _steps(order, settings.batch_size)
    for epoch in range(epochs):
        batches = _batches(data, target, order, orders, settings.batch_size)
        for step, (x, known, share) in enumerate(batches):
            rate = _one_cycle((epoch * steps + step) / (epochs * steps))
            optimizer.param_groups[0]["lr"] = settings.learning_rate * rate
            out, saved = mlp_forward(x, products, parameters)
            _, gradients = mlp_backward(saved, loss.gradient(out, known) * share, to_input=False)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                # The fused optimizer walks memory in the parameter's order.
                parameter.grad = gradient.contiguous()
            optimizer.step()
        held = order.held_out
        now = loss.value(stack(data[held]), target[held % len(target)])
        weighted = order.held_weights
        now = now.mean(dim=1) if weighted is None else (now * weighted).sum(dim=1)
        better = now < best_loss
        best_loss = torch.where(better, now, best_loss)
        for kept, parameter in zip(best, parameters, strict=True):
            kept[better] = parameter[better]
    for kept, parameter in zip(best, parameters, strict=True):
        parameter.copy_(kept)

    def predict(rows: Floats) -> Tensor:
        data = torch.tensor(rows, dtype=torch.float32)
        with torch.no_grad():
            parts = [stack(part.expand(models, -1, -1)) for part in torch.split(data, 1024)]
        return torch.cat(parts, dim=1)

    return predict


def _one_cycle(done: float) -> float:
    """Return the share of the peak learning rate after ``done`` (0 to 1) of all steps."""
    if done < _RISE:
        return 0.1 + 0.9 * done / _RISE
    return 0.5 * (1 + math.cos(math.pi * (done - _RISE) / (1 - _RISE)))


def _steps(order: _Order, size: int) -> int:
    """Return the steps of an epoch: few where each takes all rows, as there is no noise then."""
    steps = -(-order.epoch // size)
    return steps if order.weights is None else min(steps, _MAX_WHOLE_STEPS)


def _batches(
    data: Tensor, target: Tensor, order: _Order, rngs: Sequence[np.random.Generator], size: int
) -> Iterator[tuple[Tensor, Tensor, Tensor | float]]:
    """Yield x ``(models, batch, k)`` of each step of an epoch, targets, and weights of the rows."""
    if order.weights is not None:
        x, known = data[order.rest], target[order.rest % len(target)]
        for _ in range(_steps(order, size)):
            yield x, known, order.weights[:, None]
        return
    drawn = [rng.permutation(order.rest.shape[1])[: order.epoch] for rng in rngs]
    shuffled = order.rest.gather(1, torch.from_numpy(np.stack(drawn)))
    # Collected for many steps at once, which costs little more than for one.
    for rows in torch.split(shuffled, size * _COLLECTED, dim=1):
        x, known = data[rows], target[rows % len(target)]
        parts = zip(torch.split(x, size, dim=1), torch.split(known, size, dim=1), strict=True)
        for one, labels in parts:
            yield one, labels, 1.0 / one.shape[1]


def _own_hold_outs(n: int, seeds: Sequence[int], draws: int) -> _Order:
    """Hold out rows of its own for each model, with all their draws; an epoch is as of one draw."""
    rows = n // draws
    held = max(1, round(rows * _HELD_OUT))
    rngs = [np.random.default_rng(derive_seed(seed, "held-out")) for seed in seeds]
    order = torch.from_numpy(np.stack([rng.permutation(rows) for rng in rngs]))
    copies = [order + draw * rows for draw in range(draws)]
    rest = torch.cat([copy[:, held:] for copy in copies], dim=1)
    return _Order(rest, torch.cat([copy[:, :held] for copy in copies], dim=1), rows - held)
