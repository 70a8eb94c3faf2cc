"""Kept cells: which columns are kept at which price, and what that releases."""

from __future__ import annotations

import numpy as np
import pytest

from fairbench.api import FitContext, TrainingRows, Unit
from fairbench.data.prepared import Prepared
from fairbench_plugins.merged_cells.kept import (
    KeptCells,
    KeptCellsParams,
    KeptCurve,
    gained,
    keep_levels,
)


def population(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns 0 and 1 tell nothing of s; column 2 tells s to nine tenths."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 8, (n, 3)).astype(np.float32)
    s = (rng.random(n) < np.where(x[:, 2] >= 4, 0.9, 0.1)).astype(np.int64)
    return x, s


def fitted(prepared: Prepared, n: int = 4000) -> KeptCurve:
    x, s = population(n, 0)
    method = KeptCells(KeptCellsParams(prices=6, tried=6, levels=3))
    (curve,) = method.fit(TrainingRows(x, s, prepared.info), [Unit(0, None)], FitContext(1))
    assert isinstance(curve, KeptCurve)
    return curve


def test_levels_code_first_what_tells_most_and_at_last_all() -> None:
    levels = keep_levels(np.array([0.1, 0.5, 0.0, 0.3]), 3)
    assert [kept.tolist() for kept in levels] == [
        [True, False, True, True],
        [True, False, True, False],
        [False, False, False, False],
    ]
    assert [kept.sum() for kept in keep_levels(np.arange(23.0), 6)] == [22, 21, 19, 16, 11, 0]


def test_what_predictions_gain_is_their_information() -> None:
    shares = np.array([[0.9, 0.1], [0.1, 0.9]])
    exact = 0.9 * np.log(0.9 / 0.5) + 0.1 * np.log(0.1 / 0.5)
    assert gained(shares, shares) == pytest.approx(exact)
    assert gained(shares, np.full((2, 2), 0.5)) == 0
    assert gained(shares, shares[::-1]) == 0  # confidently wrong: not below nothing


@pytest.mark.thorough
def test_columns_that_tell_nothing_are_released_as_they_are(prepared: Prepared) -> None:
    curve = fitted(prepared)
    new, of_new = population(3000, 1)
    for point in curve.points:
        code = curve.at(point)
        z = code.encode(new, generator=np.random.default_rng(0))
        np.testing.assert_array_equal(z[:, :2], new[:, :2])
        decoded = code.decode(z, of_new)
        assert decoded is not None
        np.testing.assert_array_equal(decoded[:, :2], new[:, :2])


@pytest.mark.thorough
def test_more_of_the_price_hides_s_at_more_distortion(prepared: Prepared) -> None:
    curve = fitted(prepared)
    new, of_new = population(4000, 2)
    apart, lost = [], []
    for point in (curve.points[0], curve.points[-1]):
        code = curve.at(point)
        z = code.encode(new, generator=np.random.default_rng(0))
        decoded = code.decode(z, of_new)
        assert decoded is not None
        apart.append(abs(z[of_new == 1, 2].mean() - z[of_new == 0, 2].mean()))
        lost.append(float(((decoded - new) ** 2).sum(1).mean()))
    assert apart[0] > 2.5
    assert apart[1] < 0.3
    assert lost[0] < 0.3 < lost[1] < 6


def test_a_stored_curve_gives_the_same_codes(prepared: Prepared) -> None:
    curve = fitted(prepared, 400)
    state = {key: np.array(value) for key, value in curve.state().items()}
    again = KeptCells().restore(state, Unit(0, None), prepared.info)
    assert isinstance(again, KeptCurve)
    new, _ = population(200, 3)
    for point in curve.points:
        z = [c.at(point).encode(new, generator=np.random.default_rng(0)) for c in (curve, again)]
        np.testing.assert_array_equal(*z)
