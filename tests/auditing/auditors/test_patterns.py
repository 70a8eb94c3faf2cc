"""Patterns are found where they tell s, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from fairbench.auditing.auditors.patterns import find_patterns
from fairbench.auditing.auditors.samples import make_member_rows
from fairbench.auditing.auditors.simple import fit_logistic, held_out_loss
from fairbench.auditing.auditors.views import standardised
from fairbench.auditing.validation.suite import CHANNELS

ROWS = 6_000


@pytest.mark.parametrize("name", ["digit", "hour", "postcode", "near-copy", "spread"])
def test_a_pattern_is_read_by_logistic_regression(name: str) -> None:
    channel = CHANNELS[name]
    z, s, _ = channel.rows(0, ROWS)
    rows = make_member_rows(z, s, classes=2)
    half = np.full((len(rows.held.labels), 2), 0.5)
    columns = find_patterns(rows, standardised(rows.fit.x).apply, half)
    assert columns is not None
    seen = rows.seen_through(columns)
    gained = np.log(2) - held_out_loss(fit_logistic(seen)(seen.held.x), seen.held)
    assert gained > 0.5 * channel.truth()
    far = columns(np.full((1, z.shape[1]), 3e38, np.float32))
    assert np.isfinite(far).all()


@pytest.mark.parametrize("classes", [2, 10])
def test_in_noise_there_is_none(classes: int) -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(ROWS, 6)).astype(np.float32)
    z[:, :3] = np.round(20 * z[:, :3])
    rows = make_member_rows(z, rng.integers(0, classes, ROWS), classes=classes)
    prior = np.tile(rows.prior, (len(rows.held.labels), 1))
    assert find_patterns(rows, standardised(rows.fit.x).apply, prior) is None
