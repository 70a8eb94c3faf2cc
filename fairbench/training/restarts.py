"""Several models for one unit: the one with the least loss on the training set is selected.

Training can end in a poor local optimum, at random. The loss is the method's own objective, that of
its player ``model``, as it stands at the end of training; no rows but those of the training set are
used, and no auditor. Where an adversary's loss is part of it, an adversary that has failed looks
like an encoder that hides well.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import torch

from fairbench.api import Floats, Ints
from fairbench.stats.seeds import derive_seed
from fairbench.training.model import Batch, StackedModel, onehot
from fairbench.training.streams import Streams

_MAX_ROWS = 20_000
"""Rows that losses are compared on, at most."""
_PASSES = 4
"""Passes over these rows, for objectives that draw random numbers."""
_CHUNK = 1024
_MIN_ROWS = 4
"""Rows of a chunk at least: some losses compare them with each other."""
_CELLS = 131_072
"""Numbers of x per model and chunk: fewer rows where rows are images, as in training."""


def select_best(
    model: StackedModel,
    x: Floats,
    s: Ints,
    *,
    groups: int,
    restarts: int,
    reasons: Sequence[str | None],
    device: torch.device | str,
    deadline: float | None = None,
) -> list[int]:
    """Index of the selected model of each unit, that is of every ``restarts`` models of a stack.

    All models see the same rows and draw the same random numbers, as at the end of training.

    Parameters
    ----------
    model : StackedModel
        Trained; models of one unit next to each other.
    x, s : ndarray, shape (n, features) and (n,)
        The training set.
    groups : int
        Number of values of s.
    reasons : sequence of str or None
        Why each model diverged, if so: it is selected only where all of its unit did.
    deadline : float, optional
        Value of ``time.monotonic()``; TimeoutError is raised soon after.
    """
    models = len(reasons)
    chunk = max(32, min(_CHUNK, _CELLS // x.shape[1]))
    streams = Streams([derive_seed("restarts")] * models, device)
    chosen = np.random.default_rng(derive_seed("restarts", "rows")).permutation(len(x))[:_MAX_ROWS]
    total = torch.zeros(models, device=device)
    with torch.no_grad():
        for _ in range(_PASSES):
            # Losses that compare the rows of a batch need some: no batch is a short rest.
            for rows in np.split(chosen, range(chunk, len(chosen) - _MIN_ROWS + 1, chunk)):
                if deadline is not None and time.monotonic() > deadline:
                    raise TimeoutError("deadline passed while restarts were compared")
                seen = torch.tensor(x[rows], device=device).float().expand(models, -1, -1)
                labels = torch.tensor(s[rows], device=device).expand(models, -1)
                batch = Batch(seen, labels, onehot(labels, groups), 1.0, streams)
                total += model.losses(batch)["model"] * len(rows)
    loss = total.double().cpu().numpy()
    loss[np.isnan(loss) | [reason is not None for reason in reasons]] = np.inf
    return [
        start + int(loss[start : start + restarts].argmin()) for start in range(0, models, restarts)
    ]
