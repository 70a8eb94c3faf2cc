"""What z tells to those who know y as well, on channels whose information is known."""

import numpy as np
import pytest

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.ensemble import audit
from fairbench.auditing.sample import AuditSample
from fairbench.auditing.with_y import estimate_with_y

N = 4000
CONFIG = AuditConfig(mlps=1, epochs=4)
LN2 = float(np.log(2))


def h(p: float) -> float:
    return float(-(p * np.log(p) + (1 - p) * np.log(1 - p)))


def flipped(bits: Ints, share: float, rng: np.random.Generator) -> Ints:
    return bits ^ (rng.random(len(bits)) < share)


def read(z: dict[Role, Floats], s: dict[Role, Ints], y: dict[Role, Ints]) -> tuple[float, float]:
    """I(Z;S), and I(Z, Y; S)."""
    sample = AuditSample(z, s, 2)
    alone = audit(sample, config=CONFIG, seed=0)
    strict = alone.strict
    together = estimate_with_y(strict, sample, y, config=CONFIG, seed=0)
    return alone.chosen.test_information, together


def channel(
    of_z: float | None, of_y: float, *, xor: bool = False
) -> tuple[dict[Role, Floats], dict[Role, Ints], dict[Role, Ints]]:
    """Bits s, y and z; y is s flipped with probability ``of_y``, z likewise, or noise for None."""
    rng = np.random.default_rng(0)
    z, s, y = {}, {}, {}
    for role in AUDIT_ROLES:
        s[role] = rng.integers(0, 2, N)
        y[role] = flipped(s[role], of_y, rng).astype(np.int64)
        bit = rng.integers(0, 2, N) if of_z is None else flipped(s[role], of_z, rng)
        if xor:
            bit = s[role] ^ y[role]
        z[role] = np.column_stack([bit, rng.normal(size=N)]).astype(np.float32)
    return z, s, y


def test_a_sum_with_y_hides_s_from_those_who_do_not_know_y() -> None:
    alone, together = read(*channel(None, 0.5, xor=True))
    assert abs(alone) < 0.005
    assert together == pytest.approx(LN2, abs=0.01)


def test_independent_hints_add_up() -> None:
    alone, together = read(*channel(0.2, 0.3))
    # I(Z, Y; S) = H(Z, Y) - H(Z) - H(Y) + I(Z;S) + I(Y;S), of Z and Y independent given S.
    same = 0.8 * 0.7 + 0.2 * 0.3
    expected = h(same) + LN2 - h(0.2) - h(0.3)
    assert alone == pytest.approx(LN2 - h(0.2), abs=0.02)
    assert together == pytest.approx(expected, abs=0.02)
    assert together > alone + 0.02


@pytest.mark.parametrize(
    ("of_z", "of_y"),
    [(0.1, 0.5), *(pytest.param(None, y, marks=pytest.mark.thorough) for y in (0.1, 0.5))],
)
def test_it_is_no_less_than_either_alone(of_z: float | None, of_y: float) -> None:
    alone, together = read(*channel(of_z, of_y))
    assert together == pytest.approx(max(alone, LN2 - h(of_y)), abs=0.02)


def test_a_few_validation_rows_are_enough() -> None:
    z, s, y = channel(0.1, 0.3)
    few = {role: slice(4 if role is Role.VALIDATION else 400) for role in z}
    parts = ({role: one[few[role]] for role, one in held.items()} for held in (z, s, y))
    _, together = read(*parts)
    assert np.isfinite(together)
