"""A method is not told which rows train auditors, which test them, or who is in which group."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairbench.api import AUDIT_ROLES, Coding, Floats, Ints, Knob, Point, Role, Shots, Unit
from fairbench.api.method import Curve, Method, Params, Representation
from fairbench.data.prepared import Prepared
from fairbench.runs.fit_job import FitJob, UnitResult
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


def run(method: type[Method], prepared: Prepared, secret: str = "") -> list[UnitResult]:
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
        params=Params(),
        data=prepared,
        keys=("a", "b"),
        units=units,
        iterations=1,
        device="cpu",
        curve_points=3 if single else None,
        secret=secret,
    )
    CALLS.clear()
    return job.run(lambda fraction, note: None)


@pytest.mark.parametrize("method", [Multi, Single])
def test_calls_tell_neither_roles_nor_groups(method: type[Method], prepared: Prepared) -> None:
    results = run(method, prepared)
    assert all(result.status is Status.DONE for result in results)
    assert all(f"0/{name}" in results[0].arrays for name in ("permuted", "rate"))
    assert all(len(np.unique(s)) == 1 for call, s in CALLS if call == "decode")
    last = max(i for i, (call, _) in enumerate(CALLS) if call == "encode")
    assert not any(call == "rate" for call, _ in CALLS[:last])
    sizes = {role: len(prepared.roles[role].s) for role in AUDIT_ROLES}
    together = [x for call, x in CALLS if call == "encode" and len(x) == sum(sizes.values())]
    # Where a curve is read is found with all rows of a small table; on a plateau, the ends alone.
    assert len(together) == (2 * 65 + 4 if method is Single else 2)
    test = {row.tobytes() for row in prepared.roles[Role.TEST].x}
    for x in together:
        first = np.mean([row.tobytes() in test for row in x[: len(x) // 2]])
        assert first == pytest.approx(sizes[Role.TEST] / len(x), abs=0.1)


def encoded_together(prepared: Prepared, secret: str = "") -> list[np.ndarray]:
    """The rows of all roles as a multi-shot method was given them, by unit."""
    run(Multi, prepared, secret)
    size = sum(len(prepared.roles[role].s) for role in AUDIT_ROLES)
    return [x for call, x in CALLS if call == "encode" and len(x) == size]


def test_the_order_of_rows_cannot_be_computed_from_the_seed(prepared: Prepared) -> None:
    """A method once could: the order was that of the seed and the number of the point."""
    x = np.concatenate([prepared.roles[role].x for role in AUDIT_ROLES])
    orders = encoded_together(prepared)
    assert len(orders) == 2
    for seen in orders:
        for number in (0, 1):
            guessed = x[np.random.default_rng([3, number]).permutation(len(x))]
            assert not np.array_equal(seen, guessed)


def test_the_order_of_rows_depends_on_the_rows_of_all_roles(prepared: Prepared) -> None:
    """Their fingerprint, which a method is not given; with the seed alone it is not known."""
    orders, same = encoded_together(prepared), encoded_together(prepared)
    others = encoded_together(replace(prepared, fingerprint="other"))
    secrets = encoded_together(prepared, "of other results")
    assert len(orders) == 2
    # What is published of the data tells nothing of the order in somebody's results folder.
    assert not any(map(np.array_equal, orders, secrets))
    for one, again, other in zip(orders, same, others, strict=True):
        np.testing.assert_array_equal(one, again)
        assert not np.array_equal(one, other)
