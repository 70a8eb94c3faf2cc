"""The time left of a run: corrected by what jobs of a kind have taken, without jumps."""

from __future__ import annotations

import itertools
from typing import Any, cast

import pytest

from fairbench.cli import remaining as module
from fairbench.cli.remaining import Remaining
from fairbench.runs.audit_job import AuditJob
from fairbench.runs.fit_job import FitJob
from fairbench.runs.job import Job


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def job(kind: type, name: str, estimate: float) -> Job:
    made: Any = object.__new__(kind)
    object.__setattr__(made, "id", name)
    object.__setattr__(made, "estimate", estimate)
    return cast(Job, made)


def run(left: Remaining, clock: Clock, one: Job, seconds: float) -> float:
    left.start(one)
    clock.now += seconds
    left.end(one, seconds)
    return left.seconds()


def test_where_estimates_are_right_it_falls_as_the_clock_rises(clock: Clock) -> None:
    left = Remaining()
    left.plan(100.0, fits=True)
    left.plan(300.0, fits=False)
    assert left.seconds() == pytest.approx(400.0)
    assert run(left, clock, job(FitJob, "f", 100.0), 100.0) == pytest.approx(300.0)
    for number in range(3):
        now = run(left, clock, job(AuditJob, str(number), 100.0), 100.0)
        assert now == pytest.approx(200.0 - 100.0 * number, abs=1e-9)


def test_doubt_becomes_smaller_as_work_is_done(clock: Clock) -> None:
    left = Remaining()
    left.plan(1000.0, fits=False)
    widths = []
    for number in range(9):
        least, most = left.between()
        assert least < left.seconds() < most
        widths.append(most / least)
        run(left, clock, job(AuditJob, str(number), 100.0), 100.0)
    assert widths[0] > 2
    assert widths[-1] < 1.15
    assert widths == sorted(widths, reverse=True)


def test_fits_that_are_twice_as_fast_say_nothing_of_audits(clock: Clock) -> None:
    left = Remaining()
    left.plan(400.0, fits=True)
    left.plan(600.0, fits=False)
    now = run(left, clock, job(FitJob, "f", 200.0), 100.0)
    assert 600 + 100 < now < 600 + 120  # the other fit is expected to be nearly as fast


def test_it_does_not_jump_from_one_kind_to_the_other(clock: Clock) -> None:
    """All jobs take as long as planned, but audits 2.5 times as long: it rises once, slowly."""
    left = Remaining(workers=2)
    left.plan(200.0, fits=True)
    left.plan(500.0, fits=False)
    seen = [run(left, clock, job(FitJob, str(n), 20.0), 20.0) for n in range(10)]
    seen += [run(left, clock, job(AuditJob, f"a{n}", 10.0), 25.0) for n in range(50)]
    assert all(later < 1.7 * before for before, later in itertools.pairwise(seen))
    assert seen[-1] == 0


def test_nothing_ends_before_the_longest_job(clock: Clock) -> None:
    left = Remaining(workers=8)
    left.plan(100.0, fits=True)
    long = job(FitJob, "long", 100.0)
    left.start(long)
    assert left.seconds() == pytest.approx(100.0)
    clock.now = 50.0
    left.advance(long, 0.5)
    assert left.seconds() == pytest.approx(50.0)
