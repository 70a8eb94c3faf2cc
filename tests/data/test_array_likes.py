"""What stores more than its values is refused: whoever holds z has all of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

from fairbench.data.array_checks import check_classes, check_matrix
from fairbench.errors import DataError

N = 40
S = np.arange(N) % 2
NOISE = np.random.default_rng(0).normal(size=N)
DAY = datetime(2020, 1, 1, tzinfo=UTC)


def bytes_of_bools() -> np.ndarray:
    return np.where(S == 1, 3, 1).astype(np.uint8).view(bool)


def stored_zeros() -> sparse.csr_matrix:
    ones = sparse.csr_matrix(np.ones((N, 1)))
    ones.data[S == 1] = 0
    return ones


def unsorted() -> sparse.csr_matrix:
    both = sparse.csr_matrix(np.tile([1.0, 2.0], (N, 1)))
    for row in np.flatnonzero(S):
        own = slice(2 * row, 2 * row + 2)
        both.indices[own], both.data[own] = both.indices[own][::-1], both.data[own][::-1]
    both.has_sorted_indices = both.has_canonical_format = False
    return both


def of_torch() -> torch.Tensor:
    places = torch.stack([torch.arange(N), torch.zeros(N, dtype=torch.int64)])
    return torch.sparse_coo_tensor(places, torch.from_numpy(1.0 - S), (N, 1)).coalesce()


def dense_parts() -> pd.DataFrame:
    stored = pd.arrays.SparseArray(np.where(S == 1, 1.0, 2.0), fill_value=0.0)
    stored.sp_values[S == 1] = 0.0
    return pd.DataFrame({"a": stored})


def column(values: Any) -> pd.DataFrame:
    return pd.DataFrame({"noise": NOISE, "a": pd.Series(values)})


REFUSED: dict[str, tuple[Any, str]] = {
    "bytes of truth values": (lambda: bytes_of_bools()[:, None], "other bytes than 0 and 1"),
    "the same in a frame": (lambda: column(bytes_of_bools()), "'a' of z holds truth values"),
    "extended precision": (lambda: np.ones((N, 1), np.longdouble), "extended precision"),
    "the same in a frame, as objects": (
        lambda: column([np.longdouble(1)] * N).astype({"a": object}),
        "objects of the kind longdouble",
    ),
    "zeros that are stored": (stored_zeros, r"z is sparse.*z\.toarray"),
    "places in another order": (unsorted, r"z is sparse"),
    "zeros of torch": (of_torch, r"z is sparse.*z\.to_dense"),
    "zeros of pandas": (dense_parts, r"z is sparse.*sparse\.to_dense"),
    "complex objects": (
        lambda: column(pd.Series([complex(1, s) for s in S], dtype=object)),
        "objects of the kind complex",
    ),
    "categories of two kinds": (
        lambda: column(pd.Categorical(["1" if s else 1 for s in S])),
        "mixes kinds of numbers",
    ),
    "categories of decimals": (
        lambda: column(pd.Categorical([Decimal("0.1") if s else 0.1 for s in S])),
        "mixes kinds of numbers",
    ),
    "categories of dates": (
        lambda: column(pd.Categorical([DAY + timedelta(microseconds=int(s)) for s in S])),
        "not a number|dates",
    ),
    "categories of durations": (
        lambda: column(pd.Categorical([timedelta(microseconds=int(s)) for s in S])),
        "not a number|durations",
    ),
    "1 beside 1.0 in a list": (lambda: [[1 if s else 1.0] for s in S], r"z\[:, 0\] mixes kinds"),
    "truth values in a list": (lambda: [[True if s else 1] for s in S], r"z\[:, 0\] mixes kinds"),
    "tuples beside lists": (lambda: [(0.5,) if s else [0.5] for s in S], "mixes kinds"),
    "arrays of two kinds": (
        lambda: [np.array([0.5], np.float32 if s else np.float64) for s in S],
        "mixes kinds",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_stores_more_than_its_values_is_refused(case: str) -> None:
    make, says = REFUSED[case]
    with pytest.raises(DataError, match=says):
        check_matrix(make(), "z")


def test_what_stores_its_values_alone_is_read() -> None:
    values = np.column_stack([S, NOISE])
    for held in (
        sparse.csr_matrix(values),
        sparse.csc_matrix(values),
        torch.from_numpy(values).to_sparse(),
        values.tolist(),
        list(values),
        pd.DataFrame(values).astype(pd.SparseDtype(float, 0.0)),
        pd.DataFrame(values).astype({0: "category"}),
    ):
        assert np.array_equal(check_matrix(held, "z"), values)
    # As JSON of other languages has it: no whole number is written with a point.
    assert check_matrix([[1, 0.5], [0.25, 2]], "z").tolist() == [[1, 0.5], [0.25, 2]]


def test_categories_keep_the_precision_of_what_they_stand_for() -> None:
    large = pd.Categorical(2**60 + S)
    assert len(np.unique(check_matrix(column(large)[["a"]], "z"))) == 2


def test_groups_whose_bytes_are_no_text_are_refused() -> None:
    """Replaced by one sign each, two names could become one."""
    names = np.array([name.encode("latin-1") for name in ("Söder", "Säder")])[S]
    with pytest.raises(DataError, match="no text in UTF-8"):
        check_classes(names, "s")
