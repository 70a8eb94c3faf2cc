"""Jobs that audit encoded representations, and x itself."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench.api import Floats
from fairbench.api.metric import Metric, PointEvaluation
from fairbench.api.types import Progress
from fairbench.auditing.config import AuditConfig
from fairbench.data.prepared import Prepared
from fairbench.errors import StoreError, text_of
from fairbench.registry import declared_columns
from fairbench.runs.audit_rows import AuditRows
from fairbench.runs.plugin_values import ContractError
from fairbench.runs.point_arrays import NOT_AUDITED, ArrayName, PointArrays
from fairbench.runs.shared_labels import Estimated, SharedLabels, estimated
from fairbench.stats.bootstrap import to_text
from fairbench.store import files
from fairbench.store.records import AuditorReading
from fairbench.store.returned_values import checked_columns
from fairbench.store.text import describe

if TYPE_CHECKING:
    from fairbench.auditing.ensemble import EnsembleAudit


@dataclass(frozen=True)
class Measurement:
    """Figures of one point or reference; ``replicates`` as stats.bootstrap writes them.

    ``seconds`` is wall time, ``processor_seconds`` that of processor cores. ``estimated``: soft
    labels that its job had to estimate. ``faults``: what metrics of plugins raised, whose columns
    are missing.
    """

    key: str
    values: Mapping[str, float | None]
    seconds: float
    replicates: str
    auditors: Sequence[AuditorReading] = ()
    estimated: Estimated = field(default_factory=dict)
    faults: Sequence[str] = ()
    processor_seconds: float | None = None


@dataclass(frozen=True)
class StoredArrays:
    """Encoded arrays of some points of a unit, in their file until a job needs them.

    Hundreds of points may wait for their audits: together they can be larger than the memory.
    """

    results: Path
    name: str  # of the file
    numbers: frozenset[int] | None = None  # of the points; None: all

    def of(self, numbers: Iterable[int]) -> StoredArrays:
        """Return those of some points."""
        return replace(self, numbers=frozenset(numbers))

    def read(self) -> dict[str, np.ndarray]:
        """Read what audits need; StoreError where the file is gone or damaged."""
        arrays = files.load(self.results, self.name)
        if arrays is None:
            raise StoreError(
                f"Representations that are to be audited are gone: {self.name[:12]}.",
                "Give the command again with --rerun failed: what is missing is trained again.",
            )
        return {key: array for key, array in arrays.items() if self._is_read(ArrayName.parse(key))}

    def _is_read(self, name: ArrayName) -> bool:
        is_of_points = self.numbers is None or name.point is None or name.point in self.numbers
        return is_of_points and name.kind not in NOT_AUDITED


@dataclass(frozen=True)
class AuditJob:
    """Audit and measure some points of one unit; ``estimate`` is how many seconds that will take.

    The arrays are read where the job is sent to its process: on the machine of the driver.
    ``soft`` is None where the encoder sees more than x: its auditors learn s itself.
    """

    id: str
    title: str
    estimate: float
    data: Prepared
    keys: tuple[str, ...]
    seed: int
    numbers: tuple[int, ...]
    arrays: Mapping[str, np.ndarray] | StoredArrays
    config: AuditConfig
    metrics: tuple[type[Metric], ...]
    soft: SharedLabels | None = None
    soft_of_target: SharedLabels | None = None

    @property
    def claimed(self) -> tuple[str, ...]:
        """Keys that no other run may work on meanwhile."""
        return self.keys

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "arrays": self._read()}

    def _read(self) -> Mapping[str, np.ndarray]:
        return self.arrays.read() if isinstance(self.arrays, StoredArrays) else self.arrays

    def run(self, progress: Progress) -> list[Measurement]:
        """Audit each point; one result per point."""
        stored = self._read()
        new_labels = self._estimate_soft_labels()
        encoded_rows = AuditRows.encoded(self.data, stored)
        rows = AuditRows.of(encoded_rows.data, self.config.rows)
        soft = rows.soft(encoded_rows.soft(_labels(self.soft)))
        soft_of_target = None
        if rows.target is not None and encoded_rows.target is not None:
            labels = encoded_rows.target.soft(_labels(self.soft_of_target))
            soft_of_target = rows.target.soft(labels)
        arrays = rows.arrays(stored)
        results = []
        for done, (key, number) in enumerate(zip(self.keys, self.numbers, strict=True)):

            def of_point(share: float, note: str, done: int = done) -> None:
                progress((done + share) / len(self.keys), f"point {done + 1}: {note}")

            start, processor_before = time.perf_counter(), time.process_time()
            evaluation, audited = self._evaluate(
                number, rows, arrays, (soft, soft_of_target), of_point
            )
            # Before any metric of a plugin has seen them.
            replicates, auditors = to_text(evaluation.replicates), _readings(audited)
            values, faults = _all_columns(self.metrics, evaluation)
            results.append(
                Measurement(
                    key,
                    values,
                    seconds=time.perf_counter() - start,
                    replicates=replicates,
                    auditors=auditors,
                    estimated=new_labels,
                    faults=faults,
                    processor_seconds=time.process_time() - processor_before,
                )
            )
        return results

    def _evaluate(
        self,
        number: int,
        rows: AuditRows,
        arrays: Mapping[str, np.ndarray],
        soft: tuple[Floats | None, Floats | None],
        progress: Progress,
    ) -> tuple[PointEvaluation, EnsembleAudit]:
        """Audit one point, where there is a target domain there too.

        ``soft``: soft labels of the auditor training set, and of the target's.
        """
        from fairbench.auditing.evaluate import evaluate

        encoded = PointArrays(arrays, number).encoded()
        evaluation, audited = evaluate(
            encoded, rows.data, config=self.config, seed=self.seed, soft=soft[0], progress=progress
        )
        if rows.target is not None:
            from fairbench.auditing.shift import evaluate_shift

            shift = evaluate_shift(
                encoded,
                PointArrays(arrays, number, target=True).encoded(),
                rows.data,
                config=self.config,
                seed=self.seed,
                soft=soft[1],
            )
            evaluation = replace(evaluation, shift=shift)
        return evaluation, audited

    def _estimate_soft_labels(self) -> Estimated:
        used = [(self.data.fingerprint, self.soft)]
        if self.data.target is not None:
            used.append((self.data.target.fingerprint, self.soft_of_target))
        return estimated(used)


def _labels(shared: SharedLabels | None) -> Floats | None:
    return None if shared is None else shared.get()


def _all_columns(
    metrics: Sequence[type[Metric]], evaluation: PointEvaluation
) -> tuple[dict[str, float | None], list[str]]:
    """Compute the columns of all metrics, and what those of plugins raised."""
    protect(evaluation)
    for metric in metrics:
        declared_columns(metric)  # before the code of any of them runs
    values: dict[str, float | None] = {}
    faults = []
    for metric in metrics:
        try:
            found = measured_columns(metric, evaluation)
            for column in found.keys() & values.keys():
                raise ContractError(f"The metric {metric.name} returned {column}: it has that.")
            values |= found
        except ContractError as error:
            # Tables cannot be without a built-in figure; a plugin's columns may be empty.
            if metric.__module__.startswith("fairbench."):
                raise
            faults.append(text_of(error))
    return values, faults


def protect(value: Any) -> None:
    """Make all arrays of an evaluation read-only: a metric that writes would change the others'."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif is_dataclass(value):
        for one in fields(value):
            protect(getattr(value, one.name))
    elif isinstance(value, Mapping):
        for part in value.values():
            protect(part)
    elif isinstance(value, list | tuple):
        for part in value:
            protect(part)


def _readings(audited: EnsembleAudit) -> list[AuditorReading]:
    return [
        AuditorReading(
            auditor=result.auditor,
            view=result.view,
            mutual_information_validation=result.validation_information,
            mutual_information=result.test_information,
            chosen=result is audited.chosen,
        )
        for result in audited.results
    ]


def measured_columns(metric: type[Metric], evaluation: PointEvaluation) -> dict[str, float | None]:
    """Compute the columns of a metric of a point; ContractError: it raised, or cannot be used."""
    try:
        values = metric().compute(evaluation)
    except (Exception, SystemExit) as error:
        raise ContractError(f"The metric {metric.name} raised {describe(error)}.") from error
    try:
        return checked_columns(metric, values)
    except ValueError as error:
        raise ContractError(str(error)) from None


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
    soft: SharedLabels

    @property
    def claimed(self) -> tuple[str, ...]:
        """Keys that no other run may work on meanwhile."""
        return (self.key,)

    def run(self, progress: Progress) -> list[Measurement]:
        """Audit x; one result."""
        from fairbench.auditing.reference import audit_reference

        start = time.perf_counter()
        rows = AuditRows.of(self.data, self.config.rows)
        new_labels = estimated([(self.data.fingerprint, self.soft)])
        soft = rows.soft(self.soft.get())
        reference = audit_reference(rows.data, config=self.config, seed=self.seed, soft=soft)
        seconds = time.perf_counter() - start
        replicates = to_text(reference.replicates)
        return [Measurement(self.key, reference.values, seconds, replicates, estimated=new_labels)]
