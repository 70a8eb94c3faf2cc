"""Replicates: a bootstrap of people, the same for all that is measured on them."""

import numpy as np
import pytest

from fairbench.errors import StoreError
from fairbench.stats.bootstrap import RESAMPLES, from_text, replicated, resampled_means, to_text


def test_a_resample_is_as_many_rows_drawn_with_replacement() -> None:
    rng = np.random.default_rng(1)
    columns = rng.normal(size=(50, 3))
    found = resampled_means(columns, resamples=7, seed=5)
    same = np.random.default_rng(5)
    by_hand = [columns[same.integers(0, 50, 50)].mean(axis=0) for _ in range(7)]
    assert found == pytest.approx(np.array(by_hand))


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
    found = replicated(losses, s, d, right.astype(float))
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
