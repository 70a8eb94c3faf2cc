"""The refitted decoder: x from (z, s), fitted on the auditor training set in the same way for all.

Boosted trees and an MLP are fitted; for each column of x the one with the smaller squared error on
the validation set is used, and its error on the test set is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fairbench.api import Floats, Ints, Role
from fairbench.auditing.auditors.mlp import fit_regressors
from fairbench.auditing.auditors.samples import held_out_rows
from fairbench.auditing.auditors.trees import fit_tree_regressor
from fairbench.auditing.auditors.views import standardised
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.members import strict_mlp_settings
from fairbench.stats.seeds import derive_seed

_MOST_COLUMNS_FOR_TREES = 32
"""Columns of x beyond which only the MLP is fitted: trees need one model per column."""


def refit_decoder(
    z: Mapping[Role, Floats],
    s: Mapping[Role, Ints],
    x: Mapping[Role, Floats],
    *,
    groups: int,
    config: AuditConfig,
    seed: int,
    draws: int = 1,
) -> dict[Role, Floats]:
    """Fit the decoder; return squared errors summed over columns, one per row of x, ``(n,)``.

    z and s hold ``draws`` draws of each row of x, draw after draw; errors are means over them. Keys
    are the validation and the test role.
    """
    view = standardised(z[Role.AUDITOR_TRAIN])
    inputs = {
        role: np.hstack([view.apply(z[role]), np.eye(groups, dtype=np.float32)[s[role]]])
        for role in z
    }
    candidates = [_mlp(inputs, x, config, seed, draws)]
    if config.decoder_trees and x[Role.TEST].shape[1] <= _MOST_COLUMNS_FOR_TREES:
        candidates.append(_trees(inputs, x, config, seed, draws))
    squares = [
        {
            role: ((predicted[role].reshape(draws, *x[role].shape) - x[role]) ** 2).mean(axis=0)
            for role in (Role.VALIDATION, Role.TEST)
        }
        for predicted in candidates
    ]
    on_validation = np.stack([square[Role.VALIDATION].mean(axis=0) for square in squares])
    choice = on_validation.argmin(axis=0)
    columns = np.arange(len(choice))
    return {
        role: np.stack([square[role] for square in squares])[choice, :, columns].sum(axis=0)
        for role in (Role.VALIDATION, Role.TEST)
    }


def _mlp(
    inputs: Mapping[Role, Floats],
    x: Mapping[Role, Floats],
    config: AuditConfig,
    seed: int,
    draws: int,
) -> dict[Role, Floats]:
    # The strict auditors' settings with twice the epochs and rate: regressors overfit late.
    strict = strict_mlp_settings(config)
    settings = replace(
        strict, epochs=2 * strict.epochs, learning_rate=2 * strict.learning_rate, weight_decay=0.0
    )
    predict = fit_regressors(
        inputs[Role.AUDITOR_TRAIN],
        x[Role.AUDITOR_TRAIN],
        settings=settings,
        seeds=[derive_seed(seed, "decoder")],
        draws=draws,
    )
    return {role: predict(inputs[role])[0] for role in (Role.VALIDATION, Role.TEST)}


def _trees(
    inputs: Mapping[Role, Floats],
    x: Mapping[Role, Floats],
    config: AuditConfig,
    seed: int,
    draws: int,
) -> dict[Role, Floats]:
    train, targets = inputs[Role.AUDITOR_TRAIN], x[Role.AUDITOR_TRAIN]
    rows = len(targets)
    order = np.random.default_rng(derive_seed(seed, "decoder", "held-out")).permutation(rows)
    cut = held_out_rows(rows)
    held, rest = (
        np.concatenate([part + draw * rows for draw in range(draws)])
        for part in (order[:cut], order[cut:])
    )
    predictions: dict[Role, list[Floats]] = {Role.VALIDATION: [], Role.TEST: []}
    for column in range(targets.shape[1]):
        predict = fit_tree_regressor(
            train[rest],
            targets[rest % rows, column],
            (train[held], targets[held % rows, column]),
            rounds=config.trees // 2,
            patience=config.patience * 2,
            seed=derive_seed(seed, "decoder", column),
        )
        for role, columns in predictions.items():
            columns.append(predict(inputs[role]))
    return {role: np.stack(columns, axis=1) for role, columns in predictions.items()}
