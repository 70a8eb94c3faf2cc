"""Load plugins one by one, and leave out a broken one."""

from __future__ import annotations

import copy
import pickle
import re
import sys
from collections.abc import Iterable, Mapping, Set
from contextlib import redirect_stdout
from importlib.metadata import EntryPoint, entry_points
from itertools import chain
from typing import Any, get_args

import pluggy

from fairbench import hookspecs
from fairbench.api import Coding, Shots, Track
from fairbench.api.dataset import Dataset
from fairbench.api.method import Method
from fairbench.api.metric import Direction, Metric, MetricLevel
from fairbench.errors import PluginError, nearest, place_of, text_of
from fairbench.metrics.columns import RESERVED
from fairbench.registry.catalogue import (
    DISTRIBUTION,
    BrokenPlugin,
    Catalogue,
    N,
    NamedValues,
    Registry,
    T,
)
from fairbench.registry.columns import COLUMN, Columns, declared_columns

_HOOKS = (
    "register_methods",
    "register_datasets",
    "register_metrics",
    "register_collections",
    "register_boards",
)


def load_registry(points: Iterable[EntryPoint] | None = None) -> Registry:
    """Load every entry point of the group ``fairbench``, or those given.

    A plugin that raises while it is imported, or registers something bad, is left out whole and
    listed in ``Registry.broken``.
    """
    if points is None:
        points = entry_points(group=hookspecs.ENTRY_POINT_GROUP)
    manager = pluggy.PluginManager("fairbench")
    manager.add_hookspecs(hookspecs)
    registry = Registry()
    # Built-ins first: where a name is taken twice, the third-party plugin is the one reported.
    for point in sorted(points, key=lambda p: (not _is_built_in(p), p.name)):
        source = f"{point.name} ({point.dist.name if point.dist else point.value})"
        try:
            # What a plugin prints must not stand among the output of a command.
            with redirect_stdout(sys.stderr):
                # Distributions may give their entry points one name, but not one name and value.
                plugin, name = point.load(), f"{source}: {point.value}"
                _add_plugin(registry, manager, plugin, name, source, built_in=_is_built_in(point))
        # A plugin may do anything at import, sys.exit included; the others must still load.
        except (Exception, SystemExit) as error:
            registry.broken.append(BrokenPlugin(source, _describe(error)))
    for catalogue in (registry.methods, registry.datasets, registry.metrics):
        catalogue.left_out = [broken.source for broken in registry.broken]
    return registry


def _is_built_in(point: EntryPoint) -> bool:
    """Whether an entry point is of this distribution; a module of any may be called fairbench_x."""
    return (
        point.dist is not None and re.sub(r"[-_.]+", "-", point.dist.name).lower() == DISTRIBUTION
    )


def _describe(error: BaseException) -> str:
    """Return type, text with its hint, and place of an error, in one line."""
    place = place_of(error)
    text = f"{type(error).__name__}: {' '.join(text_of(error).split())}"
    if isinstance(error, ModuleNotFoundError):
        text += ". Install it in this environment, and list it under the plugin's dependencies."
    return f"{text} ({place})" if place else text


def _add_plugin(
    registry: Registry,
    manager: pluggy.PluginManager,
    plugin: Any,
    name: str,
    source: str,
    *,
    built_in: bool,
) -> None:
    """Register a plugin with the manager, and its classes with the catalogues: all or nothing."""
    try:
        _register(manager, plugin, name)
        called = {caller.name: caller for caller in manager.get_hookcallers(plugin) or ()}
        for hook, caller in called.items():
            if not caller.has_spec():
                raise PluginError(f"There is no hook {hook}.", nearest(hook, _HOOKS))
        for hook in _HOOKS:
            if hook not in called and callable(getattr(plugin, hook, None)):
                raise PluginError(
                    f"{hook} is not decorated, so nobody calls it.", "Write @hookimpl above it."
                )
        given = {hook: _results(manager, plugin, hook) for hook in _HOOKS}
        if not any(given.values()):
            raise PluginError(
                "It is installed but registers nothing.",
                "Is register_methods decorated with @hookimpl, and does it return a list?",
            )
        methods = _with_classes(registry.methods, given["register_methods"], Method, source)
        datasets = _with_classes(registry.datasets, given["register_datasets"], Dataset, source)
        metrics = _with_metrics(registry.metrics, given["register_metrics"], source, built_in)
        collections = _with_named(registry.collections, given["register_collections"], source)
        boards = _with_named(registry.boards, given["register_boards"], source)
    except BaseException:
        # Nothing of it may stay behind: the checks of the next plugin look at all hooks.
        if manager.is_registered(plugin):
            manager.unregister(plugin)
        raise
    registry.methods, registry.datasets, registry.metrics = methods, datasets, metrics
    registry.collections, registry.boards = collections, boards


def _register(manager: pluggy.PluginManager, plugin: Any, name: str) -> None:
    try:
        manager.register(plugin, name=name)
    except pluggy.PluginValidationError as error:
        hook = next((hook for hook in _HOOKS if hook in str(error)), None)
        if hook is None:
            raise
        raise PluginError(f"{hook} has arguments.", f"Write: def {hook}():") from None


def _results(manager: pluggy.PluginManager, plugin: Any, hook: str) -> list[Iterable[Any]]:
    """What one plugin returns from a hook: empty where it has none, or returns None."""
    others = [other for other in manager.get_plugins() if other is not plugin]
    results: list[Any] = manager.subset_hook_caller(hook, others)()
    for given in results:
        if isinstance(given, type) or not isinstance(given, Iterable):
            name = given.__name__ if isinstance(given, type) else repr(given)
            raise PluginError(f"{hook} returned {name}.", f"Return a list: [{name}]")
    return results


def _with_classes(
    catalogue: Catalogue[T], results: Iterable[Iterable[Any]], base: type, source: str
) -> Catalogue[T]:
    """A copy of a catalogue with the classes that one plugin registers."""
    extended = copy.deepcopy(catalogue)
    for cls in chain.from_iterable(results):
        _check_class(cls, base, catalogue.kind)
        extended.add(cls, source)
    return extended


def _with_metrics(
    catalogue: Catalogue[Metric], results: Iterable[Iterable[Any]], source: str, built_in: bool
) -> Catalogue[Metric]:
    """A copy of the metrics with those that one plugin registers."""
    extended = _with_classes(catalogue, results, Metric, source)
    for added in extended.classes.keys() - catalogue.classes.keys():
        _check_columns(extended.classes[added], extended, overlaps=not built_in)
    return extended


def _with_named(
    known: NamedValues[N], results: Iterable[Iterable[Any]], source: str
) -> NamedValues[N]:
    """A copy of the collections or boards with those that one plugin registers."""
    extended = copy.deepcopy(known)
    for one in chain.from_iterable(results):
        extended.add(one, source)
    return extended


def _check_class(cls: Any, base: type, kind: str) -> None:
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise PluginError(
            f"{cls!r} is registered as a {kind} but is not a subclass of fairbench.api."
            f"{base.__name__}.",
            f"Return classes, not instances, from register_{kind}s.",
        )
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    missing += [a for a in ("name", "summary") if not hasattr(cls, a)]
    if missing:
        raise PluginError(
            f"The {kind} {cls.__qualname__} lacks {', '.join(missing)}.",
            f"Add what is missing; fairbench.api.{base.__name__} says what each is.",
        )
    for attribute, allowed in _KINDS_OF_VALUES.get(kind, {}).items():
        value = getattr(cls, attribute, None)
        varies = attribute not in ("track", "coding", "shots") and isinstance(value, property)
        if not isinstance(value, allowed) and not varies:
            raise PluginError(
                f"The {kind} {cls.__qualname__} has {attribute} = {value!r}, no "
                f"{allowed.__name__}.",
                f"fairbench.api.{base.__name__} says what it is.",
            )
    for attribute, choices in _CHOICES.items() if issubclass(cls, Metric) else ():
        value = getattr(cls, attribute)
        if value not in choices:
            raise PluginError(
                f"The metric {cls.__qualname__} has {attribute} = {value!r}.",
                f"Write {' or '.join(f'{attribute} = {one!r}' for one in choices)}.",
            )
    if issubclass(cls, Metric) and cls.level == "point":
        try:
            pickle.dumps(cls)  # audits, in other processes, have all metrics of points
        except pickle.PicklingError:
            raise PluginError(
                f"The metric {cls.__qualname__} cannot be found by its name in {cls.__module__}.",
                "Define it at the top level of a module, under its own name.",
            ) from None


_KINDS_OF_VALUES: Mapping[str, Mapping[str, type]] = {
    "method": {"track": Track, "coding": Coding, "shots": Shots, "aliases": tuple, "knobs": tuple},
    "dataset": {"files": tuple, "sensitive": tuple, "aliases": tuple},
    "metric": {"level": str, "direction": str, "columns": Mapping, "vacuous_columns": Set},
}
"""What attributes hold that commands read of every registered class."""

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "level": get_args(MetricLevel),
    "direction": get_args(Direction),
}
"""The values of a metric's attributes that have few."""


def _check_columns(metric: type[Metric], known: Catalogue[Metric], *, overlaps: bool) -> None:
    """Raise PluginError for a column that is none, or that others write.

    ``overlaps``: also where the columns that one declares by task may have the name of another.
    """
    columns = declared_columns(metric)
    others = {f"metric {m.name!r}": declared_columns(m) for m in known.classes.values()}
    others["leaderboard"] = Columns(tuple(RESERVED))
    del others[f"metric {metric.name!r}"]
    for owner, taken in others.items():
        same = next((one for one in columns.names if one in taken.names), None)
        if (shared := columns.shared_with(taken) if overlaps else same) is not None:
            raise PluginError(
                f"The metric {metric.name!r} declares the column {shared!r}, which the {owner} may "
                "write, too.",
                "Choose another name for the column.",
            )
    for column in metric.columns:
        if not COLUMN.fullmatch(column):
            raise PluginError(
                f"The metric {metric.name!r} declares the column {column!r}.",
                "Write small letters, digits and _, and at the end _{task} for one of each task.",
            )
    if metric.level == "curve" and (by_task := declared_columns(metric).starts):
        raise PluginError(
            f"The metric {metric.name!r} of curves declares columns by task, {by_task[0]}...",
            "Leaderboards have the same columns for all datasets: declare whole names.",
        )
