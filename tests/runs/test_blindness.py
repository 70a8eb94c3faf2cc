"""A method is not told which rows train auditors, which test them, or who is in which group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from fairbench.api import AUDIT_ROLES, Coding, Floats, Ints, Knob, Point, Role, Shots, Track, Unit
from fairbench.api.method import Curve, Method, Params, Representation
from fairbench.data.prepared import Prepared
from fairbench.runs.declared import declared
from fairbench.runs.draws import EncodingSeeds
from fairbench.runs.fit_job import FitJob
from fairbench.runs.plugin_values import ContractError
from fairbench.runs.row_order import digest_of, hash_rows, order_by_content
from fairbench.runs.unit_result import UnitResult
from fairbench.store.status import Status

CALLS: list[tuple[str, np.ndarray]] = []
"""What encoders and decoders were given, in order: x, or s."""


class Spy(Representation):
    """x itself."""

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        assert s is None
        CALLS.append(("encode", x))
        return x

    def decode(self, z: Floats, s: Ints) -> Floats:
        CALLS.append(("decode", s))
        return z

    def rate(self, x: Floats) -> float:
        CALLS.append(("rate", x))
        return 1.0


class SpyCurve(Curve):
    knob = Knob("k", 0.0, 1.0)

    def at(self, point: Point) -> Representation:
        return Spy()


class Multi(Method):
    name, coding, shots, has_decoder = "multi-spy", Coding.DETERMINISTIC, Shots.MULTI, True
    knobs = (SpyCurve.knob,)

    def points(self) -> tuple[Point, ...]:
        return Point.of(k=0.0), Point.of(k=1.0)

    def fit(self, train: Any, units: Any, context: Any) -> list[Any]:
        return [Spy() for _ in units]


class Single(Multi):
    name, shots = "single-spy", Shots.SINGLE

    def fit(self, train: Any, units: Any, context: Any) -> list[Any]:
        return [SpyCurve() for _ in units]


def run(method: type[Method], prepared: Prepared) -> list[UnitResult]:
    single = method.shots is Shots.SINGLE
    units = (
        (Unit(3, None), Unit(4, None))
        if single
        else tuple(Unit(3, p) for p in method(Params()).points())
    )
    job = FitJob(
        id="job",
        title="job",
        estimate=1.0,
        point_estimate=1.0,
        method=method,
        declared=declared(method),
        params=Params(),
        data=prepared,
        keys=("a", "b"),
        units=units,
        iterations=1,
        device="cpu",
        curve_points=3 if single else None,
    )
    CALLS.clear()
    return job.run(lambda fraction, note: None)


@pytest.mark.parametrize("method", [Multi, Single])
def test_calls_tell_neither_roles_nor_groups(method: type[Method], prepared: Prepared) -> None:
    results = run(method, prepared)
    assert all(result.status is Status.DONE for result in results)
    assert all(f"0/{name}" in results[0].arrays for name in ("permuted", "rate"))
    # Where a curve is read is found with rows that the method has had, with their groups.
    train = prepared.roles[Role.ENCODER_TRAIN]
    tried = [x for call, x in CALLS if call == "encode" and len(x) == len(train.s)]
    assert len(tried) == (2 * 65 if method is Single else 0)
    assert all(np.array_equal(x, train.x) for x in tried)
    CALLS[:] = [(call, given) for call, given in CALLS if len(given) != len(train.s)]
    assert all(len(np.unique(s)) == 1 for call, s in CALLS if call == "decode")
    last = max(i for i, (call, _) in enumerate(CALLS) if call == "encode")
    assert not any(call == "rate" for call, _ in CALLS[:last])
    sizes = {role: len(prepared.roles[role].s) for role in AUDIT_ROLES}
    together = [x for call, x in CALLS if call == "encode" and len(x) == sum(sizes.values())]
    assert len(together) == (4 if method is Single else 2)  # of a plateau, the ends alone
    test = {row.tobytes() for row in prepared.roles[Role.TEST].x}
    for x in together:
        first = np.mean([row.tobytes() in test for row in x[: len(x) // 2]])
        assert first == pytest.approx(sizes[Role.TEST] / len(x), abs=0.1)


def encoded_together(prepared: Prepared) -> list[np.ndarray]:
    """The rows of all roles as a multi-shot method was given them, by unit."""
    run(Multi, prepared)
    size = sum(len(prepared.roles[role].s) for role in AUDIT_ROLES)
    return [x for call, x in CALLS if call == "encode" and len(x) == size]


def test_what_is_encoded_together_does_not_depend_on_the_roles_of_rows(prepared: Prepared) -> None:
    """A method once could compute the order, and with it the role of each row, from its seed."""
    together = np.concatenate([prepared.roles[role].x for role in AUDIT_ROLES])
    lengths = [len(prepared.roles[role].s) for role in AUDIT_ROLES]
    dealt = np.random.default_rng(0).permutation(len(together))
    others = dict(prepared.roles)
    for role, numbers in zip(AUDIT_ROLES, np.split(dealt, np.cumsum(lengths)[:-1]), strict=True):
        others[role] = replace(prepared.roles[role], stored=together[numbers])
    orders = encoded_together(prepared)
    again = encoded_together(replace(prepared, roles=others))
    assert len(orders) == len(again) == 2
    for one, other in zip(orders, again, strict=True):
        np.testing.assert_array_equal(one, other)
        assert not np.array_equal(one, together)


def test_the_draws_of_an_encoder_cannot_be_computed_from_what_is_published() -> None:
    """Whose x and s are others has others, whatever else is the same."""
    x = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    s = np.arange(50) % 2
    digests = {digest_of(hash_rows(x), s), digest_of(hash_rows(x), 1 - s)}
    digests.add(digest_of(hash_rows(x[::-1]), s))
    assert len(digests) == 3
    seeds = [EncodingSeeds(digest, 0, 0).audited(2) for digest in sorted(digests)]
    assert len({seed for each in seeds for seed in each}) == 6


def test_equal_rows_are_in_no_order_of_their_roles() -> None:
    order = order_by_content(np.zeros(1000, np.uint64), "digest")
    assert sorted(order) == list(range(1000))
    assert abs(np.corrcoef(order, np.arange(1000))[0, 1]) < 0.2


class Turncoat(Multi):
    """Declares another track, or kind of encoder, once its training has begun."""

    name = "turncoat"
    turned: ClassVar[Mapping[str, object]] = {"track": Track.AWARE}
    of_class = False

    def fit(self, train: Any, units: Any, context: Any) -> list[Any]:
        for name, value in self.turned.items():
            setattr(type(self) if self.of_class else self, name, value)
        return super().fit(train, units, context)


@pytest.mark.parametrize("of_class", [False, True])
@pytest.mark.parametrize(
    ("turned", "said"),
    [({"track": Track.AWARE}, "track blind"), ({"coding": Coding.STOCHASTIC}, "coding deter")],
)
def test_a_method_cannot_change_what_it_declares(
    turned: Mapping[str, object], said: str, prepared: Prepared, *, of_class: bool
) -> None:
    """It was given s so, and stood among methods that see x alone."""
    method = type("Other", (Turncoat,), {"turned": turned, "of_class": of_class})
    with pytest.raises(ContractError, match=f"turncoat was planned with {said}"):
        run(method, prepared)
    assert not CALLS


def test_what_a_class_declares_later_changes_no_plan(prepared: Prepared) -> None:
    method: Any = type("Later", (Multi,), {})
    assert not declared(method).aware
    method.track = Track.AWARE
    assert not declared(method).aware
    with pytest.raises(ContractError, match="planned with track blind"):
        run(method, prepared)
