"""INLP, R-LACE and QLEACE: what they leave to linear and to quadratic classifiers."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fairbench.api import Curve, FitContext, Point, Representation, TrainingRows, Unit
from fairbench_plugins.erasure.inlp import INLP, INLPParams
from fairbench_plugins.erasure.qleace import QLEACE, find_barycentre, transport_maps
from fairbench_plugins.erasure.rlace import RLACE, RLACEParams, to_fantope

MIX = np.random.default_rng(4).standard_normal((6, 6))


def rows(groups: int = 2, n: int = 4000, width: int = 6) -> TrainingRows:
    """Groups with other means, and spreads, in columns that are mixed."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, groups, n)
    x = rng.standard_normal((n, width)) * (1 + 0.3 * s[:, None])
    x[:, 0] += 1.5 * s
    x[:, 1] += rng.standard_normal(n) + (s == 1)
    x = x @ MIX[:width, :width]
    info = SimpleNamespace(groups=tuple(f"g{i}" for i in range(groups)), name="drawn")
    x = ((x - x.mean(0)) / x.std(0)).astype(np.float32)
    return TrainingRows(x, s, info)  # type: ignore[arg-type]


def explained(z: np.ndarray, s: np.ndarray) -> float:
    """Share of one-hot s that linear regression on z explains."""
    target = np.eye(s.max() + 1)[s]
    target -= target.mean(0)
    design = np.column_stack([z - z.mean(0), np.ones(len(z))])
    fitted = design @ np.linalg.lstsq(design, target, rcond=1e-5)[0]
    return float((fitted**2).sum() / (target**2).sum())


def accuracy(z: np.ndarray, s: np.ndarray) -> float:
    return float(LogisticRegression(max_iter=1000).fit(z, s).score(z, s))


def inlp(train: TrainingRows, **params: float) -> Curve:
    (fitted,) = INLP(INLPParams(**params)).fit(train, [Unit(0, None)], FitContext(1))
    assert isinstance(fitted, Curve)
    return fitted


def rlace(train: TrainingRows, rank: int, seed: int = 0) -> Representation:
    method = RLACE(RLACEParams(steps=800, batch_size=256))
    (fitted,) = method.fit(train, [Unit(seed, Point.of(rank=rank))], FitContext(1))
    assert isinstance(fitted, Representation)
    return fitted


def qleace(train: TrainingRows) -> Representation:
    (fitted,) = QLEACE().fit(train, [Unit(0, None)], FitContext(1))
    assert isinstance(fitted, Representation)
    return fitted


@pytest.mark.parametrize("groups", [2, 4])
def test_after_inlp_linear_classifiers_are_at_chance(groups: int) -> None:
    train = rows(groups)
    curve = inlp(train)
    assert curve.points is not None
    shares = [explained(curve.at(point).encode(train.x), train.s) for point in curve.points]
    assert shares[0] > 0.2
    assert shares[-1] < 1e-3
    assert all(later <= sooner + 1e-6 for sooner, later in pairwise(shares))
    z = curve.at(curve.points[-1]).encode(train.x)
    prior = np.bincount(train.s).max() / len(train.s)
    assert accuracy(train.x, train.s) > prior + 0.1
    assert accuracy(z, train.s) < prior + 0.02


def test_no_round_releases_x_and_each_takes_one_dimension() -> None:
    train = rows(3)
    curve = inlp(train)
    assert curve.points is not None
    np.testing.assert_allclose(curve.at(Point.of(rounds=0)).encode(train.x), train.x, atol=1e-6)
    for point in curve.points:
        z = curve.at(point).encode(train.x).astype(np.float64)
        values = np.linalg.svd(z - z.mean(0), compute_uv=False)
        assert (values > 1e-4 * values[0]).sum() == train.x.shape[1] - point["rounds"]


def test_a_round_of_inlp_can_take_all_directions_of_its_classifier() -> None:
    train = rows(4)
    one = inlp(train, rounds=1, directions=6)
    z = one.at(Point.of(rounds=1)).encode(train.x).astype(np.float64)
    values = np.linalg.svd(z - z.mean(0), compute_uv=False)
    assert (values > 1e-4 * values[0]).sum() == 6 - 3  # softmax of four groups has three


def test_where_all_of_x_is_erased_z_is_constant_to_the_last_bit() -> None:
    """Two columns, three contrasts."""
    train = rows(4, width=2)
    curve = inlp(train)
    assert curve.points is not None
    z = curve.at(curve.points[-1]).encode(train.x)
    assert len(np.unique(z, axis=0)) == 1
    assert len(np.unique(rlace(train, 2).encode(train.x), axis=0)) == 1
    assert len(np.unique(rlace(train, 32).encode(train.x), axis=0)) == 1


def test_one_row_far_out_does_not_keep_inlp_from_erasing() -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 20_000)
    x = np.column_stack([np.where(s == 1, 1.0, -1.0), rng.standard_normal(20_000)])
    x[0, 0] = -300 if s[0] else 300  # its probability is 0 in floating point
    info = SimpleNamespace(groups=("a", "b"), name="drawn")
    x = ((x - x.mean(0)) / x.std(0)).astype(np.float32)
    curve = inlp(TrainingRows(x, s, info))  # type: ignore[arg-type]
    assert curve.points is not None
    z = curve.at(curve.points[-1]).encode(x)[1:]
    correlations = [abs(np.corrcoef(column, s[1:])[0, 1]) for column in z.T if np.ptp(column) > 0]
    assert max(correlations, default=0.0) < 0.05


def test_inlp_leaves_x_alone_where_there_is_one_group() -> None:
    train = rows()
    one = TrainingRows(train.x, np.zeros_like(train.s), train.info)
    (point,) = inlp(one).points or ()
    assert point["rounds"] == 0


@pytest.mark.parametrize("groups", [2, 4])
def test_after_rlace_of_as_many_dimensions_as_contrasts_linear_classifiers_are_at_chance(
    groups: int,
) -> None:
    train = rows(groups)
    z = rlace(train, groups - 1).encode(train.x)
    assert explained(train.x, train.s) > 0.2
    assert explained(z, train.s) < 2e-3
    values = np.linalg.svd((train.x - z).astype(np.float64), compute_uv=False)
    assert (values > 1e-4 * values[0]).sum() == groups - 1


def test_rlace_finds_the_direction_of_a_shift() -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 4000)
    direction = np.array([0.6, 0.0, -0.8])
    x = (rng.standard_normal((4000, 3)) + np.outer(2 * s, direction)).astype(np.float32)
    info = SimpleNamespace(groups=("a", "b"), name="drawn")
    train = TrainingRows(x, s, info)  # type: ignore[arg-type]
    removed = x - rlace(train, 1).encode(x)
    _, _, found = np.linalg.svd(removed - removed.mean(0), full_matrices=False)
    assert abs(found[0] @ direction) > 0.999


def test_rlace_that_removes_nothing_releases_x() -> None:
    train = rows()
    np.testing.assert_allclose(rlace(train, rank=0).encode(train.x), train.x, atol=1e-5)


def test_a_seed_decides_the_game() -> None:
    train = rows()
    first, again, other = (rlace(train, 2, seed).encode(train.x) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_the_nearest_point_of_the_fantope(rank: int) -> None:
    rng = np.random.default_rng(rank)
    matrix = rng.standard_normal((6, 6))
    matrix = 2 * (matrix + matrix.T)
    near = to_fantope(matrix, rank)
    values = np.linalg.eigvalsh(near)
    assert values.min() > -1e-9
    assert values.max() < 1 + 1e-9
    assert values.sum() == pytest.approx(rank)
    np.testing.assert_allclose(to_fantope(near, rank), near, atol=1e-9)
    for _ in range(200):
        turned = np.linalg.qr(rng.standard_normal((6, 6)))[0][:, :rank]
        other = near + rng.random() * (turned @ turned.T - near)
        assert ((near - matrix) ** 2).sum() <= ((other - matrix) ** 2).sum() + 1e-9


@pytest.mark.parametrize("groups", [2, 5])
def test_after_qleace_groups_have_one_mean_and_one_covariance(groups: int) -> None:
    train = rows(groups)
    fitted = qleace(train)
    z = fitted.encode(train.x, s=train.s).astype(np.float64)
    parts = [z[train.s == group] for group in range(groups)]
    for part in parts:
        np.testing.assert_allclose(part.mean(0), z.mean(0), atol=1e-5)
        np.testing.assert_allclose(np.cov(part.T), np.cov(parts[0].T), atol=5e-3)
    before = [np.cov(train.x[train.s == group].T) for group in (0, 1)]
    assert np.abs(before[0] - before[1]).max() > 0.2
    x_hat = fitted.decode(z.astype(np.float32), train.s)
    assert x_hat is not None
    np.testing.assert_allclose(x_hat, train.x, atol=1e-4)


def test_the_barycentre_and_maps_where_they_are_known() -> None:
    """Of covariances that commute, roots are averaged: that is so in one dimension."""
    covariances = np.stack([np.diag([1.0, 4.0]), np.diag([9.0, 4.0])])
    barycentre = find_barycentre(covariances, np.array([0.25, 0.75]))
    np.testing.assert_allclose(barycentre, np.diag([2.5**2, 4.0]), atol=1e-9)
    maps = transport_maps(covariances, barycentre)
    np.testing.assert_allclose(maps[1], np.diag([2.5 / 3, 1.0]), atol=1e-9)


def test_the_barycentre_is_where_the_mean_map_is_the_identity() -> None:
    """The first-order condition (Agueh and Carlier 2011), for covariances that do not commute."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((3, 4, 4))
    covariances = factors @ np.swapaxes(factors, 1, 2)
    weights = np.array([0.5, 0.3, 0.2])
    barycentre = find_barycentre(covariances, weights)
    back = np.linalg.inv(transport_maps(covariances, barycentre))
    np.testing.assert_allclose(np.einsum("g,gij->ij", weights, back), np.eye(4), atol=1e-6)


def test_groups_of_one_row_of_none_and_without_variance_are_carried_too() -> None:
    train = rows()
    s = train.s.copy()
    s[0] = 2
    x = train.x.copy()
    x[s == 1, 3] = 0.5  # does not vary there
    info = SimpleNamespace(groups=("a", "b", "one row", "none"), name="drawn")
    fitted = qleace(TrainingRows(x, s, info))  # type: ignore[arg-type]
    for group in range(4):
        z = fitted.encode(x, s=np.full(len(x), group))
        assert np.isfinite(z).all()
        assert np.isfinite(fitted.decode(z, s)).all()  # type: ignore[arg-type]


def test_what_s_decides_is_released_as_a_constant() -> None:
    train = rows()
    x = np.column_stack([train.x, np.where(train.s == 1, 2.0, -1.0)]).astype(np.float32)
    z = qleace(TrainingRows(x, train.s, train.info)).encode(x, s=train.s)
    assert len(np.unique(z[:, -1])) == 1


def test_wide_tables_are_refused() -> None:
    info = SimpleNamespace(name="wide", features=range(300))
    assert "at most 256 features; wide has 300" in str(RLACE().supports(info))  # type: ignore[arg-type]
    assert INLP().supports(info) is None  # type: ignore[arg-type]
