"""Verdicts on the paper's claims, in cases that are known."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from claims import (
    FAILS,
    HOLDS,
    UNDECIDED,
    claims,
    format_claims,
    is_above,
    is_equal,
    is_not_above,
    judge_order,
)
from fairbench.leaderboard.build import Tables
from fairbench.metrics.rows import DEFAULT, PointRow
from fairbench.stats.intervals import Estimate
from fairbench.stats.ranks import estimate_over_splits
from fairbench.store.status import Status
from published_figures import Falls, Published, Rises, count_falls, count_rises, distortion_at


def normal(value: float, deviation: float) -> Estimate:
    """An estimate with a normal error: its 90% interval is 1.645 deviations to each side."""
    return Estimate(value, rows=0.0, shared=0.0, seeds=deviation**2, df=np.inf)


@pytest.mark.parametrize(
    ("value", "deviation", "equal", "not_above"),
    [
        (0.0, 0.01, HOLDS, HOLDS),  # .016 < .02
        (0.0, 0.02, UNDECIDED, UNDECIDED),
        (0.01, 0.01, UNDECIDED, UNDECIDED),
        (-0.1, 0.01, FAILS, HOLDS),
        (0.1, 0.01, FAILS, FAILS),
    ],
)
def test_equality_needs_both_ends_within_the_margin(
    value: float, deviation: float, equal: str, not_above: str
) -> None:
    gap = normal(value, deviation)
    assert is_equal(gap, 0.02) == equal
    assert is_not_above(gap, 0.02) == not_above


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.021, HOLDS), (0.019, UNDECIDED), (-0.019, UNDECIDED), (-0.021, FAILS)]
)
def test_a_difference_is_clear_outside_of_its_interval(value: float, verdict: str) -> None:
    assert is_above(normal(value, 0.02 / 1.96)) == verdict


def test_equality_of_noise_alone_is_seldom_declared_beyond_the_margin() -> None:
    """Five splits whose true difference is the margin itself: at most 5% are called equal."""
    rng = np.random.default_rng(0)
    draws = rng.normal(0.02, 0.005, (2000, 5))
    verdicts = [is_equal(estimate_over_splits(row, test_over_train=0.25), 0.02) for row in draws]
    assert np.mean([verdict == HOLDS for verdict in verdicts]) < 0.06


def test_rises_within_the_noise_are_not_clear() -> None:
    falling = list(np.linspace(0.3, 0.0, 8))
    assert count_rises([(falling, [0.005] * 8)]) == Rises(7, seen=0, clear=0, possible=0)
    # A small rise between noisy points: neither clear, nor can a larger one be excluded.
    assert count_rises([([0.1, 0.101, 0.05], [0.005] * 3)]) == Rises(2, 1, clear=0, possible=1)
    assert count_rises([([0.1, 0.15, 0.05], [0.005] * 3)]) == Rises(2, 1, clear=1, possible=1)
    # Between exact ones it can.
    assert count_rises([([0.1, 0.101, 0.05], [1e-5] * 3)]) == Rises(2, 1, clear=1, possible=0)


def test_a_missing_figure_excludes_no_rise() -> None:
    found = count_rises([([0.3, float("nan"), 0.1], [0.005] * 3)])
    assert found == Rises(2, seen=0, clear=0, possible=2)


def test_a_fall_of_distortion_counts_beyond_its_margin() -> None:
    assert count_falls([[0.1, 0.3, 0.295, 0.6], [0.2, 0.1]]) == Falls(4, seen=2, clear=1)


@pytest.mark.parametrize(
    ("rises", "falls", "verdict"),
    [
        # Points are read where D rises: that none falls is how they were chosen.
        (Rises(7, 0, clear=0, possible=0), Falls(7, seen=0, clear=0), UNDECIDED),
        (Rises(7, 0, clear=0, possible=0), Falls(7, seen=1, clear=0), UNDECIDED),
        (Rises(7, 0, clear=0, possible=0), Falls(7, seen=1, clear=1), FAILS),
        (Rises(7, 1, clear=0, possible=1), Falls(7, seen=0, clear=0), UNDECIDED),
        (Rises(7, 1, clear=1, possible=1), Falls(7, seen=0, clear=0), FAILS),
    ],
)
def test_a_curve_in_order_goes_back_in_neither_figure(
    rises: Rises, falls: Falls, verdict: str
) -> None:
    assert judge_order(rises, falls) == verdict


def published_point(figures: dict[str, float], **further: Any) -> PointRow:
    """A point of a published row."""
    point = {"method": "m", "params": DEFAULT, "split": "fold 1 of 5", "seed": 0}
    point |= {"status": Status.DONE.value, "point_number": 0, "distortion_max": 10.0}
    return cast(PointRow, SimpleNamespace(**(point | further), figures=figures))


def test_falls_are_seen_from_the_end_that_leaks_most() -> None:
    """A knob that starts at the fair end; from the other one D goes 1, 5, 4, 9 of 10."""
    points = [
        published_point({"distortion": d, "mutual_information": i}, point_number=number)
        for number, (d, i) in enumerate([(9.0, 0.0), (4.0, 0.1), (5.0, 0.2), (1.0, 0.3)])
    ]
    assert Published(Tables("d", [], points)).falls("m") == Falls(3, seen=1, clear=1)
    of_two_seeds = [*points, *(replace_seed(point, 1) for point in points)]
    assert Published(Tables("d", [], of_two_seeds)).falls("m") == Falls(6, seen=2, clear=2)


def replace_seed(point: PointRow, seed: int) -> PointRow:
    """The same point of another seed."""
    return cast(PointRow, SimpleNamespace(**(vars(point) | {"seed": seed})))


def test_a_figure_of_a_split_is_the_mean_over_its_seeds() -> None:
    accuracies = {
        ("constant", 1): [0.5],
        ("identity", 1): [0.9],
        ("m", 1): [0.6, 0.8],
        ("constant", 2): [0.6],
        ("identity", 2): [0.8],
        ("m", 2): [0.7],
    }
    points = [
        published_point({"accuracy_y": y}, method=name, split=f"fold {fold} of 2", seed=seed)
        for (name, fold), of_seeds in accuracies.items()
        for seed, y in enumerate(of_seeds)
    ]
    board = Published(Tables("d", [], points))
    assert board.accuracy_of("m") == pytest.approx(0.7)
    assert board.share_at_fair_end("m", "accuracy_y").value == pytest.approx(0.5)


def test_noise_of_flat_curves_is_seldom_a_clear_rise() -> None:
    """Five curves of a table together, not each alone."""
    rng = np.random.default_rng(1)
    clear = [
        count_rises([(rng.normal(0, 1, 8), [1.0] * 8) for _ in range(5)]).clear > 0
        for _ in range(1000)
    ]
    assert np.mean(clear) < 0.06


def a_point(d: float, i: float, validation: tuple[float, float] | None = None) -> PointRow:
    """A point of a curve between (0, .3) and (8, 0); unless given, alike on validation rows."""
    ends = {"mutual_information": 0.3, "distortion": 8.0}
    figures = {"mutual_information": i, "distortion": d}
    chosen_by = dict(zip(("distortion", "mutual_information"), validation or (d, i), strict=True))
    return cast(
        PointRow,
        SimpleNamespace(
            figures=figures | {f"{name}_validation": value for name, value in chosen_by.items()},
            **{
                f"{name}_max{of}": value
                for name, value in ends.items()
                for of in ("", "_validation")
            },
        ),
    )


@pytest.mark.parametrize(
    ("share", "d"), [(1.0, 0.0), (0.5, 2.0), (0.25, 5.0), (0.1, 6.8), (0.0, 8.0)]
)
def test_the_distortion_at_a_share_of_the_information_is_on_the_curve(
    share: float, d: float
) -> None:
    curve = [a_point(2.0, 0.15), a_point(4.0, 0.25)]  # the second is above the hull
    assert distortion_at(curve, share) == pytest.approx(d / 8.0)


def test_where_a_curve_rises_again_its_last_way_down_is_not_cut_short() -> None:
    """From (2, .1) it rises to (4, .2), and comes to .05 on the way to (8, 0)."""
    curve = [a_point(2.0, 0.1, (2.0, 0.15)), a_point(4.0, 0.2, (4.0, 0.05))]
    assert distortion_at(curve, 1 / 6) == pytest.approx(7.0 / 8.0)
    assert distortion_at(curve, 0.5) == pytest.approx(1.5 / 8.0)  # there it comes down first


@pytest.mark.thorough
def test_claims_are_made_of_the_methods_that_are_there() -> None:
    nothing = SimpleNamespace(rows={})
    assert list(claims(cast(Published, nothing))) == []
    text = format_claims()
    assert text.startswith("| claim of the paper |")
    verdicts = _verdicts(text)
    assert verdicts
    assert set(verdicts) <= {f"**{one}**" for one in (HOLDS, FAILS, UNDECIDED)}


def _verdicts(text: str) -> list[str]:
    return [line.split(" | ")[-1].removesuffix(" |") for line in text.splitlines()[2:]]
