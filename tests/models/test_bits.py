"""Disparities and correlations of bits, where they are known beforehand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbench.api import Architecture, DatasetInfo, Feature
from fairbench.models.bits import bit_table, step
from fairbench.runs.packed_bits import pack_bits, unpack_bits

N = 4000
RNG = np.random.default_rng(0)
S = np.arange(N) % 2
FAIR = RNG.integers(0, 2, N)


def bits_of(*columns: np.ndarray) -> np.ndarray:
    return np.stack(columns, axis=1).astype(np.int8)[:, None, :]


@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_packed_bits_come_back(n: int, k: int, width: int, seed: int) -> None:
    bits = np.random.default_rng(seed).integers(-1, 2, (n, k, width)).astype(np.int8)
    assert np.array_equal(unpack_bits(pack_bits(bits, len(bits))), bits)


def test_disparity_of_a_copy_of_s_is_one_and_of_a_masked_bit_zero() -> None:
    table = bit_table("beta=0", bits_of(S, FAIR, np.full(N, -1)), S)
    assert table.disparity[0, 0] == 1
    assert table.disparity[0, 1] < 0.05
    assert table.disparity[0, 2] == 0
    np.testing.assert_allclose(table.kept[0], [1, 1, 0])
    assert table.kept.sum() == 2


def test_disparity_is_the_worst_of_one_group_against_the_others() -> None:
    s = np.repeat([0, 1, 2], 100)
    bit = np.concatenate([np.arange(100) < 90, np.arange(100) < 20, np.arange(100) < 10])
    found = bit_table("x", bits_of(bit.astype(int)), s).disparity[0, 0]
    assert found == pytest.approx(0.9 - 0.15)


def info(*names: str) -> DatasetInfo:
    return DatasetInfo(
        "toy", tuple(Feature(name, name) for name in names), ("a", "b"), Architecture()
    )


def test_a_step_finds_the_column_whose_sign_comes_back() -> None:
    x = RNG.normal(size=(N, 3)).astype(np.float32)
    masked = np.full(N, -1)
    tight, loose = bits_of(FAIR, masked, masked), bits_of(FAIR, x[:, 1] > 0, masked)
    found = step("beta=1", "beta=0.5", tight, loose, x, info("age", "hours", "gain"))
    assert found.bits == 1
    # The correlation of a normal variable with its sign is sqrt(2 / pi).
    assert found.correlation["hours"] == pytest.approx(np.sqrt(2 / np.pi), abs=0.02)
    assert max(found.correlation["age"], found.correlation["gain"]) < 0.05
    words = found.sentence(0.01, 0.02)
    assert "1.00 more bits per row" in words
    assert "hours (0.8" in words
    assert "age" not in words


def test_nothing_new_is_said_so() -> None:
    same = bits_of(FAIR)
    found = step("beta=1", "beta=0.5", same, same, np.zeros((N, 1), np.float32), info("age"))
    assert "hardly any more bits" in found.sentence(None, None)
    assert "I(Z;S) stays at 0.000 nats" in found.sentence(-0.0004, 0.0003)
