"""What a stochastic representation keeps of rows that are asked for again."""

import copy
import pickle

import numpy as np

from fairbench.api import RowCache


def test_the_same_rows_are_computed_once_and_others_anew() -> None:
    calls: list[int] = []

    def sums(x: np.ndarray) -> float:
        calls.append(len(x))
        return float(x.sum())

    cache = RowCache[float]()
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert [cache.of(x, sums), cache.of(x.copy(), sums), cache.of(np.asfortranarray(x), sums)] == [
        15.0
    ] * 3
    assert calls == [3]
    assert cache.of(x + 1, sums) == 21.0
    for count in range(3):  # it does not grow without end
        cache.of(np.full((400_000, 1), count, np.float32), sums)
    assert cache.of(x, sums) == 15.0
    assert calls[-1] == 3
    large = np.zeros((1_000_001, 1), np.float32)
    assert [cache.of(large, sums), cache.of(large, sums), cache.of(x, sums)] == [0.0, 0.0, 15.0]
    assert calls[-3:] == [3, 1_000_001, 1_000_001]  # not kept, and drives nothing out


def test_rows_in_many_small_arrays_are_all_kept() -> None:
    """Images come a thousand at a time, and are drawn hundreds of times."""
    calls: list[int] = []
    cache = RowCache[int]()
    for _ in range(2):
        for count in range(200):
            cache.of(np.full((100, 2), count, np.float32), lambda x: calls.append(len(x)) or 0)
    assert len(calls) == 200


def test_copies_and_pickles_have_nothing_of_the_rows() -> None:
    cache = RowCache[float]()
    empty = len(pickle.dumps(cache))
    cache.of(np.ones((5, 2), np.float32), lambda x: float(x.sum()))
    assert len(pickle.dumps(cache)) == empty
    assert copy.deepcopy(cache).of(np.ones((5, 2), np.float32), lambda x: 0.0) == 0.0
