"""Replicates: a bootstrap of people, the same for all that is measured on them."""

import numpy as np
import pytest

from fairbench.errors import StoreError
from fairbench.stats.bootstrap import (
    RESAMPLES,
    bootstrap_figures,
    from_text,
    resampled_means,
    to_text,
)


def test_a_person_counts_poisson_1_times_in_a_resample() -> None:
    counts = 400 * resampled_means(np.eye(400), resamples=2000)  # of 400 people, in all resamples
    assert counts.mean() == pytest.approx(1.0, abs=1e-9)  # a mean is over those that were drawn
    assert counts.var() == pytest.approx(1.0, abs=0.02)
    assert (counts == 0).mean() == pytest.approx(np.exp(-1), abs=0.003)
    between = np.corrcoef(counts[:, :40].T)[~np.eye(40, dtype=bool)]
    assert abs(between.mean()) < 0.01


def test_counts_belong_to_people_wherever_they_stand() -> None:
    """A test set in another order, or a part of it, has the same people in each resample."""
    rng = np.random.default_rng(7)
    people = rng.permutation(5000)[:300]
    drawn = resampled_means(np.eye(300), row_numbers=people, resamples=50) > 0
    order = rng.permutation(300)
    again = resampled_means(np.eye(300), row_numbers=people[order], resamples=50) > 0
    assert (again == drawn[:, order]).all()
    fewer = resampled_means(np.eye(100), row_numbers=people[:100], resamples=50) > 0
    assert (fewer == drawn[:, :100]).all()


def test_a_resample_of_nobody_is_the_mean() -> None:
    found = resampled_means(np.array([[3.0]]), resamples=100)
    assert (found == 3.0).all()


def test_resamples_are_the_same_for_every_figure_and_however_many_are_asked_for() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 300_000))  # more cells than are held at a time
    together = resampled_means(np.column_stack([a, b]), resamples=9)
    assert resampled_means(b[:, None], resamples=9)[:, 0] == pytest.approx(together[:, 1])
    assert resampled_means(b[:, None], resamples=4)[:, 0] == pytest.approx(together[:4, 1])


def test_their_spread_is_the_standard_error() -> None:
    rng = np.random.default_rng(3)
    n = 2000
    losses, d, right = rng.exponential(0.3, n), rng.gamma(2.0, size=n), rng.random(n) < 0.8
    s = rng.integers(0, 3, n)
    found = bootstrap_figures(losses, s, d, right.astype(float))
    assert all(len(rows) == RESAMPLES for rows in found.values())
    for name, rows in (("distortion", d), ("accuracy_y", right)):
        assert found[name].std() == pytest.approx(rows.std() / np.sqrt(n), rel=0.1)
        assert found[name].mean() == pytest.approx(rows.mean(), abs=0.1 * rows.std() / 40)
    # I is H(S) less the loss; with three even groups H(S) hardly varies.
    assert found["mutual_information"].mean() == pytest.approx(np.log(3) - losses.mean(), abs=2e-3)
    assert found["mutual_information"].std() == pytest.approx(losses.std() / np.sqrt(n), rel=0.15)


def test_they_go_through_text() -> None:
    rng = np.random.default_rng(4)
    kept = {"mutual_information": rng.normal(size=500), "distortion": rng.normal(size=500)}
    text = to_text(kept)
    assert text.isascii()
    assert len(text) < 2 * 2700
    found = from_text(text)
    assert list(found) == ["mutual_information", "distortion"]
    assert found["mutual_information"] == pytest.approx(kept["mutual_information"], rel=1e-6)
    assert to_text(found) == text
    assert from_text(None) == {}


@pytest.mark.parametrize(
    "text", ["mutual_information", "i:", "i:???", "i:AAAA", "i:AADAfw==", ":AAAAAA=="]
)
def test_damaged_text_is_told(text: str) -> None:
    with pytest.raises(StoreError, match="replicates of a record cannot be read"):
        from_text(text)
