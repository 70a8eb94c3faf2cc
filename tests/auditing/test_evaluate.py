"""One point evaluated: distortions, choices, references, and the encoders that try to cheat."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from fairbench.api import AUDIT_ROLES, Floats, Role
from fairbench.auditing.config import AuditConfig
from fairbench.auditing.encoded import EncodedPoint, OwnDecoder
from fairbench.auditing.evaluate import evaluate
from fairbench.auditing.reference import audit_reference
from fairbench.data.prepared import Prepared
from fairbench.metrics.points import (
    AuditorAccuracy,
    Distortion,
    Downstream,
    Information,
    Rate,
)
from fairbench.runs.audits import REFERENCE_FIGURES

CONFIG = AuditConfig(mlps=2, epochs=8)


def encoded(data: Prepared, z: dict[Role, Floats] | None = None) -> EncodedPoint:
    return EncodedPoint(z or {r: data.roles[r].x for r in AUDIT_ROLES}, None, None, None)


def values(data: Prepared, what: EncodedPoint) -> dict[str, float | None]:
    told: list[float] = []
    evaluation, _ = evaluate(
        what, data, config=CONFIG, seed=0, progress=lambda share, _: told.append(share)
    )
    assert len(told) > 3, "the progress of an audit is told"
    assert told == sorted(told)
    found: dict[str, float | None] = {}
    for metric in (Distortion, Information, AuditorAccuracy, Downstream, Rate):
        found.update(metric().compute(evaluation))
    return found


Figures = dict[str, float | None]


@pytest.fixture(scope="module")
def of_x(prepared: Prepared) -> Figures:
    """Figures of x itself as the code."""
    return values(prepared, encoded(prepared))


@pytest.fixture(scope="module")
def reference(prepared: Prepared) -> Mapping[str, float]:
    """What curves are normalised by."""
    return audit_reference(prepared, config=CONFIG, seed=1).values


def test_identity_is_decoded_and_leaks_all(of_x: Figures, reference: Mapping[str, float]) -> None:
    found = of_x
    assert found["distortion"] is not None
    assert found["distortion"] < 0.05
    assert found["mutual_information"] == pytest.approx(
        reference["mutual_information_max"], abs=0.03
    )
    assert (
        found["mutual_information_low"]
        < found["mutual_information"]
        < found["mutual_information_high"]
    )
    assert found["accuracy_s"] > 0.6
    assert found["accuracy_s"] == pytest.approx(reference["accuracy_s"], abs=0.02)
    assert set(reference) >= REFERENCE_FIGURES


def test_a_constant_leaks_nothing_and_loses_all(
    prepared: Prepared, reference: Mapping[str, float]
) -> None:
    nothing = {r: np.zeros((len(prepared.roles[r].s), 1), np.float32) for r in AUDIT_ROLES}
    found = values(prepared, encoded(prepared, nothing))
    assert abs(found["mutual_information"]) < 0.01
    assert found["distortion"] == pytest.approx(reference["distortion_max"], rel=0.03)
    assert found["auc_s"] == pytest.approx(0.5, abs=0.02)
    assert found["accuracy_s"] == reference["accuracy_s_constant"]
    assert found["distinct_codes"] == 1
    assert found["plug_in_rate"] == 0


def test_d_max_is_the_distance_to_group_means(
    prepared: Prepared, reference: Mapping[str, float]
) -> None:
    train, test = prepared.roles[Role.AUDITOR_TRAIN], prepared.roles[Role.TEST]
    means = np.stack([train.x[train.s == g].mean(0) for g in (0, 1)])
    assert reference["distortion_max"] == pytest.approx(
        ((test.x - means[test.s]) ** 2).sum(1).mean()
    )


def test_the_better_decoder_is_chosen_on_validation_not_on_test(prepared: Prepared) -> None:
    """The own decoder is a little worse than the refitted one there, and clearly better on test."""
    rng = np.random.default_rng(0)
    sizes = {role: len(prepared.roles[role].s) for role in AUDIT_ROLES}
    unreadable = {role: rng.normal(size=(n, 2)).astype(np.float32) for role, n in sizes.items()}
    refitted = values(prepared, encoded(prepared, unreadable))
    means = {
        Role.VALIDATION: 1.05 * refitted["distortion_validation"],
        Role.TEST: 0.9 * refitted["distortion"],
    }
    new_rows = sum(sizes[role] for role in means)
    means[Role.AUDITOR_TRAIN] = sum(sizes[r] * mean for r, mean in means.items()) / new_rows
    draws = {role: rng.exponential(size=n) for role, n in sizes.items()}
    squares = {role: draw / draw.mean() * means[role] for role, draw in draws.items()}
    own = OwnDecoder({role: prepared.roles[role].x for role in AUDIT_ROLES}, squares)
    assert own.is_consistent()
    found = values(prepared, replace(encoded(prepared, unreadable), own=own))
    assert found["distortion_own_decoder"] == pytest.approx(means[Role.TEST])
    assert found["distortion"] == found["distortion_refitted_decoder"]
    assert found["distortion"] == pytest.approx(refitted["distortion"])
    assert found["distortion"] > found["distortion_own_decoder"]


def test_a_decoder_that_treats_auditors_rows_otherwise_is_not_believed(
    prepared: Prepared,
) -> None:
    shown = {role: prepared.roles[role].x for role in AUDIT_ROLES}
    squares = {role: np.full(len(x), 1e-4, np.float32) for role, x in shown.items()}
    assert OwnDecoder(shown, squares).is_consistent()
    squares[Role.AUDITOR_TRAIN][::10] = 5.0
    own = OwnDecoder(shown, squares)
    assert not own.is_consistent()
    found = values(prepared, replace(encoded(prepared), own=own))
    assert found["distortion_own_decoder"] is None


def test_auditors_see_what_the_decoder_gives(prepared: Prepared, of_x: Figures) -> None:
    """A cipher that auditors cannot read: its decoder gives x, and so does the audit."""
    noise = np.random.default_rng(1)
    x = {role: prepared.roles[role].x for role in AUDIT_ROLES}
    z = {role: noise.normal(size=(len(rows), 2)).astype(np.float32) for role, rows in x.items()}
    zero = {role: np.zeros(len(rows), np.float32) for role, rows in x.items()}
    in_plain = of_x["mutual_information"]
    unread = values(prepared, encoded(prepared, z))
    assert unread["distortion"] > 1
    found = values(prepared, replace(encoded(prepared, z), own=OwnDecoder(x, zero)))
    assert found["distortion"] == 0
    assert found["mutual_information"] == pytest.approx(in_plain, abs=0.02)


def test_hiding_s_in_a_tiny_column_is_found(prepared: Prepared) -> None:
    rng = np.random.default_rng(0)
    z = {}
    for role in AUDIT_ROLES:
        s = prepared.roles[role].s
        z[role] = np.stack([rng.normal(size=len(s)), 1e-6 * s], 1).astype(np.float32)
    assert values(prepared, encoded(prepared, z))["mutual_information"] > 0.65


def test_the_plugin_rate_counts_codes(prepared: Prepared) -> None:
    z = {}
    for role in AUDIT_ROLES:
        z[role] = (np.arange(len(prepared.roles[role].s)) % 4 / 4).astype(np.float32)[:, None]
    found = values(prepared, encoded(prepared, z))
    assert found["distinct_codes"] == 4
    assert found["plug_in_rate"] == pytest.approx(np.log(4), abs=1e-4)


@pytest.mark.thorough
def test_several_draws_are_people_seen_more_than_once(prepared: Prepared) -> None:
    """The same draw three times: the same figures and no narrower interval than one draw's."""
    once = encoded(prepared)
    thrice = encoded(prepared, {r: np.tile(prepared.roles[r].x, (3, 1)) for r in AUDIT_ROLES})
    evaluation, _ = evaluate(thrice, prepared, config=CONFIG, seed=0)
    assert evaluation.draws == 3
    assert len(evaluation.s) == len(evaluation.z) == 3 * len(prepared.roles[Role.TEST].s)
    for rows in (evaluation.distortion.refitted, evaluation.distortion.strict):
        assert rows.shape == (len(prepared.roles[Role.TEST].s),)
    one, three = values(prepared, once), values(prepared, thrice)
    assert three["mutual_information"] == pytest.approx(one["mutual_information"], abs=0.03)
    assert three["distortion"] == pytest.approx(one["distortion"], abs=0.05)
    assert three["distinct_codes"] == one["distinct_codes"]
    width = [
        found["mutual_information_high"] - found["mutual_information_low"] for found in (one, three)
    ]
    assert width[1] > 0.8 * width[0]


def test_a_noisy_channel_is_audited_on_fresh_draws(prepared: Prepared) -> None:
    """z = 2 s + noise has I = .338 nats (by quadrature), however many draws there are."""
    rng = np.random.default_rng(0)
    noisy = {
        r: (
            2 * np.tile(prepared.roles[r].s, 3) + rng.normal(size=3 * len(prepared.roles[r].s))
        ).astype(np.float32)[:, None]
        for r in AUDIT_ROLES
    }
    found = values(prepared, encoded(prepared, noisy))
    grid = np.linspace(-8, 10, 20001)
    p = [np.exp(-((grid - m) ** 2) / 2) / np.sqrt(2 * np.pi) for m in (0, 2)]
    mixed = (p[0] + p[1]) / 2
    truth = sum(0.5 * np.trapezoid(q * np.log(q / mixed), grid) for q in p)
    assert found["mutual_information"] == pytest.approx(truth, abs=0.08)
    assert found["mutual_information_low"] < truth < found["mutual_information_high"]
