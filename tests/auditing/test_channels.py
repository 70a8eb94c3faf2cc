"""Auditors against channels whose information is known by formula."""

import numpy as np
import pytest

from fairbench.api import Floats, Ints, Role
from fairbench.auditing.config import AuditConfig, Member
from fairbench.auditing.ensemble import EnsembleAudit, audit, paper_audit
from fairbench.auditing.sample import AuditSample
from fairbench.stats.scores import information
from tests.support.channels import XOR, Draw, gaussian, noisy_bit

CONFIG = AuditConfig(mlps=2, epochs=12)


def roles(draw: Draw, n: int = 5000) -> tuple[dict[Role, Floats], dict[Role, Ints]]:
    z, s = {}, {}
    for i, role in enumerate((Role.AUDITOR_TRAIN, Role.VALIDATION, Role.TEST)):
        found, label = draw(np.random.default_rng(i), n)
        z[role], s[role] = found.astype(np.float32), label.astype(np.int64)
    return z, s


def run(draw: Draw, classes: int = 2, n: int = 5000) -> EnsembleAudit:
    z, s = roles(draw, n)
    return audit(AuditSample(z, s, classes), config=CONFIG, seed=0)


@pytest.mark.parametrize(
    "shift", [1.5, *(pytest.param(s, marks=pytest.mark.thorough) for s in (0.5, 3.0))]
)
def test_the_gaussian_channel(shift: float) -> None:
    draw, truth = gaussian(shift)
    found = run(draw)
    assert found.chosen.test_information == pytest.approx(truth, abs=max(0.02, 0.08 * truth))


def test_xor_is_found_though_no_column_tells_anything() -> None:
    def draw(rng: np.random.Generator, n: int) -> tuple[Floats, Ints]:
        z = rng.normal(size=(n, 2))
        return z, noisy_bit(rng, (z[:, 0] > 0) ^ (z[:, 1] > 0))

    found = run(draw)
    by_name = {r.auditor: r.test_information for r in found.results}
    assert by_name["logistic"] < 0.02
    assert found.chosen.test_information > XOR - 0.06


def test_a_small_scale_hides_nothing() -> None:
    def draw(rng: np.random.Generator, n: int) -> tuple[Floats, Ints]:
        s = rng.integers(0, 2, n)
        z = rng.normal(size=(n, 3))
        z[:, 1] = noisy_bit(rng, s)
        return z * [1, 1e-6, 1], s

    assert run(draw).chosen.test_information == pytest.approx(XOR, abs=0.03)


@pytest.mark.thorough
def test_the_lowest_bit_of_a_code_is_read_from_bit_planes() -> None:
    def draw(rng: np.random.Generator, n: int) -> tuple[Floats, Ints]:
        code = rng.integers(0, 128, size=(n, 3))
        return code / 128, noisy_bit(rng, code[:, 1] & 1)

    found = run(draw)
    best = {(r.auditor, r.view): r.test_information for r in found.results}
    assert best["mlp", "standardised"] < 0.1
    assert found.chosen.view == "bit-planes"
    assert found.chosen.test_information == pytest.approx(XOR, abs=0.03)


@pytest.mark.parametrize("classes", [2, pytest.param(6, marks=pytest.mark.thorough)])
def test_independence_reads_zero(classes: int) -> None:
    found = run(lambda rng, n: (rng.normal(size=(n, 4)), rng.integers(0, classes, n)), classes)
    assert abs(found.chosen.test_information) < 0.02


@pytest.mark.slow
def test_unequal_groups_of_many_classes() -> None:
    share = np.array([0.5, 0.25, 0.15, 0.07, 0.03])

    def draw(rng: np.random.Generator, n: int) -> tuple[Floats, Ints]:
        s = rng.choice(5, size=n, p=share)
        return np.eye(5)[s] + 0.01 * rng.normal(size=(n, 5)), s

    truth = -(share * np.log(share)).sum()
    assert run(draw, classes=5).chosen.test_information == pytest.approx(truth, abs=0.03)


def test_every_members_own_figure_is_kept_and_the_choice_is_by_selection() -> None:
    found = run(gaussian(1.0)[0], n=1500)
    everyone = {member.value for member in Member if "soft" not in member} - {
        "counting",
        "column-counts",
    }
    # No two rows are equal, and there is no x that would give soft labels.
    assert {r.auditor for r in found.results} == everyone
    assert found.chosen.validation_information == pytest.approx(
        max(r.validation_information for r in found.results)
    )


def test_the_papers_auditors_see_z_as_released() -> None:
    z, s = roles(gaussian(1.5)[0], 3000)
    predictions = paper_audit(AuditSample(z, s, 2), config=CONFIG, seed=0)
    assert len(predictions) == CONFIG.mlps
    found = np.mean([information(p.probabilities, p.labels) for p in predictions])
    assert found == pytest.approx(gaussian(1.5)[1], abs=0.04)


def test_the_same_seed_gives_the_same_figures() -> None:
    first, second = run(gaussian(1.0)[0], n=800), run(gaussian(1.0)[0], n=800)
    assert first.results == second.results


def test_a_code_of_few_cells_has_a_plug_in_estimate_beside_the_bound() -> None:
    def draw(rng: np.random.Generator, n: int) -> tuple[Floats, Ints]:
        s = rng.integers(0, 2, n)
        return np.column_stack([rng.integers(0, 5, n), noisy_bit(rng, s)]), s

    found = run(draw)
    assert found.plug_in == pytest.approx(XOR, abs=0.03)
    assert "counting" in {r.auditor for r in found.results}
    assert run(gaussian(1.0)[0], n=800).plug_in is None
