"""What every method owes: shapes, determinism, blindness, stacks, many classes, images."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fairbench.api import (
    AUDIT_ROLES,
    Architecture,
    Coding,
    DatasetInfo,
    FitContext,
    Point,
    Role,
    Shots,
    Track,
    TrainingRows,
    Unit,
)
from fairbench.api.method import Curve, Diverged, Method, Representation
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared
from fairbench.registry import load_registry
from fairbench.runs.declared import declared
from fairbench.runs.fit_job import FitJob
from fairbench.runs.hyperparameters import params_label, params_on
from fairbench.store.status import Status
from fairbench.training.neural_method import NeuralMethod
from fairbench_datasets.adults import AdultsGender
from tests.support.small_table import make_table

METHODS = dict(load_registry().methods.classes)
NEURAL = [name for name, cls in METHODS.items() if issubclass(cls, NeuralMethod)]

each_method = pytest.mark.parametrize("name", METHODS)
each_neural = pytest.mark.parametrize("name", NEURAL)


def small(name: str) -> Method:
    cls = METHODS[name]
    if issubclass(cls, NeuralMethod):
        given: dict[str, Any] = {"hidden": (16,), "latent": 3}
        if name == "fnf":
            given |= {"couplings": 2, "coupling_hidden": (16,), "density_hidden": (16,)}
        return cls(cls.Params(**given))
    return cls()


def units_of(method: Method, seeds: Sequence[int] = (0,)) -> list[Unit]:
    """A unit a seed, or the ends and the middle of the grid of a multi-shot method."""
    if method.shots is Shots.SINGLE:
        return [Unit(seed, None) for seed in seeds]
    grid = method.points()
    chosen = [grid[i] for i in sorted({0, len(grid) // 2, len(grid) - 1})]
    return [Unit(seed, point) for seed in seeds for point in chosen]


def rows_of(data: Prepared) -> TrainingRows:
    rows = data.roles[Role.ENCODER_TRAIN]
    return TrainingRows(rows.x.copy(), rows.s.copy(), data.info)


def fit(method: Method, train: TrainingRows, units: Sequence[Unit]) -> list[Representation]:
    outcomes = []
    for outcome in method.fit(train, units, FitContext(iterations=30)):
        assert not isinstance(outcome, Diverged)
        if isinstance(outcome, Curve):
            middle = Point.of(**{outcome.knob.name: min(outcome.knob.high, 1.0) / 2})
            outcome = outcome.at(outcome.points[0] if outcome.points else middle)
        outcomes.append(outcome)
    return outcomes


def encode(
    method: Method, representation: Representation, x: np.ndarray, s: np.ndarray, seed: int = 0
) -> np.ndarray:
    generator = np.random.default_rng(seed) if method.coding is Coding.STOCHASTIC else None
    given = s if method.track is Track.AWARE else None
    return representation.encode(x, s=given, generator=generator)


@pytest.mark.thorough
@each_method
@pytest.mark.parametrize("groups", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_a_whole_fit_job_gives_every_point(name: str, groups: int) -> None:
    """Also with ten groups; what comes back was checked for shape, dtype and finiteness."""
    data = prepare(make_table(1500, groups=groups), AdultsGender, source="simulated", origin="test")
    method = small(name)
    units = units_of(method)
    job = FitJob(
        id="1",
        title="",
        estimate=1.0,
        point_estimate=1.0,
        method=type(method),
        declared=declared(type(method)),
        params=method.params,
        data=data,
        keys=tuple(str(i) for i in range(len(units))),
        units=tuple(units),
        iterations=30,
        device="cpu",
        curve_points=4 if method.shots is Shots.SINGLE else None,
    )
    for result in job.run(lambda fraction, note: None):
        assert result.status is Status.DONE, result.error
        assert result.points
        draws = 3 if method.coding is Coding.STOCHASTIC else 1
        for role in AUDIT_ROLES:
            assert len(result.arrays[f"0/z/{role}"]) == draws * len(data.roles[role].s)
        assert (f"0/own/{Role.TEST}" in result.arrays) == method.has_decoder


@pytest.mark.thorough
@each_neural
def test_a_stack_is_its_models(name: str, prepared: Prepared) -> None:
    method, test = small(name), prepared.roles[Role.TEST]
    units = units_of(method, seeds=[1, 2])
    together = fit(method, rows_of(prepared), units)
    for unit, stacked in zip(units, together, strict=True):
        (single,) = fit(method, rows_of(prepared), [unit])
        z = encode(method, stacked, test.x, test.s)
        alone = encode(method, single, test.x, test.s)
        # A code may flip a bit where sums differ in the last digit.
        close = np.isclose(z, alone, atol=1e-3).all(axis=1)
        assert close.mean() > (0.98 if method.coding is Coding.QUANTISED else 0.999)


@each_method
def test_points_and_search_space_are_of_the_methods_own_parameters(name: str) -> None:
    from optuna.distributions import BaseDistribution
    from optuna.trial import create_trial

    method = METHODS[name]()
    assert method.points()
    assert len(set(method.points())) == len(method.points())
    labels = [point.label for point in method.points()]
    assert len(set(labels)) == len(labels)
    known = {knob.name for knob in method.knobs}
    for point in method.points() if method.shots is Shots.MULTI else ():
        assert {knob for knob, _ in point.values} == known
    space = method.search_space()
    assert set(space) <= set(method.Params.model_fields)
    assert all(isinstance(distribution, BaseDistribution) for distribution in space.values())
    assert bool(space) or not issubclass(METHODS[name], NeuralMethod)
    for image in (None, (1, 16, 16)):
        info = DatasetInfo("any", (), ("a", "b"), Architecture(image=image))
        params = params_on(METHODS[name], {}, info)
        assert params_label(METHODS[name], params, info) == "default"
        if image is None:
            # Otherwise no trial has the defaults, and nothing says that what is found is better.
            values = {parameter: getattr(params, parameter) for parameter in space}
            create_trial(value=0.0, params=values, distributions=space)


def test_the_papers_grids() -> None:
    with_grids = {
        name
        for name, cls in METHODS.items()
        if "grid" in cls.Params.model_fields and cls.shots is Shots.MULTI
    }
    assert with_grids == {"latfr", "maxent-arl", "beta-vae", "vfae", "fcrl"}
    settings = {name: {"grid": "paper"} if name in with_grids else {} for name in METHODS}
    grids = {name: cls(cls.Params(**settings[name])).points() for name, cls in METHODS.items()}
    counts = {name: len(grid) for name, grid in grids.items()}
    assert counts["latfr"] == 10
    assert counts["maxent-arl"] == 29
    assert counts["beta-vae"] == 21
    assert counts["cvib"] == 57
    assert counts["msfair"] == 16
    alphas = [p["alpha"] for p in grids["maxent-arl"]]
    assert alphas[:3] == [0.0, 0.1, 0.2]
    assert alphas[9:12] == [0.9, 1.0, 2.0]
    assert alphas[-2:] == [90.0, 100.0]


def test_tracks_and_tags_are_declared() -> None:
    aware = {name for name, cls in METHODS.items() if cls.track is Track.AWARE}
    assert aware == {"conditional-quantile", "fnf", "qleace"}
    assert METHODS["sofair"]().tags == ("quantised", "single-shot", "decoder")
    assert METHODS["cvib"]().tags == ("stochastic", "multi-shot", "decoder")
    assert METHODS["leace"]().tags == ("deterministic", "multi-shot")
