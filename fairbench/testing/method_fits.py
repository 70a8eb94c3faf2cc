"""Promises of ``fit``: its result, its inputs, and what it must not change."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fairbench.api import Point, Shots
from fairbench.api.dataset import Dataset
from fairbench.api.method import Curve
from fairbench.config import Device
from fairbench.data.files import cache_folder, data_root
from fairbench.data.prepared import Prepared
from fairbench.errors import PluginError
from fairbench.runs.declared import declared
from fairbench.runs.fit_job import FitJob
from fairbench.runs.method_answers import ask
from fairbench.runs.point_arrays import ArrayName, Kind
from fairbench.store.status import Status
from fairbench.testing.check_results import BrokenPromise, Unmet
from fairbench.testing.method_declarations import check_within
from fairbench.testing.method_trial import (
    ITERATIONS,
    MAX_APART,
    OTHER_SEED,
    SEED,
    TOLERANCE,
    MethodTrial,
    rows_apart,
    tried_points,
)
from fairbench.testing.promises import convert_errors, promise
from fairbench.testing.sample_data import ManyGroups, sample_data, with_other_labels
from fairbench.testing.surroundings import check_unharmed, subclasses, watched_data
from fairbench.training.device import resolve_device

if TYPE_CHECKING:
    from fairbench.training import NeuralMethod
    from fairbench.training.steps import Steps


@promise("fit gives one result per unit, of the declared kind")
def fits(trial: MethodTrial) -> None:
    """The suite stores each result under its unit."""
    units = trial.units()
    with convert_errors("fit"):
        fitted = trial.fit(units)
    with convert_errors("at(point) of its curve"):
        trial.opened(fitted, units)


@promise("a curve can be read at both ends of its knob")
def curve(trial: MethodTrial) -> None:
    """The suite chooses the points of a single-shot curve after the fit."""
    if trial.method.shots is not Shots.SINGLE:
        raise Unmet("it is multi-shot")
    _ = trial.encoders
    (fitted,) = trial.fit(trial.units())
    assert isinstance(fitted, Curve)  # or there would be no first fit
    declared = {knob.name: knob for knob in trial.instance.knobs}
    knob = fitted.knob
    if knob.name not in declared:
        raise BrokenPromise(
            f"The knob of its curve is {knob.name!r}.",
            f"Declare it: the knobs are {list(declared)}.",
        )
    own = declared[knob.name]
    if not own.low <= knob.low <= knob.high <= own.high:
        raise BrokenPromise(
            f"The knob of its curve is {knob.low:g} .. {knob.high:g}, and the declared one "
            f"{own.low:g} .. {own.high:g}.",
            f"Widen the knob {knob.name!r} in 'knobs', or narrow that of the curve.",
        )
    for point in tried_points(fitted):
        check_within(point, trial.instance.knobs)
        with convert_errors(f"At {point.label} it"):
            trial.codes([fitted.at(point)])


@promise("the same seed gives the same codes")
def reproducible(trial: MethodTrial) -> None:
    """A figure that cannot be reproduced proves nothing."""
    first, again = (trial.codes(fits) for fits in (trial.encoders, trial.trained()))
    for unit, z, other in zip(trial.units(), first, again, strict=True):
        if not np.array_equal(z, other):
            raise BrokenPromise(
                f"Two fits with seed {unit.seed}{_at(unit.point)} gave different codes in "
                f"{_share(z, other)} of the rows.",
                "Draw from numpy.random.default_rng(unit.seed), or torch.Generator().manual_seed, "
                "and from nothing else.",
            )


def _at(point: Point | None) -> str:
    return f" at {point.label}" if point is not None and point.values else ""


def _share(z: np.ndarray, other: np.ndarray) -> str:
    return "all" if z.shape != other.shape else f"{(z != other).any(axis=1).mean():.0%}"


@promise("fit leaves its rows as they are")
def keeps_rows(trial: MethodTrial) -> None:
    """All methods of a run share the rows: one that writes into them changes the others'
    figures."""
    _ = trial.first
    train = trial.rows()
    x, s = train.x.copy(), train.s.copy()
    trial.fit(trial.units(), train=train)
    for name, before, after in (("x", x, train.x), ("s", s, train.s)):
        if not np.array_equal(before, after):
            raise BrokenPromise(
                f"fit writes into train.{name}.", f"Work on a copy: train.{name}.copy()."
            )


@promise("it runs as a job of the suite")
def job(trial: MethodTrial) -> None:
    """A run trains and encodes by such jobs, in processes of their own."""
    _ = trial.encoders
    _codes_of_job(trial, trial.data)


@promise("task labels change nothing")
def ignores_labels(trial: MethodTrial) -> None:
    """Methods are ranked as unsupervised: one that uses y has an unfair advantage."""
    _ = trial.encoders
    # Whole jobs, as the suite runs them, so that all that a job can reach is within reach here.
    try:
        first, again = (_codes_of_job(trial, trial.data) for _ in range(2))
    except BrokenPromise:
        raise Unmet("it does not run as a job; see above") from None
    if _differ(first, again):
        raise Unmet("the same seed gives different codes, so nothing can be compared; see above")
    if _differ(first, _codes_of_job(trial, with_other_labels(trial.data))):
        raise BrokenPromise(
            "With the task labels y permuted its codes differ, so it uses y.",
            "Use only train.x, train.s and train.info.",
        )


def _codes_of_job(trial: MethodTrial, data: Prepared) -> dict[str, np.ndarray]:
    units = trial.units()
    try:
        ask(trial.method, trial.instance.params, data.info)  # as a run does when it is planned
    except PluginError as error:
        raise BrokenPromise(error.message, error.hint) from None
    job = FitJob(
        id="check",
        title=trial.method.name,
        estimate=1.0,
        point_estimate=1.0,
        method=trial.method,
        declared=declared(trial.method),
        params=trial.instance.params,
        data=data,
        keys=tuple(str(i) for i in range(len(units))),
        units=tuple(units),
        iterations=ITERATIONS,
        device="cpu",
        curve_points=2 if trial.method.shots is Shots.SINGLE else None,
    )
    codes: dict[str, np.ndarray] = {}
    for result in job.run(lambda fraction, note: None):
        if result.status is not Status.DONE:
            raise BrokenPromise(
                f"As a job of the suite it ends {result.status}: {str(result.error).rstrip('.')}.",
                "Fix what it says: a run would show the same.",
            )
        codes |= {
            f"{result.key}/{key}": array
            for key, array in result.arrays.items()
            if ArrayName.parse(key).kind == Kind.Z
        }
    return codes


def _differ(codes: Mapping[str, np.ndarray], others: Mapping[str, np.ndarray]) -> bool:
    return codes.keys() != others.keys() or any(
        not np.array_equal(z, others[name]) for name, z in codes.items()
    )


@promise("it reads no file of a registered dataset")
def reads_nothing(trial: MethodTrial) -> None:
    """It may use the training set alone: files and datasets hold task labels and test rows."""
    first = trial.encoders
    folders = [cache_folder(), data_root(trial.root)]
    folders += [cls.home for cls in subclasses(Dataset)]
    with watched_data(folder for folder in folders if folder is not None) as reads:
        trial.trained()
        trial.codes(first)
    if reads.seen:
        raise BrokenPromise(
            f"While it fits or encodes it reads {reads.seen[0]}.",
            "Use the arguments of fit: train.x, train.s and train.info.",
        )


@promise("units fitted together are units fitted one by one")
def stacks(trial: MethodTrial) -> None:
    """The suite stacks seeds and points to suit the machine; figures must not depend on it."""
    _ = trial.encoders
    units = trial.units((SEED, OTHER_SEED), most=2)
    together = trial.codes(trial.trained(units))
    for unit, stacked in zip(units, together, strict=True):
        (alone,) = trial.codes(trial.trained([unit]))
        apart = rows_apart(stacked, alone)
        if apart > MAX_APART:
            raise BrokenPromise(
                f"Seed {unit.seed}{_at(unit.point)}, fitted alone, has other codes in {apart:.0%} "
                "of the rows than fitted among others.",
                "Give each unit random numbers of its own, from unit.seed, and its own statistics.",
            )


@promise("a recordable model trains as declared")
def recordable(trial: MethodTrial) -> None:
    """A recorded or compiled training traces one step, and repeats it without the Python code."""
    from fairbench.training import NeuralMethod

    _ = trial.first
    if not isinstance(trial.instance, NeuralMethod):
        raise Unmet("it has no stacked model")
    if not _untrained(trial, trial.instance).model.recordable:
        raise Unmet("its model does not declare recordable")
    from fairbench.training.compiled_steps import CompiledSteps

    losses = []
    for traced in (False, True):
        steps = _untrained(trial, trial.instance)
        compiled = CompiledSteps(steps, compile=lambda traced: traced)
        with warnings.catch_warnings(action="ignore"), convert_errors("Traced, it", _AS_RECORDABLE):
            taken = [(compiled if traced else steps).take(i) for i in range(ITERATIONS)]
        if compiled.refused:
            raise BrokenPromise(f"A step cannot be traced: {compiled.refused}.", _AS_RECORDABLE)
        losses.append([np.stack([one.numpy(force=True) for one in t.values()]) for t in taken])
    for step, (one, other) in enumerate(zip(*losses, strict=True)):
        if not np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            raise BrokenPromise(
                f"Traced once and repeated, it has other losses at step {step}.", _AS_RECORDABLE
            )


_AS_RECORDABLE = (
    "Keep what losses remembers in buffers, changed in place; use no other tensors than buffers "
    "and parameters; decide nothing in Python that changes from step to step. Or declare "
    "recordable = False."
)


def _untrained(trial: MethodTrial, method: NeuralMethod) -> Steps:
    """Return the steps of a stack of which none is taken."""
    from fairbench.training.schedule import Schedule
    from fairbench.training.steps import Steps
    from fairbench.training.streams import Streams

    train, units = trial.rows(), trial.units()
    streams = Streams([unit.seed for unit in units])
    model = method.build(units, train.info, method.networks(train.info), streams)
    model.train()
    schedule = Schedule(ITERATIONS, method.params.batch_size, method.params.learning_rate)
    groups = len(train.info.groups)
    return Steps(model, train.x, train.s, groups, schedule, streams)


@promise("more than two groups are taken, or refused by supports()")
def many_groups(trial: MethodTrial) -> None:
    """Datasets have up to 18 groups; a run should refuse beforehand what cannot be run."""
    _ = trial.encoders
    data = sample_data(ManyGroups)
    if trial.instance.supports(data.info) is not None:
        raise Unmet("supports() refuses five groups")
    units = trial.units(most=1)
    other = MethodTrial(trial.method, data)
    todo = "Take s as codes 0 .. len(train.info.groups) - 1, or refuse in supports(info)."
    with convert_errors("With five groups it", todo):
        other.codes(other.trained(units))


@promise("CPU and GPU agree")
def devices_agree(trial: MethodTrial) -> None:
    """A row of a leaderboard must not depend on the machine of training."""
    _ = trial.encoders
    if not trial.method.uses_gpu:
        raise Unmet("it does not use a GPU")
    if resolve_device(Device.AUTO) == "cpu":
        raise Unmet("there is no GPU here")
    on_cpu = trial.codes(trial.encoders)
    on_gpu = trial.codes(trial.trained(device="cuda"))
    for unit, one, other in zip(trial.units(), on_cpu, on_gpu, strict=True):
        apart = rows_apart(one, other)
        if apart > MAX_APART:
            raise BrokenPromise(
                f"Seed {unit.seed}{_at(unit.point)}, fitted on the GPU, has other codes in "
                f"{apart:.0%} of the rows.",
                "Draw random numbers on the CPU, and move them to context.device.",
            )


@promise("it leaves its process unchanged")
def unharmed(trial: MethodTrial) -> None:
    """Other plugins run in the same process, and rely on its folder and random state."""
    first = trial.encoders

    check_unharmed(lambda: (trial.trained(), trial.codes(first)), "fit or encode")
