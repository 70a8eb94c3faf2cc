"""Fits of one unit, as a run does them, in this process."""

from __future__ import annotations

from typing import Any

from fairbench.data.prepared import Prepared
from fairbench.runs.declared import declared
from fairbench.runs.fit_job import FitJob
from fairbench.runs.plan import PlannedUnit
from fairbench.runs.unit_result import UnitResult


def job_of(*planned: PlannedUnit, data: Prepared, **given: Any) -> FitJob:
    """The job that trains planned units; ``given``: fields of it that are not as usual."""
    first = planned[0]
    return FitJob(
        id="job",
        title="job",
        estimate=1.0,
        point_estimate=1.0,
        method=first.method,
        declared=declared(first.method),
        params=first.params,
        data=data,
        keys=tuple(one.key for one in planned),
        units=tuple(one.unit for one in planned),
        device="cpu",
        curve_points=first.curve_points,
        **({"iterations": 10} | given),
    )


def fit_of(planned: PlannedUnit, data: Prepared, **given: Any) -> UnitResult:
    """Train a planned unit, and encode; ``given``: as for the job."""
    (result,) = job_of(planned, data=data, **given).run(lambda share, note: None)
    return result
