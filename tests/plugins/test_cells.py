"""k-means and the privacy funnel: cells, merges, and the curve they make."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from fairbench.api import FitContext, Point, Representation, TrainingRows, Unit
from fairbench.auditing.certificate import certify
from fairbench_plugins.cells import CellParams, Funnel, FunnelCurve, FunnelParams, KMeans
from fairbench_plugins.cells.merging import Moments, merge_path


def rows(groups: int = 2, n: int = 3000, seed: int = 0) -> TrainingRows:
    rng = np.random.default_rng(seed)
    s = rng.integers(0, groups, n)
    x = rng.standard_normal((n, 3))
    x[:, 0] += 2 * s
    info = SimpleNamespace(groups=tuple(f"g{i}" for i in range(groups)), name="drawn")
    return TrainingRows(x.astype(np.float32), s, info)  # type: ignore[arg-type]


def k_means(train: TrainingRows, cells: int, seed: int = 0) -> Representation:
    (fitted,) = KMeans().fit(train, [Unit(seed, Point.of(cells=cells))], FitContext(1))
    assert isinstance(fitted, Representation)
    return fitted


def funnel(train: TrainingRows, cells: int = 64, seed: int = 0) -> FunnelCurve:
    (fitted,) = Funnel(FunnelParams(cells=cells)).fit(train, [Unit(seed, None)], FitContext(1))
    assert isinstance(fitted, FunnelCurve)
    return fitted


def information(cell: np.ndarray, s: np.ndarray) -> float:
    """I(S;cell) by counts, from its definition."""
    table = np.zeros((cell.max() + 1, s.max() + 1))
    np.add.at(table, (cell, s), 1 / len(s))
    independent = table.sum(1, keepdims=True) * table.sum(0, keepdims=True)
    there = table > 0
    return float((table[there] * np.log(table[there] / independent[there])).sum())


def distortion(x: np.ndarray, parts: np.ndarray) -> float:
    """Squared error around the means of parts."""
    total = 0.0
    for part in np.unique(parts):
        own = x[parts == part]
        total += float(((own - own.mean(0)) ** 2).sum())
    return total / len(x)


def moments_of(x: np.ndarray, cell: np.ndarray, s: np.ndarray) -> Moments:
    counts = np.zeros((cell.max() + 1, s.max() + 1))
    sums = np.zeros((*counts.shape, x.shape[1]))
    np.add.at(counts, (cell, s), 1)
    np.add.at(sums, (cell, s), x)
    return Moments(counts, sums)


def cells_of(representation: Representation, x: np.ndarray) -> np.ndarray:
    return np.unique(representation.encode(x), axis=0, return_inverse=True)[1].ravel()


def test_fewer_cells_say_less_of_x_and_of_s() -> None:
    train = rows()
    errors, read = [], []
    for count in (64, 16, 4, 2):
        fitted = k_means(train, count)
        z = fitted.encode(train.x)
        x_hat = fitted.decode(z, train.s)
        assert x_hat is not None
        assert len(np.unique(z, axis=0)) == count
        errors.append(float(((x_hat - train.x) ** 2).sum(1).mean()))
        read.append(information(cells_of(fitted, train.x), train.s))
    assert errors == sorted(errors)
    assert read[-1] < 0.9 * read[0]


@pytest.mark.parametrize("groups", [2, 5])
def test_a_row_is_released_as_the_nearest_centre_and_decoded_by_cell_and_group(groups: int) -> None:
    train = rows(groups)
    fitted = k_means(train, 10)
    z = fitted.encode(train.x)
    centres = np.unique(z, axis=0)
    distances = ((train.x[:, None] - centres) ** 2).sum(2)
    np.testing.assert_array_equal(z, centres[distances.argmin(1)])
    x_hat = fitted.decode(z, train.s)
    assert x_hat is not None
    here = (z == centres[3]).all(1) & (train.s == 1)
    expected = (train.x[here].sum(0) + centres[3]) / (here.sum() + 1)
    np.testing.assert_allclose(x_hat[here][0], expected, atol=1e-5)


def test_fewer_distinct_rows_than_cells() -> None:
    train = rows()
    x = np.repeat(train.x[:5], 20, axis=0)
    few = TrainingRows(x, train.s[:100], train.info)
    np.testing.assert_allclose(k_means(few, 512).encode(x), x, atol=1e-6)
    curve = funnel(few)
    np.testing.assert_allclose(curve.at(curve.points[0]).encode(x), x, atol=1e-6)
    same = TrainingRows(np.repeat(train.x[:1], 50, axis=0), train.s[:50], train.info)
    (only,) = funnel(same).points
    assert only["merges"] == 0


@pytest.mark.parametrize("blind", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("groups", [2, 4])
def test_each_merge_is_the_best_of_all_pairs(groups: int, blind: float) -> None:
    """Against all pairs, with D and I(S;Z) computed anew from the rows."""
    rng = np.random.default_rng(groups)
    x, s = rng.standard_normal((160, 2)), rng.integers(0, groups, 160)
    cell = rng.integers(0, 9, 160)
    x[:, 0] += cell
    s = np.where(cell < 3, 0, s)  # pure cells: their merges save nothing

    def loss(cell: np.ndarray) -> float:
        return distortion(x, cell * groups + s) + blind * distortion(x, cell)

    path, start = merge_path(moments_of(x, cell, s), blind), loss(cell)
    for step, (a, b) in enumerate(path.pairs):
        now = loss(cell), information(cell, s)
        assert path.distortion[step] == pytest.approx(now[0] - start, abs=1e-9)
        assert path.information[step] == pytest.approx(now[1], abs=1e-9)
        ratios = {}
        for pair in itertools.combinations(np.unique(cell), 2):
            merged = np.where(cell == pair[1], pair[0], cell)
            saved = now[1] - information(merged, s)
            ratios[pair] = (loss(merged) - now[0]) / saved if saved > 1e-9 else np.inf
        assert ratios[a, b] <= min(ratios.values()) * (1 + 1e-6) + 1e-6
        cell = np.where(cell == b, a, cell)
    assert len(np.unique(cell)) == 1


def test_of_merges_that_lose_nothing_the_one_that_saves_most_comes_first() -> None:
    """Where D knows s, cells of one group each can be told apart afterwards."""
    counts = np.array([[30.0, 0], [0, 5], [0, 30], [10, 10]])
    sums = counts[:, :, None] * np.arange(4.0)[:, None, None]
    path = merge_path(Moments(counts, sums), 0.0)
    assert path.pairs[0].tolist() == [0, 2]
    assert path.distortion[1] == 0


@pytest.mark.parametrize("groups", [2, 5])
def test_merges_are_nested_and_information_never_rises(groups: int) -> None:
    train = rows(groups)
    curve = funnel(train)
    assert (np.diff(curve.path.information) <= 0).all()
    assert (np.diff(curve.path.distortion) >= 0).all()
    assert curve.path.information[-1] == 0
    before = np.arange(len(train.x))
    for merges in range(64):
        fitted = curve.at(Point.of(merges=merges))
        cell = cells_of(fitted, train.x)
        assert cell.max() + 1 == 64 - merges
        assert len(np.unique(np.column_stack([before, cell]), axis=0)) == before.max() + 1
        measured = information(cell, train.s)
        assert curve.path.information[merges] == pytest.approx(measured, abs=1e-9)
        before = cell


def test_it_costs_less_than_cells_of_k_means_that_say_as_much() -> None:
    train = rows()
    curve = funnel(train, 128)
    rival = k_means(train, 4)
    z = rival.encode(train.x)
    x_hat = rival.decode(z, train.s)
    assert x_hat is not None
    read = information(cells_of(rival, train.x), train.s)
    merges = int((curve.path.information > read).sum())
    fitted = curve.at(Point.of(merges=merges))
    mine = fitted.decode(fitted.encode(train.x), train.s)
    assert mine is not None
    assert ((mine - train.x) ** 2).mean() < 0.5 * ((x_hat - train.x) ** 2).mean()


def test_points_go_from_the_start_to_one_cell() -> None:
    curve = funnel(rows(), 512)
    merges = [point["merges"] for point in curve.points]
    assert merges[0] == 0
    assert merges[-1] == 511
    assert merges == sorted(merges)
    assert 10 <= len(merges) <= 16


def test_its_cells_can_be_certified() -> None:
    train, new, more = rows(), rows(seed=1), rows(seed=2)
    curve = funnel(train)
    bounds = []
    for merges in (0, 50, 63):
        fitted = curve.at(Point.of(merges=merges))
        bound = certify(fitted.encode(new.x), fitted.encode(more.x), more.s, groups=2)
        assert bound is not None
        bounds.append(bound.gap)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < 0.05


def test_a_group_of_one_row_and_one_without() -> None:
    train = rows()
    s = train.s.copy()
    s[0] = 2
    info = SimpleNamespace(groups=("a", "b", "one row", "none"), name="drawn")
    few = TrainingRows(train.x, s, info)  # type: ignore[arg-type]
    curve = funnel(few)
    for fitted in (k_means(few, 16), *(curve.at(point) for point in curve.points)):
        z = fitted.encode(train.x)
        x_hat = fitted.decode(z, np.full(len(z), 3))
        assert x_hat is not None
        # Of a group that a cell has no row of, nothing is known but the cell.
        np.testing.assert_allclose(x_hat, z, atol=1e-6)


def test_a_seed_decides_the_cells_and_another_gives_others() -> None:
    train = rows()
    point = Point.of(merges=20)
    first, again, other = (funnel(train, seed=seed).at(point) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.encode(train.x), again.encode(train.x))
    assert not np.array_equal(first.encode(train.x), other.encode(train.x))


def test_centres_of_many_rows_are_of_a_part_and_means_of_all() -> None:
    train = rows()
    method = KMeans(CellParams(rows=200))
    (fitted,) = method.fit(train, [Unit(0, Point.of(cells=2))], FitContext(1))
    assert isinstance(fitted, Representation)
    z = fitted.encode(train.x)
    x_hat = fitted.decode(z, train.s)
    assert x_hat is not None
    here = (z == z[0]).all(1) & (train.s == 0)
    np.testing.assert_allclose(x_hat[here][0], train.x[here].mean(0), atol=0.01)
