"""Stage 2: some jobs of a run on one device, side by side under Ray, and one after the other.

They are fits as a run makes them, each with the share of the device that a run would give it.
Without a GPU they have none, and share the cores.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from fairbench.api import Role
from fairbench.data.prepared import Prepared
from fairbench.runs.declared import declared
from fairbench.runs.executors.base import Executor, Failed, Finished, Started
from fairbench.runs.executors.ray import RayExecutor
from fairbench.runs.fit_job import FitJob
from fairbench.training import NeuralMethod
from fairbench.training.stack_size import free_device_bytes, gpu_share, model_bytes
from gpu_stages.records import Outcome, Part, Row, of_unit
from gpu_stages.settings import Settings, adults
from gpu_stages.stacks import method_named, units_of

METHOD = "latfr"
"""Its stack has 18 models, and encoding is quick: what is timed is training."""

_LONGEST_START = 120.0
"""Seconds until the first job must have started: Ray waits for ever for a GPU it does not know."""

NOTE = (
    f"Seeds of {METHOD} on Adults-Gender, each a stack of all its points, under Ray, warmed up. "
    "Wall time is from submitting the first job to the result of the last, encoding included. One "
    "after the other: the mean of two jobs alone, times their number."
)


@dataclass(frozen=True)
class Sharing(Row):
    """Some jobs on one device, one after the other and side by side."""

    method: str
    jobs: int = of_unit("jobs")
    models: int = of_unit("models per job")
    steps: int = of_unit("steps per job")
    share: float = of_unit("share of a GPU per job")
    one_after_the_other: float = of_unit("s")
    side_by_side: float = of_unit("s")
    speed_up: float = of_unit("ratio")
    training_alone: float = of_unit("s, mean of the jobs")
    training_side_by_side: float = of_unit("s, mean of the jobs")


@dataclass(frozen=True)
class _Timed:
    wall: float  # seconds, of all jobs
    training: float  # seconds, mean of the jobs


def parts(settings: Settings) -> list[Part]:
    """Return one part."""
    return [Part("jobs on one device", _run)]


def _run(settings: Settings) -> Outcome:
    data = adults(settings.data_root)
    method = method_named(METHOD)()
    share = _share(method, data, settings)
    counts, steps = settings.sizes.shared_jobs, settings.sizes.shared_steps

    def jobs(first_seed: int, count: int, steps: int) -> list[FitJob]:
        seeds = range(first_seed, first_seed + count)
        return [_job(method, data, seed, steps, share, settings) for seed in seeds]

    executor = RayExecutor(workers=max(counts), timeout=None)
    try:
        _time(executor, jobs(0, max(counts), 10), settings)
        alone = [_time(executor, [job], settings) for job in jobs(100, 2, steps)]
        together = {
            count: _time(executor, jobs(200 * count, count, steps), settings) for count in counts
        }
    finally:
        executor.stop()
    each = sum(one.wall for one in alone) / len(alone)
    rows = [
        Sharing(
            method=METHOD,
            jobs=count,
            models=len(units_of(method, seeds=1, points=settings.sizes.most_points)),
            steps=steps,
            share=share,
            one_after_the_other=count * each,
            side_by_side=timed.wall,
            speed_up=count * each / timed.wall,
            training_alone=sum(one.training for one in alone) / len(alone),
            training_side_by_side=timed.training,
        )
        for count, timed in together.items()
    ]
    text = "; ".join(
        f"{row.jobs} jobs: {row.side_by_side:.1f} s side by side, {row.one_after_the_other:.1f} s "
        f"one after the other ({row.speed_up:.2f} times as fast)"
        for row in rows
    )
    return Outcome(rows, f"{share:g} of a GPU each: {text}", NOTE)


def _share(method: NeuralMethod, data: Prepared, settings: Settings) -> float:
    """Return the share of a GPU that a run would request for one of the jobs."""
    free_bytes = free_device_bytes(settings.device)
    if not free_bytes:
        return 0.0
    work = method.workload(data.info)
    units = units_of(method, seeds=1, points=settings.sizes.most_points)
    each = model_bytes(work.architecture, len(data.info.features), work.batch_size)
    needed = len(units) * each + data.roles[Role.ENCODER_TRAIN].x_bytes
    return gpu_share(needed, min(free_bytes))


def _job(
    method: NeuralMethod, data: Prepared, seed: int, steps: int, share: float, settings: Settings
) -> FitJob:
    points = units_of(method, seeds=1, points=settings.sizes.most_points)
    units = tuple(type(unit)(seed, unit.point) for unit in points)
    return FitJob(
        id=f"{METHOD}, seed {seed}",
        title=f"fit {METHOD}, seed {seed}",
        estimate=1.0,
        point_estimate=1.0,
        method=type(method),
        declared=declared(type(method)),
        params=method.params,
        data=data,
        keys=tuple(f"{seed}-{number}" for number in range(len(units))),
        units=units,
        iterations=steps,
        device=settings.device,
        curve_points=None,
        gpus=share,
    )


def _time(executor: Executor, jobs: Sequence[FitJob], settings: Settings) -> _Timed:
    """Run some jobs; TimeoutError where none starts, or the stage's time is up."""
    start = time.monotonic()
    for job in jobs:
        executor.submit(job)
    started, training = False, []
    for event in executor.events():
        if isinstance(event, Failed):
            raise RuntimeError(f"{event.job.title}: {event.status}: {event.error}")
        if isinstance(event, Finished):
            training.append(event.result[0].costs["stack_seconds"])
        started = started or isinstance(event, Started)
        if not started and time.monotonic() - start > _LONGEST_START:
            raise TimeoutError("Ray started no job: does it know the GPU? See: ray status")
        if settings.seconds_left <= 0:
            raise TimeoutError("the stage's time is up")
    return _Timed(time.monotonic() - start, sum(training) / len(training))
