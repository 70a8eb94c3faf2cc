"""What a method's own decoder is asked for, and what auditors see of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fairbench.api import Floats, Ints
from fairbench.api.method import Representation
from fairbench.runs.contract import ContractError
from fairbench.runs.decoding import Decoded, decode_rows

N, D, K = 50, 4, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)).astype(np.float32)
S = RNG.integers(0, K, N)


class Decoder(Representation):
    def __init__(self, decode: Callable[[Floats, Ints], Floats | None]) -> None:
        self._decode = decode
        self.asked: list[Ints] = []

    def encode(self, x, *, s=None, generator=None):  # type: ignore[no-untyped-def]
        return x

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        self.asked.append(s)
        return self._decode(z, s)


def decoded(decoder: Decoder, x: Floats = X) -> Decoded | None:
    order = np.random.default_rng(1).permutation(N)
    parts = np.array_split(order, 3)
    return decode_rows(decoder, x, S, lambda rows: x[rows], parts, groups=K, name="toy")


def test_every_call_has_one_group_for_all_rows() -> None:
    decoder = Decoder(lambda z, s: z)
    assert decoded(decoder) is not None
    assert all(len(set(s.tolist())) == 1 for s in decoder.asked)
    assert {int(s[0]) for s in decoder.asked} == set(range(K))


def test_distortion_is_that_of_the_own_groups_reconstruction() -> None:
    found = decoded(Decoder(lambda z, s: z + s[:, None]))
    assert found is not None
    np.testing.assert_allclose(found.squares, D * S.astype(float) ** 2, atol=1e-2)
    assert found.shown.shape == (N, K * D)
    np.testing.assert_allclose(found.shown[:, :D], X, atol=6e-4)
    np.testing.assert_allclose(found.shown[:, 2 * D :], X + 2, atol=6e-4)


def test_distortion_is_of_the_digits_that_auditors_see() -> None:
    found = decoded(Decoder(lambda z, s: z))
    assert found is not None
    np.testing.assert_array_equal(found.shown, X.round(3))
    np.testing.assert_allclose(found.squares, ((X.round(3) - X) ** 2).sum(axis=1), atol=1e-9)


def test_one_copy_is_kept_where_s_changes_nothing() -> None:
    found = decoded(Decoder(lambda z, s: z))
    assert found is not None
    assert found.shown.shape == (N, D)


def test_wide_reconstructions_are_shown_by_their_axes() -> None:
    wide = np.repeat(X, 100, axis=1)
    found = decoded(Decoder(lambda z, s: z + s[:, None]), wide)
    assert found is not None
    assert found.shown.shape[1] <= 64
    np.testing.assert_allclose(found.squares, 400 * S.astype(float) ** 2, rtol=1e-2, atol=1e-2)


def test_no_decoder_is_none() -> None:
    assert decoded(Decoder(lambda z, s: None)) is None


@pytest.mark.parametrize(
    ("decode", "says"),
    [
        (lambda z, s: z[:, :2], "returned shape"),
        (lambda z, s: z * np.float32("nan"), "not finite"),
    ],
)
def test_what_cannot_be_used_is_refused(decode: Callable[..., Floats], says: str) -> None:
    with pytest.raises(ContractError, match=says):
        decoded(Decoder(decode))
