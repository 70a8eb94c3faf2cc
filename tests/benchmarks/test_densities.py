"""What one who knows a Gaussian encoder reads: Bayes' rule in closed form."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
try:
    import densities
    from densities import Reading, posterior
finally:
    sys.path.pop(0)


def test_of_two_people_it_is_the_logistic_of_their_log_odds() -> None:
    mean = np.array([[-1.0], [1.0]], np.float32)
    deviation = np.full((2, 1), 0.8, np.float32)
    z = np.linspace(-3, 3, 2501, dtype=np.float32)[:, None]  # more than are computed at once
    read = posterior(z, mean, deviation, np.eye(2, dtype=np.float32))
    np.testing.assert_allclose(read[:, 1], 1 / (1 + np.exp(-2 * z[:, 0] / 0.8**2)), atol=1e-5)


def test_a_difference_of_scales_alone_is_read() -> None:
    deviation = np.array([[0.5, 1.0], [2.0, 1.0]], np.float32)
    z = np.array([[0.0, 7.0], [1.0, -7.0], [3.0, 0.0]], np.float32)
    read = posterior(z, np.zeros((2, 2), np.float32), deviation, np.eye(2, dtype=np.float32))
    narrow, wide = (np.exp(-0.5 * (z[:, 0] / d) ** 2) / d for d in (0.5, 2.0))
    np.testing.assert_allclose(read[:, 0], narrow / (narrow + wide), rtol=1e-5)


def test_a_code_of_noise_alone_leaves_the_mean_of_the_labels() -> None:
    labels = np.array([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], np.float32)
    read = posterior(
        np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32),
        np.zeros((3, 3), np.float32),
        np.ones((3, 3), np.float32),
        labels,
    )
    np.testing.assert_allclose(read, np.tile(labels.mean(0), (50, 1)), rtol=1e-6)


@pytest.mark.parametrize(
    ("strict", "known", "within"), [(0.1, 0.119, True), (0.1, 0.121, False), (0.5, 0.53, True)]
)
def test_a_gap_may_be_what_the_calibration_allows(
    strict: float, known: float, within: bool
) -> None:
    assert Reading("data", "method", "beta=1", 1.0, strict, known).within is within


def test_no_gaussian_encoder_is_one_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(densities, "open_results", lambda *given: None)
    monkeypatch.setattr(densities, "readings", lambda results: iter(()))
    monkeypatch.setattr(sys, "argv", ["densities.py", "--results", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"no strict audit of a Gaussian encoder"):
        densities.main()
