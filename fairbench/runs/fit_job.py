"""The job that fits a stack of units and encodes the audit roles.

A job is plain data that can be sent to another process or machine, and ``run`` gives plain data
back. Nothing here writes: the driver does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fairbench.api import AUDIT_ROLES, FitContext, Point, Role, TrainingRows, Unit
from fairbench.api.method import Curve, Diverged, Fitted, Method, Params, Representation
from fairbench.api.types import Progress
from fairbench.data.prepared import Prepared
from fairbench.runs.audit_rows import AuditRows
from fairbench.runs.cost import Meter, hardware, model_costs, stack_costs, versions
from fairbench.runs.curve_points import (
    check_curve,
    detailed_point_numbers,
    listed_points,
    points_to_read,
)
from fairbench.runs.declared import Declared
from fairbench.runs.encoding import FittedPoint, RowsToEncode, encode_point
from fairbench.runs.isolated_training import IsolatedTrainingTask
from fairbench.runs.isolation import Isolation
from fairbench.runs.measures_on_test_rows import measure_test_rows
from fairbench.runs.plugin_values import (
    ContractError,
    ReportedCosts,
    finite_number,
    one_per_unit,
)
from fairbench.runs.point_arrays import ROWS, Kind, PointArrays
from fairbench.runs.unit_result import UnitResult
from fairbench.store.encoders import Encoder, pack_state, state_of
from fairbench.store.status import Status, status_of
from fairbench.store.text import clean_line, describe, describe_fully
from fairbench.training.freed_memory import keep_freed_memory


class _EncoderFile(NamedTuple):
    """The file of a trained encoder, if it has one; else what went wrong, if anything did."""

    content: bytes | None = None
    problem: str | None = None


class _Trained(NamedTuple):
    """What was fitted, and the files of its encoders: one of each per unit."""

    fitted: Sequence[Fitted]
    encoders: Sequence[_EncoderFile]


@dataclass(frozen=True)
class FitJob:
    """Fit one stack of units of a method on a dataset and encode the audit roles.

    ``estimate`` is how many seconds it will take, ``point_estimate`` how many the audit of one of
    its points will; ``gpus`` the share of a GPU it needs. ``audits`` are the keys of points that
    wait for it, where they are known. ``detailed`` are the keys of units whose audits measure more
    at some points, see :class:`fairbench.runs.plan.PlannedUnit`. ``rows`` is how many rows of each
    audit role are encoded at most; None: all. ``isolation``: of a verification, where methods train
    in a process that has the training rows alone.
    """

    id: str
    title: str
    estimate: float
    point_estimate: float
    method: type[Method]
    declared: Declared  # what the method declared when this was planned
    params: Params
    data: Prepared
    keys: tuple[str, ...]
    units: tuple[Unit, ...]
    iterations: int
    device: str
    curve_points: int | None
    timeout: float | None = None
    gpus: float = 0.0
    audits: tuple[str, ...] = ()
    detailed: frozenset[str] = frozenset()
    rows: int | None = None
    checkpoint: Path | None = None
    checkpoint_every: float = 300.0
    isolation: Isolation | None = None

    @property
    def claimed(self) -> tuple[str, ...]:
        """Keys that no other run may work on meanwhile."""
        return self.keys + self.audits

    @property
    def expected_points(self) -> int:
        """Points that will be there to audit, as far as is known before the fit."""
        return len(self.keys) * (self.curve_points or 1)

    def run(self, progress: Progress) -> list[UnitResult]:
        """Train, read the points, encode; one result per unit."""
        if self.data.info.architecture.image is not None:
            keep_freed_memory()
        return replace(self, data=AuditRows.of(self.data, self.rows).data)._run(progress)

    def _run(self, progress: Progress) -> list[UnitResult]:
        stack = self._fit(progress)
        results: list[UnitResult] = []
        encoded: dict[int, list[FittedPoint]] = {}
        for number, (key, outcome) in enumerate(zip(self.keys, stack.fitted, strict=True)):
            progress(0.95 + 0.05 * number / len(self.units), "encoding")
            if isinstance(outcome, Diverged):
                results.append(stack.diverged(key, outcome))
                continue
            try:
                result, encoded[number] = stack.encode(number, outcome)
                results.append(result)
            # What one unit's plugin code raises must not cost its stack-mates their training.
            except (Exception, SystemExit) as error:
                results.append(stack.failed(key, error))
        for number, points in encoded.items():
            result = results[number]
            try:
                arrays = {**result.arrays, **stack.measure_test_rows(points, result.arrays)}
                results[number] = replace(result, arrays=arrays)
            except (Exception, SystemExit) as error:
                results[number] = stack.failed(result.key, error)
        return results

    def _fit(self, progress: Progress) -> _FittedStack:
        meter = Meter(self.device)
        reported = ReportedCosts()
        method = self.method(self.params)
        trained = None
        if self.isolation is not None:
            progress(0.0, "training in a process of its own")
            trained = self._train_alone(method, self.isolation, meter, reported, progress)
        if trained is None:
            trained = self._train(method, meter, reported, progress)
        self.declared.check(method)
        rows = RowsToEncode.of(self.data)
        target = self.data.target
        elsewhere = None if target is None else RowsToEncode.of(target, target=True)
        return _FittedStack(self, method, *trained, rows, elsewhere, meter, reported)

    def _train(
        self, method: Method, meter: Meter, reported: ReportedCosts, progress: Progress
    ) -> _Trained:
        context = FitContext(
            iterations=self.iterations,
            device=self.device,
            progress=_training_share_of(progress),
            report=reported.report,
            deadline=self._deadline,
            checkpoint=self.checkpoint,
            checkpoint_every=self.checkpoint_every,
        )
        with meter.phase("train"):
            fitted = method.fit(self._training_rows, self.units, context)
        fitted = one_per_unit(fitted, self.units, method)
        if self.isolation is not None:
            # It could not be trained alone: what its encoder has may be from anywhere.
            return _Trained(fitted, [_EncoderFile()] * len(fitted))
        # Before any row of an audit is encoded: what an encoder keeps of such rows is not stored,
        # and verification, which restores it, finds that it needs them.
        files = [
            _packed(self._encoder(method, unit, outcome), meter)
            if isinstance(outcome, Representation | Curve)
            else _EncoderFile()
            for unit, outcome in zip(self.units, fitted, strict=True)
        ]
        return _Trained(fitted, files)

    def _train_alone(
        self,
        method: Method,
        isolation: Isolation,
        meter: Meter,
        reported: ReportedCosts,
        progress: Progress,
    ) -> _Trained | None:
        """Train in a process that has the training rows alone; None where that is not possible."""
        task = IsolatedTrainingTask(
            self.method,
            self._training_rows,
            [_plain(unit) for unit in self.units],
            self.iterations,
            self.device,
            self._deadline,
        )
        with meter.phase("train"):
            trained = task.train(isolation, _training_share_of(progress))
        if trained is None:
            return None
        reported.update(trained.costs)
        fitted: list[Fitted] = []
        files: list[_EncoderFile] = []
        for unit, state in zip(self.units, trained.states, strict=True):
            if isinstance(state, Diverged):
                fitted.append(state)
                files.append(_EncoderFile())
                continue
            restored = method.restore(state, unit, self.data.info)
            fitted.append(restored)
            files.append(_EncoderFile(pack_state(self._encoder(method, unit, restored), state)))
        return _Trained(fitted, files)

    @property
    def _training_rows(self) -> TrainingRows:
        train = self.data.roles[Role.ENCODER_TRAIN]
        return TrainingRows(train.x, train.s, self.data.info)

    @property
    def _deadline(self) -> float | None:
        return None if self.timeout is None else time.monotonic() + self.timeout

    def _encoder(self, method: Method, unit: Unit, fitted: Representation | Curve) -> Encoder:
        notes = {"iterations": self.iterations}
        return Encoder(method, unit, self.data.info, fitted, self.data.preprocessing, notes)


@dataclass(frozen=True)
class _FittedStack:
    """What a job has fitted, and what encoding each of its units needs."""

    job: FitJob
    method: Method
    fitted: Sequence[Fitted]  # one per unit
    encoders: Sequence[_EncoderFile]
    rows: RowsToEncode
    target: RowsToEncode | None  # rows of another domain
    meter: Meter
    reported: ReportedCosts

    def encode(
        self, number: int, outcome: Representation | Curve
    ) -> tuple[UnitResult, list[FittedPoint]]:
        """Encode a unit, by its number, at all of its points."""
        job, data, meter = self.job, self.job.data, self.meter
        key, unit = job.keys[number], job.units[number]
        wall_before = meter.seconds.get("encode", 0.0)
        processor_before = meter.processor.get("encode", 0.0)
        labels, representations = self._read(unit, outcome)
        points = [
            FittedPoint(i, representation, job.declared, unit.seed)
            for i, representation in enumerate(representations)
        ]
        arrays = {} if job.rows is None else {ROWS: np.array(job.rows)}
        closely = detailed_point_numbers(labels) if key in job.detailed else set()
        for point in points:
            arrays |= encode_point(point, self.rows, meter, detailed=point.number in closely)
            if self.target is not None:
                arrays |= encode_point(point, self.target, meter)
        training = self.method.workload(data.info)
        costs = stack_costs(meter, self.reported, len(job.units), training)
        costs["encode_seconds"] = meter.seconds["encode"] - wall_before
        costs["processor_seconds"] += meter.processor["encode"] - processor_before
        costs |= model_costs(representations[0], costs.get("steps"), training)
        encoder = self.encoders[number]
        result = UnitResult(
            key=key,
            status=Status.DONE,
            points=labels,
            arrays=arrays,
            costs=costs,
            hardware=hardware(job.device),
            versions=versions(),
            encoder=encoder.content,
            not_stored=encoder.problem,
        )
        return result, points

    def diverged(self, key: str, outcome: Diverged) -> UnitResult:
        """The result of a unit whose training diverged."""
        reason = clean_line(str(outcome.reason))
        return UnitResult(key, Status.DIVERGED, reason, costs=self._spent())

    def failed(self, key: str, error: BaseException) -> UnitResult:
        """The result of a unit that was trained, and raised when it was encoded."""
        full = describe_fully(error)
        return UnitResult(key, status_of(error), describe(error), full, costs=self._spent())

    def _spent(self) -> dict[str, float]:
        """What training a unit took, whatever came of it."""
        training = self.method.workload(self.job.data.info)
        return stack_costs(self.meter, self.reported, len(self.job.units), training)

    def measure_test_rows(
        self, points: Sequence[FittedPoint], arrays: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Measure what tells an encoder which rows are the test rows, of all points of a unit."""
        measured: dict[str, np.ndarray] = {}
        for point in points:
            for rows in (self.rows, self.target):
                if rows is not None:
                    encoded = PointArrays(arrays, point.number, rows.target)
                    z = encoded.by_part(Kind.Z, AUDIT_ROLES)[Role.TEST]
                    measured |= measure_test_rows(point, rows, z[: len(rows.x[Role.TEST])])
        return measured

    def _read(
        self, unit: Unit, outcome: Representation | Curve
    ) -> tuple[tuple[Point, ...], list[Representation]]:
        method = self.method
        if isinstance(outcome, Curve):
            if unit.point is not None:
                raise ContractError(
                    f"{method.name} is multi-shot: its fit must return a Representation, not a "
                    f"Curve, for {unit.point.label}."
                )
            # A list is short work, but for a curve that trains when it is asked for one.
            with self.meter.phase("encode"):
                check_curve(outcome, method.name)
                points = listed_points(outcome, self.job.curve_points)
            if points is None:
                points = points_to_read(
                    outcome,
                    self.job.data.roles[Role.ENCODER_TRAIN],
                    self.job.curve_points,
                    aware=self.job.declared.aware,
                    stochastic=self.job.declared.stochastic,
                )
            for name, value in (pair for point in points for pair in point.values):
                finite_number(value, f"the knob {name!r} of a point of the curve")
            labels = [point.label for point in points]
            if again := sorted({label for label in labels if labels.count(label) > 1}):
                raise ContractError(
                    f"The curve of {method.name} has several points called {again[0]}: points have "
                    "to differ in six digits."
                )
            with self.meter.phase("encode"):
                return points, [outcome.at(point) for point in points]
        if not isinstance(outcome, Representation):
            raise ContractError(
                f"{method.name}.fit returned a {type(outcome).__name__}, "
                "not a Representation, Curve or Diverged."
            )
        if unit.point is None:
            raise ContractError(f"{method.name} is single-shot: its fit must return a Curve.")
        return (unit.point,), [outcome]


def _training_share_of(progress: Progress) -> Progress:
    """Return what takes the progress of the training, which is a share of that of the job."""
    return lambda fraction, note: progress(
        0.95 * finite_number(fraction, "the fraction given to progress()"), note
    )


def _plain(unit: Unit) -> Unit:
    """Return a unit that has nothing but its seed and its knobs: a plugin made its point."""
    knobs = None if unit.point is None else json.loads(json.dumps(dict(unit.point.values)))
    return Unit(int(unit.seed), None if knobs is None else Point(tuple(knobs.items())))


def _packed(encoder: Encoder, meter: Meter) -> _EncoderFile:
    """The file of a trained encoder, or in a line what was raised.

    What ``state()`` takes is a cost of the training: it may be there that a method trains.
    """
    try:
        with meter.phase("train"):
            state = state_of(encoder)
        return _EncoderFile(None if state is None else pack_state(encoder, state))
    # Figures are not worse for a mistake in state(), and hours of training may stand behind them.
    except (Exception, SystemExit) as error:
        return _EncoderFile(problem=describe(error)[:200])
