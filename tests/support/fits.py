"""Fits of one unit, as a run does them, in this process."""

from __future__ import annotations

from typing import Any

from fairbench.data.prepared import Prepared
from fairbench.runs.fit_job import FitJob, UnitResult
from fairbench.runs.plan import PlannedUnit


def fit_of(planned: PlannedUnit, data: Prepared, **given: Any) -> UnitResult:
    """Train a planned unit for ten steps, and encode; ``given``: other fields of the job."""
    job = FitJob(
        id="job",
        title="job",
        estimate=1.0,
        point_estimate=1.0,
        method=planned.method,
        params=planned.params,
        data=data,
        keys=(planned.key,),
        units=(planned.unit,),
        iterations=10,
        device="cpu",
        curve_points=planned.curve_points,
        **given,
    )
    (result,) = job.run(lambda share, note: None)
    return result
