"""The contract of methods, and the purpose of this one."""

from itertools import pairwise

import numpy as np
from fairbench.api import Architecture, DatasetInfo, Feature, FitContext, Point, TrainingRows, Unit
from fairbench.testing import parametrize

from frl_nullspace import Nullspace


@parametrize(Nullspace)
def test_it_keeps_its_promises(promise):
    promise()


def curve():
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, 3000)
    x = rng.normal(size=(3000, 6))
    x[:, 0] += s
    x[:, 1] += 0.5 * x[:, 0] - (s == 1)
    x = ((x - x.mean(axis=0)) / x.std(axis=0)).astype(np.float32)
    features = tuple(Feature(f"x{i}", f"x{i}") for i in range(6))
    info = DatasetInfo("drawn", features, ("a", "b", "c"), Architecture())
    (fitted,) = Nullspace().fit(TrainingRows(x, s, info), [Unit(0, None)], FitContext(1))
    return x, s, fitted


def explained(z, s):
    """Share of one-hot s that a linear regression on z explains."""
    target = np.eye(3)[s] - np.eye(3)[s].mean(axis=0)
    design = z - z.mean(axis=0)
    fitted = design @ np.linalg.lstsq(design, target, rcond=None)[0]
    return (fitted**2).sum() / (target**2).sum()


def test_no_round_releases_x():
    x, _, fitted = curve()
    np.testing.assert_allclose(fitted.at(Point.of(rounds=0)).encode(x), x, atol=1e-6)


def test_each_round_leaves_less_and_the_last_almost_nothing():
    x, s, fitted = curve()
    shares = [explained(fitted.at(point).encode(x), s) for point in fitted.points]
    assert shares[0] > 0.2
    assert all(later <= sooner + 1e-6 for sooner, later in pairwise(shares))
    assert shares[-1] < 0.01
