"""Numbers in another precision: what differs before differs after."""

import numpy as np
import pyarrow as pa
import pytest

from fairbench.data.array_checks import check_matrix
from fairbench.data.precision import single_precision, stack_exactly
from fairbench.errors import DataError

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("huge", [1e46, 1e60, 1e300, -1e60])
def test_one_huge_number_does_not_make_the_others_alike(huge: float) -> None:
    z = RNG.normal(size=(2000, 2))
    z[0, 0] = huge
    narrow = single_precision(z)
    assert narrow.dtype == np.float32
    assert len(np.unique(narrow[:, 0])) == 2000
    assert np.array_equal(np.argsort(narrow[:, 0]), np.argsort(z[:, 0]))
    assert np.array_equal(narrow[:, 1], z[:, 1].astype(np.float32))


def test_a_value_of_many_rows_is_not_made_another_one() -> None:
    z = np.concatenate([RNG.choice([0.0, 1e-60], 1000), RNG.normal(size=200)])[:, None]
    assert len(np.unique(single_precision(z))) == 202


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e12])
def test_usual_numbers_are_rounded_to_the_nearest(scale: float) -> None:
    z = scale * RNG.lognormal(size=(50_000, 2))
    assert np.array_equal(single_precision(z), z.astype(np.float32))


def test_numbers_that_fit_are_left_as_they_are() -> None:
    z = np.array([[0.5, 3.0], [0.25, -7.0]])
    assert np.array_equal(single_precision(z), z)


def test_noise_of_the_last_digits_does_not_make_equal_codes_differ() -> None:
    codes = RNG.integers(1, 50, (2000, 1))
    z = codes * (1 + 1e-12 * RNG.normal(size=(2000, 1)))
    assert np.array_equal(single_precision(z), codes)


def test_whole_numbers_that_nothing_holds_beside_fractions_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = [np.array([2**60, 2**60 + 1]), np.array([0.5, 0.25])]
    if np.finfo(np.longdouble).nmant > 60:
        stacked = stack_exactly(columns, "z")
        assert [int(number) for number in stacked[:, 0]] == [2**60, 2**60 + 1]
    monkeypatch.setattr(np, "longdouble", np.float64)  # as on other processors
    with pytest.raises(DataError, match=r"beyond 2\^53 beside fractions"):
        stack_exactly(columns, "z")


def test_a_list_that_numpy_would_round_is_refused() -> None:
    for rows in ([[2**60 + 1, 0.5]], [[2**63 + 1, -1]]):
        with pytest.raises(DataError, match=r"z\[0, 0\] is [0-9]+, which numbers with fractions"):
            check_matrix(rows, "z")
    assert check_matrix([[2**53, 0.5], [3, 1e300]], "z").tolist() == [[2**53, 0.5], [3, 1e300]]


def test_columns_of_arrow_keep_their_own_kinds() -> None:
    table = pa.table({"a": [2**60, 2**60 + 1] * 3, "b": [0.5] * 6})
    assert len(np.unique(check_matrix(table, "z")[:, 0])) == 2
