"""The limit of blind encoders on a population of types."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from fairbench_plugins.merged_cells.joining import CellSums, explained, information
from fairbench_plugins.merged_cells.limit import LimitPoint
from fairbench_plugins.merged_cells.limit import limit as limits


def population(n: np.ndarray, means: np.ndarray) -> tuple[CellSums, float]:
    """Types whose rows of a group all are at its mean: encoding each type apart costs nothing."""
    sums = CellSums(n, n[..., None] * means)
    return sums, float((n * (means**2).sum(-1)).sum())


def limit(sums: CellSums, squares: float, price: float) -> LimitPoint:
    (found,) = limits(sums, squares, [price], tolerance=1e-6)
    return found


def drawn(seed: int, types: int) -> tuple[CellSums, float]:
    rng = np.random.default_rng(seed)
    n = rng.gamma(1.0, size=(types, 2)) * 100 + 1
    centre = rng.normal(size=(types, 1, 3))
    return population(n, centre + 0.2 * rng.normal(size=(types, 2, 3)))


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    first, *rest = items
    for parts in partitions(rest):
        yield [[first], *parts]
        for i, part in enumerate(parts):
            yield [*parts[:i], [first, *part], *parts[i + 1 :]]


def cost(sums: CellSums, squares: float, parts: list[list[int]], price: float) -> float:
    codes = np.empty(len(sums.n), int)
    for code, part in enumerate(parts):
        codes[part] = code
    joined, rows = sums.joined(codes), sums.n.sum()
    distortion = squares - explained(joined.n, joined.x).sum()
    leaked = information(joined.n).sum() - information(sums.n.sum(0))
    return float((distortion + price * leaked) / rows)


def test_people_of_different_groups_share_a_code_for_nothing() -> None:
    """The decoder knows s: a type of men and a type of women can be told apart by it."""
    n = np.array([[100.0, 1e-9], [1e-9, 100.0]])
    means = np.array([[[0.0], [0.0]], [[5.0], [5.0]]])
    found = limit(*population(n, means), price=1.0)
    assert found.distortion == pytest.approx(0, abs=1e-5)
    assert found.information == pytest.approx(0, abs=1e-5)


def test_types_with_equal_shares_are_never_mixed() -> None:
    n = np.array([[30.0, 70.0], [60.0, 140.0]])
    means = np.array([[[0.0], [1.0]], [[5.0], [4.0]]])
    found = limit(*population(n, means), price=100.0)
    assert found.distortion == pytest.approx(0, abs=1e-9)
    assert found.information == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("price", [0.1, 1.0, 10.0, 100.0])
def test_no_partition_is_below_the_limit_and_the_bound_meets_it(seed: int, price: float) -> None:
    sums, squares = drawn(seed, 6)
    found = limit(sums, squares, price)
    value = found.distortion + price * found.information
    best = min(cost(sums, squares, parts, price) for parts in partitions(list(range(6))))
    assert value <= best + 1e-9
    assert found.bound is not None
    assert found.bound <= value + 1e-9
    assert found.gap <= 2e-4 * max(1.0, price)
    assert found.information >= -1e-9


def test_a_random_encoder_can_be_better_than_every_partition() -> None:
    """A type that is too large for its counterpart is split among two codes."""
    n = np.array([[100.0, 1e-9], [1e-9, 60.0], [1e-9, 40.0]])
    means = np.array([[[0.0], [0.0]], [[1.0], [1.0]], [[-1.0], [-1.0]]])
    sums, squares = population(n, means)
    found = limit(sums, squares, price=2.0)
    best = min(cost(sums, squares, parts, 2.0) for parts in partitions([0, 1, 2]))
    assert found.distortion + 2.0 * found.information == pytest.approx(0, abs=1e-5)
    assert best > 0.05


def test_a_higher_price_buys_less_information() -> None:
    sums, squares = drawn(7, 40)
    found = limits(sums, squares, [0.3, 1.0, 3.0, 10.0, 30.0])
    assert np.all(np.diff([point.information for point in found]) <= 1e-6)
    assert np.all(np.diff([point.distortion for point in found]) >= -1e-6)


def test_prices_share_columns_and_end_at_the_same_values() -> None:
    sums, squares = drawn(8, 30)
    prices = [1.0, 3.0, 10.0]
    for along, alone in zip(
        limits(sums, squares, prices), [limit(sums, squares, p) for p in prices], strict=True
    ):
        a, b = (p.distortion + p.price * p.information for p in (along, alone))
        assert a == pytest.approx(b, abs=3e-4 * along.price)


def test_every_type_is_encoded_whole() -> None:
    sums, squares = drawn(9, 20)
    codes = limit(sums, squares, 5.0).codes
    parts = np.zeros(20)
    np.add.at(parts, codes.t, codes.a)
    np.add.at(parts, codes.u, codes.b)
    np.testing.assert_allclose(parts, 1, atol=1e-7)


def test_of_more_groups_there_is_an_encoder_but_no_bound() -> None:
    rng = np.random.default_rng(0)
    n = rng.gamma(1.0, size=(8, 3)) * 100 + 1
    sums, squares = population(n, rng.normal(size=(8, 1, 2)) + np.zeros((8, 3, 2)))
    found = limit(sums, squares, 50.0)
    assert found.bound is None
    apart = cost(sums, squares, [[i] for i in range(8)], 50.0)
    assert found.distortion + 50.0 * found.information < apart


def test_too_few_rounds_leave_an_encoder_that_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairbench_plugins.merged_cells.limit._MAX_ROUNDS", 1)
    sums, squares = drawn(0, 12)
    (point,) = limits(sums, squares, [1.0])
    assert point.codes.sums(sums).n.sum() == pytest.approx(sums.n.sum())
    assert point.gap >= -1e-9
