"""Auditors that read x off z find what a warp of x hides from those that look at z alone."""

from __future__ import annotations

import numpy as np
import pytest

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role
from fairbench.auditing.auditors.samples import split_held_out
from fairbench.auditing.auditors.views import View
from fairbench.auditing.config import PRESETS, AuditConfig, AuditPreset
from fairbench.auditing.decoder import refit_decoder
from fairbench.auditing.ensemble import EnsembleAudit, audit
from fairbench.auditing.members import split_auditor_rows
from fairbench.auditing.sample import AuditSample

STRICT, QUICK = PRESETS[AuditPreset.STRICT], PRESETS[AuditPreset.QUICK]
FLIPPED = 0.05
"""Share of rows whose s is not what their cell says."""
TRUTH = np.log(2) + FLIPPED * np.log(FLIPPED) + (1 - FLIPPED) * np.log(1 - FLIPPED)


def warped(n: int, seed: int) -> tuple[Floats, Floats, Ints]:
    """z, x and s: s is the colour of x's square of a board, and z is x, turned by its radius."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 2))
    colour = (np.floor(4 * x).astype(int).sum(axis=1)) % 2
    s = np.where(rng.random(n) < FLIPPED, 1 - colour, colour)
    radius, angle = np.hypot(*x.T), np.arctan2(x[:, 1], x[:, 0])
    turned = angle + 6 * radius
    z = np.column_stack([radius * np.cos(turned), radius * np.sin(turned)])
    return z.astype(np.float32), (x * np.sqrt(3)).astype(np.float32), s.astype(np.int64)


PARTS = dict(
    zip(AUDIT_ROLES, (warped(n, i) for i, n in enumerate((6000, 3000, 6000))), strict=True)
)
Z, X, S = ({role: part[i] for role, part in PARTS.items()} for i in range(3))


def audited(with_x: bool) -> EnsembleAudit:
    view, sample = None, AuditSample(Z, S, 2)
    if with_x:
        rows = split_auditor_rows(len(Z[Role.AUDITOR_TRAIN]), 0)
        view = refit_decoder(sample, X, rows, config=STRICT, seed=0).reconstruction
    return audit(sample, config=STRICT, seed=0, reconstruction=view)


def reconstruction(
    z: Floats,
    x: Floats,
    rows: tuple[Ints, Ints],
    *,
    config: AuditConfig = QUICK,
    groups: int = 1,
    draws: int = 1,
) -> View:
    """The view of z by a decoder of x, where s tells nothing."""
    s = np.arange(len(z)) % groups
    by_role = [dict.fromkeys(AUDIT_ROLES, array) for array in (z, s, x)]
    sample = AuditSample(by_role[0], by_role[1], groups, draws)
    return refit_decoder(sample, by_role[2], rows, config=config, seed=0).reconstruction


@pytest.mark.slow
def test_a_warp_is_undone_where_rows_of_x_are_known() -> None:
    alone, with_x = audited(False), audited(True)
    assert with_x.chosen.test_information > 0.75 * TRUTH
    assert with_x.chosen.test_information > alone.chosen.test_information + 0.15
    assert with_x.chosen.test_information < TRUTH + 0.02
    # Who looks at z alone finds the same with x as without.
    same = [one for one in with_x.results if one.view not in ("reconstruction", "all")]
    assert same == [one for one in alone.results if one.view != "all"]


def test_rows_held_out_choose_an_epoch_and_teach_nothing() -> None:
    """What calibrates the auditors must be as new to the decoder as test rows are."""
    z, x = Z[Role.AUDITOR_TRAIN], X[Role.AUDITOR_TRAIN]
    fit, held = split_held_out(len(x), 3)
    other = x.copy()
    other[held] = 70.0
    read = reconstruction(z, other, (fit, held)).apply(z[held])
    assert np.abs(read).max() < 5  # x is below 1.8


@pytest.mark.parametrize("draws", [pytest.param(1, marks=pytest.mark.thorough), 2])
def test_what_is_read_off_is_x_as_far_as_z_tells_it(draws: int) -> None:
    x = X[Role.AUDITOR_TRAIN]
    z = np.vstack([x + 0.01 * draw for draw in range(draws)])
    fit, held = split_held_out(len(x), 3)
    view = reconstruction(z, x, (fit, held), config=STRICT, draws=draws)
    read = view.apply(z[: len(x)])
    assert ((read - x)[held] ** 2).mean() < 0.01
    nothing = reconstruction(np.zeros_like(z), x, (fit, held), draws=draws)
    np.testing.assert_allclose(
        nothing.apply(z[:5]), x[fit].mean(axis=0)[None].repeat(5, 0), atol=0.1
    )


def test_of_wide_x_the_principal_axes_are_read() -> None:
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(300, 3)) @ rng.normal(size=(3, 600))).astype(np.float32)
    view = reconstruction(x[:, :5], x, split_held_out(300, 0))
    assert view.apply(x[:, :5]).shape == (300, 64)


def test_rows_of_a_code_are_read_alike_whatever_is_beside_them() -> None:
    """Trees cut where equal codes lie: a last bit that differs would send some the wrong way."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, (2000, 6)).astype(np.float32)
    x = (z @ rng.normal(size=(6, 4))).astype(np.float32)
    view = reconstruction(z, x, split_held_out(2000, 0))
    many = view.apply(z)
    few = np.vstack([view.apply(z[i : i + 1]) for i in range(100)])
    np.testing.assert_array_equal(many[:100], few)
