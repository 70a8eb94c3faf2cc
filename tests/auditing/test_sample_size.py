"""Codes that need more rows than there are to be read, and codes that do not."""

import numpy as np
import pytest

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role
from fairbench.api.metric import Prediction, SampleSize
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.ensemble import audit
from fairbench.auditing.sample import AuditSample
from fairbench.auditing.sample_size import extrapolate

ROWS = {Role.AUDITOR_TRAIN: 9768, Role.VALIDATION: 6512, Role.TEST: 16281}
CONFIG = AuditConfig(mlps=1, epochs=4)


def h(p: np.ndarray) -> np.ndarray:
    return -(p * np.log(p) + (1 - p) * np.log(1 - p))


def code(
    cells: int, spread: float, seed: int = 0
) -> tuple[dict[Role, Floats], dict[Role, Ints], float]:
    """A code of equally frequent cells, P(s = 1 | cell) drawn at random, and I(Z;S) in nats."""
    rng = np.random.default_rng(seed)
    share = np.clip(rng.beta(0.33 * spread, 0.67 * spread, cells), 1e-6, 1 - 1e-6)
    names = rng.permutation(2**12)[:cells]
    bits = ((names[:, None] >> np.arange(12)) & 1).astype(np.float32)
    z, s = {}, {}
    for role, n in ROWS.items():
        cell = rng.integers(0, cells, n)
        z[role], s[role] = bits[cell], (rng.random(n) < share[cell]).astype(np.int64)
    return z, s, float(h(share.mean()) - h(share).mean())


def found(z: dict[Role, Floats], s: dict[Role, Ints]) -> tuple[float, SampleSize]:
    sample = AuditSample(z, s, int(max(s[Role.TEST])) + 1)
    audited = audit(sample, config=CONFIG, seed=0)
    size = extrapolate(sample, audited.strict.test, config=CONFIG, seed=0)
    assert size is not None
    return audited.chosen.test_information, size


@pytest.mark.thorough
def test_a_code_of_many_cells_is_flagged() -> None:
    z, s, truth = code(1200, 6.0)
    reading, size = found(z, s)
    assert truth == pytest.approx(0.075, abs=0.005)
    assert reading < 0.7 * truth
    assert size.needs_more_rows
    assert size.low < size.extrapolated < size.high
    assert size.extrapolated == pytest.approx(truth, rel=0.25)


def test_a_code_of_few_cells_is_not() -> None:
    z, s, truth = code(20, 6.0)
    reading, size = found(z, s)
    assert reading == pytest.approx(truth, abs=0.01)
    assert not size.needs_more_rows
    assert reading <= size.extrapolated == pytest.approx(truth, abs=0.012)


@pytest.mark.slow
def test_a_code_that_says_nothing_is_not() -> None:
    z, s, truth = code(1200, 1e6)
    reading, size = found(z, s)
    assert truth < 1e-4
    assert not size.needs_more_rows
    assert reading <= size.low <= size.high < 0.005


@pytest.mark.slow
def test_groups_of_a_handful_of_rows_are_in_every_part_or_do_no_harm() -> None:
    rng = np.random.default_rng(0)
    z, s = {}, {}
    for role in AUDIT_ROLES:
        s[role] = rng.choice(5, 1200, p=[0.5, 0.4, 0.09, 0.006, 0.004])
        z[role] = (s[role][:, None] + rng.normal(size=(1200, 2))).astype(np.float32)
    _, size = found(z, s)
    assert size.low > 0.1


def test_tiny_tables_are_left_out() -> None:
    z = {role: np.zeros((100, 1), np.float32) for role in AUDIT_ROLES}
    s = {role: np.arange(100) % 2 for role in AUDIT_ROLES}
    nothing = Prediction(np.full((100, 2), 0.5), s[Role.TEST])
    assert extrapolate(AuditSample(z, s, 2), nothing, config=CONFIG, seed=0) is None
