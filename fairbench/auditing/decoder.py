"""The refitted decoder: x from (z, s), fitted on the auditor training set in the same way for all.

It measures distortion. It also gives auditors a view of z, ``reconstruction``: the decoded x as a
mean over s. An encoder trained against an adversary can warp x until classifiers find little of s
in z, and lose next to nothing of x. A decoder has many targets per row where s gives one bit, and
undoes the warp. The view is a function of z, so a classifier of it is a classifier of z, and its
cross-entropy bounds I(Z;S) as any other's does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fairbench.api import Floats, Ints, Role
from fairbench.auditing.auditors.mlp import fit_regressors
from fairbench.auditing.auditors.views import View, ranks, standardised
from fairbench.auditing.axes import image_axes, principal_axes
from fairbench.auditing.config import DECODED_DECIMALS, MAX_COLUMNS, AuditConfig
from fairbench.auditing.members import strict_mlp_settings
from fairbench.auditing.sample import AuditSample
from fairbench.stats.seeds import derive_seed


@dataclass(frozen=True)
class RefittedDecoder:
    """What measuring needs of a decoder that was fitted to the auditor training set."""

    # Of validation and test set, ``(n,)``: squared errors summed over columns, means over draws
    squared_errors: Mapping[Role, Floats]
    reconstruction: View  # of z: reconstructions of x, means over the groups


def refit_decoder(
    sample: AuditSample,
    x: Mapping[Role, Floats],
    fit_and_held_out: tuple[Ints, Ints],
    *,
    config: AuditConfig,
    seed: int,
    image: tuple[int, int, int] | None = None,
) -> RefittedDecoder:
    """Fit the decoder.

    Parameters
    ----------
    sample : AuditSample
        z, and s as labels.
    x : mapping of Role to arrays
        ``(n, d)``: of the three audit roles.
    fit_and_held_out : tuple of arrays
        Rows of x of the auditor training set to fit on, and those held out for early stopping.
        Auditors hold out the same: what calibrates them must be as new to the decoder as test rows.
    image : tuple of int, optional
        Channels, height and width, where x is an image.
    """
    z, s, draws = sample.z, sample.labels, sample.draws
    train = x[Role.AUDITOR_TRAIN]
    inputs = _inputs(z[Role.AUDITOR_TRAIN], sample.classes)
    fit, held = (
        np.concatenate([part + draw * len(train) for draw in range(draws)])
        for part in fit_and_held_out
    )
    known = inputs(z[Role.AUDITOR_TRAIN], s[Role.AUDITOR_TRAIN])
    # The strict auditors' settings with twice the epochs and rate: regressors overfit late.
    strict = strict_mlp_settings(config)
    decode = fit_regressors(
        known,
        train,
        (fit, held),
        settings=replace(
            strict,
            epochs=2 * strict.epochs,
            learning_rate=2 * strict.learning_rate,
            weight_decay=0.0,
        ),
        seeds=[derive_seed(seed, "decoder", i) for i in range(config.decoder_mlps)],
        draws=draws,
    )

    def errors(role: Role) -> Floats:
        predicted = decode(inputs(z[role], s[role])).reshape(draws, *x[role].shape)
        summed: Floats = ((predicted - x[role]) ** 2).mean(axis=0).sum(axis=1)
        return summed

    prior = sample.prior
    project = _axes_of(train[fit_and_held_out[0]], seed, image)

    def reconstruct(rows: Floats) -> Floats:
        by_group = (
            np.float32(prior[group]) * decode(inputs(rows, np.full(len(rows), group)))
            for group in range(sample.classes)
        )
        mean: Floats = sum(by_group, np.zeros((len(rows), train.shape[1]), np.float32))
        return project(mean).round(DECODED_DECIMALS)

    return RefittedDecoder(
        {role: errors(role) for role in (Role.VALIDATION, Role.TEST)},
        View("reconstruction", reconstruct),
    )


def _inputs(z: Floats, groups: int) -> Callable[[Floats, Ints], Floats]:
    """Return what a decoder sees: z on a common scale, its ranks where tails are heavy, and s."""
    common = standardised(z)
    spread = ranks(z, common)
    shown = [common] if spread is None else [common, spread]
    one_hot = np.eye(groups, dtype=np.float32)
    return lambda rows, s: np.hstack([*(view.apply(rows) for view in shown), one_hot[s]])


def _axes_of(
    x: Floats, seed: int, image: tuple[int, int, int] | None
) -> Callable[[Floats], Floats]:
    """Return the projection on axes of a wide x, in units of the first one's spread.

    The identity where x is narrow.
    """
    if x.shape[1] <= MAX_COLUMNS:
        return lambda rows: rows
    axes = principal_axes(x, seed=seed) if image is None else image_axes(x, image, seed=seed)
    return lambda rows: axes.project(rows) / np.float32(axes.spread)
