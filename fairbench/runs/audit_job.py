"""Jobs that audit encoded representations, and x itself."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbench.api import (
    AUDIT_ROLES,
)
from fairbench.api.metric import Metric
from fairbench.auditing.config import AuditConfig
from fairbench.data.prepare import Prepared
from fairbench.runs.contract import DECODED_ROLES, ContractError, Progress
from fairbench.stats.bootstrap import to_text
from fairbench.store.records import AuditorReading


@dataclass(frozen=True)
class PointResult:
    """What was measured of one point; see fairbench.stats.bootstrap for their text."""

    key: str
    values: Mapping[str, float | None]
    auditors: Sequence[AuditorReading]
    seconds: float
    replicates: str


@dataclass(frozen=True)
class AuditJob:
    """Audit and measure some points of one unit."""

    id: str
    title: str
    estimate: float
    data: Prepared
    keys: tuple[str, ...]
    seeds: tuple[int, ...]
    numbers: tuple[int, ...]
    arrays: Mapping[str, np.ndarray]
    config: AuditConfig
    metrics: tuple[type[Metric], ...]

    @property
    def claimed(self) -> tuple[str, ...]:
        """Keys that no other run may work on meanwhile."""
        return self.keys

    def run(self, progress: Progress) -> list[PointResult]:
        """Audit each point; a result a point."""
        from fairbench.auditing.evaluate import evaluate

        results = []
        jobs = zip(self.keys, self.seeds, self.numbers, strict=True)
        for done, (key, seed, number) in enumerate(jobs):
            progress(done / len(self.keys), f"point {done + 1} of {len(self.keys)}")
            start = time.perf_counter()
            encoded = encoded_from(self.arrays, number)
            evaluation, audited = evaluate(encoded, self.data, config=self.config, seed=seed)
            values: dict[str, float | None] = {}
            for metric in self.metrics:
                values.update(_measured(metric, evaluation))
            auditors = [
                AuditorReading(
                    auditor=result.auditor,
                    view=result.view,
                    mutual_information_validation=result.validation_information,
                    mutual_information=result.test_information,
                    chosen=result is audited.chosen,
                )
                for result in audited.results
            ]
            seconds = time.perf_counter() - start
            kept = to_text(evaluation.replicates)
            results.append(PointResult(key, values, auditors, seconds, kept))
        return results


def encoded_from(arrays: Mapping[str, np.ndarray], number: int) -> Any:
    """Point ``number`` of a unit's arrays, as the auditors take it."""
    from fairbench.auditing.evaluate import EncodedPoint

    def optional(name: str) -> float | None:
        return float(arrays[name]) if name in arrays else None

    own = {role: arrays.get(f"{number}/own/{role}") for role in DECODED_ROLES}
    return EncodedPoint(
        z={role: arrays[f"{number}/z/{role}"] for role in AUDIT_ROLES},
        own_squares={r: a for r, a in own.items() if a is not None} or None,
        permuted_distortion=optional(f"{number}/permuted"),
        rate=optional(f"{number}/rate"),
    )


def _measured(metric: type[Metric], evaluation: Any) -> dict[str, float | None]:
    try:
        values = dict(metric().compute(evaluation))
    except Exception as error:
        raise ContractError(f"The metric {metric.name} raised {error!r}.") from error
    for column, value in values.items():
        if value is not None and not math.isfinite(value):
            raise ContractError(
                f"The metric {metric.name} returned {value} for {column}; "
                "None says that a value cannot be given."
            )
    return {column: None if v is None else float(v) for column, v in values.items()}


@dataclass(frozen=True)
class ReferenceJob:
    """Measure what the curves of a dataset are normalised by, for one seed."""

    id: str
    title: str
    estimate: float
    data: Prepared
    key: str
    seed: int
    config: AuditConfig

    @property
    def claimed(self) -> tuple[str, ...]:
        """Keys that no other run may work on meanwhile."""
        return (self.key,)

    def run(self, progress: Progress) -> tuple[dict[str, float], float, str]:
        """Values, seconds and the text of the replicates."""
        from fairbench.auditing.evaluate import audit_reference

        start = time.perf_counter()
        reference = audit_reference(self.data, config=self.config, seed=self.seed)
        return reference.values, time.perf_counter() - start, to_text(reference.replicates)
