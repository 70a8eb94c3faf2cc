"""What is stored of an encoder: draws, and the spread of many draws at some points."""

from collections.abc import Sequence

import numpy as np
import pytest

from fairbench.api import AUDIT_ROLES, Coding, Point, Role, Shots
from fairbench.api.method import Method, Params, Representation
from fairbench.config import RunConfig
from fairbench.data.prepared import Prepared
from fairbench.runs import draws as taken
from fairbench.runs.cost import Meter
from fairbench.runs.curve_points import detailed_point_numbers
from fairbench.runs.declared import declared
from fairbench.runs.draws import DRAWS, FRESH_DRAWS
from fairbench.runs.encoding import FittedPoint, RowsToEncode, encode_point
from fairbench.runs.plan import make_budget, units_of


class Blurred(Representation):
    def __init__(self) -> None:
        self.calls = 0

    def encode(self, x, *, s=None, generator=None):  # type: ignore[no-untyped-def]
        self.calls += 1
        return x[:, :2] if generator is None else x[:, :2] + generator.normal(size=(len(x), 2))


class Blur(Method):
    name, coding, shots = "blur", Coding.STOCHASTIC, Shots.MULTI

    def points(self) -> tuple[Point, ...]:
        return tuple(Point.of(k=float(k)) for k in range(9))

    def fit(self, train, units, context):  # type: ignore[no-untyped-def]
        raise NotImplementedError


class Sharp(Blur):
    coding = Coding.DETERMINISTIC


class Far(Blur):
    """z is far from 0, where half precision is coarse."""


class FarAway(Blurred):
    def encode(self, x, *, s=None, generator=None):  # type: ignore[no-untyped-def]
        return 1000 + super().encode(x, s=s, generator=generator)


def encoded(
    data: Prepared, method: type[Method], *, detailed: bool
) -> tuple[dict[str, np.ndarray], Blurred]:
    encoder = FarAway() if method is Far else Blurred()
    point = FittedPoint(0, encoder, declared(method), 0)
    rows = RowsToEncode.of(data)
    return encode_point(point, rows, Meter("cpu"), detailed=detailed), encoder


class Signed(Representation):
    """z tells by the sign of a zero on which side of 0 the first column is."""

    def encode(self, x, *, s=None, generator=None):  # type: ignore[no-untyped-def]
        return np.copysign(0.0, x[:, :1])


def test_zeros_are_stored_without_a_sign(prepared: Prepared) -> None:
    """The certificate compares bytes, and auditors and `encode` know no sign of a zero."""
    point = FittedPoint(0, Signed(), declared(Sharp), 0)
    arrays = encode_point(point, RowsToEncode.of(prepared), Meter("cpu"), detailed=False)
    for role in AUDIT_ROLES:
        assert not np.signbit(arrays[f"0/z/{role}"]).any()


def test_mean_and_spread_of_many_draws_are_stored(prepared: Prepared) -> None:
    arrays, encoder = encoded(prepared, Blur, detailed=True)
    assert encoder.calls == DRAWS + FRESH_DRAWS + 256
    for role in AUDIT_ROLES:
        x = prepared.roles[role].x[:, :2]
        for count in (16, 256):
            mean, spread = np.hsplit(arrays[f"0/queries-{count}/{role}"], 2)
            assert mean.shape == x.shape
            assert (mean - x).std() == pytest.approx(count**-0.5, rel=0.15)
            assert spread.mean() == pytest.approx(1, abs=2 / count)


def test_other_points_and_what_is_stored_besides_do_not_depend_on_it(prepared: Prepared) -> None:
    plain, encoder = encoded(prepared, Blur, detailed=False)
    assert encoder.calls == DRAWS + FRESH_DRAWS
    closely, _ = encoded(prepared, Blur, detailed=True)
    assert not any("queries" in name or "detailed" in name for name in plain)
    for name, array in plain.items():
        np.testing.assert_array_equal(array, closely[name])


def test_of_many_rows_fewer_draws_are_seen(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = len(prepared.roles[Role.AUDITOR_TRAIN].s)
    for most, draws in ((9 * rows, DRAWS), (2 * rows, 2), (rows - 1, 1)):
        monkeypatch.setattr(taken, "_MAX_DRAWN", most)
        arrays, _ = encoded(prepared, Blur, detailed=False)
        for role in AUDIT_ROLES:
            assert len(arrays[f"0/z/{role}"]) == draws * len(prepared.roles[role].s)


def test_fresh_draws_are_of_the_auditor_training_set_and_compact(prepared: Prepared) -> None:
    arrays, _ = encoded(prepared, Blur, detailed=False)
    x = prepared.roles[Role.AUDITOR_TRAIN].x[:, :2]
    fresh = arrays["0/fresh"]
    assert fresh.dtype == np.float16
    noise = fresh.reshape(FRESH_DRAWS, *x.shape) - x
    assert noise.std() == pytest.approx(1, abs=0.05)
    assert np.abs(np.corrcoef(noise[:, :, 0]) - np.eye(FRESH_DRAWS)).max() < 0.2


def test_fresh_draws_keep_their_precision_where_half_of_it_would_be_coarse(
    prepared: Prepared,
) -> None:
    arrays, _ = encoded(prepared, Far, detailed=False)
    assert arrays["0/fresh"].dtype == np.float32


def test_a_deterministic_encoder_is_not_queried_again(prepared: Prepared) -> None:
    arrays, encoder = encoded(prepared, Sharp, detailed=True)
    assert encoder.calls == 1
    assert "0/detailed" in arrays
    assert not any("queries" in name for name in arrays)
    assert len(arrays[f"0/z/{Role.TEST}"]) == len(prepared.roles[Role.TEST].s)


@pytest.mark.parametrize(
    ("betas", "numbers"),
    [
        ([], set()),
        ([1], {0}),
        ([1, 2], {0, 1}),
        ([1, 2, 3], {0, 1, 2}),
        (range(16), {0, 8, 15}),
        # However a method lists them: the least, the middle and the largest.
        ([100, 1, 2, 3, 99, 4, 5, 98], {0, 1, 6}),
    ],
)
def test_first_middle_and_last_point(betas: Sequence[float], numbers: set[int]) -> None:
    assert detailed_point_numbers([Point.of(beta=beta) for beta in betas]) == numbers


def test_a_point_without_knobs_is_examined_closely() -> None:
    assert detailed_point_numbers([None]) == {0}


def test_which_points_are_examined_closely_does_not_follow_the_order_of_a_list() -> None:
    """A method could name first, middle and last those that tell nothing more when queried."""
    knobs = (100, 1, 2, 3, 99, 4, 5, 98)
    closely = detailed_point_numbers([Point.of(k=value) for value in knobs])
    assert {knobs[number] for number in closely} == {1, 5, 100}
    for listed in ([1, 2, 3, 4], [4, 3, 2, 1]):
        assert detailed_point_numbers([Point.of(k=value) for value in listed]) == {0, 2, 3}
    assert detailed_point_numbers([]) == set()


def test_a_plan_says_which_units_are_examined_closely_and_keys_do_not(prepared: Prepared) -> None:
    budget = make_budget(100, prepared)

    def planned(points: int | None) -> dict[str, tuple[str, bool]]:
        config = RunConfig(methods=("blur",), datasets=("adults",), seeds=(0,), points=points)
        units = units_of(Blur, Params(), prepared, budget, config)
        return {u.unit.point.label: (u.key, u.detailed) for u in units if u.unit.point}

    every, few = planned(None), planned(4)
    assert [label for label, (_, closely) in every.items() if closely] == ["k=0", "k=4", "k=8"]
    assert all(every[label][0] == key for label, (key, _) in few.items())
    assert sum(closely for _, closely in few.values()) == 3


def test_quick_runs_examine_no_point_closely(prepared: Prepared) -> None:
    config = RunConfig(methods=("blur",), datasets=("adults",), seeds=(0,))
    units = units_of(Blur, Params(), prepared, make_budget("quick", prepared), config)
    assert not any(unit.detailed for unit in units)


class MarksByItsGenerator(Representation):
    """Takes the order of the rows, if its generator gives that away, and marks those of a role."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes, self.seen = sizes, []

    def encode(self, x, *, s=None, generator=None):  # type: ignore[no-untyped-def]
        seeds = generator.bit_generator.seed_seq
        self.seen.append((seeds.entropy, seeds.spawn_key))
        order = np.random.default_rng(seeds.entropy).permutation(len(x))
        return (order[:, None] < self.sizes[0]).astype(np.float32)


def test_a_generator_tells_neither_the_order_of_rows_nor_the_draw(prepared: Prepared) -> None:
    rows = RowsToEncode.of(prepared)
    sizes = [len(rows.x[role]) for role in AUDIT_ROLES]
    encoder = MarksByItsGenerator(sizes)
    arrays = encode_point(FittedPoint(0, encoder, declared(Blur), 0), rows, Meter("cpu"))
    shares = [arrays[f"0/z/{role}"].mean() for role in AUDIT_ROLES]
    assert np.ptp(shares) < 0.1
    entropies, keys = zip(*encoder.seen, strict=True)
    assert len(set(entropies)) == DRAWS + FRESH_DRAWS
    assert set(keys) == {()}


class CountsItsDraws(Representation):
    """Gives the number of the call."""

    calls = 0

    def encode(self, x, *, s=None, generator=None):  # type: ignore[no-untyped-def]
        self.calls += 1
        return np.full((len(x), 1), self.calls, np.float32)


def test_which_draws_audits_see_is_drawn_by_chance(prepared: Prepared) -> None:
    rows = RowsToEncode.of(prepared)
    seen = set()
    for seed in range(8):
        point = FittedPoint(0, CountsItsDraws(), declared(Blur), seed)
        arrays = encode_point(point, rows, Meter("cpu"))
        seen.add(tuple(np.unique(arrays[f"0/z/{Role.TEST}"])))
        assert len(np.unique(arrays["0/fresh"])) == FRESH_DRAWS
    assert len(seen) > 3
