"""Entropies, plug-in estimates and bootstrap intervals against what is known by formula."""

import numpy as np
import pytest
from scipy import stats

from fairbench.stats.scores import bootstrap_information, entropy, log_loss, plug_in_information
from tests.support.channels import XOR, gaussian, noisy_bit


def test_the_plug_in_estimate_is_corrected_for_its_bias() -> None:
    """Independent cells: counting alone reads (cells - 1)(classes - 1) / 2n too much."""
    rng = np.random.default_rng(0)
    found = [
        plug_in_information(rng.integers(0, 20, 1000), rng.integers(0, 3, 1000)) for _ in range(200)
    ]
    assert np.mean(found) == pytest.approx(0, abs=0.002)
    s = rng.integers(0, 2, 20_000)
    assert plug_in_information(noisy_bit(rng, s), s) == pytest.approx(XOR, abs=0.01)


def test_entropy_of_known_shares() -> None:
    assert entropy(np.array([0, 1, 0, 1])) == pytest.approx(np.log(2))
    assert entropy(np.array([3, 3, 3])) == 0


def test_the_bootstrap_interval_covers_the_bound_of_a_fixed_classifier() -> None:
    """Its target is H(S) - E[-log c] of the classifier at hand; here known by quadrature."""
    draw, truth = gaussian(1.0)
    covered = 0
    for i in range(60):
        z, s = draw(np.random.default_rng(100 + i), 800)
        p1 = stats.norm.pdf(z[:, 0] - 1) / (stats.norm.pdf(z[:, 0]) + stats.norm.pdf(z[:, 0] - 1))
        p = np.stack([1 - p1, p1], axis=1).astype(np.float32)
        resampled = bootstrap_information(log_loss(p, s), s, resamples=200, seed=i)
        low, high = np.quantile(resampled, [0.025, 0.975])
        covered += low <= truth <= high
    assert covered >= 52
