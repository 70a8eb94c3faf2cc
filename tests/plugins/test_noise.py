"""Noise, without and with linear erasure: closed forms, and what classifiers can still read."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from fairbench.api import Curve, FitContext, Point, TrainingRows, Unit
from fairbench.stats.scores import information
from fairbench_plugins.leace import LEACE
from fairbench_plugins.noise import LeaceNoise, Noise

MIX = np.random.default_rng(9).standard_normal((4, 4))


def rows(groups: int = 2, n: int = 8000, *, spread: float = 0.0, seed: int = 0) -> TrainingRows:
    """Gaussian groups whose means differ, and with ``spread`` their variances too."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, groups, n)
    x = rng.standard_normal((n, 4)) * (1 + spread * s[:, None])
    x[:, 0] += 1.5 * s
    x[:, 1] -= s == 1
    x = x @ MIX
    info = SimpleNamespace(groups=tuple(f"g{i}" for i in range(groups)))
    x = ((x - x.mean(0)) / x.std(0)).astype(np.float32)
    return TrainingRows(x, s, info)  # type: ignore[arg-type]


def curve(method: Noise, train: TrainingRows) -> Curve:
    (fitted,) = method.fit(train, [Unit(0, None)], FitContext(1))
    assert isinstance(fitted, Curve)
    return fitted


def drawn(fitted: Curve, x: np.ndarray, noise: float) -> np.ndarray:
    return fitted.at(Point.of(noise=noise)).encode(x, generator=np.random.default_rng(1))


@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_columns_have_unit_variance_and_the_noise_of_the_knob(noise: float) -> None:
    train = rows()
    z = drawn(curve(Noise(), train), train.x, noise)
    expected = (1 + noise**2) * np.eye(4)
    np.testing.assert_allclose(np.cov(z.T), expected, atol=1e-3 if noise == 0 else 0.06)


@pytest.mark.parametrize("groups", [2, 4])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_after_erasure_no_linear_classifier_reads_s(groups: int, noise: float) -> None:
    train = rows(groups)
    z = drawn(curve(LeaceNoise(), train), train.x, noise)
    assert z.shape[1] == 4 - (groups - 1)  # the means of so many groups span so many directions
    s = np.eye(groups)[train.s]
    covariance = (z - z.mean(0)).T @ (s - s.mean(0)) / len(z)
    assert np.abs(covariance).max() < (1e-5 if noise == 0 else 0.02)
    share = np.bincount(train.s).max() / len(z)
    assert LogisticRegression().fit(z, train.s).score(z, train.s) < share + 0.02
    plain = drawn(curve(Noise(), train), train.x, noise)
    assert LogisticRegression().fit(plain, train.s).score(plain, train.s) > share + 0.1


def test_without_noise_it_says_what_leace_says() -> None:
    """Each is a linear function of the other."""
    train = rows(spread=0.5)
    (erased,) = LEACE().fit(train, [Unit(0, None)], FitContext(1))
    leace = erased.encode(train.x)  # type: ignore[union-attr]
    z = drawn(curve(LeaceNoise(), train), train.x, 0.0)
    for one, other in ((leace, z), (z, leace)):
        design = np.column_stack([one, np.ones(len(one))])
        found, *_ = np.linalg.lstsq(design, other, rcond=None)
        np.testing.assert_allclose(design @ found, other, atol=1e-4)


@pytest.mark.parametrize(
    ("method", "classifier"),
    [(Noise, LinearDiscriminantAnalysis), (LeaceNoise, QuadraticDiscriminantAnalysis)],
)
def test_information_falls_with_the_noise(method: type[Noise], classifier: type) -> None:
    """By the classifiers that are best for Gaussian groups, of one and of several covariances."""
    train, test = rows(spread=1.0), rows(spread=1.0, seed=1)
    fitted = curve(method(), train)
    read = []
    for noise in (0.0, 0.5, 1.0, 2.0, 10.0):
        model = classifier().fit(drawn(fitted, train.x, noise), train.s)
        read.append(information(model.predict_proba(drawn(fitted, test.x, noise)), test.s))
    assert all(later < sooner for sooner, later in pairwise(read))
    assert read[0] > 0.1
    assert read[-1] < 0.01


def test_the_decoder_is_the_posterior_mean_of_gaussian_groups() -> None:
    """Its error is the closed form, tr(C - C (C + sigma^2 V)^{-1} C), V = cov(x) for noise."""
    train, noise = rows(), 0.8
    fitted = curve(Noise(), train).at(Point.of(noise=noise))
    z = fitted.encode(train.x, generator=np.random.default_rng(2))
    x_hat = fitted.decode(z, train.s)
    assert x_hat is not None
    errors = ((x_hat - train.x) ** 2).sum(axis=1)
    whole = np.cov(train.x.T)
    for group in range(2):
        own = np.cov(train.x[train.s == group].T)
        left = own - own @ np.linalg.solve(own + noise**2 * whole, own)
        assert errors[train.s == group].mean() == pytest.approx(np.trace(left), rel=0.03)


def test_without_noise_the_decoder_gives_x_back() -> None:
    train = rows(3)
    fitted = curve(Noise(), train).at(Point.of(noise=0.0))
    x_hat = fitted.decode(fitted.encode(train.x), train.s)
    assert x_hat is not None
    np.testing.assert_allclose(x_hat, train.x, atol=1e-3)


def test_with_much_noise_it_gives_the_means_of_the_groups() -> None:
    train = rows()
    fitted = curve(Noise(), train).at(Point.of(noise=1e4))
    x_hat = fitted.decode(fitted.encode(train.x, generator=np.random.default_rng(0)), train.s)
    assert x_hat is not None
    for group in range(2):
        own = train.s == group
        np.testing.assert_allclose(x_hat[own].mean(0), train.x[own].mean(0), atol=2e-3)


def test_as_many_contrasts_as_columns_leave_a_column_of_zeros() -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, 2000)
    x = (rng.standard_normal((2000, 2)) + 2 * np.eye(3)[s][:, :2]).astype(np.float32)
    info = SimpleNamespace(groups=("a", "b", "c"))
    train = TrainingRows(x, s, info)  # type: ignore[arg-type]
    fitted = curve(LeaceNoise(), train).at(Point.of(noise=0.0))
    z = fitted.encode(x)
    assert z.shape == (2000, 1)
    assert (z == 0).all()
    x_hat = fitted.decode(z, s)
    assert x_hat is not None
    np.testing.assert_allclose(x_hat[s == 1].mean(0), x[s == 1].mean(0), atol=0.01)


@pytest.mark.parametrize("method", [Noise, LeaceNoise])
def test_groups_of_one_row_and_of_none_are_decoded_near_the_others(method: type[Noise]) -> None:
    train = rows()
    s = np.where(train.s == 1, 1, 0)
    s[0] = 2
    info = SimpleNamespace(groups=("a", "b", "one row", "none"))
    few = TrainingRows(train.x, s, info)  # type: ignore[arg-type]
    fitted = curve(method(), few).at(Point.of(noise=0.5))
    z = fitted.encode(train.x, generator=np.random.default_rng(0))
    for group in (2, 3):
        x_hat = fitted.decode(z, np.full(len(z), group))
        assert x_hat is not None
        assert np.abs(x_hat).max() < 30


def test_copies_of_columns_and_constants_are_left_out() -> None:
    train = rows()
    x = np.column_stack([train.x, train.x[:, 0], np.zeros(len(train.x))]).astype(np.float32)
    z = drawn(curve(Noise(), TrainingRows(x, train.s, train.info)), x, 0.0)
    assert z.shape[1] == 4


def test_images_are_refused() -> None:
    info = SimpleNamespace(name="dsprites", features=range(4096))
    for method in (Noise(), LeaceNoise()):
        assert "at most 512 features; dsprites has 4096" in str(method.supports(info))  # type: ignore[arg-type]
