"""Measuring what a store keeps again: present auditors and metrics, nothing trained.

Spoken of are the units that the leaderboards speak of. Of each the kept representation is audited
where the present version of the audits has not done so, or where a metric has come since.
"""

from __future__ import annotations

import itertools
import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairbench.api.metric import Metric
from fairbench.auditing.config import PRESETS, Audit
from fairbench.data.prepare import Prepared
from fairbench.registry import Registry
from fairbench.runs.audit_job import AuditJob
from fairbench.runs.audits import POINTS_A_JOB, Audits, Missing, Target, point_metrics
from fairbench.runs.cost import versions
from fairbench.runs.estimate import audit_seconds
from fairbench.runs.executors.base import Broke, Elsewhere, Event, Executor, Finished, Waits
from fairbench.runs.fit_job import FitJob
from fairbench.runs.job import Job
from fairbench.store import files as artefacts
from fairbench.store.database import Row, Store, now
from fairbench.store.records import PointRecord, RunRecord
from fairbench.store.status import Status
from fairbench.versions import AUDIT_VERSION


@dataclass(frozen=True)
class Work:
    """A unit with points to measure."""

    target: Target
    row: Row
    missing: Sequence[Missing]


@dataclass
class Outcome:
    """What became of it.

    Parameters
    ----------
    measured : set of str
        Keys of points.
    gone : set of str
        Keys of units whose representation is not on disk, or damaged: they keep their figures.
    elsewhere : set of str
        Keys of points that another run measured meanwhile.
    broken : list of (str, Status, str)
        Title, status and error of jobs that gave nothing.
    """

    measured: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    broken: list[tuple[str, Status, str]] = field(default_factory=list)


class Reaudit:
    """One audit of stored representations.

    Parameters
    ----------
    store : Store
    results : Path
        The folder that holds the representations.
    registry : Registry
    units : sequence of Row
        Units to measure.
    datasets : mapping of str to Prepared
        By fingerprint; all that the units need.
    audit : Audit, optional
        How hard to audit; None: as each unit's points were.
    again : bool
        Whether to measure also what the present auditors have measured.
    """

    def __init__(
        self,
        store: Store,
        results: Path,
        registry: Registry,
        units: Sequence[Row],
        datasets: Mapping[str, Prepared],
        *,
        audit: Audit | None = None,
        again: bool = False,
    ) -> None:
        self.store, self.results, self.datasets = store, results, datasets
        self.audits = Audits(store, point_metrics(registry), retry=True)
        self.id = uuid.uuid4().hex
        self.outcome = Outcome()
        self.known = 0
        """Points that need nothing."""
        self._again = again
        points: dict[str, list[Row]] = {}
        for point in store.records(PointRecord):
            points.setdefault(point["unit"], []).append(point)
        self.work: list[Work] = []
        self._references: list[Job] = []
        for row in units:
            own = points.get(row["key"], [])
            if artefacts.exists(results, row["artefact"]):
                for preset in _presets(row, own, audit):
                    self._plan(row, own, preset)
            else:
                self.outcome.gone.add(row["key"])

    def _plan(self, row: Row, points: Sequence[Row], preset: Audit) -> None:
        data, config = self.datasets[row["fingerprint"]], PRESETS[preset]
        target = Target(row["key"], row["method"], row["seed"], data, config)
        tasks = any(rows.y for rows in data.roles.values())
        wanted = plain_columns(self.audits.metrics, tasks=tasks)
        stale = {
            point["key"]: point["finished"]
            for point in points
            if point["status"] == Status.DONE
            and (self._again or not wanted <= set(point["values"]))
        }
        missing = self.audits.missing(target, row["read_points"], again=stale)
        self.known += len(row["read_points"]) - len(missing)
        if missing:
            self.work.append(Work(target, row, missing))
        reference = self.audits.reference_job(data, row["seed"], config, again=self._again)
        if reference is not None:
            self._references.append(reference)

    @property
    def points(self) -> int:
        """Points to measure."""
        return sum(len(work.missing) for work in self.work)

    @property
    def estimate(self) -> float:
        """Seconds of work, on one core."""
        return sum(job.estimate for job in self._references) + sum(
            audit_seconds(work.target.config, work.target.data) * len(work.missing)
            for work in self.work
        )

    @property
    def jobs(self) -> int:
        """Jobs that measure them."""
        chunks = sum(math.ceil(len(work.missing) / POINTS_A_JOB) for work in self.work)
        return len(self._references) + chunks

    def to_measure(self) -> set[str]:
        """Keys of the points to measure."""
        return {point.key for work in self.work for point in work.missing}

    def execute(
        self,
        executor: Executor,
        observe: Callable[[Event], None],
        *,
        command: str,
        ahead: int,
    ) -> None:
        """Measure, writing results as they come.

        At most ``ahead`` jobs are in memory with their representations, but for those that wait
        for other runs.
        """
        self.store.add_run(
            RunRecord(
                id=self.id,
                started=now(),
                command=command,
                config={"again": self._again, "audit_version": AUDIT_VERSION},
                versions=versions(),
            )
        )
        jobs = self._jobs()
        ready: set[str] = set()

        def submit(some: Iterable[Job]) -> None:
            for job in some:
                ready.add(job.id)
                executor.submit(job)

        submit(itertools.islice(jobs, ahead))
        for event in executor.events():
            if isinstance(event, Finished | Broke | Elsewhere | Waits):
                ready.discard(event.job.id)
            if isinstance(event, Finished | Broke):
                self._end(event)
            elif isinstance(event, Elsewhere):
                submit(self._left_of(event.job))
            submit(itertools.islice(jobs, max(0, ahead - len(ready))))
            observe(event)

    def settled(self, job: Job) -> bool:
        """Whether another run did some of a job since this one planned it."""
        assert not isinstance(job, FitJob)
        return self.audits.settled(job)

    def _left_of(self, job: Job) -> list[Job]:
        assert not isinstance(job, FitJob)
        left, _ = self.audits.left_of(job)
        if isinstance(job, AuditJob):
            self.outcome.elsewhere |= set(job.keys) - {key for j in left for key in j.claimed}
        return left

    def _jobs(self) -> Iterator[Job]:
        """All jobs; a representation is read when its turn has come."""
        yield from self._references
        for work in self.work:
            arrays = artefacts.load(self.results, work.row["artefact"])
            if arrays is None:
                self.outcome.gone.add(work.target.unit)
            else:
                points = work.row["read_points"]
                yield from self.audits.jobs(work.target, points, work.missing, arrays)

    def _end(self, event: Finished | Broke) -> None:
        job = event.job
        assert not isinstance(job, FitJob)
        if isinstance(event, Finished):
            self.audits.finish(job, event.result)
            self.outcome.measured.update(getattr(job, "keys", ()))
        else:
            self.audits.broke(job, event)
            self.outcome.broken.append((job.title, event.status, event.error))


def plain_columns(metrics: Sequence[type[Metric]], *, tasks: bool) -> set[str]:
    """Columns that every measured point has; those by task only where there is one."""
    found: set[str] = set()
    for metric in metrics:
        by_task = any("{" in column for column in metric.columns)
        if tasks or not by_task:
            found |= {column for column in metric.columns if "{" not in column}
    return found


def _presets(unit: Row, points: Sequence[Row], asked: Audit | None) -> list[Audit]:
    """How to audit a unit's points: as asked, else as they were, else as its budget says."""
    if asked is not None:
        return [asked]
    had = sorted({point["audit"] for point in points})
    return [Audit(name) for name in had or ["quick" if unit["budget"] == "quick" else "strict"]]
