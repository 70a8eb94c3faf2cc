"""Rows that auditors train on: further draws are of the rows to fit on, never of held-out ones."""

import numpy as np

from fairbench.auditing.auditors.samples import make_member_rows, split_held_out

N, DRAWS, MORE, SEED = 200, 3, 4, 7


def drawn(count: int) -> np.ndarray:
    """Column 0 is a row's number, column 1 the draw's noise."""
    rng = np.random.default_rng(count)
    numbers = np.tile(np.arange(N), count)
    return np.column_stack([numbers, rng.normal(size=N * count)]).astype(np.float32)


def test_further_draws_are_of_the_rows_to_fit_on() -> None:
    labels = np.arange(N) % 2
    z, fresh = drawn(DRAWS), drawn(MORE)
    soft = np.tile(np.arange(N)[:, None], 2).astype(np.float32)
    rows = make_member_rows(z, np.tile(labels, DRAWS), classes=2, seed=SEED, draws=DRAWS, soft=soft)
    more = rows.with_draws(fresh, labels, split_held_out(N, SEED)[0])
    assert more.held is rows.held
    numbers, held = more.fit.x[:, 0], set(more.held.x[:, 0])
    assert not held & set(numbers)
    assert set(np.unique(numbers, return_counts=True)[1]) == {DRAWS + MORE}
    np.testing.assert_array_equal(more.fit.labels, numbers.astype(int) % 2)
    assert more.fit.soft is not None
    np.testing.assert_array_equal(more.fit.soft[:, 0], numbers)
    # An epoch is as long as without them: each sees other draws, not more.
    assert more.fit.total // more.draws == rows.fit.total // rows.draws


def test_codes_of_few_cells_need_no_further_draws() -> None:
    z = np.tile(np.arange(N) % 4, DRAWS)[:, None].astype(np.float32)
    labels = np.arange(N) % 2
    rows = make_member_rows(z, np.tile(labels, DRAWS), classes=2, seed=SEED, draws=DRAWS)
    assert rows.with_draws(z, labels, split_held_out(N, SEED)[0]) is rows


def test_thinned_rows_are_copies_of_rows_as_often_as_they_occur() -> None:
    """Grouped rows too: a row that stands for many is drawn as often as it should be."""
    z = np.repeat(np.arange(4.0), [1000, 500, 200, 300])[:, None].astype(np.float32)
    rows = make_member_rows(z, np.zeros(len(z), np.int64), classes=2, seed=SEED)
    assert len(rows.fit.labels) < rows.fit.total
    few = rows.thinned(200)
    assert few.fit.total == 200
    assert few.held is rows.held
    counts = np.unique(few.fit.x[:, 0], return_counts=True)[1]
    np.testing.assert_allclose(counts, [100, 50, 20, 30], atol=6)
    assert rows.thinned(5000) is rows
