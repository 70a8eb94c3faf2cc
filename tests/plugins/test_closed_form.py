"""LEACE and the tree after FARE's: what they promise."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairbench.api import FitContext, Point, Role, TrainingRows, Unit
from fairbench.api.method import Representation
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared
from fairbench_datasets.adults import AdultsGender
from fairbench_plugins.fare_tree import FareTree, FareTreeParams
from fairbench_plugins.leace import LEACE
from tests.support.small_table import make_table


def rows_of(data: Prepared) -> TrainingRows:
    rows = data.roles[Role.ENCODER_TRAIN]
    return TrainingRows(rows.x, rows.s, data.info)


def one(fitted: object) -> Representation:
    (representation,) = fitted  # type: ignore[misc]
    assert isinstance(representation, Representation)
    return representation


@pytest.mark.parametrize("groups", [2, 5])
def test_after_leace_no_linear_classifier_beats_the_prior(groups: int) -> None:
    data = prepare(make_table(3000, groups=groups), AdultsGender, source="simulated", origin="test")
    train = rows_of(data)
    z = one(LEACE().fit(train, [Unit(0, None)], FitContext(1))).encode(train.x)
    s = np.eye(groups)[train.s]
    covariance = (z - z.mean(0)).T @ (s - s.mean(0)) / len(z)
    assert np.abs(covariance).max() < 1e-5
    # Near-perfect fits of a linear classifier end at the prior: its weights vanish.
    weights = LogisticRegression(C=1e6).fit(z, train.s).coef_
    assert np.abs(weights).max() < 0.02
    before = LogisticRegression(C=1e6).fit(train.x, train.s).coef_
    assert np.abs(before).max() > 0.5


def test_leace_changes_x_least(prepared: Prepared) -> None:
    """It removes as many directions as s has contrasts: one, of two groups."""
    train = rows_of(prepared)
    z = one(LEACE().fit(train, [Unit(0, None)], FitContext(1))).encode(train.x)
    change = train.x - z
    values = np.linalg.svd(change - change.mean(0), compute_uv=False)
    assert (values > 1e-3 * values[0]).sum() == 1
    # Any other erasure moves x more; dropping along the raw mean difference, for one.
    gap = train.x[train.s == 1].mean(0) - train.x[train.s == 0].mean(0)
    covariance = np.cov(train.x.T)
    naive = np.outer(gap, gap @ np.linalg.inv(covariance)) / (gap @ np.linalg.inv(covariance) @ gap)
    moved = (train.x - train.x.mean(0)) @ naive.T
    assert (change**2).sum() <= (moved**2).sum() + 1e-3


@pytest.mark.parametrize("copies", [1, 2])
def test_leace_of_as_many_contrasts_as_columns_releases_exact_zeros(copies: int) -> None:
    """Also where columns are copies of others up to rounding: an auditor has nothing to rescale."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, 4, 4000)
    x = rng.standard_normal((4000, 3)) + rng.standard_normal((4, 3))[s]
    x = np.hstack([x, x + 1e-7 * s[:, None]][:copies])
    x = ((x - x.mean(0)) / x.std(0)).astype(np.float32)
    info = SimpleNamespace(groups=("a", "b", "c", "d"))
    train = TrainingRows(x, s, info)  # type: ignore[arg-type]
    method, unit = LEACE(), Unit(0, None)
    fitted = one(method.fit(train, [unit], FitContext(1)))
    state = fitted.state()
    assert state is not None
    for erased in (fitted, method.restore(state, unit, train.info)):
        assert isinstance(erased, Representation)
        z = erased.encode(x)
        assert (z == 0).all()
        rescaled = (z - z.mean(0)) / np.maximum(z.std(0), 1e-30)
        tree = DecisionTreeClassifier(max_depth=6).fit(rescaled[:2000], s[:2000])
        assert tree.score(rescaled[2000:], s[2000:]) <= np.bincount(s[2000:]).max() / 2000


def test_leace_changes_no_bit_where_something_of_every_column_is_left(prepared: Prepared) -> None:
    """The formula itself, in float64 and rounded once."""
    train = rows_of(prepared)
    fitted = one(LEACE().fit(train, [Unit(0, None)], FitContext(1)))
    state = fitted.state()
    assert state is not None
    z = (train.x - (train.x - state["mean"]) @ state["erase"]).astype(np.float32)
    np.testing.assert_array_equal(fitted.encode(train.x), z)


@pytest.mark.parametrize("eps", [2e-3, 5e-4])
def test_leace_erases_s_from_directions_that_hardly_vary(eps: float) -> None:
    """s is all of a difference of two columns, too small to be whitened."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 8000)
    a = rng.standard_normal(8000)
    x = np.column_stack([a, a + eps * (2 * s - 1), rng.standard_normal(8000) + s])
    x = ((x - x.mean(0)) / x.std(0)).astype(np.float32)
    info = SimpleNamespace(groups=("a", "b"), name="drawn")
    train = TrainingRows(x[:4000], s[:4000], info)  # type: ignore[arg-type]
    z = one(LEACE().fit(train, [Unit(0, None)], FitContext(1))).encode(x).astype(np.float64)
    design = np.column_stack([np.ones(8000), z])
    weights = np.linalg.lstsq(design[:4000], s[:4000] - 0.5, rcond=None)[0]
    held_out = ((design[4000:] @ weights > 0) == (s[4000:] == 1)).mean()
    assert held_out < 0.6  # .98 where the direction is released


def test_leace_leaves_a_constant_column_alone() -> None:
    data = prepare(make_table(1000), AdultsGender, source="simulated", origin="test")
    train = rows_of(data)
    x = np.column_stack([train.x, np.zeros(len(train.x), np.float32)])
    z = one(LEACE().fit(TrainingRows(x, train.s, train.info), [Unit(0, None)], FitContext(1)))
    assert np.isfinite(z.encode(x)).all()


def tree(data: Prepared, gamma: float, **params: int) -> Representation:
    unit = Unit(0, Point.of(gamma=gamma))
    method = FareTree(FareTreeParams(**params))
    return one(method.fit(rows_of(data), [unit], FitContext(1)))


def distortion_and_gap(data: Prepared, gamma: float) -> tuple[float, float]:
    """Squared error on the training rows, and how unevenly cells mix the groups."""
    train = rows_of(data)
    fitted = tree(data, gamma, leaves=40)
    z = fitted.encode(train.x)
    x_hat = fitted.decode(z, train.s)
    assert x_hat is not None
    _, cell = np.unique(z, axis=0, return_inverse=True)
    count = np.bincount(cell.ravel())
    share = np.bincount(cell.ravel(), weights=train.s) / count
    gini = (count * 2 * share * (1 - share)).sum() / count.sum()
    return float(((x_hat - train.x) ** 2).sum(1).mean()), float(0.5 - gini)


def test_gamma_trades_distortion_for_mixed_cells(prepared: Prepared) -> None:
    measured = [distortion_and_gap(prepared, gamma) for gamma in (0.0, 0.5, 0.9)]
    distortions, gaps = zip(*measured, strict=True)
    assert distortions[0] < distortions[1] < distortions[2]
    assert gaps[0] > gaps[1] > gaps[2]


def test_cells_are_few_large_and_decoded_by_cell_and_group(prepared: Prepared) -> None:
    train = rows_of(prepared)
    fitted = tree(prepared, 0.0, leaves=12, rows_a_leaf=30)
    z = fitted.encode(train.x)
    cells, cell, count = np.unique(z, axis=0, return_inverse=True, return_counts=True)
    assert 2 < len(cells) <= 12
    assert count.min() >= 30
    x_hat = fitted.decode(z, train.s)
    assert x_hat is not None
    here = (cell.ravel() == 0) & (train.s == 1)
    expected = (train.x[here].sum(0) + cells[0]) / (here.sum() + 1)
    np.testing.assert_allclose(x_hat[here][0], expected, atol=1e-5)


def test_a_rounded_code_is_decoded_as_the_cell_it_is_of(prepared: Prepared) -> None:
    train = rows_of(prepared)
    unit = Unit(0, Point.of(gamma=0.5))
    tree = one(FareTree(FareTreeParams()).fit(train, [unit], FitContext(1)))
    z = tree.encode(train.x)
    exact, rounded = tree.decode(z, train.s), tree.decode(z.round(4), train.s)
    assert exact is not None
    np.testing.assert_array_equal(rounded, exact)


def test_a_first_split_is_the_best_there_is(prepared: Prepared) -> None:
    """Against every threshold of every column, by brute force."""
    train = rows_of(prepared)
    fitted = tree(prepared, 0.0, leaves=2, rows_a_leaf=1, bins=255)
    z = fitted.encode(train.x)
    error = ((train.x - z) ** 2).sum()
    best = np.inf
    for j in range(train.x.shape[1]):
        for threshold in np.unique(np.quantile(train.x[:, j], np.linspace(0, 1, 200))):
            left = train.x[:, j] <= threshold
            if 0 < left.sum() < len(left):
                parts = [train.x[left], train.x[~left]]
                best = min(best, sum(((part - part.mean(0)) ** 2).sum() for part in parts))
    assert error <= best * 1.01


def test_the_summary_says_that_the_tree_is_not_fare() -> None:
    assert "not FARE" in FareTree.summary
