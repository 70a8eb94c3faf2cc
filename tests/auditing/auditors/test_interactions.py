"""Products of columns: found where only together they tell of s, and nowhere else."""

import numpy as np
import pytest

from fairbench.api import Floats
from fairbench.auditing.auditors.interactions import find_products, improve_on, product_columns
from fairbench.auditing.auditors.samples import MemberRows, make_member_rows


def noise_and_parity(
    places: tuple[int, ...], *, classes: int = 2, n: int = 4000, seed: int = 0
) -> tuple[MemberRows, Floats]:
    """Fair bits; s their parity at ``places``, or where that is odd one class of several."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, (n, 32))
    odd = (
        (z[:, places].sum(axis=1) & 1) ^ (rng.random(n) < 0.2) if places else rng.integers(0, 2, n)
    )
    s = np.where(odd == 1, classes - 1, rng.integers(0, classes - 1, n)).astype(np.int64)
    rows = make_member_rows(z.astype(np.float32), s, classes=classes, seed=0)
    one_hot = np.eye(classes, dtype=np.float32)[rows.fit.labels]
    return rows, (one_hot - one_hot.mean(axis=0)).astype(np.float32)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("places", [(3, 20), (0, 9, 31), (1, 2, 16, 30)])
def test_the_strongest_product_is_the_parity(places: tuple[int, ...], classes: int) -> None:
    rows, residual = noise_and_parity(places, classes=classes)
    products, split = find_products(rows, residual, seed=0)
    assert products[0] == places
    prior = np.tile(rows.prior.astype(np.float32), (len(rows.held.labels), 1))
    assert improve_on(products, split, rows.held, prior)


def test_noise_has_no_products() -> None:
    for seed in range(5):
        rows, residual = noise_and_parity((), seed=seed)
        products, _ = find_products(rows, residual, seed=0)
        assert products == []


def test_products_are_joined_to_the_columns() -> None:
    rows, residual = noise_and_parity((3, 20))
    products, split = find_products(rows, residual, seed=0)
    joined = product_columns(products, split)(rows.fit.x)
    assert joined.shape == (len(rows.fit.labels), 32 + len(products))
    np.testing.assert_array_equal(joined[:, :32], rows.fit.x)
    same = rows.fit.x[:, 3] == rows.fit.x[:, 20]
    np.testing.assert_array_equal(joined[:, 32] > 0, same)


def test_real_columns_are_split_at_their_median() -> None:
    rng = np.random.default_rng(0)
    z = rng.exponential(size=(4000, 12))
    above = z > np.log(2)
    s = (above[:, 1] ^ above[:, 4] ^ above[:, 7] ^ (rng.random(4000) < 0.1)).astype(np.int64)
    rows = make_member_rows(z.astype(np.float32), s, classes=2, seed=0)
    residual = (np.eye(2)[rows.fit.labels] - 0.5).astype(np.float32)
    products, _ = find_products(rows, residual, seed=0)
    assert products[0] == (1, 4, 7)


def test_very_wide_views_are_cut_to_their_most_balanced_columns() -> None:
    rng = np.random.default_rng(0)
    z = rng.random((1500, 900)) < 0.02
    z[:, [5, 800]] = rng.random((1500, 2)) < 0.5
    s = (z[:, 5] ^ z[:, 800]).astype(np.int64)
    rows = make_member_rows(z.astype(np.float32), s, classes=2, seed=0)
    residual = (np.eye(2)[rows.fit.labels] - 0.5).astype(np.float32)
    products, split = find_products(rows, residual, seed=0)
    assert [int(split.columns[c]) for c in products[0]] == [5, 800]
