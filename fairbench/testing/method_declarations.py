"""Promises of a method without a fit: names, hyperparameters, knobs, search space."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from fairbench import api
from fairbench.api import Coding, Knob, Point, Shots, Track, Unit
from fairbench.api.dataset import Dataset
from fairbench.errors import FairbenchError
from fairbench.registry import NAME
from fairbench.registry.catalogue import taken_name
from fairbench.runs.hyperparameters import validate_params
from fairbench.runs.method_answers import check_points
from fairbench.search.space import declared_space, values_to_try
from fairbench.testing.check_results import BrokenPromise
from fairbench.testing.method_trial import MethodTrial
from fairbench.testing.promises import convert_errors, promise

_BASES: Mapping[str, type] = {"method": api.Method, "dataset": Dataset}


@promise("its name and texts are there")
def texts(trial: MethodTrial) -> None:
    """Commands, records and leaderboards call it by its name and show its summary."""
    check_texts(trial.method)
    for name, kind in (("track", Track), ("coding", Coding), ("shots", Shots)):
        value = getattr(trial.method, name)
        if not isinstance(value, kind):
            raise BrokenPromise(
                f"{name} is {value!r}.",
                f"Write {name} = {kind.__name__}.{next(iter(kind)).name}, or another one.",
            )


def check_texts(cls: Any) -> None:
    """Raise BrokenPromise unless name, aliases and summary of a plugin are usable."""
    aliases = getattr(cls, "aliases", ())
    if not isinstance(aliases, tuple):
        raise BrokenPromise(f"aliases is {aliases!r}.", "Write a tuple: aliases = ('other-name',).")
    for word in (getattr(cls, "name", ""), *aliases):
        if not isinstance(word, str) or not NAME.fullmatch(word):
            raise BrokenPromise(
                f"{word!r} is not a name.",
                "Names are lower-case words joined by single hyphens, like 'my-method'.",
            )
        kind = next((kind for kind, base in _BASES.items() if issubclass(cls, base)), "")
        if taken := taken_name(kind, word):
            raise BrokenPromise(f"The name {word!r} is taken: {taken}.", "Choose another name.")
    summary = getattr(cls, "summary", "")
    if not isinstance(summary, str) or not summary.strip() or "\n" in summary:
        raise BrokenPromise(f"Its summary is {summary!r}.", "Write one line that describes it.")


@promise("its parameters have defaults, and unknown ones are refused")
def parameters(trial: MethodTrial) -> None:
    """A run without --params uses the defaults, and a misspelt parameter must not be ignored."""
    cls = trial.method.Params
    if not (isinstance(cls, type) and issubclass(cls, api.Params)):
        raise BrokenPromise(f"Params is {cls!r}.", "Write class MyParams(fairbench.api.Params).")
    without = [name for name, field in cls.model_fields.items() if field.is_required()]
    if without:
        raise BrokenPromise(
            f"The parameter {without[0]!r} has no default.",
            "Give every parameter a default: the paper's, where there is one.",
        )
    if cls() != cls():
        raise BrokenPromise("Two objects of its Params differ.", "Defaults must be constants.")
    try:
        validate_params(trial.method, trial.method.image_params)
    except FairbenchError as error:
        raise BrokenPromise(
            f"Its image_params cannot be used. {error.message}",
            "Give a mapping from names of its parameters to values.",
        ) from None
    with suppress(ValueError):
        cls(**{"no-such-parameter": 1})
        raise BrokenPromise(
            "Its Params accept a parameter that they do not have.",
            "Leave model_config of fairbench.api.Params as it is (extra='forbid').",
        )
    if not cls.model_config.get("frozen"):
        raise BrokenPromise(
            "Its Params can be changed.", "Leave model_config as it is (frozen=True)."
        )


@promise("knobs and points agree")
def points(trial: MethodTrial) -> None:
    """Points are rows of every table, identified by the values of the declared knobs."""
    method = trial.method()
    for knob in method.knobs:
        if not isinstance(knob, Knob) or not math.isfinite(knob.low) or not knob.low <= knob.high:
            raise BrokenPromise(
                f"{knob!r} is not a knob.", "Write Knob(name, low, high), low <= high."
            )
    known = sorted(knob.name for knob in method.knobs)
    if len(set(known)) < len(known):
        raise BrokenPromise(f"Its knobs are {known}.", "Give each knob a name of its own.")
    if method.shots is Shots.SINGLE:
        if len(known) != 1:
            raise BrokenPromise(
                f"It is single-shot and has {len(known)} knobs.", "A curve has exactly one knob."
            )
        return
    grid = method.points()
    if not isinstance(grid, tuple):
        raise BrokenPromise(
            f"points() returned {grid!r}.", "Return a tuple of fairbench.api.Point."
        )
    for point in check_points(grid):
        check_within(point, method.knobs)


def check_within(point: Point, knobs: Sequence[Knob]) -> None:
    """Raise BrokenPromise unless a point sets the declared knobs, to values within their range."""
    known = sorted(knob.name for knob in knobs)
    if sorted(name for name, _ in point.values) != known:
        raise BrokenPromise(
            f"The point {point.label} does not set the knobs {', '.join(known) or '(none)'}.",
            "Declare in 'knobs' what points set: Point.of(beta=.5) needs Knob('beta', ...).",
        )
    for knob in knobs:
        if not knob.low <= point[knob.name] <= knob.high:
            raise BrokenPromise(
                f"The point {point.label} lies outside {knob.low:g} .. {knob.high:g}.",
                f"Widen the knob {knob.name!r}, or remove the point.",
            )


@promise("its search space is of its own parameters, within what they take")
def space(trial: MethodTrial) -> None:
    """A search would fail after hours at the first trial outside of it."""
    from optuna.distributions import BaseDistribution

    for name, distribution in declared_space(trial.method, {}).items():
        if name not in trial.method.Params.model_fields:
            raise BrokenPromise(
                f"search_space() names {name!r}, which is not a parameter.",
                f"Its parameters: {', '.join(trial.method.Params.model_fields) or 'none'}.",
            )
        if not isinstance(distribution, BaseDistribution):
            raise BrokenPromise(
                f"search_space() gives {distribution!r} for {name!r}.",
                "Give distributions of optuna.distributions.",
            )
        for value in values_to_try(distribution):
            try:
                validate_params(trial.method, {name: value})
            except FairbenchError as error:
                raise BrokenPromise(
                    f"search_space() reaches {name} = {value!r}. {error.message}",
                    "Narrow the distribution, or widen the parameter.",
                ) from None


@promise("supports() answers with a reason or None")
def supports(trial: MethodTrial) -> None:
    """Its answer is shown as the reason why there are no figures."""
    answer = trial.method().supports(trial.data.info)
    if answer is not None and not (isinstance(answer, str) and answer.strip()):
        raise BrokenPromise(
            f"supports() returned {answer!r}.",
            "Return None if it can run, else the reason in words.",
        )


@promise("it can be sent to another process")
def pickles(trial: MethodTrial) -> None:
    """Every job runs in its own process, with Ray on another machine, and gets there pickled."""
    cls = trial.method
    todo = "Define the class and its Params at the top of an importable module."
    sent = (cls, cls.Params(), Unit(0, next(iter(cls().points()), None)))
    with convert_errors("Pickling it", todo):
        copy, params, _ = pickle.loads(pickle.dumps(sent))
    if copy is not cls or params != cls.Params():
        raise BrokenPromise("Unpickled, it is another class or has other parameters.", todo)
