"""Drop-features compares all subsets of few columns: estimates, frontier, and what greed misses."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from fairbench.api import TrainingRows
from fairbench_plugins.baselines.drop_features import DropFeaturesParams, _Search
from fairbench_plugins.baselines.subsets import Split, Subset, excess_over_hull, measure_subsets


def shifted(n: int = 3000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns: a weak tell of s, a copy of it, a strong one, a copy of it, noise."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    weak = rng.standard_normal(n) + 0.5 * s
    strong = rng.standard_normal(n) + 1.5 * s
    x = np.column_stack([weak, weak, strong, strong, rng.standard_normal(n)])
    x = (x - x.mean(0)) / x.std(0)
    return x.astype(np.float32), s


def split_of(x: np.ndarray, s: np.ndarray, columns: list[list[int]]) -> Split:
    cut = 2 * len(s) // 3
    return Split(x[:cut], s[:cut], x[cut:], s[cut:], columns, int(s.max()) + 1)


def test_every_subset_is_measured_once_and_by_its_own_kernel() -> None:
    """Against kernel regression written out for one subset, with one-hot columns together."""
    x, s = shifted(300)
    columns = [[0], [1, 2], [3], [4]]
    split = split_of(x, s, columns)
    found = {subset.dropped: subset for subset in measure_subsets(split, lambda _: None)}
    assert set(found) == {c for n in range(5) for c in combinations(range(4), n)}
    kernel = np.ones((100, 200))
    for source in (0, 1):
        gaps = split.x_measure[:, None, columns[source]] - split.x_fit[None, :, columns[source]]
        kernel *= 0.2 + 0.8 * np.exp(-(gaps**2).sum(-1) / 0.3**2)
    prior = (np.bincount(split.s_fit) + 1) / (200 + 2)
    votes = np.stack([kernel[:, split.s_fit == g].sum(1) for g in (0, 1)], axis=1) + prior
    p = votes / votes.sum(1, keepdims=True)
    expected = np.log(p[np.arange(100), split.s_measure]).mean()
    assert found[2, 3].leakage == pytest.approx(expected, rel=1e-4)
    error = 0.0
    for i in range(100):
        same = split.s_fit == split.s_measure[i]
        mean = split.x_fit[same].mean(0)
        guess = (kernel[i, same] @ split.x_fit[same] + 0.1 * mean) / (kernel[i, same].sum() + 0.1)
        error += ((guess - split.x_measure[i])[[3, 4]] ** 2).sum()
    assert found[2, 3].distortion == pytest.approx(error / 100, rel=1e-4)


def test_ends_are_known() -> None:
    """Dropping nothing costs nothing; dropping all leaves the prior, and the spread in groups."""
    x, s = shifted()
    subsets = measure_subsets(split_of(x, s, [[i] for i in range(5)]), lambda _: None)
    full, empty = subsets[0], subsets[-1]
    assert (full.dropped, full.distortion) == ((), 0.0)
    assert empty.leakage == pytest.approx(-np.log(2), abs=0.01)
    within = sum(float(x[s == g].var(0).sum()) * float((s == g).mean()) for g in (0, 1))
    assert empty.distortion == pytest.approx(within, rel=0.05)
    assert full.leakage > empty.leakage + 0.1


def test_the_excess_is_the_distance_from_the_scaled_hull() -> None:
    """With both axes scaled to [0, 1]."""
    subsets = [
        Subset((), -0.1, 0.0),
        Subset((0,), -0.4, 1.0),
        Subset((1,), -0.3, 2.0),
        Subset((0, 1), -0.5, 4.0),
    ]
    # (0, 1), (.25, .25), (.5, .5), (1, 0): the third lies over the edge from (.25, .25) to (1, 0).
    expected = [0.0, 0.0, (0.75 * 0.25 + 0.25 * 0.25) / np.hypot(0.75, 0.25), 0.0]
    np.testing.assert_allclose(excess_over_hull(subsets), expected, atol=1e-12)


@pytest.mark.thorough
def test_a_column_and_its_copy_go_together() -> None:
    """Dropping one of two copies loses no leakage: greed sees nothing to gain, subsets do."""
    x, s = shifted()
    columns = {name: [i] for i, name in enumerate(["weak", "weak2", "strong", "strong2", "noise"])}
    info = SimpleNamespace(groups=("a", "b"))
    train = TrainingRows(x, s, info)  # type: ignore[arg-type]
    search = _Search(train, columns, DropFeaturesParams(search_rows=3000), 0)
    chosen = search.dropped(lambda _: None)
    assert list(chosen) == [1, 2, 3, 4]
    assert set(chosen[2]) == {"strong", "strong2"}
    assert set(chosen[4]) == {"weak", "weak2", "strong", "strong2"}


def test_more_than_4096_subsets_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, s = rng.standard_normal((300, 13)).astype(np.float32), rng.integers(0, 2, 300)
    columns = {str(i): [i] for i in range(13)}
    search = _Search(
        TrainingRows(x, s, SimpleNamespace(groups=("a", "b"))),  # type: ignore[arg-type]
        columns,
        DropFeaturesParams(search_rows=300, search_trees=1),
        0,
    )
    order = list(columns)
    monkeypatch.setattr(search, "greedy_order", lambda _: (order, [1, 2]))
    assert search.dropped(lambda _: None) == {1: ["0"], 2: ["0", "1"]}
