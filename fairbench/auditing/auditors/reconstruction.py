"""What z tells of x, as auditors of s look at it: the ``reconstruction`` view.

An encoder trained against an adversary can warp x until classifiers find little of s in z, and lose
next to nothing of x. Whoever has some rows of both x and z first learns to read x off z, which
teaches many numbers a row where s teaches one bit, and then looks for s in what was read: the warp
is undone. What is read off z is a function of z, so a classifier of it is one of z, and its
cross-entropy bounds I(Z;S) as any other's does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairbench.api import Floats, Ints
from fairbench.auditing.auditors.mlp import MLPSettings, fit_regressors
from fairbench.auditing.auditors.views import View, ranks, standardised
from fairbench.auditing.config import AuditConfig
from fairbench.stats.seeds import derive_seed

_REGRESSORS = 2
"""Averaged, but never more than the audit has MLPs."""
_MOST_TARGETS = 512
"""Columns of x beyond which its principal axes are learned instead: trees take no image."""
_AXES = 64
_DECIMALS = 3
"""Of x as read off z: the last bits depend on what else is in a batch, and where many rows share a
code, trees cut right there."""


def reconstruction(
    z: Floats, x: Floats, people: Ints, *, config: AuditConfig, seed: int, draws: int = 1
) -> View:
    """Fit regressors of x on z, by the rows of some people.

    Parameters
    ----------
    z : ndarray, shape (draws * n, k)
        Draw after draw.
    x : ndarray, shape (n, d)
        Standardised.
    people : ndarray of int64
        Rows of x to fit on; the others are kept for what calibrates the auditors.
    """
    look = _scaled(z)
    rows = np.concatenate([people + draw * len(x) for draw in range(draws)])
    predict = fit_regressors(
        look(z[rows]),
        _targets(x[people], seed),
        settings=_settings(config),
        seeds=[derive_seed(seed, i) for i in range(min(_REGRESSORS, config.mlps))],
        draws=draws,
    )
    return View("reconstruction", lambda given: predict(look(given)).mean(axis=0).round(_DECIMALS))


def _settings(config: AuditConfig) -> MLPSettings:
    """Wider than the strict MLPs and twice as long: a warp is harder to learn than a boundary."""
    return MLPSettings(
        hidden=config.hidden,
        epochs=2 * config.strict_epochs,
        patience=2 * config.strict_epochs,
        batch_size=config.strict_batch_size,
        learning_rate=config.strict_learning_rate,
        weight_decay=0.0,
        one_cycle=True,
    )


def _scaled(z: Floats) -> Callable[[Floats], Floats]:
    """z on a common scale and, where tails are heavy, by ranks too."""
    common = standardised(z)
    spread = ranks(z, common)
    if spread is None:
        return common.apply
    return lambda given: np.hstack([common.apply(given), spread.apply(given)])


def _targets(x: Floats, seed: int) -> Floats:
    if x.shape[1] <= _MOST_TARGETS:
        return x
    from sklearn.decomposition import PCA

    axes = PCA(_AXES, svd_solver="randomized", random_state=seed % 2**32).fit_transform(x)
    found: Floats = (axes / axes[:, 0].std()).astype(np.float32)
    return found
