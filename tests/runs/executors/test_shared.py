"""Two runs on one store: each job is done once, by one of them, and both end."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa

from fairbench.runs.audit_job import AuditJob
from fairbench.runs.executors.base import (
    DoneElsewhere,
    Event,
    Executor,
    Failed,
    Finished,
    HeldByAnotherRun,
    Idle,
    Progressed,
)
from fairbench.runs.executors.inline import InlineExecutor
from fairbench.runs.executors.shared import SharedExecutor
from fairbench.store.claims import STALE, Claims
from fairbench.store.database import Store
from fairbench.store.status import Status


@dataclass(frozen=True)
class Work:
    id: str
    claimed: tuple[str, ...]
    title: str = "job"
    estimate: float = 1.0
    gpus: float = 0.0


@dataclass(frozen=True)
class Sleeps(Work):
    """Work for a process of its own."""

    seconds: float = 2.0

    def run(self, progress: Any) -> None:
        time.sleep(self.seconds)


class Instant(Executor):
    """Does a job in a moment, one at a time."""

    def __init__(self) -> None:
        self.workers = 1
        self.queue: list[Any] = []

    def submit(self, job: Any) -> None:
        self.queue.append(job)

    def events(self) -> Iterator[Event]:
        while self.queue:
            yield Idle()
            time.sleep(0.01)
            job = self.queue.pop(0)
            if job.id.startswith("bad"):
                yield Failed(job, Status.FAILED, "no luck", None, 0.0)
            else:
                yield Finished(job, job.id, 0.0)

    def stop(self) -> None:
        self.queue.clear()


class OneGPU(Instant):
    """Two workers, and a GPU that one job has at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.workers = 2

    def has_room(self, job: Any) -> bool:
        return not job.gpus or not any(other.gpus for other in self.queue)


class ReportsAlways(Instant):
    """Two workers; ``long`` reports progress without a pause, until another job has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.workers = 2

    def events(self) -> Iterator[Event]:
        reports = 0
        while self.queue:
            job = self.queue[-1]
            if job.id == "long" and reports < 300:
                reports += 1
                time.sleep(0.01)
                yield Progressed(job, 0.5, "")
                continue
            self.queue.remove(job)
            yield Finished(job, job.id, 0.0)
            reports = 300


class Together:
    """Results that several runs share, as the store's."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.done: dict[str, int] = {}

    def run(
        self,
        store: Store,
        name: str,
        jobs: list[Work],
        *,
        watch: Callable[[Event], None] = lambda event: None,
    ) -> list[Event]:
        seen: list[Event] = []
        with Claims(store, name) as claims:
            executor = SharedExecutor(Instant(), claims, self.settled, look_every=0.02)
            for job in jobs:
                executor.submit(job)  # type: ignore[arg-type]
            for event in executor.events():
                seen.append(event)
                watch(event)
                if isinstance(event, Finished | Failed):
                    with self.lock:
                        for key in event.job.claimed:
                            self.done[key] = self.done.get(key, 0) + 1
                if isinstance(event, DoneElsewhere):
                    left = [key for key in event.job.claimed if key not in self.done]
                    for key in left:
                        executor.submit(Work(f"left {key}", (key,)))  # type: ignore[arg-type]
            executor.stop()
        return seen

    def settled(self, job: Any) -> bool:
        return any(key in self.done for key in job.claimed)


def test_each_job_is_done_once_and_all_runs_end(store_url: str) -> None:
    together = Together()
    keys = [f"{i:02}" for i in range(12)]
    pairs = [Work(f"pair {i}", (keys[i], keys[i + 1])) for i in range(0, 12, 2)]
    threes = [Work(f"three {i}", tuple(keys[i : i + 3])) for i in range(0, 12, 3)]
    singles = [Work(f"bad {key}", (key,)) for key in reversed(keys)]
    with ThreadPoolExecutor(3) as pool:
        runs = [
            pool.submit(together.run, Store(store_url), name, jobs)
            for name, jobs in (("a", pairs), ("b", threes), ("c", singles))
        ]
        seen = [run.result(timeout=60) for run in runs]
    assert together.done == dict.fromkeys(keys, 1)
    assert not any(isinstance(event, Idle) for events in seen for event in events)


def test_a_run_waits_for_what_another_holds_and_says_so(store_url: str) -> None:
    together, store = Together(), Store(store_url)
    holder = Claims(store, "holder")
    assert holder.take(["a"])

    def give_up(event: Event) -> None:
        if isinstance(event, HeldByAnotherRun):
            together.done.update(a=1)
            holder.release()

    jobs = [Work("first", ("a",)), Work("second", ("b",))]
    seen = together.run(store, "waiter", jobs, watch=give_up)
    kinds = [type(event) for event in seen]
    assert kinds == [HeldByAnotherRun, Finished, DoneElsewhere]
    assert isinstance(seen[0], HeldByAnotherRun)
    assert "process" in seen[0].holder


def test_a_free_worker_takes_what_another_run_gives_up_while_a_long_job_reports(
    store_url: str,
) -> None:
    together, store = Together(), Store(store_url)
    holder = Claims(store, "holder")
    assert holder.take(["short"])
    ends = []
    with Claims(store, "one") as claims:
        executor = SharedExecutor(ReportsAlways(), claims, together.settled, look_every=0.02)
        for name in ("long", "short"):
            executor.submit(Work(name, (name,)))  # type: ignore[arg-type]
        for event in executor.events():
            if isinstance(event, HeldByAnotherRun):
                holder.release()
            if isinstance(event, Finished):
                ends.append(event.job.id)
    assert ends == ["short", "long"]


def test_a_run_that_waits_for_many_jobs_asks_for_all_of_them_at_once(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, store = Together(), Store(store_url)
    keys = [f"{i:02}" for i in range(50)]
    holder = Claims(store, "holder")
    assert holder.take(keys)
    tries: list[Any] = []
    take = Claims.take

    def count(claims: Claims, some: Any) -> bool:
        tries.append(some)
        return take(claims, some)

    monkeypatch.setattr(Claims, "take", count)
    looks = []
    look = Claims.held_by_others

    def give_up_in_the_end(claims: Claims) -> Any:
        looks.append(claims)
        if len(looks) == 100:
            holder.release()
        return look(claims)

    monkeypatch.setattr(Claims, "held_by_others", give_up_in_the_end)
    seen = together.run(store, "waiter", [Work(key, (key,)) for key in keys])
    assert together.done == dict.fromkeys(keys, 1)
    assert sum(isinstance(event, HeldByAnotherRun) for event in seen) == 50
    assert len(tries) <= 2 * len(keys)


def test_audits_are_shared_out_but_those_of_an_own_fit_are_kept(store_url: str) -> None:
    together, store = Together(), Store(store_url)
    other = Claims(store, "other")
    with Claims(store, "one") as claims:
        executor = SharedExecutor(Instant(), claims, together.settled)
        executor.submit(_audit("early"))
        assert other.take(["early"])
        other.release()
        executor.submit(Work("fit", ("unit",)))  # type: ignore[arg-type]
        refused = []
        for event in executor.events():
            if isinstance(event, Finished) and event.job.id == "fit":
                executor.submit(_audit("late"))
                refused.append(not other.take(["late"]))
        assert refused == [True]


def _audit(key: str) -> AuditJob:
    fields = dict.fromkeys(field.name for field in dataclasses.fields(AuditJob))
    return AuditJob(**fields | {"id": key, "keys": (key,)})  # type: ignore[arg-type]


def test_what_a_dead_run_held_is_taken_over(store_url: str) -> None:
    """Of another machine: nothing but its silence says that it is dead."""
    together, store = Together(), Store(store_url)
    assert Claims(store, "dead").take(["a"])
    kinds = []
    with Claims(store, "next") as claims:
        executor = SharedExecutor(Instant(), claims, together.settled, look_every=0.05)
        executor.submit(Work("first", ("a",)))  # type: ignore[arg-type]
        for event in executor.events():
            kinds.append(type(event))
            if isinstance(event, HeldByAnotherRun):
                silent = f"UPDATE claims SET host = 'far', heartbeat = heartbeat - {2 * STALE}"
                with store.engine.begin() as connection:
                    connection.execute(sa.text(silent))
    assert kinds == [HeldByAnotherRun, Finished]


@pytest.mark.parametrize("ends", ["result", "error"])
def test_claims_are_held_until_the_reader_has_had_the_event(store_url: str, ends: str) -> None:
    together, store = Together(), Store(store_url)
    other = Claims(store, "other")
    with Claims(store, "one") as claims:
        executor = SharedExecutor(Instant(), claims, together.settled)
        executor.submit(Work("bad" if ends == "error" else "good", ("a",)))  # type: ignore[arg-type]
        refused = [
            not other.take(["a"])
            for event in executor.events()
            if isinstance(event, Finished | Failed)
        ]
        assert refused == [True]
        assert other.take(["a"])


def test_no_worker_is_kept_for_a_job_that_waits_for_a_gpu(store_url: str) -> None:
    together, store = Together(), Store(store_url)
    with Claims(store, "one") as claims:
        executor = SharedExecutor(OneGPU(), claims, together.settled)
        for name in ("fit 1", "fit 2", "fit 3"):
            executor.submit(Work(name, (name,), gpus=1.0))  # type: ignore[arg-type]
        for name in ("audit 1", "audit 2", "audit 3"):
            executor.submit(Work(name, (name,)))  # type: ignore[arg-type]
        ends = [event.job.id for event in executor.events() if isinstance(event, Finished)]
    assert ends == ["fit 1", "audit 1", "fit 2", "audit 2", "fit 3", "audit 3"]


@pytest.mark.slow
def test_a_real_worker_audits_while_trainings_fill_the_gpu(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairbench.runs.executors.inline.count_devices", lambda: 1)
    together, store = Together(), Store(store_url)
    with Claims(store, "one") as claims:
        executor = SharedExecutor(InlineExecutor(workers=2, timeout=None), claims, together.settled)
        for name in ("fit 1", "fit 2"):
            executor.submit(Sleeps(name, (name,), gpus=1.0))  # type: ignore[arg-type]
        executor.submit(Sleeps("audit", ("audit",), seconds=0.0))  # type: ignore[arg-type]
        ends = [event.job.id for event in executor.events() if isinstance(event, Finished)]
        executor.stop()
    assert ends == ["audit", "fit 1", "fit 2"]
