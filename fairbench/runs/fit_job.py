"""The job that fits a stack of units and encodes the audit roles.

A job is plain data that can be sent to another process or machine, and ``run`` gives plain data
back. Nothing here writes: the driver does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fairbench.api import AUDIT_ROLES, Coding, FitContext, Point, Role, Track, TrainingRows, Unit
from fairbench.api.costs import EARLIER_SECONDS
from fairbench.api.method import Curve, Diverged, Method, Params, Representation
from fairbench.data.prepare import Prepared
from fairbench.runs.after_encoding import measure_test_rows
from fairbench.runs.audit_rows import AuditRows
from fairbench.runs.contract import ContractError, Progress, ReportedCosts, finite_number
from fairbench.runs.cost import Meter, hardware, versions
from fairbench.runs.curve_points import detailed_points, points_to_read
from fairbench.runs.encoding import encode_point
from fairbench.runs.point_arrays import ROWS, Kind, PointArrays
from fairbench.stats.seeds import derive_seed
from fairbench.store.encoders import Encoder, pack
from fairbench.store.status import Status
from fairbench.store.text import clean_line, describe, describe_fully


@dataclass(frozen=True)
class UnitResult:
    """What became of one unit of a fit.

    Parameters
    ----------
    points : sequence of Point
        The points that were read or fitted.
    arrays : mapping of str to ndarray
        Of all points, by the keys of :mod:`fairbench.runs.point_arrays`.
    encoder : bytes or None
        File of the trained encoder, see fairbench.store.encoders; None where there is none.
    not_stored : str, optional
        What went wrong where it could have been stored.
    """

    key: str
    status: Status
    error: str | None = None
    traceback: str | None = None
    points: Sequence[Point] = ()
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    costs: Mapping[str, float] = field(default_factory=dict)
    hardware: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    encoder: bytes | None = None
    not_stored: str | None = None


@dataclass(frozen=True)
class FitJob:
    """Fit one stack of units of a method on a dataset and encode the audit roles.

    ``point_estimate`` is what auditing one of its points will take, in seconds; ``gpus`` the share
    of a GPU it needs. ``audits`` are the keys of points that wait for it, where they are known.
    ``detailed`` are the keys of units of which audits examine points closely: the one point, or
    three of a single-shot curve. ``rows`` is how many rows of each audit role are encoded at most;
    None: all.
    """

    id: str
    title: str
    estimate: float
    point_estimate: float
    method: type[Method]
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
        return replace(self, data=AuditRows.of(self.data, self.rows).data)._run(progress)

    def _run(self, progress: Progress) -> list[UnitResult]:
        meter = Meter(self.device)
        method = self.method(self.params)
        rows = self.data.roles[Role.ENCODER_TRAIN]
        reported = ReportedCosts()
        context = FitContext(
            iterations=self.iterations,
            device=self.device,
            progress=lambda fraction, note: progress(
                0.95 * finite_number(fraction, "the fraction given to progress()"), note
            ),
            report=reported.report,
            deadline=None if self.timeout is None else time.monotonic() + self.timeout,
            checkpoint=self.checkpoint,
            checkpoint_every=self.checkpoint_every,
        )
        with meter.phase("train"):
            fitted = method.fit(TrainingRows(rows.x, rows.s, self.data.info), self.units, context)
        features = {role: self.data.roles[role].x for role in AUDIT_ROLES}
        if len(fitted) != len(self.units):
            raise ContractError(
                f"{method.name}.fit returned {len(fitted)} results for {len(self.units)} units."
            )
        results: list[UnitResult] = []
        encoded: dict[int, list[Representation]] = {}
        for number, (key, unit, outcome) in enumerate(
            zip(self.keys, self.units, fitted, strict=True)
        ):
            progress(0.95 + 0.05 * number / len(self.units), "encoding")
            if isinstance(outcome, Diverged):
                reason = clean_line(str(outcome.reason))
                results.append(UnitResult(key, Status.DIVERGED, reason))
                continue
            try:
                result, encoded[number] = self._encode(
                    key, unit, outcome, method, features, meter, reported
                )
                results.append(result)
            # What one unit's plugin code raises must not cost its stack-mates their training.
            except Exception as error:
                results.append(_failed(key, error))
        for number, representations in encoded.items():
            result = results[number]
            try:
                arrays = self._after_encoding(result, representations, method, number, features)
                results[number] = replace(result, arrays={**result.arrays, **arrays})
            except Exception as error:
                results[number] = _failed(result.key, error)
        return results

    def _after_encoding(
        self,
        result: UnitResult,
        representations: Sequence[Representation],
        method: Method,
        number: int,
        features: Mapping[Role, np.ndarray],
    ) -> dict[str, np.ndarray]:
        """Measure what tells an encoder which rows are the test rows, of all points of a unit."""
        arrays: dict[str, np.ndarray] = {}
        seed, target = self.units[number].seed, self.data.target
        domains = {False: (self.data, features[Role.TEST])}
        if target is not None:
            domains[True] = (target, target.roles[Role.TEST].x)
        for i, representation in enumerate(representations):
            for is_target, (data, x) in domains.items():
                encoded = PointArrays(result.arrays, i, is_target)
                z = encoded.by_part(Kind.Z, AUDIT_ROLES)[Role.TEST][: len(x)]
                arrays |= measure_test_rows(
                    i, representation, method, seed, data, x, z, target=is_target
                )
        return arrays

    def _encode(
        self,
        key: str,
        unit: Unit,
        outcome: Representation | Curve,
        method: Method,
        features: Mapping[Role, np.ndarray],
        meter: Meter,
        reported: Mapping[str, float],
    ) -> tuple[UnitResult, list[Representation]]:
        before = meter.seconds.get("encode", 0.0)
        points, representations = self._points(unit, outcome, method, features)
        arrays = {} if self.rows is None else {ROWS: np.array(self.rows)}
        closely = detailed_points(len(points)) if key in self.detailed else set()
        for i, representation in enumerate(representations):
            arrays |= encode_point(
                i,
                representation,
                method,
                unit.seed,
                self.data,
                features,
                meter,
                detailed=i in closely,
            )
            if self.data.target is not None:
                arrays |= self._encode_target(i, representation, method, unit, meter)
        costs = self._costs(method, meter, reported)
        costs["encode_seconds"] = meter.seconds["encode"] - before
        count = representations[0].parameters()
        if count is not None:
            costs["trainable_parameters"] = finite_number(count, "parameters()")
        work = representations[0].multiply_adds()
        if work is not None and "steps" in costs:
            # A product and a sum forward, and twice that backward, for each row.
            training = method.workload(self.data.info)
            rows = training.batch_size if training else 1
            flops = 6.0 * finite_number(work, "multiply_adds()") * rows * costs["steps"]
            costs["flops"] = finite_number(flops, "the number of operations")
        encoder, not_stored = _packed(
            Encoder(method, unit, self.data.info, outcome, self.data.preprocessing)
        )
        result = UnitResult(
            key=key,
            status=Status.DONE,
            points=points,
            arrays=arrays,
            costs=costs,
            hardware=hardware(self.device),
            versions=versions(),
            encoder=encoder,
            not_stored=not_stored,
        )
        return result, representations

    def _encode_target(
        self, i: int, representation: Representation, method: Method, unit: Unit, meter: Meter
    ) -> dict[str, np.ndarray]:
        """Encode the rows of the other domain as those of the first."""
        target = self.data.target
        assert target is not None
        features = {role: target.roles[role].x for role in AUDIT_ROLES}
        return encode_point(
            i, representation, method, unit.seed, target, features, meter, target=True
        )

    def _points(
        self,
        unit: Unit,
        outcome: Representation | Curve,
        method: Method,
        features: Mapping[Role, np.ndarray],
    ) -> tuple[tuple[Point, ...], list[Representation]]:
        if isinstance(outcome, Curve):
            points = points_to_read(
                outcome,
                features,
                {role: self.data.roles[role].s for role in AUDIT_ROLES},
                self.curve_points,
                seed=derive_seed("curve points", self.data.fingerprint, unit.seed),
                aware=method.track is Track.AWARE,
                stochastic=method.coding is Coding.STOCHASTIC,
            )
            for name, value in (pair for point in points for pair in point.values):
                finite_number(value, f"the knob {name!r} of a point of the curve")
            return points, [outcome.at(point) for point in points]
        if not isinstance(outcome, Representation):
            raise ContractError(
                f"{method.name}.fit returned a {type(outcome).__name__}, "
                "not a Representation, Curve or Diverged."
            )
        if unit.point is None:
            raise ContractError(f"{method.name} is single-shot: its fit must return a Curve.")
        return (unit.point,), [outcome]

    def _costs(
        self, method: Method, meter: Meter, reported: Mapping[str, float]
    ) -> dict[str, float]:
        earlier = reported.get(EARLIER_SECONDS, 0.0)
        seconds, units = meter.seconds["train"] + earlier, len(self.units)
        training = method.workload(self.data.info)
        again = training.models_per_unit if training else 1
        costs = {
            "train_seconds": seconds / units,
            "stack_seconds": seconds,
            "stack_models": float(units * again),
            **{name: value for name, value in reported.items() if name != EARLIER_SECONDS},
            **meter.peaks(),
        }
        if reported.get("steps"):
            costs["milliseconds_per_step"] = 1e3 * seconds * again / reported["steps"]
            costs["milliseconds_per_model_step"] = (
                costs["milliseconds_per_step"] / costs["stack_models"]
            )
        if meter.energy_j is not None and not earlier:  # of the part before nothing is known
            costs["energy_joules"] = meter.energy_j / units
        return costs


def _failed(key: str, error: Exception) -> UnitResult:
    return UnitResult(key, Status.FAILED, describe(error), describe_fully(error))


def _packed(encoder: Encoder) -> tuple[bytes | None, str | None]:
    """The file of a trained encoder, if it has one; else what was raised, in a line."""
    try:
        return pack(encoder), None
    # Figures are not worse for a mistake in state(), and hours of training may stand behind them.
    except Exception as error:
        return None, describe(error)[:200]
