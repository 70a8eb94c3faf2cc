"""Views of representations: scales, and codes that are read off z itself."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairbench.auditing.auditors.views import bit_planes, standardised, views_of


def test_standardising_leaves_constant_columns_at_zero() -> None:
    z = np.array([[1e-6, 5.0], [3e-6, 5.0]], np.float32)
    np.testing.assert_allclose(standardised(z).apply(z), [[-1, 0], [1, 0]], atol=1e-5)


def test_a_large_offset_does_not_hide_a_small_signal() -> None:
    z = np.array([[1000.0], [1000.001], [1000.002]], np.float32)
    assert standardised(z).apply(z).std() > 0.9


@given(
    st.lists(st.integers(0, 255), min_size=3, max_size=40).filter(
        # A constant is no code, and a single bit needs no planes.
        lambda v: len(set(v)) > 1 and max(v) > np.gcd.reduce([*v, 256])
    )
)
def test_planes_are_the_binary_digits(values: list[int]) -> None:
    z = np.array(values, np.float32)[:, None] / 256
    view = bit_planes(z)
    assert view is not None
    planes = view.apply(z)
    weights = 2.0 ** np.arange(planes.shape[1] - 1, -1, -1)
    steps = np.array(values)
    grid = steps / np.gcd.reduce([*steps, 256])  # the coarsest grid all values lie on
    np.testing.assert_array_equal(planes @ weights, grid)


def test_a_few_huge_values_do_not_make_the_others_equal() -> None:
    values = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    z = np.where(np.arange(1000) < 10, 1e25, values).astype(np.float32)[:, None]
    seen = standardised(z).apply(z)[:, 0]
    np.testing.assert_array_equal(np.argsort(seen[10:]), np.argsort(values[10:]))
    assert seen[:10].min() > seen[10:].max()
    few_equal = standardised(values[:, None]).apply(values[:, None])[:, 0]
    np.testing.assert_allclose(few_equal, (values - values.mean()) / values.std(), atol=1e-5)


def test_real_values_are_no_code() -> None:
    z = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    assert bit_planes(z) is None
    assert [v.name for v in views_of(z)] == ["standardised"]


def test_noise_beside_a_code_does_not_hide_its_bits() -> None:
    rng = np.random.default_rng(0)
    code = rng.integers(0, 256, 50) / 256
    z = np.stack([code, rng.normal(size=50), np.full(50, 3.0)], 1).astype(np.float32)
    view = bit_planes(z)
    assert view is not None
    seen = view.apply(z)
    assert seen.shape == (50, 8 + 2)
    np.testing.assert_array_equal(seen[:, 7], (z[:, 0] * 256).astype(int) & 1)


def test_a_constant_is_no_code() -> None:
    assert bit_planes(np.zeros((10, 1), np.float32)) is None


def test_codes_unseen_in_training_are_clipped_into_the_planes() -> None:
    view = bit_planes(np.array([[0.0], [0.25], [0.75]], np.float32))
    assert view is not None
    assert set(np.unique(view.apply(np.array([[-1.0], [9.0]], np.float32)))) <= {0.0, 1.0}


def test_a_code_on_any_even_grid_is_a_code() -> None:
    steps = np.random.default_rng(0).integers(0, 128, 400)
    for scale, offset in ((1e-6, 0.0), (0.37, -3.0), (1e30, 0.0)):
        z = (steps * scale + offset).astype(np.float32)[:, None]
        view = bit_planes(z)
        assert view is not None
        planes = view.apply(z)
        np.testing.assert_array_equal(planes @ 2.0 ** np.arange(planes.shape[1])[::-1], steps)


def test_few_levels_off_any_grid_count_in_their_order() -> None:
    levels = np.sort(np.random.default_rng(0).lognormal(sigma=3, size=32))
    number = np.random.default_rng(1).integers(0, 32, 1000)
    z = levels[number].astype(np.float32)[:, None]
    view = bit_planes(z)
    assert view is not None
    np.testing.assert_array_equal(view.apply(z) @ 2.0 ** np.arange(5)[::-1], number)


def test_ranks_are_looked_at_where_a_tail_is_heavy() -> None:
    rng = np.random.default_rng(0)
    calm = rng.normal(size=(3000, 2)).astype(np.float32)
    assert [v.name for v in views_of(calm)] == ["standardised"]
    wild = np.column_stack([calm[:, 0], rng.standard_cauchy(3000)]).astype(np.float32)
    names = [v.name for v in views_of(wild)]
    assert names == ["standardised", "ranks"]
    seen = views_of(wild)[1].apply(wild)
    assert np.abs(seen.mean(axis=0)).max() < 0.01
    assert np.abs(seen.std(axis=0) - 1).max() < 0.02
    np.testing.assert_array_equal(np.argsort(seen[:, 1]), np.argsort(wild[:, 1]))
