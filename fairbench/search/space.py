"""What a search may change: the distributions that a method declares, checked before any trial."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairbench.api.method import Method
from fairbench.errors import CheckError, ConfigError, FairbenchError, PluginError
from fairbench.registry import Registry
from fairbench.runs.hyperparameters import validate_params
from fairbench.store.returned_values import short_repr
from fairbench.store.text import describe

_DIGITS = 4
"""Significant digits of searched numbers: more says nothing and makes labels long."""

_DIGITS_OF_GRID = 12
"""The same for numbers of a grid: 0.30000000000000004 is the setting 0.3, and not another."""

_RETURNS = "It returns optuna.distributions by hyperparameter: docs/plugins.md has an example."


def held_params(
    given: Mapping[str, Mapping[str, Any]], method: type[Method], registry: Registry
) -> dict[str, Any]:
    """What ``--params`` says of a method: values that a search leaves as they are."""
    by_name = {registry.methods.resolve(name): values for name, values in given.items()}
    held = by_name.get(method.name, {})
    validate_params(method, held)
    return dict(held)


def search_space(method: type[Method], held: Mapping[str, Any]) -> dict[str, Any]:
    """Optuna distributions of the parameters to search, by name.

    Raises ConfigError where there is nothing to search, CheckError where what the method declares
    is not a distribution of its own parameters, and PluginError where it raises something.
    """
    from optuna.distributions import BaseDistribution

    declared = declared_space(method, held)
    if not declared:
        raise ConfigError(
            f"{method.name} has nothing to search: it declares no search space.",
            "To see the methods: fairbench list methods.",
        )
    for name, distribution in declared.items():
        if name not in method.Params.model_fields:
            raise CheckError(f"{method.name}.search_space() names {name!r}, not a parameter of it.")
        if not isinstance(distribution, BaseDistribution):
            raise CheckError(
                f"{method.name}.search_space() gives {distribution!r} for {name}, not one of "
                "optuna.distributions."
            )
        _check_bounds(method, held, name, distribution)
    space = {name: one for name, one in declared.items() if name not in held}
    if not space:
        raise ConfigError(
            f"--params holds all that {method.name} could search: {', '.join(declared)}.",
            "Leave one of them out of the file.",
        )
    return space


def declared_space(method: type[Method], held: Mapping[str, Any]) -> dict[str, Any]:
    """What a method declares; PluginError where it raises something."""
    params = validate_params(method, held)
    try:
        declared = method(params).search_space()
    except (Exception, SystemExit) as error:  # a plugin may raise anything
        raise PluginError(
            f"search_space() of {method.name} raised {describe(error).rstrip('.')}.",
            _RETURNS,
        ) from error
    if not isinstance(declared, Mapping):
        raise PluginError(
            f"search_space() of {method.name} returned {short_repr(declared)}.", _RETURNS
        )
    return dict(declared)


def _check_bounds(
    method: type[Method], held: Mapping[str, Any], name: str, distribution: Any
) -> None:
    """Values of a range must be values that the method takes; else CheckError."""
    for value in values_to_try(distribution):
        try:
            validate_params(method, {**held, name: value})
        except FairbenchError as error:
            raise CheckError(
                f"{method.name}.search_space() goes outside what its Params take. {error.message}"
            ) from None


def values_to_try(distribution: Any) -> Sequence[Any]:
    """All choices; of a range its ends and a value between.

    Of a range of reals that one is no whole number: its ends alone may be some.
    """
    choices = getattr(distribution, "choices", None)
    if choices is not None:
        return tuple(choices)
    low, high, step = distribution.low, distribution.high, distribution.step
    if step is not None:
        return low, min(low + step, high), high
    beside = math.floor(low) + 0.5
    return low, beside if low < beside < high else (low + high) / 2, high


def count_settings(space: Mapping[str, Any]) -> int | None:
    """Return how many settings there are in a space; None: it has a range of real numbers."""
    counts = [_count_values(distribution) for distribution in space.values()]
    known = [count for count in counts if count is not None]
    return math.prod(known) if len(known) == len(counts) else None


def _count_values(distribution: Any) -> int | None:
    choices = getattr(distribution, "choices", None)
    if choices is not None:
        return len(choices)
    if distribution.single():
        return 1
    if distribution.step is None:
        return None
    steps: float = (distribution.high - distribution.low) / distribution.step
    return round(steps) + 1


def shortened(distribution: Any, value: Any) -> Any:
    """A drawn number with few digits, still within its range; other values as they are."""
    from optuna.distributions import FloatDistribution

    if not isinstance(distribution, FloatDistribution):
        return value
    digits = _DIGITS if distribution.step is None else _DIGITS_OF_GRID
    return min(max(float(f"{value:.{digits}g}"), distribution.low), distribution.high)
