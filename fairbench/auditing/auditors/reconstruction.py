"""The ``reconstruction`` view: x as regressors predict it from z.

An encoder trained against an adversary can warp x until classifiers find little of s in z, and lose
next to nothing of x. An attacker with some rows of both x and z can first learn to predict x from
z, with many targets per row where s gives one bit, and then look for s in the prediction: the warp
is undone. The prediction is a function of z, so a classifier of it is a classifier of z, and its
cross-entropy bounds I(Z;S) as any other's does.
"""

from __future__ import annotations

import numpy as np

from fairbench.api import Floats, Ints
from fairbench.auditing.auditors.mlp import MLPSettings, fit_regressors
from fairbench.auditing.auditors.views import View, ranks, standardised
from fairbench.auditing.config import AuditConfig
from fairbench.stats.seeds import derive_seed

_REGRESSORS = 2
"""Regressors that are averaged; never more than the audit's MLPs."""
_MOST_TARGETS = 512
"""Columns of x beyond which its principal axes are the targets: trees cannot take images."""
_AXES = 64
_DECIMALS = 3
"""Of the prediction: the last bits depend on the rest of the batch, and where many rows share a
code, trees would split on them."""


def reconstruction(
    z: Floats, x: Floats, fit_rows: Ints, *, config: AuditConfig, seed: int, draws: int = 1
) -> View:
    """Fit regressors of x on z.

    ``z (draws * n, k)``: draw after draw. ``x (n, d)``: standardised. ``fit_rows``: rows of x to
    fit on; the others are held out for calibration.
    """
    common = standardised(z)
    spread = ranks(z, common)

    def scale(rows: Floats) -> Floats:
        """Return columns on a common scale and, where tails are heavy, their ranks too."""
        shown = common.apply(rows)
        return shown if spread is None else np.hstack([shown, spread.apply(rows)])

    rows = np.concatenate([fit_rows + draw * len(x) for draw in range(draws)])
    predict = fit_regressors(
        scale(z[rows]),
        _targets(x[fit_rows], seed),
        # Wider than the strict MLPs, and twice as long: a warp is harder to learn.
        settings=MLPSettings(
            hidden=config.hidden,
            epochs=2 * config.strict_epochs,
            patience=2 * config.strict_epochs,
            batch_size=config.strict_batch_size,
            learning_rate=config.strict_learning_rate,
            weight_decay=0.0,
            one_cycle=True,
        ),
        seeds=[derive_seed(seed, i) for i in range(min(_REGRESSORS, config.mlps))],
        draws=draws,
    )
    return View("reconstruction", lambda rows: predict(scale(rows)).mean(axis=0).round(_DECIMALS))


def _targets(x: Floats, seed: int) -> Floats:
    if x.shape[1] <= _MOST_TARGETS:
        return x
    from sklearn.decomposition import PCA

    axes = PCA(_AXES, svd_solver="randomized", random_state=seed % 2**32).fit_transform(x)
    scaled: Floats = (axes / axes[:, 0].std()).astype(np.float32)
    return scaled
