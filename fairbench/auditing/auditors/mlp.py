"""Stacked MLPs for audits: classifiers of s or y, and regressors of x, with early stopping.

Several networks on the same rows (the repeats of an auditor) train as one stack; each has its own
initial weights, its own order of rows and its own early stopping.

A one-cycle learning rate (a rise over the first epochs, then a cosine down to 0) reaches a lower
loss in 12 epochs than a constant one in 20, and lets layers be half as wide: docs/calibration.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairbench.api import Floats, Ints
from fairbench.auditing.auditors.samples import Training
from fairbench.stats.seeds import derive_seed
from fairbench.training.layers import StackedMLP

_HELD_OUT = 0.1
"""Share of the auditor training set that is held out for early stopping."""
_RISE = 0.15
"""Share of a one-cycle schedule in which the learning rate rises, from a tenth of its peak."""
_MOST_ROWS = 250_000
"""Rows of a one-cycle schedule, over all epochs, about: large tables get fewer epochs."""
_FEWEST_EPOCHS = 3
_WHOLE = 512
"""Grouped rows up to which every step takes all of them, weighted, not a random batch."""

_MOST_WHOLE_STEPS = 40
"""Most such steps per epoch."""

Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class MLPSettings:
    """Hyperparameters of a stack of MLPs; see AuditConfig for each."""

    hidden: tuple[int, ...]
    epochs: int
    patience: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    one_cycle: bool = False


@dataclass(frozen=True)
class _Order:
    """Rows to train on and rows held out for early stopping, with their weights."""

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

    One after the other, as they stop early: in a stack, all would go on until the last one stops.
    Returns a callable that maps ``(m, k)`` to probabilities ``(len(seeds), m, classes)``.
    """
    target = torch.from_numpy(labels.copy())
    models = [
        _fit(
            z,
            target,
            classes,
            _cross_entropy,
            settings,
            [one],
            _own_hold_outs(len(z), [one], draws),
        )
        for one in seeds
    ]
    return lambda rows: torch.softmax(
        torch.cat([predict(rows) for predict in models]), dim=-1
    ).numpy()


def fit_weighted_classifiers(
    training: Training, *, settings: MLPSettings, seeds: Sequence[int]
) -> Callable[[Floats], Floats]:
    """Train one classifier per seed on grouped rows, all with the same rows held out.

    Returns a callable that maps ``(m, k)`` to probabilities ``(len(seeds), m, classes)``.
    """
    fit, held = training.fit, training.held
    x = np.concatenate([fit.x, held.x])
    target = torch.from_numpy(np.concatenate([fit.labels, held.labels]))
    whole = len(fit.labels) < fit.total and len(fit.labels) <= _WHOLE
    rest = np.arange(len(fit.labels)) if whole else fit.repeated()
    order = _Order(
        rest=torch.from_numpy(rest).expand(len(seeds), -1),
        held_out=torch.arange(len(fit.labels), len(x)).expand(len(seeds), -1),
        epoch=fit.total // training.draws,
        weights=torch.from_numpy(fit.weights / fit.total).float() if whole else None,
        held_weights=torch.from_numpy(held.weights / held.total).float(),
    )
    predict = _fit(x, target, training.classes, _cross_entropy, settings, seeds, order)
    return lambda rows: torch.softmax(predict(rows), dim=-1).numpy()


def fit_regressors(
    z: Floats, targets: Floats, *, settings: MLPSettings, seeds: Sequence[int], draws: int = 1
) -> Callable[[Floats], Floats]:
    """Train one regressor per seed on rows ``(n, k)``, targets ``(n / draws, d)``, squared error.

    Returns a callable that maps ``(m, k)`` to ``(len(seeds), m, d)``.
    """

    goal = torch.from_numpy(targets.copy())
    order = _own_hold_outs(len(z), seeds, draws)
    predict = _fit(z, goal, targets.shape[1], _squares, settings, seeds, order)
    return lambda rows: predict(rows).numpy()


def _squares(out: Tensor, target: Tensor) -> Tensor:
    return (out - target).square().sum(-1)


def _cross_entropy(out: Tensor, target: Tensor) -> Tensor:
    return torch.nn.functional.cross_entropy(out.transpose(1, 2), target, reduction="none")


def _fit(
    z: Floats,
    target: Tensor,
    outputs: int,
    loss: Loss,
    settings: MLPSettings,
    seeds: Sequence[int],
    order: _Order,
) -> Callable[[Floats], Tensor]:
    models = len(seeds)
    weights = [torch.Generator().manual_seed(derive_seed(seed, "weights")) for seed in seeds]
    orders = [np.random.default_rng(derive_seed(seed, "order")) for seed in seeds]
    own = z.dtype == np.float32 and z.flags.writeable  # torch shares no read-only memory
    data = torch.from_numpy(z if own else z.astype(np.float32))
    stack = StackedMLP(weights, (data.shape[1], *settings.hidden, outputs))
    parameters = list(stack.parameters())
    optimizer = torch.optim.Adam(
        parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
    )
    best = [p.detach().clone() for p in parameters]
    best_loss = torch.full((models,), torch.inf)
    waited = torch.zeros(models, dtype=torch.int64)
    epochs, patience = _length(settings, order.epoch)
    steps = _steps(order, settings.batch_size)
    for epoch in range(epochs):
        for step, (rows, share) in enumerate(_batches(order, orders, settings.batch_size)):
            if settings.one_cycle:
                rate = _one_cycle((epoch * steps + step) / (epochs * steps))
                optimizer.param_groups[0]["lr"] = settings.learning_rate * rate
            optimizer.zero_grad(set_to_none=True)
            value = (loss(stack(data[rows]), target[rows % len(target)]) * share).sum()
            value.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.no_grad():
            held = order.held_out
            now = loss(stack(data[held]), target[held % len(target)])
            weighted = order.held_weights
            now = now.mean(dim=1) if weighted is None else (now * weighted).sum(dim=1)
            better = (now < best_loss) & (waited < patience)
            best_loss = torch.where(better, now, best_loss)
            waited = torch.where(better, torch.zeros_like(waited), waited + 1)
            for kept, parameter in zip(best, parameters, strict=True):
                kept[better] = parameter.detach()[better]
        if bool((waited >= patience).all()):
            break
    with torch.no_grad():
        for kept, parameter in zip(best, parameters, strict=True):
            parameter.copy_(kept)

    def predict(rows: Floats) -> Tensor:
        data = torch.tensor(rows, dtype=torch.float32)
        with torch.no_grad():
            parts = [stack(part.expand(models, -1, -1)) for part in torch.split(data, 4096)]
        return torch.cat(parts, dim=1)

    return predict


def _length(settings: MLPSettings, rows: int) -> tuple[int, int]:
    """Return epochs and patience; a cycle must reach its low rates, so it has no patience."""
    if not settings.one_cycle:
        return settings.epochs, settings.patience
    epochs = min(settings.epochs, max(_FEWEST_EPOCHS, round(_MOST_ROWS / rows)))
    return epochs, epochs


def _one_cycle(done: float) -> float:
    """Return the share of the peak learning rate after ``done`` (0 to 1) of all steps."""
    if done < _RISE:
        return 0.1 + 0.9 * done / _RISE
    return 0.5 * (1 + math.cos(math.pi * (done - _RISE) / (1 - _RISE)))


def _steps(order: _Order, size: int) -> int:
    """Return the steps of an epoch: few where each takes all rows, as there is no noise then."""
    steps = -(-order.epoch // size)
    return steps if order.weights is None else min(steps, _MOST_WHOLE_STEPS)


def _batches(
    order: _Order, rngs: Sequence[np.random.Generator], size: int
) -> Iterator[tuple[Tensor, Tensor | float]]:
    """Yield the rows ``(models, batch)`` of each step of an epoch, and their weights."""
    if order.weights is not None:
        for _ in range(_steps(order, size)):
            yield order.rest, order.weights
        return
    drawn = [rng.permutation(order.rest.shape[1])[: order.epoch] for rng in rngs]
    shuffled = order.rest.gather(1, torch.from_numpy(np.stack(drawn)))
    for rows in torch.split(shuffled, size, dim=1):
        yield rows, 1.0 / rows.shape[1]


def _own_hold_outs(n: int, seeds: Sequence[int], draws: int) -> _Order:
    """Hold out rows of its own for each model, with all their draws; an epoch is as of one draw."""
    rows = n // draws
    held = max(1, round(rows * _HELD_OUT))
    rngs = [np.random.default_rng(derive_seed(seed, "held-out")) for seed in seeds]
    order = torch.from_numpy(np.stack([rng.permutation(rows) for rng in rngs]))
    copies = [order + draw * rows for draw in range(draws)]
    rest = torch.cat([copy[:, held:] for copy in copies], dim=1)
    return _Order(rest, torch.cat([copy[:, :held] for copy in copies], dim=1), rows - held)
