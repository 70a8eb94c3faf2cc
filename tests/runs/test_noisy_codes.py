"""Draws are told from those of another code by more than chance, and by no less."""

from __future__ import annotations

import numpy as np
import pytest

from fairbench.runs.noisy_codes import share_beyond, share_of_moved_means


def noise(seed: int, draws: int, kind: str) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "normal":
        return rng.normal(size=(draws, 1000, 2))
    if kind == "heavy":
        return rng.standard_cauchy(size=(draws, 1000, 2))
    return (rng.random((draws, 1000, 2)) < 0.01).astype(np.float64)  # a rare code


@pytest.mark.parametrize("kind", ["normal", "heavy", "rare"])
def test_draws_of_one_code_agree(kind: str) -> None:
    shares = [share_beyond(noise(seed, 67, kind), noise(99 + seed, 3, kind)) for seed in range(10)]
    assert max(shares) <= 0.01
    assert share_of_moved_means(noise(0, 16, kind), noise(1, 16, kind)) <= 0.01


@pytest.mark.parametrize("kind", ["normal", "rare"])
def test_draws_of_some_other_codes_do_not(kind: str) -> None:
    """Those of a tenth of the rows are moved by 30."""
    moved = noise(1, 16, kind)
    moved[:, ::10, 1] += 30
    assert share_beyond(noise(0, 67, kind), moved[:3]) > 0.02
    assert share_of_moved_means(noise(0, 16, kind), moved) == pytest.approx(0.1, abs=0.01)


def test_a_code_without_noise_is_one_value_a_row() -> None:
    codes = np.tile(np.random.default_rng(0).normal(size=(1000, 2)), (67, 1, 1))
    assert share_beyond(codes, codes[:3] * (1 + 1e-7)) == 0
    assert share_beyond(codes, codes[:3] + 0.01) > 0.9
