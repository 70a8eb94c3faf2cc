"""Hyperparameters of methods as a run takes them: given values, checked, and the defaults."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from fairbench.api import DatasetInfo
from fairbench.api.method import Method, Params
from fairbench.errors import ConfigError, PluginError, UnknownNameError, say_where, say_why_and_what
from fairbench.metrics.rows import DEFAULT
from fairbench.registry import Registry
from fairbench.store.returned_values import short_repr
from fairbench.store.text import describe


def params_by_method(
    given: Mapping[str, Mapping[str, Any]], names: Sequence[str], registry: Registry
) -> dict[str, Mapping[str, Any]]:
    """Given hyperparameters by the registered names of their methods, all of them of this run."""
    by_name: dict[str, Mapping[str, Any]] = {}
    for name, values in given.items():
        resolved = registry.methods.resolve(name)
        if resolved not in names:
            raise ConfigError(
                f"Parameters are given for {name!r}, which is not among the methods given.",
                "Give it too, or take its parameters out.",
            )
        by_name[resolved] = values
    return by_name


def validate_params(method: type[Method], values: Mapping[str, Any]) -> Params:
    """Hyperparameters of one method from plain values.

    Raises ConfigError or UnknownNameError: a value cannot be used. PluginError: the defaults
    cannot, ``Params`` is no class of hyperparameters, or a check of the plugin raised something.
    """
    if not (isinstance(method.Params, type) and issubclass(method.Params, Params)):
        raise PluginError(
            f"Params of {method.name} is {short_repr(method.Params)}, "
            "no subclass of fairbench.api.Params.",
            "Write class Params(fairbench.api.Params), with a default for each hyperparameter.",
        )
    try:
        method.Params()
    except (Exception, SystemExit) as error:
        without = [
            name for name, field in method.Params.model_fields.items() if field.is_required()
        ]
        why = f"{', '.join(without)} of {method.name}" if without else _describe_first(error)
        raise PluginError(
            f"A hyperparameter has no usable default: {why}.",
            f"See: fairbench check {method.name}",
        ) from None
    if not isinstance(values, Mapping):
        raise ConfigError(
            f"Parameters of {method.name} must be 'name: value' lines, not {values!r}."
        )
    known = method.Params.model_fields
    for key in values:
        if key in method.Params.moved:
            raise ConfigError(f"{method.name} has no parameter {key!r}.", method.Params.moved[key])
        if key not in known:
            raise UnknownNameError(f"parameter of {method.name}", str(key), known)
    try:
        return method.Params(**values)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(
            f"Parameter {say_where(first)} of {method.name}: {say_why_and_what(first)}."
        ) from None
    # Checks of a plugin may raise anything; pydantic takes ValueError and AssertionError alone.
    except (Exception, SystemExit) as error:
        raise PluginError(
            f"The hyperparameters of {method.name} cannot be checked: it raised "
            f"{describe(error).rstrip('.')}.",
            "A check of a plugin refuses a value with a ValueError.",
        ) from error


def _describe_first(error: BaseException) -> str:
    """Describe an error; of a validator's the first hyperparameter that it refused, and why."""
    if not isinstance(error, ValidationError):
        return describe(error)
    first = error.errors()[0]
    where = say_where(first)
    return f"{where}: {say_why_and_what(first)}" if where else say_why_and_what(first)


def params_on(method: type[Method], values: Mapping[str, Any], info: DatasetInfo) -> Params:
    """Hyperparameters of one method on a dataset: plain values, else its defaults there.

    Raises what :func:`validate_params` raises, and PluginError where the method's ``image_params``
    cannot be used.
    """
    if info.architecture.image is None:
        return validate_params(method, values)
    try:
        validate_params(method, method.image_params)
    except (ConfigError, UnknownNameError) as error:
        raise PluginError(
            f"The image_params of {method.name} cannot be used: {error.message}",
            f"See: fairbench check {method.name}",
        ) from None
    return validate_params(method, {**method.image_params, **values})


def params_label(method: type[Method], params: Params, info: DatasetInfo) -> str:
    """Parameters other than the dataset's defaults, ``name=value``; ``default`` for none."""
    defaults = params_on(method, {}, info).model_dump(mode="json")
    values = params.model_dump(mode="json")
    changed = [
        f"{name}={json.dumps(value, separators=(',', ':'))}"
        for name, value in sorted(values.items())
        if value != defaults[name]
    ]
    return " ".join(changed) or DEFAULT
