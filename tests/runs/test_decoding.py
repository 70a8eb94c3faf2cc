"""What a method's own decoder is asked for, and what auditors see of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fairbench.api import Floats, Ints
from fairbench.api.method import Representation
from fairbench.runs.decoding import Decoded, GroupDecoder, ReconstructionRange
from fairbench.runs.plugin_values import ContractError

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


def parts() -> list[Ints]:
    return np.array_split(np.random.default_rng(1).permutation(N), 3)


def decoded(
    decoder: Decoder, x: Floats = X, image: tuple[int, int, int] | None = None
) -> Decoded | None:
    return one(GroupDecoder(decoder, K, "toy", ReconstructionRange.around([x]), image), x, x, S)


def one(decoder: GroupDecoder, z: Floats, x: Floats, s: Ints) -> Decoded | None:
    """Decode one draw; axes are fitted to half of the rows."""
    found = decoder.decode([z], s, lambda rows: x[rows], parts(), sample())
    return None if found is None else found[0]


def sample() -> Ints:
    return np.random.default_rng(4).permutation(N)[: N // 2]


def test_every_call_has_one_group_for_all_rows() -> None:
    decoder = Decoder(lambda z, s: z)
    assert decoded(decoder) is not None
    assert all(len(set(s.tolist())) == 1 for s in decoder.asked)
    assert {int(s[0]) for s in decoder.asked} == set(range(K))


def test_distortion_is_that_of_the_own_groups_reconstruction() -> None:
    found = decoded(Decoder(lambda z, s: z + s[:, None]))
    assert found is not None
    np.testing.assert_allclose(found.squared_errors, D * S.astype(float) ** 2, atol=1e-2)
    assert found.reconstructions.shape == (N, K * D)
    np.testing.assert_allclose(found.reconstructions[:, :D], X, atol=6e-4)
    np.testing.assert_allclose(found.reconstructions[:, 2 * D :], X + 2, atol=6e-4)


def test_distortion_is_of_the_digits_that_auditors_see() -> None:
    found = decoded(Decoder(lambda z, s: z))
    assert found is not None
    np.testing.assert_array_equal(found.reconstructions, X.round(3))
    np.testing.assert_allclose(found.squared_errors, ((X.round(3) - X) ** 2).sum(axis=1), atol=1e-9)


def test_one_copy_is_kept_where_s_changes_nothing() -> None:
    found = decoded(Decoder(lambda z, s: z))
    assert found is not None
    assert found.reconstructions.shape == (N, D)


def test_wide_reconstructions_are_shown_by_their_axes() -> None:
    wide = np.repeat(X, 100, axis=1)
    found = decoded(Decoder(lambda z, s: z + s[:, None]), wide)
    assert found is not None
    assert 400 < found.reconstructions.shape[1] <= 64 + 400
    np.testing.assert_allclose(
        found.squared_errors, 400 * S.astype(float) ** 2, rtol=1e-2, atol=1e-2
    )


@pytest.mark.parametrize("columns", [448, 449])
def test_of_tables_of_any_width_the_mean_over_the_groups_is_shown(columns: int) -> None:
    """Noise for a group that one row is of takes all axes of the reconstructions for all groups."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(400, columns)).astype(np.float32)
    s = np.append(rng.integers(0, K - 1, len(x) - 1), K - 1)
    first_column = np.arange(columns) == 0

    def decode(z: Floats, s: Ints) -> Floats:
        return np.where(s[:, None] == K - 1, 3 * np.sin(1000 * z), z * first_column)

    decoder = GroupDecoder(Decoder(decode), K, "toy", ReconstructionRange.around([x]))
    rows = rng.permutation(len(x))
    found = decoder.decode([x], s, lambda rows: x[rows], [rows], rows[:200])
    assert found is not None
    shown = found[0].reconstructions
    assert shown.shape[1] <= 512
    reads = np.nan_to_num(np.abs([np.corrcoef(one, x[:, 0])[0, 1] for one in shown.T]))
    assert reads[:64].max() < 0.5
    assert reads[64:].max() > 0.95


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


IMAGE = (1, 24, 24)


def images() -> Floats:
    rng = np.random.default_rng(2)
    drawn = np.zeros((N, 24, 24), np.float32)
    for image in drawn:
        row, column = rng.integers(0, 16, 2)
        image[row : row + 8, column : column + 3] = 1
    return drawn.reshape(N, -1)


def test_images_are_shown_by_their_axes_and_by_those_of_the_centred_ones() -> None:
    x = images()
    found = decoded(Decoder(lambda z, s: z * (1 - 0.1 * s[:, None])), x, IMAGE)
    assert found is not None
    assert (
        found.reconstructions.shape[1] == 2 * (N // 2) + 2
    )  # as many axes as rows, where these are few
    expected = (0.1 * S) ** 2 * x.sum(axis=1)
    np.testing.assert_allclose(found.squared_errors, expected, atol=1e-2)


def test_a_decoder_of_images_that_ignores_s_is_shown_once() -> None:
    x = images()
    found = decoded(Decoder(lambda z, s: z), x, IMAGE)
    alone = GroupDecoder(Decoder(lambda z, s: z), 1, "toy", ReconstructionRange.around([x]), IMAGE)
    once = one(alone, x, x, np.zeros(N, int))
    assert found is not None
    assert once is not None
    np.testing.assert_array_equal(found.reconstructions, once.reconstructions)
    np.testing.assert_array_equal(found.squared_errors, 0)


def test_a_decoder_that_seems_to_ignore_s_hides_nothing() -> None:
    """It ignores s on the rows it is tried on, and puts it into the last part's images."""
    x, last = images(), parts()[-1]

    def decode(z: Floats, s: Ints) -> Floats:
        late = np.isin(z @ np.arange(x.shape[1]), x[last] @ np.arange(x.shape[1]))
        return z * np.where(late, 1 - 0.2 * s, 1).astype(np.float32)[:, None]

    found = decoded(Decoder(decode), x, IMAGE)
    axes = decoded(Decoder(lambda z, s: z), x, IMAGE)
    assert found is not None
    assert axes is not None
    assert not np.allclose(
        found.reconstructions[last].std(axis=0), axes.reconstructions[last].std(axis=0), atol=1e-3
    )


def test_a_decoder_cannot_drown_other_values_in_huge_ones() -> None:
    """What it gives a row for another group costs it nothing, so it could be anything."""
    found = decoded(Decoder(lambda z, s: np.where(s[:, None] == 1, 1e25, z).astype(np.float32)))
    assert found is not None
    span = X.max(axis=0) - X.min(axis=0)
    shown = found.reconstructions.reshape(N, K, D)
    np.testing.assert_allclose(shown[:, 1], np.tile(X.max(axis=0) + span, (N, 1)), rtol=1e-6)
    np.testing.assert_allclose(shown[:, 0], X, atol=6e-4)


def test_a_decoder_knows_no_more_of_a_row_than_its_code() -> None:
    """It remembers the order of the rows, whose codes are all the same."""
    z = np.where(np.arange(N) % 2 == 0, 0.0, -0.0).astype(np.float32)[:, None]
    rows = [X[part] for part in parts() for _ in range(K)]
    decoder = Decoder(lambda z, s: rows.pop(0)[: len(z)])
    found = one(GroupDecoder(decoder, K, "toy", ReconstructionRange.around([X])), z, X, S)
    assert found is not None
    assert found.squared_errors.mean() > X.var(axis=0).sum()
    assert len(np.unique(found.reconstructions, axis=0)) == 1


def test_codes_that_are_told_apart_by_parts_are_not_told_apart() -> None:
    """Its codes are places in a part: whose they are is only known by the number of the call."""
    places = np.empty((N, 1), np.float32)
    for part in parts():
        places[part, 0] = np.arange(len(part))
    calls = [X[part] for part in parts() for _ in range(K)]
    decoder = Decoder(lambda z, s: calls.pop(0)[z[:, 0].astype(int)])
    found = one(GroupDecoder(decoder, K, "toy", ReconstructionRange.around([X])), places, X, S)
    assert found is not None
    assert found.squared_errors.mean() > 0.5 * X.var(axis=0).sum()


def test_rows_of_a_code_are_in_several_parts_and_come_back_in_order() -> None:
    z = (X[:, :1] > 0).astype(np.float32)
    found = decoded_in_parts(Decoder(lambda z, s: np.repeat(z, D, axis=1) + s[:, None]), z)
    np.testing.assert_array_equal(found.reconstructions[:, 0], z[:, 0])
    expected = ((np.repeat(z, D, axis=1) + S[:, None] - X) ** 2).sum(axis=1)
    np.testing.assert_allclose(found.squared_errors, expected, rtol=1e-5)


def decoded_in_parts(decoder: Representation, z: np.ndarray) -> Decoded:
    group_decoder = GroupDecoder(decoder, K, "toy", ReconstructionRange.around([X]))
    found = one(group_decoder, z, X, S)
    assert found is not None
    by_group = group_decoder.squared_errors_by_group(z, lambda numbers: X[numbers], parts())
    assert by_group is not None
    np.testing.assert_allclose(by_group[np.arange(N), S], found.squared_errors, rtol=1e-6)
    return found


def test_of_many_groups_auditors_also_see_the_mean_over_groups() -> None:
    """Noise for a group that nobody is of takes all axes, and costs no distortion."""
    groups, width = 9, 64
    x = np.random.default_rng(2).normal(size=(N, width)).astype(np.float32)
    s = np.arange(N) % (groups - 1)
    noise = 100 * np.random.default_rng(3).normal(size=(N, width)).astype(np.float32)
    decoder = Decoder(lambda z, s: z if s[0] < groups - 1 else noise[: len(z)])
    made = GroupDecoder(decoder, groups, "toy", ReconstructionRange.around([x]))
    found = one(made, x, x, s)
    assert found is not None
    np.testing.assert_allclose(found.reconstructions[:, -width:], x, atol=1e-3)


def test_squared_errors_are_those_of_decoding() -> None:
    decoder = GroupDecoder(
        Decoder(lambda z, s: z + s[:, None]), K, "toy", ReconstructionRange.around([X])
    )
    found = one(decoder, X, X, S)
    assert found is not None
    alone = decoder.squared_errors(X, S, lambda rows: X[rows], parts())
    np.testing.assert_array_equal(alone, found.squared_errors)
    none = GroupDecoder(Decoder(lambda z, s: None), K, "toy", ReconstructionRange.around([X]))
    assert none.squared_errors(X, S, lambda rows: X[rows], parts()) is None


@pytest.mark.parametrize("image", [None, IMAGE])
def test_a_decoder_that_changes_what_it_says_is_refused(image: tuple[int, int, int] | None) -> None:
    """It gives noise while axes are fitted, and x later, in which auditors would see nothing."""
    x = images()
    noise = np.random.default_rng(3).normal(size=x.shape).astype(np.float32)
    calls: list[int] = []

    def decode(z: Floats, s: Ints) -> Floats:
        calls.append(len(z))
        return noise[: len(z)] if len(calls) <= K * len(parts()) else z

    with pytest.raises(ContractError, match="other reconstructions of the same codes"):
        decoded(Decoder(decode), x, image)


def test_the_rows_that_axes_are_fitted_to_are_not_told_apart() -> None:
    """Each call of the first pass is made again, alike, in the second."""
    x, seen = images(), list[Floats]()

    def decode(z: Floats, s: Ints) -> Floats:
        seen.append(z)
        return z

    assert decoded(Decoder(decode), x, IMAGE) is not None
    half = len(seen) // 2
    for first, again in zip(seen[:half], seen[half:], strict=True):
        np.testing.assert_array_equal(first, again)


def test_draws_are_shown_by_the_same_axes() -> None:
    """Of two draws of a code that are nearly equal, what auditors see is nearly equal."""
    x = np.repeat(X, 100, axis=1)
    decoder = GroupDecoder(
        Decoder(lambda z, s: z + s[:, None]), K, "toy", ReconstructionRange.around([x])
    )
    noise = 1e-3 * np.random.default_rng(5).normal(size=x.shape).astype(np.float32)
    found = decoder.decode([x, x + noise], S, lambda rows: x[rows], parts(), sample())
    assert found is not None
    a, b = (each.reconstructions for each in found)
    np.testing.assert_allclose(a, b, atol=0.2)


def test_axes_are_of_all_draws() -> None:
    """Its first draw is decoded to what varies in other places than the second one."""
    x = np.repeat(X, 100, axis=1)
    first = x.copy()
    first[:, 200:] = 0

    def decode(z: Floats, s: Ints) -> Floats:
        return np.where(np.arange(400) < 200, 0, z) if z[:, 0].any() else z

    draws = [first, np.where(np.arange(400) < 200, 0, x).astype(np.float32)]
    decoder = GroupDecoder(Decoder(decode), K, "toy", ReconstructionRange.around([x]))
    found = decoder.decode(draws, S, lambda rows: x[rows], parts(), sample())
    assert found is not None
    assert found[1].reconstructions[:, :64].std(axis=0).max() > 1
