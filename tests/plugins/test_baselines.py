"""Baselines: the ends of every curve, and the order in which columns go."""

import numpy as np
import pytest

from fairbench.api import (
    Curve,
    FitContext,
    Method,
    Representation,
    Role,
    TrainingRows,
    Unit,
)
from fairbench.data.prepare import Prepared
from fairbench_plugins.baselines import Constant, DropFeatures, Identity
from fairbench_plugins.baselines.drop_features import DropFeaturesParams


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


def test_kept_columns_are_decoded_exactly(curve: Curve, prepared: Prepared) -> None:
    assert curve.points is not None
    rows = prepared.roles[Role.TEST]
    representation = curve.at(curve.points[0])
    x_hat = representation.decode(representation.encode(rows.x), rows.s)
    assert x_hat is not None
    np.testing.assert_array_equal(x_hat[:, 1:], rows.x[:, 1:])
    assert 0 < ((x_hat[:, 0] - rows.x[:, 0]) ** 2).mean() < 1.1
