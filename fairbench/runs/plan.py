"""From a request to units with content keys, and the stacks they train in."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairbench.api import Point, Role, Shots, Track, Unit, Workload, iterate_points
from fairbench.api.method import Method, Params
from fairbench.auditing.config import PRESETS, AuditConfig, AuditPreset
from fairbench.config import RunConfig
from fairbench.data.prepared import Prepared
from fairbench.errors import (
    PluginError,
    in_one_line,
)
from fairbench.metrics.rows import DEFAULT
from fairbench.registry import Registry, earlier_code, plugin_source, plugin_version
from fairbench.runs.audit_rows import is_larger
from fairbench.runs.curve_points import DEFAULT_POINTS, detailed_point_numbers
from fairbench.runs.declared import declared
from fairbench.runs.failures import Failure
from fairbench.runs.hyperparameters import (
    params_by_method,
    params_label,
    params_on,
    validate_params,
)
from fairbench.runs.method_answers import ask
from fairbench.store import keys
from fairbench.store.keys import hash_of
from fairbench.store.records import UnitRecord
from fairbench.store.status import Status
from fairbench.training.schedule import FEWEST_COMPILED
from fairbench.training.stack_size import largest_stack, model_bytes, spread
from fairbench.versions import AUDIT_VERSION, ENGINE_VERSION, IMAGES_VERSION, PROTOCOL_VERSION

QUICK_IMAGE_ITERATIONS = 2_000
"""A convolutional step of one model costs .2 s of a core."""

QUICK_IMAGE_POINTS = {Shots.SINGLE: 6, Shots.MULTI: 4}
"""Points of a curve unless --points is given: each is encoded and audited for as long as 300 steps
take."""


@dataclass(frozen=True)
class Budget:
    """Training steps and audit of a run; rows of different labels are ranked apart.

    ``label`` is ``full``, ``quick`` or a number of iterations.
    """

    label: str
    iterations: int
    audit: AuditConfig
    # Points of a curve, of methods that have other than the usual number of them
    points: Mapping[Shots, int] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class PlannedUnit:
    """One model to train, and all that identifies it.

    ``key`` is the sha256 over everything its figures depend on; ``curve_points`` is how many points
    of a single-shot curve are read; ``skipped`` says why the method cannot run here.
    ``detailed``: whether audits also measure repeated queries and the effect of the number of rows,
    at the one point of a multi-shot unit, or at the first, middle and last of a single-shot one.
    That is no part of the key: a stored point keeps what it was encoded with, even if a later run
    has more or fewer points. ``label`` names hyperparameters that are not the defaults; it is no
    part of the key either.
    """

    key: str
    method: type[Method]
    params: Params
    data: Prepared
    unit: Unit
    budget: Budget
    curve_points: int | None
    skipped: str | None
    detailed: bool = False
    label: str | None = None

    @property
    def workload(self) -> Workload:
        """Size of its training; for a method that reports none, as if it were a neural one."""
        reported = self.method(self.params).workload(self.data.info)
        return reported or Workload(self.data.info.architecture, batch_size=128)

    @property
    def title(self) -> str:
        """Method, dataset, split, seed and point, for messages."""
        point = f", {self.unit.point.label}" if self.unit.point else ""
        return f"{self.method.name} on {self.data.title}, seed {self.unit.seed}{point}"

    def failure(
        self,
        status: Status,
        error: str,
        traceback: str | None = None,
        *,
        earlier_stands: bool = False,
    ) -> Failure:
        """Say that it gave nothing."""
        return Failure(self.title, status, error, self.key, traceback, earlier_stands)

    def record(self, run: str) -> UnitRecord:
        """Return its record before anything is done."""
        return UnitRecord(
            key=self.key,
            run=run,
            status=Status.SKIPPED if self.skipped else Status.PENDING,
            error=self.skipped,
            method=self.method.name,
            dataset=self.data.info.name,
            split=self.data.split.name,
            seed=self.unit.seed,
            point=self.unit.point.label if self.unit.point else None,
            track=declared(self.method).track.value,
            tags=list(self.method(self.params).tags),
            params=self.params.model_dump(mode="json"),
            params_label=params_label(self.method, self.params, self.data.info),
            label=self.label,
            plugin=plugin_version(self.method),
            budget=self.budget.label,
            iterations=self.budget.iterations,
            curve_points=self.curve_points,
            data_source=self.data.source,
            fingerprint=self.data.fingerprint,
            protocol=PROTOCOL_VERSION,
            code=code_of(self.method),
        )


@dataclass(frozen=True)
class PlannedReference:
    """An audit of x itself, by which the curves of one dataset and seed are normalised."""

    data: Prepared
    seed: int
    audit: AuditConfig

    @property
    def key(self) -> str:
        """Content key of its record."""
        images = [] if self.data.info.architecture.image is None else [IMAGES_VERSION]
        audit = self.audit.as_dict()
        return hash_of(
            ["reference", self.data.fingerprint, self.seed, audit, AUDIT_VERSION, *images]
        )


@dataclass
class Plan:
    """All units and references of a request.

    ``failed`` has the error of each method, or dataset, that could not be planned, by its title:
    the others run without it.
    """

    units: list[PlannedUnit] = field(default_factory=list)
    references: list[PlannedReference] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def make_plan(config: RunConfig, registry: Registry, datasets: Sequence[Prepared]) -> Plan:
    """List the units of a request, baselines included where it is not for a published board.

    Raises UnknownNameError or ConfigError for a name or parameter that does not exist, or a value
    that cannot be used. A plugin that cannot be planned is listed as failed.
    """
    names = resolve_methods(config.methods, registry, baselines=config.against is None)
    given = params_by_method(config.params, names, registry)
    plan = Plan()
    params: dict[str, Mapping[str, Any]] = {}
    for name in names:
        try:
            validate_params(registry.methods[name], given.get(name, {}))
            params[name] = given.get(name, {})
        except PluginError as error:
            plan.failed[name] = in_one_line(error)
    for data in datasets:
        budget = make_budget(config.budget, data)
        for seed in config.seeds:
            plan.references.append(PlannedReference(data, seed, budget.audit))
        for name, values in params.items():
            method = registry.methods[name]
            try:
                own = params_on(method, values, data.info)
                plan.units += units_of(method, own, data, budget, config)
            except PluginError as error:
                plan.failed[f"{name} on {data.info.name}"] = in_one_line(error)
    return plan


def resolve_methods(
    names: Sequence[str], registry: Registry, *, baselines: bool = True
) -> list[str]:
    """Registered names of the requested methods, in that order, then the baselines."""
    requested: list[str] = []
    for name in names:
        every = name == "all"
        requested += registry.methods.classes if every else [registry.methods.resolve(name)]
    if not baselines:
        return list(dict.fromkeys(requested))
    # A track's baselines join every run with a method of that track, so that no leaderboard is
    # without them; the blind ones always do.
    tracks = {registry.methods[name].track for name in requested} | {Track.BLIND}
    joining = [name for name in registry.baselines if registry.methods[name].track in tracks]
    return list(dict.fromkeys([*requested, *joining]))


def make_budget(requested: str | int, data: Prepared) -> Budget:
    """Iterations and audit of a budget on a dataset."""
    images = data.info.architecture.image is not None
    if requested == "quick":
        audit = PRESETS[AuditPreset.QUICK]
        if images:
            return Budget("quick", QUICK_IMAGE_ITERATIONS, audit, QUICK_IMAGE_POINTS)
        return Budget("quick", max(1, data.iterations // 10), audit)
    iterations = data.iterations if requested == "full" else int(requested)
    label = "full" if iterations == data.iterations else str(iterations)
    return Budget(label, iterations, PRESETS[AuditPreset.STRICT])


def units_of(
    method: type[Method], params: Params, data: Prepared, budget: Budget, config: RunConfig
) -> list[PlannedUnit]:
    """The units of one method on one dataset: seeds and points as ``config`` says.

    Raises PluginError: what the method says of itself cannot be used.
    """
    answers = ask(method, params, data.info)
    label = None if params_label(method, params, data.info) == DEFAULT else config.label
    single = method.shots is Shots.SINGLE
    count = config.points or budget.points.get(method.shots)
    points: list[Point | None] = [None] if single else list(iterate_points(answers.points, count))
    curve_points = (count or DEFAULT_POINTS) if single else None
    content = {
        "method": method.name,
        "params": params.identity(),
        "code": code_of(method),
        "dataset": data.info.name,
        "fingerprint": data.fingerprint,
        "curve_points": curve_points,
        "iterations": budget.iterations,
        # What is stored does not depend on the audit, but a quick curve and a full one of equal
        # iterations are different rows of the leaderboard.
        "label": budget.label,
    }
    if data.info.architecture.image is not None:
        content["images"] = IMAGES_VERSION
    if is_larger(data, budget.audit.rows):
        content["rows"] = budget.audit.rows
    planned = []
    strict = budget.audit.preset is AuditPreset.STRICT  # a first look needs no more than a look
    closely = detailed_point_numbers(points) if strict else set()
    for seed, (number, point) in itertools.product(config.seeds, enumerate(points)):
        unit = Unit(seed, point)
        own = {"seed": unit.seed, "point": unit.point.label if unit.point else None}
        key = hash_of(content | own)
        planned.append(
            PlannedUnit(
                key,
                method,
                params,
                data,
                unit,
                budget,
                curve_points,
                answers.refusal,
                detailed=number in closely,
                label=label,
            )
        )
    return planned


def stacks(
    units: Sequence[PlannedUnit], device: str, free_bytes: Sequence[float] = ()
) -> list[list[PlannedUnit]]:
    """Group units that train together: one method, parameters, dataset; any points and seeds.

    ``free_bytes`` of each GPU, over which the stacks are spread.
    """
    groups: dict[tuple[object, ...], list[PlannedUnit]] = {}
    for unit in units:
        alike = (
            unit.data.fingerprint,
            unit.budget,
            unit.method.name,
            hash_of(unit.params.model_dump(mode="json")),
        )
        groups.setdefault(alike, []).append(unit)
    stacked = []
    for members in groups.values():
        gpus = free_bytes if members[0].method.uses_gpu else ()
        start = 0
        for size in spread(len(members), most_in_stack(members[0], device, free_bytes), len(gpus)):
            stacked.append(members[start : start + size])
            start += size
    return stacked


def most_in_stack(planned: PlannedUnit, device: str, free_bytes: Sequence[float]) -> int:
    """Return how many units like this one can train together."""
    gpus = free_bytes if planned.method.uses_gpu else ()
    return largest_stack(
        planned.method.device(device),
        image=planned.data.info.architecture.image is not None,
        bytes_per_unit=bytes_of_models([planned]),
        data_bytes=bytes_of_rows(planned.data),
        free_bytes=min(gpus, default=None),
        models_per_unit=planned.workload.models_per_unit,
        compiled=planned.budget.iterations >= FEWEST_COMPILED,
    )


def bytes_of_models(stack: Sequence[PlannedUnit]) -> float:
    """Device memory of the models of a stack, bytes."""
    work, features = stack[0].workload, len(stack[0].data.info.features)
    models = len(stack) * work.models_per_unit
    return models * model_bytes(work.architecture, features, work.batch_size)


def bytes_of_rows(data: Prepared) -> float:
    """Device memory of the rows that a stack trains on, bytes."""
    return float(data.roles[Role.ENCODER_TRAIN].x_bytes)


def code_of(method: type[Method]) -> str:
    """Hash of what computes a unit's figures: the plugin's source, engine and protocol versions.

    Where the plugin declares that its source gives the results of an earlier one, the earlier hash.
    """
    code = hash_of([plugin_source(method), ENGINE_VERSION, PROTOCOL_VERSION])[:16]
    return earlier_code(method, code)


def point_key(unit_key: str, label: str, audit: AuditConfig) -> str:
    """Key of one audited point."""
    return keys.point_key(unit_key, label, audit.as_dict(), AUDIT_VERSION)
