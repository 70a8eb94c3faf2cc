"""Certificates hold: simulated populations whose gap and information are known exactly."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from fairbench.api import AUDIT_ROLES, Floats, Ints, Role
from fairbench.api.metric import Certificate
from fairbench.auditing import certificate
from fairbench.auditing.certificate import _shortfall, certify, worst_certificate
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.encoded import EncodedPoint
from fairbench.auditing.evaluate import evaluate
from fairbench.data.prepared import Prepared
from fairbench.errors import InputError
from fairbench.metrics.certificate import CertificateBounds
from fairbench.metrics.gaps import GroupGaps, parity_gap

ROUNDS = 400


@dataclass(frozen=True)
class Channel:
    """P(z|s) as rows of a table over codes, and the groups' shares."""

    table: NDArray[np.float64]
    share: NDArray[np.float64]

    @property
    def gap(self) -> float:
        a, b = np.triu_indices(len(self.share), 1)
        return float(np.abs(self.table[a] - self.table[b]).sum(axis=1).max() / 2)

    @property
    def information(self) -> float:
        joint = self.share[:, None] * self.table
        independent = np.outer(self.share, joint.sum(axis=0))
        apart = np.divide(joint, independent, out=np.ones_like(joint), where=joint > 0)
        return float((joint * np.log(apart)).sum())

    def draw(self, rng: np.random.Generator, n: int) -> tuple[Floats, Ints]:
        """Codes as points of the plane, ``(n, 2)``, and groups."""
        s = rng.choice(len(self.share), n, p=self.share)
        below = self.table.cumsum(axis=1)[s]
        code = (rng.random(n)[:, None] > below[:, :-1]).sum(axis=1)
        return np.stack([code % 7, code // 7], axis=1).astype(np.float32) / 8, s.astype(np.int64)

    def certify(self, rng: np.random.Generator, n: int, cells_from: int = 300) -> Certificate:
        found = certify(self.draw(rng, cells_from)[0], *self.draw(rng, n), groups=len(self.share))
        assert found is not None
        return found


def tilted(codes: int, by: float, *, share: float = 0.5, law: float = 0.0) -> Channel:
    """Two groups; codes' shares fall as rank^-law, and every other one is likelier for one."""
    base = np.arange(1, codes + 1, dtype=np.float64) ** -law
    sign = np.where(np.arange(codes) % 2, 1.0, -1.0)
    table = np.stack([base * (1 + by * sign), base * (1 - by * sign)])
    return Channel(table / table.sum(axis=1, keepdims=True), np.array([1 - share, share]))


def ten_groups() -> Channel:
    rng = np.random.default_rng(5)
    share = np.array([0.4, 0.2, 0.12, 0.08, 0.06, 0.05, 0.04, 0.03, 0.01, 0.01])
    return Channel(rng.dirichlet(np.full(6, 4.0), 10), share)


SETTINGS = {
    "two codes": (tilted(2, 0.4), 300, 300),
    "two codes, far apart": (tilted(2, 0.95), 300, 300),
    "one code, nearly": (
        Channel(np.array([[0.99, 0.01], [1.0, 0.0]]), np.array([0.5, 0.5])),
        400,
        60,
    ),
    "a small group": (tilted(4, 0.5, share=0.04), 500, 300),
    "many codes": (tilted(60, 0.5), 500, 300),
    "rare and unseen codes": (tilted(150, 0.6, law=1.2), 500, 60),
    "equal groups, many codes": (tilted(60, 0.0), 500, 300),
    "ten unequal groups": (ten_groups(), 1500, 300),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SETTINGS)
def test_both_bounds_fail_in_at_most_a_twentieth_of_draws(name: str) -> None:
    channel, n, cells_from = SETTINGS[name]
    rng = np.random.default_rng(list(SETTINGS).index(name))
    found = [channel.certify(rng, n, cells_from) for _ in range(ROUNDS)]
    assert np.mean([c.gap < channel.gap for c in found]) <= 0.05
    assert np.mean([c.information < channel.information for c in found]) <= 0.05


def test_bounds_that_paid_for_no_error_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above has teeth: with nothing added to plug-in figures both bounds often fail."""
    monkeypatch.setattr(certificate, "_shortfall", lambda *_: 0.0)
    monkeypatch.setattr(certificate, "bound_information", lambda plug_in, **_: plug_in)
    channel, n, cells_from = SETTINGS["two codes"]
    rng = np.random.default_rng(0)
    found = [channel.certify(rng, n, cells_from) for _ in range(ROUNDS)]
    assert np.mean([c.gap < channel.gap for c in found]) > 0.4
    assert np.mean([c.information < channel.information for c in found]) > 0.4


@pytest.mark.parametrize(("n", "m"), [(6, 9), (40, 13), (150, 150), (400, 60)])
def test_one_sets_shares_fall_short_by_no_more_than_is_paid_for(n: int, m: int) -> None:
    """By enumeration: the difference of two binomial shares, at any pair of probabilities."""
    paid = float(_shortfall(np.array([n], float), np.array([m], float), 0.05)[0])
    difference = np.arange(n + 1)[:, None] / n - np.arange(m + 1) / m
    grid = np.linspace(0, 1, 21)
    in_first = stats.binom.pmf(np.arange(n + 1), n, grid[:, None])
    in_second = stats.binom.pmf(np.arange(m + 1), m, grid[:, None])
    for p, law in zip(grid, in_first, strict=True):
        for q, other in zip(grid, in_second, strict=True):
            assert law @ (difference < p - q - paid) @ other <= 0.05


@pytest.mark.parametrize(
    ("groups", "rows", "message"), [(1, 4, "With one group"), (2, 0, "no certi")]
)
def test_what_cannot_be_certified_is_refused(groups: int, rows: int, message: str) -> None:
    z = np.zeros((rows, 1), np.float32)
    with pytest.raises(InputError, match=message):
        certify(np.zeros((4, 1), np.float32), z, np.zeros(rows, np.int64), groups=groups)


def test_a_certificate_is_sharp_where_codes_are_few() -> None:
    """At 16,000 rows within .025 of the truth; cell by cell it is vacuous at 200 cells."""
    rng = np.random.default_rng(0)
    few = tilted(8, 0.3)
    assert few.certify(rng, 16_000).gap < few.gap + 0.025
    many = tilted(200, 0.5)
    assert many.certify(rng, 16_000, 5000).gap < many.gap + 0.05
    assert many.certify(rng, 16_000, 5000).information < many.information + 0.02


def test_it_shrinks_with_the_rows() -> None:
    rng = np.random.default_rng(0)
    channel = tilted(12, 0.1)
    found = [channel.certify(rng, n) for n in (100, 1000, 10_000, 100_000)]
    assert [c.gap for c in found] == sorted((c.gap for c in found), reverse=True)
    informations = [c.information for c in found]
    assert informations == sorted(informations, reverse=True)
    assert found[-1].gap < channel.gap + 0.01


def test_a_constant_code_is_certified_fair() -> None:
    s = np.random.default_rng(0).integers(0, 2, 16_000)
    z = np.zeros((len(s), 3), np.float32)
    found = certify(z[:100], z, s, groups=2)
    assert found is not None
    assert 0 < found.gap < 0.002
    assert 0 < found.information < 0.003
    assert (found.cells, found.overflow, found.rows) == (1, 0, 16_000)


@pytest.mark.parametrize("groups", [2, 5])
def test_a_copy_of_s_is_vacuous(groups: int) -> None:
    s = np.random.default_rng(0).integers(0, groups, 5000)
    z = s.astype(np.float32)[:, None]
    found = certify(z, z, s, groups=groups)
    assert found is not None
    assert found.gap == 1
    assert found.information == pytest.approx(np.log(groups), rel=0.01)


def test_new_codes_count_as_if_they_told_the_group() -> None:
    """One cell known, half of the rows elsewhere: a gap of .5 can never be excluded."""
    s = np.tile([0, 1], 4000)
    z = (np.arange(8000) % 4 // 2).astype(np.float32)[:, None]
    found = certify(np.zeros((50, 1), np.float32), z, s, groups=2)
    assert found is not None
    assert found.overflow == 0.5
    assert found.gap > 0.5
    assert found.information > np.log(2) / 2


def test_a_group_without_rows_leaves_nothing_to_say() -> None:
    s = np.tile([0, 1], 500)
    z = np.zeros((1000, 1), np.float32)
    found = certify(z, z, s, groups=3)
    assert found is not None
    assert found.gap == 1
    assert found.information == pytest.approx(np.log(3))


def test_a_real_valued_z_has_no_certificate() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(500, 2)).astype(np.float32)
    assert certify(z, z, rng.integers(0, 2, 500), groups=2) is None


def test_the_sign_of_zero_is_a_code_too() -> None:
    """A number equal to another is not the same bytes: s can hide in the sign of zero."""
    s = np.tile([0, 1], 1000)
    z = np.where(s == 1, -0.0, 0.0).astype(np.float32)[:, None]
    found = certify(z, z, s, groups=2)
    assert found is not None
    assert found.gap == 1


def test_no_classifier_of_the_rows_at_hand_exceeds_it() -> None:
    """The likeliest group of each cell, learnt on other rows: a classifier at its most unfair."""
    rng = np.random.default_rng(1)
    channel = tilted(40, 0.5, law=0.7)
    for _ in range(20):
        z, s = channel.draw(rng, 1000)
        other, groups = channel.draw(rng, 1000)
        excess = Counter[bytes]()  # rows of group 1 beyond those of group 0, by code
        for code, group in zip(other, groups, strict=True):
            excess[code.tobytes()] += 1 if group else -1
        predicted = np.array([excess[code.tobytes()] > 0 for code in z]).astype(np.int64)
        found = certify(other, z, s, groups=2)
        measured = parity_gap(predicted, s)
        assert found is not None
        assert measured is not None
        assert 0.3 < measured < found.gap


def test_evaluated_points_carry_that_of_the_worst_draw(prepared: Prepared) -> None:
    """D is a mean over draws: of one draw that hides all, and one that shows all, both count."""
    z = {}
    for role in AUDIT_ROLES:
        s = prepared.roles[role].s.astype(np.float32)
        z[role] = np.concatenate([np.zeros_like(s), s])[:, None]
    config = AuditConfig(mlps=1, epochs=1, trees=5)
    evaluation, _ = evaluate(EncodedPoint(z, None, None, None), prepared, config=config, seed=0)
    assert evaluation.certificate is not None
    assert evaluation.certificate.rows == len(prepared.roles[Role.TEST].s)
    columns = CertificateBounds().compute(evaluation)
    assert columns["certified_parity_gap"] == evaluation.certificate.gap == 1
    assert columns["certified_codes"] == 2
    rows = len(prepared.roles[Role.TEST].s)
    hides = certify(z[Role.TEST][:rows], z[Role.TEST][:rows], prepared.roles[Role.TEST].s, groups=2)
    assert hides is not None
    assert hides.gap < 0.1
    assert worst_certificate([hides, evaluation.certificate]) == evaluation.certificate
    assert worst_certificate([hides, None]) is None


def test_the_worst_of_draws_has_their_largest_plug_in_estimate() -> None:
    """The bound at another level is made of it, and must be that of no draw too small."""
    s = np.arange(1700) % 2
    few, many = np.zeros((1700, 1), np.float32), (np.arange(1700) // 2 % 17).astype(np.float32)
    few[[0, 2, *range(1, 16, 2)]] = 1
    # Of few codes I(Z;S) is bounded in another way, too, which is sharper here.
    bounds = [certify(z, z, s, groups=2) for z in (few, many[:, None])]
    worst = worst_certificate(bounds)
    assert worst is not None
    of_few, of_many = (bound for bound in bounds if bound is not None)
    assert worst.information == of_many.information > of_few.information
    assert of_few.plug_in is not None
    assert of_many.plug_in is not None
    assert worst.plug_in == of_few.plug_in > of_many.plug_in


def test_points_without_one_have_empty_columns(prepared: Prepared) -> None:
    raw = EncodedPoint({r: prepared.roles[r].x for r in AUDIT_ROLES}, None, None, None)
    config = AuditConfig(mlps=1, epochs=1, trees=5)
    evaluation, _ = evaluate(raw, prepared, config=config, seed=0)
    assert evaluation.certificate is None
    assert set(CertificateBounds().compute(evaluation).values()) == {None}
    gaps = GroupGaps().compute(evaluation)
    assert gaps["demographic_parity_gap"] is not None
    assert 0 < gaps["demographic_parity_gap"] < 1
