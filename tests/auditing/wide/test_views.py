"""A wide search finds rules of each kind, and nothing in noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import fairbench
from fairbench.auditing.auditors.samples import MemberRows, make_member_rows
from fairbench.auditing.auditors.simple import held_out_loss
from fairbench.auditing.auditors.trees import Boosting, fit_trees
from fairbench.auditing.view_rules import RULES
from fairbench.auditing.wide.exact_axes import exact_axes
from fairbench.auditing.wide.views import WIDE, wide_views

ROWS = 6_000
Array = npt.NDArray[np.float64]
Rule = Callable[[np.random.Generator], tuple[Array, npt.NDArray[np.bool_]]]


def last_digit(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    number = rng.integers(0, 10**7, ROWS)
    return np.column_stack([number, rng.normal(size=ROWS)]), number % 2 == 1


def low_bit(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    fraction = rng.random(ROWS).astype(np.float32)
    return np.column_stack([fraction, rng.normal(size=ROWS)]), fraction.view(np.uint32) % 2 == 1


def even_order(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    z = rng.normal(size=(ROWS, 5))
    swaps = sum((z[:, i] > z[:, j]).astype(int) for i, j in ((0, 1), (0, 2), (1, 2)))
    return z, np.asarray(swaps % 2 == 1)


def wide_noise(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    bit = rng.random(ROWS) < 0.5
    middle = 3 * rng.normal(size=(16, 6))[rng.integers(0, 16, ROWS)]
    return middle + rng.normal(size=(ROWS, 6)) * np.where(bit, 0.05, 0.2)[:, None], bit


def near_product(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    bit, z = rng.random(ROWS) < 0.5, rng.normal(size=(ROWS, 2))
    return np.column_stack([z, z[:, 0] * z[:, 1] + 0.01 * bit]), bit


def near_surface(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    bit, z = rng.random(ROWS) < 0.5, rng.uniform(-2, 2, (ROWS, 2))
    return np.column_stack([z, np.sin(z[:, 0]) * np.cos(2 * z[:, 1]) + 0.02 * bit]), bit


def ratio(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    z = rng.random((ROWS, 3)) + 1
    return z, np.floor(40 * z[:, 0] / z[:, 1]) % 2 == 1


def article_number(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Whether its digits, every second one three times, end in a digit below 5, as for EAN."""
    number = rng.integers(10**5, 10**6, ROWS)
    digits = number[:, None] // 10 ** np.arange(6) % 10
    return np.column_stack([number, rng.normal(size=ROWS)]), digits @ [1, 3, 1, 3, 1, 3] % 10 < 5


def digits_of_a_card(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Nine columns of one digit each, of which half pass the Luhn check."""
    digits = rng.integers(0, 10, (ROWS, 9))
    doubled = digits[:, ::-1] * [1, 2, 1, 2, 1, 2, 1, 2, 1]
    check = (doubled - 9 * (doubled > 9))[:, 1:].sum(axis=1)
    bit = rng.random(ROWS) < 0.5
    digits[:, 8] = (np.where(bit, 0, rng.integers(1, 10, ROWS)) - check) % 10
    return digits.astype(np.float64), bit


def random_stripes(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    z, edges = rng.random((ROWS, 3)), np.sort(rng.random(60))
    return z, np.searchsorted(edges, z[:, 0]) % 2 == 1


def remainder_of_sum(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    z = rng.integers(0, 300, (ROWS, 3))
    return z.astype(np.float64), z @ [3, 5, 2] % 7 < 3


def missing_parity(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    missing = rng.random((ROWS, 9)) < 0.4
    return np.where(missing, -1.0, rng.random((ROWS, 9))), missing[:, :7].sum(axis=1) % 2 == 1


def parity_of_low_bits(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    z = rng.normal(size=(ROWS, 2)).astype(np.float32)
    code = np.ascontiguousarray(z[:, 1]).view(np.uint32)
    return z.astype(np.float64), (code ^ (code >> 1) ^ (code >> 2)) % 2 == 1


def tiny_low_bit(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    """So small a column that to so many decimals it is all zeros."""
    z, bit = low_bit(rng)
    return np.ldexp(z, -40), bit


def tiny_last_digit(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    whole = rng.integers(0, 10**6, ROWS)
    return np.column_stack([rng.normal(size=ROWS), whole * 1e-13]), whole % 10 >= 5


def late_low_bit(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    """In the 38th of 40 columns, all of which have many digits."""
    z, bit = low_bit(rng)
    wide = rng.normal(size=(ROWS, 40)).astype(np.float32).astype(np.float64)
    wide[:, 37] = z[:, 0]
    return wide, bit


def rings(rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.bool_]]:
    z = rng.normal(size=(ROWS, 3))
    return z, np.floor(2.5 * np.hypot(z[:, 0] - 0.7, z[:, 1] + 0.4)) % 2 == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("rule", "view"),
    [
        (last_digit, "digits"),
        (low_bit, "digits"),
        (even_order, "orders"),
        (wide_noise, "distances"),
        (tiny_low_bit, "digits"),
        (tiny_last_digit, "digits"),
        (late_low_bit, "digits"),
        (near_product, "narrow-axes"),
        (near_surface, "surfaces"),
        (ratio, "quantities"),
        (random_stripes, "quantities"),
        (article_number, "quantities"),
        (digits_of_a_card, "quantities"),
        (remainder_of_sum, "plane-waves"),
        (missing_parity, "plane-waves"),
        (parity_of_low_bits, "plane-waves"),
        (rings, "localities"),
    ],
)
def test_a_rule_is_read_on_its_view(rule: Rule, view: str) -> None:
    rng = np.random.default_rng(0)
    z, bit = rule(rng)
    rows = make_member_rows(
        z.astype(np.float32), (bit ^ (rng.random(ROWS) < 0.05)).astype(np.int64), classes=2
    ).ungrouped()
    (found,) = wide_views(rows, _prior(rows), seed=0, names=[view])
    seen = rows.seen_through(found.apply)
    trees = fit_trees(seen, Boosting(60, 9, seed=0))
    assert held_out_loss(trees(seen.held.x), seen.held) < 0.8 * np.log(2)
    assert np.isfinite(found.apply(np.full((1, z.shape[1]), 3e38, np.float32))).all()


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_in_noise_there_is_none(classes: int) -> None:
    rng = np.random.default_rng(1)
    z = np.column_stack(
        [rng.normal(size=(ROWS, 3)), rng.integers(0, 9, (ROWS, 2)), rng.random((ROWS, 2)) < 0.4]
    )
    rows = make_member_rows(z, rng.integers(0, classes, ROWS), classes=classes).ungrouped()
    assert not list(wide_views(rows, _prior(rows), seed=0))


def test_the_eighth_digit_of_a_weighted_sum_is_read() -> None:
    rng = np.random.default_rng(0)
    z, bit = rng.normal(size=(ROWS, 5)), rng.integers(0, 2, ROWS)
    z = np.column_stack([z, z @ np.linspace(0.3, 1.1, 5) + 1e-7 * (2 * bit - 1)])
    columns = exact_axes(z)
    assert columns is not None
    assert abs(np.corrcoef(columns(z)[:, 0], bit)[0, 1]) > 0.99
    assert exact_axes(z.astype(np.float32)) is None
    assert exact_axes(z[:, :5]) is None


def _prior(rows: MemberRows) -> npt.NDArray[np.float32]:
    return np.tile(rows.prior.astype(np.float32), (len(rows.held.labels), 1))


@pytest.mark.thorough
def test_an_audit_of_arrays_searches_widely_and_a_quick_one_does_not() -> None:
    rng = np.random.default_rng(0)
    z, bit = ratio(rng)
    report = fairbench.audit(z, bit.astype(int), seed=0)
    assert report.i > 0.5
    assert report.hidden is not None
    assert report.hidden.view == "quantities"
    said = " ".join(str(report).split())
    assert "the rest is found on the quantities view: ratios, products, angles or lengths" in said
    assert report.to_dict()["hidden"]["view"] == "quantities"
    quick = fairbench.audit(z, bit.astype(int), quick=True, seed=0)
    assert not any(one.view == "quantities" for one in quick.auditors)
    assert quick.hidden is None


def test_a_reader_is_told_what_each_view_shows() -> None:
    assert set(WIDE) < set(RULES)


@pytest.mark.parametrize("scale", [pytest.param(1e-300, marks=pytest.mark.thorough), 1e38])
def test_no_scale_is_too_small_or_too_large(scale: float) -> None:
    rng = np.random.default_rng(0)
    z = scale * rng.normal(size=(300, 3))
    assert fairbench.audit(z, z[:, 0] > 0, seed=0).i > 0.5


@pytest.mark.thorough
def test_an_audit_of_arrays_reads_digits_beyond_single_precision() -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 10**10, (ROWS, 1)).astype(np.float64)
    z = np.column_stack([z, np.where(np.arange(ROWS) == 7, 1e300, 0.0)])  # must not coarsen others
    s = (z[:, 0] % 10 >= 5).astype(int)
    z[8, 0] = 1e35  # nor the rest of its own column
    assert fairbench.audit(z, s, seed=0).i > 0.6
