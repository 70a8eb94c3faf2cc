"""Merged cells: sums, merging and exchange against brute force; the curve it makes."""

from itertools import combinations

import numpy as np
import pytest

from fairbench.api import Architecture, DatasetInfo, Feature, FitContext, Point, TrainingRows, Unit
from fairbench_plugins.merged_cells.cells import cross_fitted, find_cells, nearest
from fairbench_plugins.merged_cells.joining import (
    CellSums,
    cut,
    exchange,
    explained,
    information,
    merge,
    search,
)
from fairbench_plugins.merged_cells.merged import MergedCells, MergedCellsParams, MergedCurve


def some_cells(seed: int = 0, count: int = 12, groups: int = 2) -> CellSums:
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 20, (count, groups)).astype(float)
    return CellSums(n, rng.normal(size=(count, groups, 3)) * n[..., None])


def objective(sums: CellSums, codes: np.ndarray, price: float) -> float:
    joined = sums.joined(np.unique(codes, return_inverse=True)[1])
    return float((price * information(joined.n) - explained(joined.n, joined.x)).sum())


def test_sums_are_those_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    x, cells = rng.normal(size=(50, 2)), rng.integers(0, 4, 50)
    shares = rng.dirichlet([1, 1, 1], 50)
    sums = CellSums.of(cells, 4, x, shares)
    np.testing.assert_allclose(sums.n[2], shares[cells == 2].sum(0))
    np.testing.assert_allclose(sums.x[2, 1], (shares[:, [1]] * x)[cells == 2].sum(0))
    joined = sums.joined(np.array([0, 1, 1, 0]))
    np.testing.assert_allclose(joined.n[1], sums.n[1] + sums.n[2])


def test_distortion_and_information_of_a_code_by_hand() -> None:
    # Two women at 0 and 2, one man at 5: squares around the means of the groups are 2.
    n, x, squares = np.array([[2.0, 1.0]]), np.array([[[2.0], [5.0]]]), 0 + 4 + 25
    assert squares - explained(n, x)[0] == pytest.approx(2)
    entropy = -(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3))
    assert information(n)[0] == pytest.approx(-3 * entropy)
    assert information(np.array([[4.0, 0.0]]))[0] == pytest.approx(0)


def test_people_of_different_groups_share_a_code_at_no_cost() -> None:
    n = np.array([[5.0, 0.0], [0.0, 5.0]])
    x = np.array([[[5.0], [0.0]], [[0.0], [-50.0]]])
    apart = explained(n, x).sum()
    assert explained(n.sum(0), x.sum(0)) == pytest.approx(apart)


@pytest.mark.parametrize("groups", [2, 3])
def test_each_join_is_the_best_of_all_pairs(groups: int) -> None:
    sums = some_cells(groups=groups)
    joins, rates = merge(sums)
    assert len(joins) == 11
    assert (np.diff(rates) >= 0).all()
    for many, (a, b) in enumerate(joins):
        codes = cut(12, joins, many)
        joined = sums.joined(codes)

        def rate(i: int, j: int, joined: CellSums = joined) -> float:
            n, x = joined.n[[i, j]], joined.x[[i, j]]
            lost = explained(n, x).sum() - explained(n.sum(0), x.sum(0))
            hidden = information(n).sum() - information(n.sum(0))
            return float(lost / max(hidden, 1e-9 * joined.n.sum()))

        every = {pair: rate(*pair) for pair in combinations(range(len(joined.n)), 2)}
        own = tuple(sorted((int(codes[a]), int(codes[b]))))
        assert every[own] == pytest.approx(min(every.values()), rel=1e-4)  # type: ignore[index]


def test_joins_are_nested() -> None:
    joins, _ = merge(some_cells())
    for many in range(11):
        fine, coarse = cut(12, joins, many), cut(12, joins, many + 1)
        assert coarse.max() == fine.max() - 1
        assert all(len(set(coarse[fine == code])) == 1 for code in set(fine.tolist()))


@pytest.mark.parametrize("price", [0.1, 3.0, 100.0])
def test_exchange_ends_where_no_move_of_one_cell_helps(price: float) -> None:
    sums = some_cells(1)
    start = np.arange(12) % 4
    found = exchange(sums, start, price, sweeps=50)
    best = objective(sums, found, price)
    assert best <= objective(sums, start, price) + 1e-9
    for cell in range(12):
        for code in set(found.tolist()):
            moved = found.copy()
            moved[cell] = code
            assert objective(sums, moved, price) >= best - 1e-6


def test_a_higher_price_leaves_less_information() -> None:
    sums = some_cells(2, count=30)
    found = [sums.joined(codes) for codes in search(sums, np.array([0.1, 5.0, 500.0]), 4)]
    total = information(sums.n.sum(0))
    left = [float(information(one.n).sum() - total) for one in found]
    assert left[0] > left[1] > left[2] >= -1e-9


def test_codes_that_cost_something_are_fewer_and_the_sum_with_their_cost_is_lower() -> None:
    sums, prices, cost = some_cells(3, count=60), np.array([10.0, 30.0, 100.0]), 2.0
    free, paid = search(sums, prices, 4), search(sums, prices, 4, cost)
    for price, without, with_cost in zip(prices, free, paid, strict=True):
        few, many = with_cost.max() + 1, without.max() + 1
        assert few < many
        total = objective(sums, with_cost, price) + price * cost * few
        assert total < objective(sums, without, price) + price * cost * many


def test_people_alike_in_all_groups_share_a_code_only_where_codes_cost() -> None:
    """Two cells with the same shares of groups: to join them hides nothing."""
    sums = CellSums(np.full((2, 2), 10.0), np.arange(4.0).reshape(2, 2, 1))
    assert len(np.unique(search(sums, np.array([1.0]), 4)[0])) == 2
    assert len(np.unique(search(sums, np.array([1.0]), 4, 1.0)[0])) == 1


@pytest.mark.thorough
def test_shares_of_groups_are_of_trees_that_have_not_seen_the_row() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3)).astype(np.float32)
    chance = rng.integers(0, 3, 600)
    shares = cross_fitted(x, chance, 3, 5)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)
    # Labels by chance: trees that had seen them would give them back.
    assert shares[np.arange(600), chance].mean() < 0.4
    assert (cross_fitted(x, np.zeros(600, np.int64), 2, 5)[:, 0] == 1).all()
    # Groups that are too small to be held out of the training of trees.
    rare = np.append(np.zeros(598, np.int64), [1, 2])
    np.testing.assert_allclose(cross_fitted(x, rare, 3, 5).sum(axis=1), 1, atol=1e-6)
    many = np.arange(90) % 10
    np.testing.assert_allclose(cross_fitted(x[:90], many, 10, 5).sum(axis=1), 1, atol=1e-6)
    # Without an estimate groups are counted.
    assert (cross_fitted(x, chance, 3, 1).argmax(axis=1) == chance).all()


def a_curve(seed: int = 0, groups: int = 2) -> tuple[MergedCurve, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    s = rng.integers(0, groups, 1500)
    x = (rng.normal(size=(1500, 3)) + s[:, None]).astype(np.float32)
    names = tuple("abcd"[:groups])
    info = DatasetInfo("toy", tuple(Feature(n, n) for n in "xyz"), names, Architecture((8,), 2))
    method = MergedCells(MergedCellsParams(cells=100, prices=6))
    context = FitContext(
        iterations=1,
        device="cpu",
        progress=lambda *_: None,
        report=lambda *_: None,
        deadline=None,
    )
    (curve,) = method.fit(TrainingRows(x, s, info), [Unit(seed, None)], context)
    assert isinstance(curve, MergedCurve)
    return curve, x, s


@pytest.mark.parametrize("groups", [2, 4])
def test_the_curve_trades_distortion_for_information(groups: int) -> None:
    curve, x, s = a_curve(groups=groups)
    distortions, codes = [], []
    for price in curve.prices:
        one = curve.at(Point.of(price=float(price)))
        z = one.encode(x)
        x_hat = one.decode(z, s)
        assert x_hat is not None
        distortions.append(float(((x_hat - x) ** 2).sum(axis=1).mean()))
        codes.append(len(np.unique(z, axis=0)))
    assert distortions == sorted(distortions)
    assert codes == sorted(codes, reverse=True)
    assert distortions[0] < 0.3 * distortions[-1]


def test_rows_are_encoded_by_themselves_and_the_seed_decides_the_rest() -> None:
    curve, x, _ = a_curve()
    one = curve.at(Point.of(price=10.0))
    np.testing.assert_array_equal(one.encode(x)[7:8], one.encode(x[7:8]))
    again, _, _ = a_curve()
    np.testing.assert_array_equal(again.released, curve.released)
    other = a_curve(seed=1)[0].at(Point.of(price=10.0))
    assert not np.allclose(other.encode(x), one.encode(x))
    np.testing.assert_array_equal(nearest(curve.centres, curve.centres), np.arange(100))


def test_every_cell_has_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """One without would cost nothing to join with people at the other end of the table."""
    far = np.array([[1e3, 1e3, 1e3]], np.float32)

    def with_an_empty_cell(x: np.ndarray, count: int, seed: int) -> np.ndarray:
        return np.concatenate([find_cells(x, count, seed), far])

    monkeypatch.setattr("fairbench_plugins.merged_cells.merged.find_cells", with_an_empty_cell)
    curve, x, _ = a_curve()
    assert set(nearest(curve.centres, x).tolist()) == set(range(len(curve.centres)))


def test_a_restored_curve_is_the_same() -> None:
    curve, x, s = a_curve()
    restored = MergedCells().restore(curve.state(), Unit(0, None), None)  # type: ignore[arg-type]
    for price in (0.5, 40.0, 4000.0):
        point = Point.of(price=price)
        z = curve.at(point).encode(x)
        np.testing.assert_array_equal(restored.at(point).encode(x), z)
        np.testing.assert_array_equal(restored.at(point).decode(z, s), curve.at(point).decode(z, s))
