"""Stacked MLPs for audits: classifiers of s or y, and regressors of x, with early stopping.

Several networks on the same rows (the repeats of an auditor) train as one stack; each has its own
initial weights, its own order of rows and its own early stopping.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairbench.api import Floats, Ints
from fairbench.seeds import derive_seed
from fairbench.training.layers import StackedMLP

_HELD_OUT = 0.1
"""Share of auditor-train that decides when to stop."""

Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class MLPSettings:
    """How a stack of MLPs is trained; see AuditConfig for each."""

    hidden: tuple[int, ...]
    epochs: int
    patience: int
    batch_size: int
    learning_rate: float
    weight_decay: float


def fit_classifiers(
    z: Floats,
    labels: Ints,
    *,
    classes: int,
    settings: MLPSettings,
    seeds: Sequence[int],
    draws: int = 1,
) -> Callable[[Floats], Floats]:
    """Train one classifier a seed on rows ``(n, k)``, ``draws`` draws of n / draws rows.

    Returns
    -------
    callable
        Maps ``(m, k)`` to probabilities ``(len(seeds), m, classes)``.
    """

    def cross_entropy(out: Tensor, target: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(out.transpose(1, 2), target, reduction="none")

    target = torch.from_numpy(labels.copy())
    predict = _fit(z, target, classes, cross_entropy, settings, seeds, draws)
    return lambda rows: torch.softmax(predict(rows), dim=-1).numpy()


def fit_regressors(
    z: Floats,
    targets: Floats,
    *,
    settings: MLPSettings,
    seeds: Sequence[int],
    draws: int = 1,
) -> Callable[[Floats], Floats]:
    """Train one regressor a seed on rows ``(n, k)``, targets ``(n / draws, d)``, squared error.

    Returns
    -------
    callable
        Maps ``(m, k)`` to ``(len(seeds), m, d)``.
    """

    def squares(out: Tensor, target: Tensor) -> Tensor:
        return (out - target).square().sum(-1)

    goal = torch.from_numpy(targets.copy())
    predict = _fit(z, goal, targets.shape[1], squares, settings, seeds, draws)
    return lambda rows: predict(rows).numpy()


def _fit(
    z: Floats,
    target: Tensor,
    outputs: int,
    loss: Loss,
    settings: MLPSettings,
    seeds: Sequence[int],
    draws: int,
) -> Callable[[Floats], Tensor]:
    models = len(seeds)
    weights = [torch.Generator().manual_seed(derive_seed(seed, "weights")) for seed in seeds]
    orders = [np.random.default_rng(derive_seed(seed, "order")) for seed in seeds]
    data = torch.tensor(z, dtype=torch.float32)
    held_out, rest = _hold_out(len(data), seeds, draws)
    # With several draws of each row an epoch is still as many steps as rows ask for: of the draws
    # each epoch sees a random part.
    epoch = rest.shape[1] // draws
    stack = StackedMLP(weights, (data.shape[1], *settings.hidden, outputs))
    parameters = list(stack.parameters())
    optimizer = torch.optim.Adam(
        parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
    )
    best = [p.detach().clone() for p in parameters]
    best_loss = torch.full((models,), torch.inf)
    waited = torch.zeros(models, dtype=torch.int64)
    for _ in range(settings.epochs):
        drawn = [rng.permutation(rest.shape[1])[:epoch] for rng in orders]
        order = torch.from_numpy(np.stack(drawn))
        order = rest.gather(1, order)
        for rows in torch.split(order, settings.batch_size, dim=1):
            optimizer.zero_grad(set_to_none=True)
            value = loss(stack(data[rows]), target[rows % len(target)]).mean(dim=1).sum()
            value.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.no_grad():
            now = loss(stack(data[held_out]), target[held_out % len(target)]).mean(dim=1)
            better = (now < best_loss) & (waited < settings.patience)
            best_loss = torch.where(better, now, best_loss)
            waited = torch.where(better, torch.zeros_like(waited), waited + 1)
            for kept, parameter in zip(best, parameters, strict=True):
                kept[better] = parameter.detach()[better]
        if bool((waited >= settings.patience).all()):
            break
    with torch.no_grad():
        for kept, parameter in zip(best, parameters, strict=True):
            parameter.copy_(kept)
    return _predictor(stack, models)


def _hold_out(n: int, seeds: Sequence[int], draws: int) -> tuple[Tensor, Tensor]:
    """Row numbers held out and left to train on, ``(models, ...)`` each; every model its own.

    All draws of a row are on one side: a row seen in training must not decide when to stop.
    """
    rows = n // draws
    held = max(1, round(rows * _HELD_OUT))
    rngs = [np.random.default_rng(derive_seed(seed, "held-out")) for seed in seeds]
    order = torch.from_numpy(np.stack([rng.permutation(rows) for rng in rngs]))
    copies = [order + draw * rows for draw in range(draws)]
    kept = torch.cat([copy[:, :held] for copy in copies], dim=1)
    return kept, torch.cat([copy[:, held:] for copy in copies], dim=1)


def _predictor(stack: StackedMLP, models: int) -> Callable[[Floats], Tensor]:
    def predict(rows: Floats) -> Tensor:
        data = torch.tensor(rows, dtype=torch.float32)
        with torch.no_grad():
            parts = [stack(part.expand(models, -1, -1)) for part in torch.split(data, 4096)]
        return torch.cat(parts, dim=1)

    return predict
