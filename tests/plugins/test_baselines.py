"""Baselines: the ends of every curve, and the order in which columns go."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from fairbench.api import (
    Architecture,
    DatasetInfo,
    Feature,
    FitContext,
    Point,
    Role,
    TrainingRows,
    Unit,
)
from fairbench.api.method import Curve, Method, Representation
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared
from fairbench_datasets.adults import AdultsGender
from fairbench_plugins.baselines import (
    PCA,
    ConditionalQuantile,
    Constant,
    DropFeatures,
    Identity,
    RandomProjection,
)
from fairbench_plugins.baselines.drop_features import DropFeaturesParams
from tests.support.small_table import make_table


def fit(method: Method, data: Prepared, seed: int = 0) -> object:
    rows = data.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, data.info)
    (fitted,) = method.fit(train, [Unit(seed, None)], FitContext(iterations=1))
    return fitted


def test_identity_loses_nothing(prepared: Prepared) -> None:
    representation = fit(Identity(), prepared)
    assert isinstance(representation, Representation)
    x, s = prepared.roles[Role.TEST].x, prepared.roles[Role.TEST].s
    np.testing.assert_array_equal(representation.decode(representation.encode(x), s), x)


def test_constant_is_decoded_by_group_means(prepared: Prepared) -> None:
    representation = fit(Constant(), prepared)
    assert isinstance(representation, Representation)
    rows = prepared.roles[Role.ENCODER_TRAIN]
    z = representation.encode(rows.x)
    assert len(np.unique(z, axis=0)) == 1
    x_hat = representation.decode(z, rows.s)
    assert x_hat is not None
    for group in (0, 1):
        mean = rows.x[rows.s == group].mean(0)
        np.testing.assert_allclose(x_hat[rows.s == group][0], mean, atol=1e-6)


@pytest.fixture(scope="module")
def curve(prepared: Prepared) -> Curve:
    found = fit(DropFeatures(DropFeaturesParams(search_rows=600)), prepared)
    assert isinstance(found, Curve)
    return found


def test_the_leaking_column_goes_first(curve: Curve, prepared: Prepared) -> None:
    assert curve.points is not None
    x = prepared.roles[Role.TEST].x
    assert [p["dropped"] for p in curve.points] == [1, 2]
    first = curve.at(curve.points[0]).encode(x)
    np.testing.assert_array_equal(first, x[:, 1:])  # "shifted" alone tells of s


def test_columns_are_compared_where_a_rare_group_is_only_among_the_rows_that_measure() -> None:
    data = prepare(make_table(groups=3), AdultsGender, source="simulated", origin="test")
    rows = data.roles[Role.ENCODER_TRAIN]
    rare = np.random.default_rng(0).permutation(len(rows.s))[-1]  # the last that is used
    s = np.where(rows.s == 2, 0, rows.s)
    s[rare] = 2
    train = TrainingRows(rows.x, s, data.info)
    params = DropFeaturesParams(search_rows=len(s))
    (found,) = DropFeatures(params).fit(train, [Unit(0, None)], FitContext(iterations=1))
    assert isinstance(found, Curve)
    assert len(found.points or ()) == 2


def test_one_column_cannot_be_dropped_or_kept(prepared: Prepared) -> None:
    one = replace(prepared.info, features=prepared.info.features[:1])
    assert "has one" in (DropFeatures().supports(one) or "")
    assert DropFeatures().supports(prepared.info) is None


def test_kept_columns_are_decoded_exactly(curve: Curve, prepared: Prepared) -> None:
    assert curve.points is not None
    rows = prepared.roles[Role.TEST]
    representation = curve.at(curve.points[0])
    x_hat = representation.decode(representation.encode(rows.x), rows.s)
    assert x_hat is not None
    np.testing.assert_array_equal(x_hat[:, 1:], rows.x[:, 1:])
    assert 0 < ((x_hat[:, 0] - rows.x[:, 0]) ** 2).mean() < 1.1


def test_an_encoder_stored_by_version_0_1_is_read(prepared: Prepared) -> None:
    """Its points shared one order of columns: ``sizes`` columns for each source."""
    state = {"columns": np.array([1, 0, 2]), "sizes": np.array([1, 1, 1]), "counts": np.array([2])}
    curve = DropFeatures().restore(state, Unit(0, None), prepared.info)
    x = prepared.roles[Role.TEST].x
    assert curve.points == (Point.of(dropped=2),)
    np.testing.assert_array_equal(curve.at(curve.points[0]).encode(x), x[:, 2:])


@pytest.mark.parametrize("method", [PCA, RandomProjection])
def test_projections_keep_nested_orthogonal_axes(method: type[Method], prepared: Prepared) -> None:
    found = fit(method(), prepared)
    assert isinstance(found, Curve)
    assert found.points is not None
    x = prepared.roles[Role.TEST].x
    assert [p["dimensions"] for p in found.points] == [2, 1]  # of three: all would be x itself
    two, one = (found.at(p).encode(x) for p in found.points)
    np.testing.assert_allclose(two[:, :1], one, atol=1e-6)
    axes = np.linalg.lstsq(x.astype(np.float64), two, rcond=None)[0]
    np.testing.assert_allclose(axes.T @ axes, np.eye(2), atol=1e-5)


def test_the_first_principal_component_has_the_largest_variance(prepared: Prepared) -> None:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    curve = fit(PCA(), prepared)
    assert isinstance(curve, Curve)
    z = curve.at(Point.of(dimensions=1)).encode(rows.x)
    assert z.var() == pytest.approx(np.linalg.eigvalsh(np.cov(rows.x.T, ddof=0))[-1], rel=1e-4)


@pytest.mark.thorough
@pytest.mark.parametrize("groups", [2, pytest.param(6, marks=pytest.mark.slow)])
def test_conditional_quantiles_are_uniform_independent_of_s_and_give_x_back(groups: int) -> None:
    table = make_table(6000, groups=groups)
    data = prepare(table, AdultsGender, source="simulated", origin="test")
    representation = fit(ConditionalQuantile(), data)
    assert isinstance(representation, Representation)
    rows = data.roles[Role.TEST]
    z = representation.encode(rows.x, s=rows.s, generator=np.random.default_rng(0))
    assert z.min() >= 0
    assert z.max() <= 1
    x_hat = representation.decode(z, rows.s)
    assert x_hat is not None
    assert ((x_hat - rows.x) ** 2).sum(1).mean() < 0.01  # x's own scale is 1 a column
    for column in z.T:
        np.testing.assert_allclose(np.quantile(column, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.05)
    gap = [abs(z[rows.s == g].mean(0) - z.mean(0)).max() for g in range(groups)]
    assert max(gap) < 0.06
    # x itself is far apart: the first column's mean rises with s.
    assert abs(rows.x[rows.s == 0].mean(0) - rows.x.mean(0)).max() > 0.2


@pytest.mark.parametrize("rows", [20, 64, 90])
def test_conditional_quantiles_are_of_few_rows_too(rows: int) -> None:
    """Then hardly a bin has two rows, one to learn from and one to hold out."""
    rng = np.random.default_rng(0)
    x, s = rng.standard_normal((rows, 3)).astype(np.float32), np.arange(rows) % 2
    info = DatasetInfo(
        "few", tuple(Feature(n, n) for n in "xyz"), ("a", "b"), Architecture((8,), 2)
    )
    method = ConditionalQuantile(ConditionalQuantile.Params(trees=10))
    (fitted,) = method.fit(TrainingRows(x, s, info), [Unit(0, None)], FitContext(1))
    assert isinstance(fitted, Representation)
    z = fitted.encode(x, s=s, generator=np.random.default_rng(0))
    assert np.isfinite(z).all()
    decoded = fitted.decode(z, s)
    assert decoded is not None
    np.testing.assert_allclose(decoded, x, atol=1e-5)


def test_a_pickle_of_conditional_quantiles_holds_nobody_who_was_encoded(prepared: Prepared) -> None:
    params = ConditionalQuantile.Params(bins=4, trees=2)
    representation = fit(ConditionalQuantile(params), prepared)
    assert isinstance(representation, Representation)
    before = len(pickle.dumps(representation))
    rows = prepared.roles[Role.TEST]
    z = representation.encode(rows.x, s=rows.s, generator=np.random.default_rng(0))
    kept = pickle.dumps(representation)
    assert len(kept) == before
    again = pickle.loads(kept).encode(rows.x, s=rows.s, generator=np.random.default_rng(0))
    np.testing.assert_array_equal(again, z)
