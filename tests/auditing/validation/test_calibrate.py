"""Channels of known information, calibration of probabilities, and the bench itself."""

import json
from typing import Any

import numpy as np
import pytest

from fairbench.auditing.auditors.blend import pool_weights, pooled
from fairbench.auditing.auditors.recalibration import fit_recalibration, recalibrate
from fairbench.auditing.auditors.samples import LabelledRows
from fairbench.auditing.config import AuditConfig, Member
from fairbench.auditing.tolerance import tolerance
from fairbench.auditing.validation.calibrate import audit_channel
from fairbench.auditing.validation.channels import (
    bit_information,
    location_information,
    normal_density,
    table_information,
)
from fairbench.auditing.validation.suite import CHANNELS
from fairbench.cli.calibrate import calibrate
from fairbench.errors import ConfigError
from fairbench.stats.scores import log_loss
from tests.conftest import Call

pytestmark = pytest.mark.thorough

LIGHT = AuditConfig(mlps=2, strict_epochs=6, trees=60)


@pytest.mark.parametrize("name", CHANNELS)
def test_channels_draw_what_they_say(name: str) -> None:
    channel = CHANNELS[name]
    z, s, x = channel.rows(0, 4000)
    assert z.dtype == np.float32
    assert set(np.unique(s)) == set(range(channel.classes))
    assert 0 <= channel.truth() <= 1
    again = channel.rows(0, 4000)
    np.testing.assert_array_equal(again[0], z)
    np.testing.assert_array_equal(again[1], s)
    if x is not None:
        assert x.mean(axis=0) == pytest.approx(0, abs=0.07)
        assert x.std(axis=0) == pytest.approx(1, abs=0.05)


def test_truths_by_formulas_known_otherwise() -> None:
    assert bit_information(0.0 + 1e-12) == pytest.approx(np.log(2))
    assert bit_information(0.5) == pytest.approx(0)
    assert location_information(normal_density, (0, 0), (0.3, 0.7)) == pytest.approx(0, abs=1e-9)
    far = location_information(normal_density, (-40, 40), (0.5, 0.5))
    assert far == pytest.approx(np.log(2), abs=1e-6)
    assert table_information(np.diag([0.5, 0.5])) == pytest.approx(np.log(2))


@pytest.mark.parametrize(
    "name",
    [
        "gaussian-1.5",
        "many-classes",
        "heavy-tails",
        "crossed-groups",
        "few-codes",
        "noisy-x",
        "many-cells",
    ],
)
def test_truths_by_monte_carlo(name: str) -> None:
    """I = E[log p(s|z) / p(s)] with the posterior of the law, on a million rows."""
    channel = CHANNELS[name]
    z, s, _ = channel.rows(1, 1_000_000)
    wide = z.astype(np.float64)
    if name == "gaussian-1.5":
        density = np.exp(-0.5 * (wide - [0, 1.5]) ** 2) * 0.5
    elif name == "many-classes":
        from fairbench.auditing.validation.channels import _PLACES, _SHARES

        density = np.exp(-0.5 * (wide[:, 2:3] - _PLACES) ** 2) * _SHARES
    elif name == "crossed-groups":
        from fairbench.auditing.validation.channels import _RARE, FLIP

        bit = ((wide[:, 0] > 0) ^ (wide[:, 1] > 0))[:, None]
        sides = np.hstack([np.where(bit, FLIP, 1 - FLIP), np.where(bit, 1 - FLIP, FLIP)])
        density = (sides[:, :, None] * _RARE).reshape(len(s), 10)
    elif name == "noisy-x":
        density = np.exp(-0.25 * (wide[:, 1:2] - [0, 1.5]) ** 2) * 0.5
    elif name == "many-cells":
        cells = np.rint(35**2 * wide[:, 0]).astype(int)
        of_cell = np.bincount(cells, weights=s) / np.bincount(cells)
        density = np.column_stack([1 - of_cell, of_cell])[cells]
    elif name == "heavy-tails":
        density = 0.5 / (1 + (wide[:, 1:2] - [0, 3]) ** 2)
    else:
        from fairbench.auditing.validation.channels import _CODES

        density = _CODES.T[(8 * wide[:, 0] + 4 * wide[:, 1]).astype(int)]
    posterior = density / density.sum(axis=1, keepdims=True)
    share = np.bincount(s) / len(s)
    found = np.log(posterior[np.arange(len(s)), s] / share[s]).mean()
    assert found == pytest.approx(channel.truth(), abs=0.003)


@pytest.mark.parametrize(
    "name",
    ["gaussian-1.5", "rescaled-1e-6", "parity-3", "lowest-bit", "few-codes", "independent-2"],
)
def test_the_family_reads_small_draws(name: str) -> None:
    """A quarter of the bench's rows, a light family: twice the tolerance."""
    audited = audit_channel(CHANNELS[name], rows=2500, seed=0, config=LIGHT)
    assert audited.truth - audited.estimate <= 2 * tolerance(audited.truth)
    assert audited.low <= audited.truth
    assert audited.low < audited.estimate < audited.high


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, c in CHANNELS.items() if not c.limit])
def test_the_family_reads_every_channel(name: str) -> None:
    """Within max(.02 nats, 8%) from below, and never above by more than the interval."""
    audited = audit_channel(CHANNELS[name], rows=10_000, seed=0, config=AuditConfig())
    gap = audited.truth - audited.estimate
    assert gap <= tolerance(audited.truth), (audited.estimate, audited.truth)
    assert audited.low <= audited.truth, (audited.low, audited.truth)


@pytest.mark.slow
def test_intervals_cover_the_truth_of_the_gaussian_channel() -> None:
    """400 fixed-seed draws by the auditor that matches the channel; the target is 91%."""
    config = AuditConfig(members=(Member.LOGISTIC,), interactions=False)
    channel = CHANNELS["gaussian-1.5"]
    audits = [audit_channel(channel, rows=10_000, seed=seed, config=config) for seed in range(400)]
    assert np.mean([a.low <= channel.truth() <= a.high for a in audits]) >= 0.91


def held(labels: np.ndarray) -> LabelledRows:
    return LabelledRows(np.zeros((len(labels), 1), np.float32), labels, np.ones(len(labels)))


def test_an_overconfident_classifier_is_tempered_and_a_useless_one_forgotten() -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(size=4000)
    labels = (rng.random(4000) < 1 / (1 + np.exp(-score))).astype(np.int64)
    prior = np.array([0.5, 0.5])

    def says(logit: np.ndarray) -> np.ndarray:
        p = 1 / (1 + np.exp(-logit))
        return np.column_stack([1 - p, p]).astype(np.float32)

    power, _ = fit_recalibration(says(4 * score), held(labels), prior)
    assert power == pytest.approx(0.25, abs=0.05)
    power, _ = fit_recalibration(says(3 * rng.normal(size=4000)), held(labels), prior)
    assert power == 0
    nothing = recalibrate(says(5 * score), np.array([0.2, 0.8]), 0.0, 0.01)
    np.testing.assert_allclose(nothing, np.tile([0.2, 0.8], (4000, 1)), atol=1e-6)


def test_a_pool_joins_what_members_know_apart() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 6000)
    logits = [rng.normal(size=6000) + (2 * labels - 1) for _ in range(2)]
    members = []
    for logit in [*logits, rng.normal(size=6000)]:
        p = 1 / (1 + np.exp(-2 * logit))
        members.append(np.column_stack([1 - p, p]).astype(np.float32))
    prior = np.array([0.5, 0.5])
    part = [member[:1000] for member in members]
    weights = pool_weights(part, held(labels[:1000]), prior)
    assert weights[:2] == pytest.approx([1, 1], abs=0.15)
    assert weights[2] < 0.1
    fresh = [member[1000:] for member in members]
    found = log_loss(pooled(fresh, weights, prior), labels[1000:]).mean()
    assert found < min(log_loss(member, labels[1000:]).mean() for member in fresh) - 0.05


def test_calibrate_prints_the_truth_beside_each_auditor(fairbench_here: Call) -> None:
    done = fairbench_here("calibrate", "--rows", "400", "--channels", "few-codes,independent-2")
    assert done.returncode in (0, 1), done.stderr
    lines = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line}
    assert float(lines["few-codes"][1]) == pytest.approx(CHANNELS["few-codes"].truth(), abs=6e-4)
    assert lines["channel"][1:6] == ["truth", "ensemble", "low", "high", "mlp"]
    assert abs(float(lines["independent-2"][2])) < 0.06


def test_calibrate_gives_json(capsys: pytest.CaptureFixture[str]) -> None:
    calibrate(["few-codes"], rows=300, seeds=1, as_json=True)
    (found,) = json.loads(capsys.readouterr().out)
    assert found["channel"] == "few-codes"
    assert {a["auditor"] for a in found["seeds"][0]["auditors"]} >= {"mlp", "counting", "blend"}


def test_a_wrong_name_is_answered_in_one_line(fairbench_here: Call) -> None:
    done = fairbench_here("calibrate", "--channels", "gausian-1.5")
    assert done.returncode == 2
    assert "Did you mean 'gaussian-1.5'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("changed", "answer"),
    [
        ({"rows": 3}, "Give 100 or more"),
        ({"rows": 10**14}, "Give at most 10,000,000"),
        ({"seeds": 0}, "Give 1 or more"),
    ],
)
def test_numbers_that_cannot_be_are_refused(changed: dict[str, int], answer: str) -> None:
    options: dict[str, Any] = {"rows": 300, "seeds": 1} | changed
    with pytest.raises(ConfigError, match=answer):
        calibrate(["few-codes"], as_json=False, **options)
