"""Paired cells that keep columns: these are released as they are, and the others mixed."""

from __future__ import annotations

import numpy as np
import pytest

from fairbench.api import FitContext, Point, TrainingRows, Unit
from fairbench.data.prepared import Prepared
from fairbench_plugins.merged_cells import paired
from fairbench_plugins.merged_cells.cells import nearest
from fairbench_plugins.merged_cells.paired import PairedCells, PairedCellsParams, PairedCurve
from fairbench_plugins.merged_cells.strata import column_shares, find_strata, kept_columns


def population(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Column 0 has ten values that tell nothing of s; column 1 tells s to four fifths."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 10, (n, 2)).astype(np.float32)
    p = np.where(x[:, 1] >= 5, 0.8, 0.2)
    s = (rng.random(n) < p).astype(np.int64)
    return x, s, np.column_stack([1 - p, p])


def test_each_columns_share_of_the_information() -> None:
    x, _, shares = population(50_000, 0)
    none, all_of_it = column_shares(x, shares)
    assert none == pytest.approx(0.0, abs=1e-3)
    assert all_of_it == pytest.approx(1.0, abs=1e-3)
    assert kept_columns(x, shares, 0.1).tolist() == [True, False]


def test_nothing_is_kept_at_0_and_never_the_column_that_tells_most() -> None:
    x, _, shares = population(5000, 1)
    assert not kept_columns(x, shares, 0.0).any()
    parity = np.random.default_rng(0).integers(0, 2, (5000, 3))
    told = np.eye(2)[parity.sum(1) % 2]
    assert kept_columns(parity.astype(np.float32), told, 0.5).sum() == 2


def test_pairs_are_of_one_stratum_and_cells_lie_in_it() -> None:
    x, _, _ = population(5000, 2)
    strata = find_strata(x, np.array([True, False]), 3, 0)
    t, u = strata.pairs()
    assert (strata.stratum[t] == strata.stratum[u]).all()
    assert (strata.centres[t, 0] == strata.centres[u, 0]).all()
    assert len(t) == 10 * 10 * 9 / 2  # ten values of column 1 in each of ten strata


def fitted(train: TrainingRows, keep: float) -> PairedCurve:
    method = PairedCells(PairedCellsParams(keep=keep, prices=4, rows_a_cell=3))
    (curve,) = method.fit(train, [Unit(0, None)], FitContext(1))
    assert isinstance(curve, PairedCurve)
    return curve


def test_kept_columns_are_released_and_decoded_as_they_are(prepared: Prepared) -> None:
    x, s, _ = population(4000, 3)
    new = population(500, 4)[0]
    new[0, 0] = 10.5  # a value that training did not have
    curve = fitted(TrainingRows(x, s, prepared.info), 0.2)
    for point in curve.points:
        code = curve.at(point)
        z = code.encode(new, generator=np.random.default_rng(0))
        np.testing.assert_array_equal(z[:, 0], new[:, 0])
        np.testing.assert_array_equal(code.decode(z, np.zeros(500, int))[:, 0], new[:, 0])


def test_the_others_lose_s_at_a_high_price(prepared: Prepared) -> None:
    x, s, _ = population(4000, 5)
    new, of_new, _ = population(4000, 6)
    curve = fitted(TrainingRows(x, s, prepared.info), 0.2)
    apart = []
    for price in (0.5, 400.0):
        code = curve.at(Point.of(price=price))
        z = code.encode(new, generator=np.random.default_rng(0))
        apart.append(abs(z[of_new == 1, 1].mean() - z[of_new == 0, 1].mean()))
    assert apart[0] > 2.5
    assert apart[1] < 0.3


def test_a_stored_curve_gives_the_same_codes(prepared: Prepared) -> None:
    x, s, _ = population(2000, 7)
    curve = fitted(TrainingRows(x, s, prepared.info), 0.2)
    again = PairedCurve(**curve.state())
    for one in (curve, again):
        assert one.scale.tolist() == [1000.0, 1.0]
    point = curve.points[1]
    z = [one.at(point).encode(x, generator=np.random.default_rng(0)) for one in (curve, again)]
    np.testing.assert_array_equal(*z)


def test_further_draws_of_the_same_rows_search_no_cells_and_are_what_a_search_gives(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, s, _ = population(2000, 8)
    curve = fitted(TrainingRows(x, s, prepared.info), 0.0)
    code, searches = curve.at(curve.points[1]), 0

    def counted(*arrays: np.ndarray) -> np.ndarray:
        nonlocal searches
        searches += 1
        return nearest(*arrays)

    monkeypatch.setattr(paired, "nearest", counted)
    for rows in (x, x[:50], x.copy()):
        for draw in range(3):
            z = code.encode(rows, generator=np.random.default_rng(draw))
            fresh = curve.at(curve.points[1])
            with monkeypatch.context() as patch:
                patch.setattr(paired, "nearest", nearest)
                again = fresh.encode(rows, generator=np.random.default_rng(draw))
            np.testing.assert_array_equal(z, again)
    assert searches == 2  # of x and of its first 50 rows


def test_codes_are_looked_up_once_for_all_groups(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, s, _ = population(2000, 8)
    curve = fitted(TrainingRows(x, s, prepared.info), 0.0)
    code = curve.at(curve.points[1])
    z = code.encode(x, generator=np.random.default_rng(0))
    first = code.decode(z, np.zeros(len(z), np.int64))
    expected = curve.at(curve.points[1]).decode(z, np.ones(len(z), np.int64))
    monkeypatch.setattr(paired, "nearest", lambda *arrays: pytest.fail("looked up again"))
    second = code.decode(z, np.ones(len(z), np.int64))
    np.testing.assert_array_equal(second, expected)
    assert not np.array_equal(first, second)
