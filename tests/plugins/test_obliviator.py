"""Obliviator: what a projection removes, and what rounds leave to a nonlinear classifier."""

import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from fairbench.api import Curve, FitContext, Point, TrainingRows, Unit
from fairbench_plugins import obliviator
from fairbench_plugins.obliviator import ErasureCurve, Obliviator, ObliviatorParams

SMALL = ObliviatorParams(rounds=6, features=96, dimensions=8, hidden=32, targets=16)


def rows(groups: int = 2, n: int = 1500) -> TrainingRows:
    """s in a mean, in a spread, and in a product of two columns."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, groups, n)
    x = rng.standard_normal((n, 6))
    x[:, 0] += 0.8 * s
    x[:, 1] *= 1 + 0.5 * s
    x[:, 2] = np.abs(x[:, 2]) * np.sign(x[:, 3]) * np.where(s == 1, 1, -1)
    info = SimpleNamespace(groups=tuple(f"g{i}" for i in range(groups)), name="drawn")
    return TrainingRows(((x - x.mean(0)) / x.std(0)).astype(np.float32), s, info)  # type: ignore[arg-type]


def fit(train: TrainingRows, seed: int = 0, params: ObliviatorParams = SMALL) -> ErasureCurve:
    (fitted,) = Obliviator(params).fit(train, [Unit(seed, None)], FitContext(1000))
    assert isinstance(fitted, ErasureCurve)
    return fitted


def test_all_rounds_that_are_trained_can_be_read() -> None:
    (knob,) = Obliviator(ObliviatorParams(rounds=40)).knobs
    assert (knob.low, knob.high) == (1, 40)


def accuracy(z: np.ndarray, s: np.ndarray) -> float:
    """Of boosted trees, on the other half of the rows."""
    half = len(z) // 2
    trees = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(z[:half], s[:half])
    return float(trees.score(z[half:], s[half:]))


@pytest.mark.parametrize("groups", [2, 4])
def test_each_round_leaves_a_code_that_is_uncorrelated_with_s(groups: int) -> None:
    train = rows(groups)
    onehot = np.eye(groups)[train.s]
    onehot -= onehot.mean(0)
    z = train.x.astype(np.float64)
    for each in fit(train).rounds:
        z = each(z)
        np.testing.assert_allclose(onehot.T @ z / len(z), 0, atol=1e-8)
        np.testing.assert_allclose(z.mean(0), 0, atol=1e-8)
        assert 1 <= z.shape[1] <= SMALL.dimensions


@pytest.mark.thorough
def test_more_rounds_leave_less_to_trees() -> None:
    train = rows()
    curve = fit(train)
    first, last = (curve.at(Point.of(rounds=count)).encode(train.x) for count in (1, 6))
    chance = max(np.mean(train.s), 1 - np.mean(train.s))
    assert accuracy(train.x, train.s) > chance + 0.2
    assert accuracy(last, train.s) < accuracy(train.x, train.s) - 0.1
    assert accuracy(last, train.s) <= accuracy(first, train.s) + 0.02


@pytest.mark.thorough
def test_points_do_not_depend_on_the_order_in_which_they_are_read() -> None:
    train = rows()
    ahead, back = fit(train), fit(train)
    counts = [int(point["rounds"]) for point in ahead.points]
    assert counts == sorted(set(counts))
    there = {n: ahead.at(Point.of(rounds=n)).encode(train.x) for n in counts}
    for n in reversed(counts):
        again = back.at(Point.of(rounds=n)).encode(train.x)
        np.testing.assert_array_equal(again, there[n])


@pytest.fixture(scope="module")
def curve() -> ErasureCurve:
    """That of two groups."""
    return fit(rows())


def test_a_row_is_encoded_alike_alone_and_among_others(curve: ErasureCurve) -> None:
    train = rows()
    code = curve.at(Point.of(rounds=4))
    together = code.encode(train.x)
    np.testing.assert_allclose(code.encode(train.x[7:8]), together[7:8], atol=1e-5)


def test_a_stored_curve_is_the_curve(curve: ErasureCurve) -> None:
    train = rows()
    back = Obliviator(SMALL).restore(curve.state(), Unit(0, None), train.info)
    assert isinstance(back, Curve)
    assert back.points == curve.points
    point = curve.points[-1]
    np.testing.assert_array_equal(back.at(point).encode(train.x), curve.at(point).encode(train.x))


@pytest.mark.thorough
def test_a_seed_is_the_same_fit_and_another_is_another() -> None:
    train = rows()
    point = Point.of(rounds=2)
    one, same, other = (fit(train, seed).at(point).encode(train.x) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_pickle_holds_no_codes_of_people(curve: ErasureCurve) -> None:
    train = rows()
    before = len(pickle.dumps(curve))
    z = curve.at(Point.of(rounds=3)).encode(train.x)
    again = pickle.loads(pickle.dumps(curve))
    assert len(pickle.dumps(curve)) == before
    np.testing.assert_array_equal(again.at(Point.of(rounds=3)).encode(train.x), z)


def test_rounds_are_told_as_they_are_fitted_and_all_of_them_counted() -> None:
    told: list[tuple[float, int]] = []
    context = FitContext(1000, progress=lambda share, note: told.append((share, len(made))))
    made: list[int] = []
    project = obliviator._Eraser._project

    def counted(self: obliviator._Eraser, *given: Any) -> Any:
        made.append(1)
        return project(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(obliviator._Eraser, "_project", counted)
        (curve,) = Obliviator(SMALL).fit(rows(), [Unit(0, None)], context)
    assert [count for _, count in told] == [1, 2, 3, 4, 5, 6]
    assert isinstance(curve, ErasureCurve)
    first = (6 + 1) * 32 + 32 * 8
    later = (8 + 1) * 32 + 32 * 8
    counts = {curve.at(Point.of(rounds=count)).parameters() for count in (1, 6)}
    assert len(counts) == 1
    assert first <= counts.pop() <= first + 5 * later
