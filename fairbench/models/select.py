"""Selecting the one trained unit of a store that a query means."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence

from fairbench.api import NO_KNOBS
from fairbench.data.card import is_card
from fairbench.data.splits import Split
from fairbench.errors import ConfigError, StoreError, UnknownNameError, nearest
from fairbench.files.paths import twin_name
from fairbench.leaderboard.select import latest
from fairbench.models.points import list_points, parse_point
from fairbench.models.query import ModelQuery
from fairbench.models.results import StoredResults
from fairbench.models.stored_data import Source, find_source
from fairbench.registry import Registry
from fairbench.store.records import PointRecord, UnitRecord

KEY_DIGITS = 10
"""Digits of a unit's key that are shown."""


def select_unit(
    query: ModelQuery,
    results: StoredResults,
    *,
    lists: Callable[[UnitRecord], bool] = lambda unit: True,
    which: str = "here",
) -> UnitRecord:
    """Select the one trained unit that a query means.

    ``lists``: whether messages offer the method of a unit; ``which``: their word for such methods.

    Raises
    ------
    ConfigError, StoreError, UnknownNameError
        No unit matches, or several do; the message lists the choices.
    """
    fitted = results.fitted_units()
    if query.unit is not None:
        unit = _with_key(fitted, query.unit)
        _check_same(unit, query, fitted, results)
        return unit
    names = sorted({unit.method for unit in fitted if lists(unit)})
    methods = f"Methods {which}: {', '.join(names) or 'none'}."
    if query.method is None:
        if not names:
            methods += f" Run one first: {_run_command('METHOD', query, fitted, results)}"
        raise ConfigError("No method is named.", methods)
    name = stored_method(query.method, fitted, results.registry)
    units = [unit for unit in fitted if unit.method == name]
    if not units:
        raise StoreError(
            f"The store holds no fitted model of {name}.",
            f"{methods} Run it first: {_run_command(name, query, fitted, results)}",
        )
    units = results.card_data.select(units)
    units = latest([unit for unit in units if not unit.of_a_trial], results.runs) or units
    # Of several datasets the one that the method was trained on, unless one is named.
    dataset = resolve_dataset(fitted if query.dataset else units, query.dataset, results.registry)
    units = [one for one in units if one.table == dataset]
    if not units:
        raise StoreError(
            f"The store holds no fitted model of {name} on {dataset}.",
            f"Run it first: {_run_command(name, query, fitted, results)}",
        )
    units = _of_one_split(units)
    units = _of_seed(units, query.seed)
    units = _of_point(units, query.point, results.measured_points(units))
    if len(units) > 1:
        raise ConfigError(
            f"{len(units)} models of {name} match. Choose one with --unit:\n"
            + "\n".join(f"  --unit {_describe(unit)}" for unit in units)
        )
    return units[0]


def resolve_dataset(units: Iterable[UnitRecord], text: str | None, registry: Registry) -> str:
    """Resolve a dataset option to the name of its leaderboard; without one to the only dataset.

    Raises
    ------
    ConfigError, UnknownNameError
        The store holds several and none is named, or nothing of that name.
    """
    known = sorted({unit.table for unit in units})
    if text is None:
        if len(known) != 1:
            raise ConfigError(
                f"The store holds {len(known)} datasets: name one with --dataset.",
                f"They are {', '.join(known)}.",
            )
        return known[0]
    name = text
    if is_card(text):
        name = registry.dataset(text).name
    elif text not in known and text in registry.datasets:
        name = registry.datasets[text].name
    for candidate in (name, twin_name(name)):
        if candidate in known:
            return candidate
    hint = nearest(name, known)
    if is_card(text) or text in registry.datasets:
        hint += f" Or run it first: fairbench run --methods METHOD --dataset {text}"
    raise ConfigError(f"There are no results on {text!r}.", hint)


def _run_command(
    method: str, query: ModelQuery, fitted: Sequence[UnitRecord], results: StoredResults
) -> str:
    """A command that trains a method, on data that something here was trained on."""
    source = Source(query.dataset or "NAME")
    names = (query.dataset, query.dataset and twin_name(query.dataset))
    for unit in fitted:
        if query.dataset is None or unit.table in names:
            source = find_source(unit, results)
            break
    words = ["fairbench", "run", "--methods", method, *source.options]
    return shlex.join(words + results.location.options)


def _check_same(
    unit: UnitRecord, query: ModelQuery, fitted: Sequence[UnitRecord], results: StoredResults
) -> None:
    """Raise ConfigError where a query names a unit, and another method, dataset or seed with it."""
    known: dict[str, tuple[object, object]] = {"seed": (query.seed, unit.seed)}
    if query.method is not None:
        method = stored_method(query.method, fitted, results.registry)
        known["method"] = (method, unit.method)
    if query.dataset is not None:
        dataset = resolve_dataset(fitted, query.dataset, results.registry)
        known["dataset"] = (dataset, unit.table)
    for option, (asked, own) in known.items():
        if asked not in (None, own):
            raise ConfigError(
                f"--{option} {asked}: the model of --unit {query.unit} has {option} {own}.",
                f"Leave --{option} out, or --unit.",
            )


def _with_key(units: Sequence[UnitRecord], start: str) -> UnitRecord:
    matches = [unit for unit in units if unit.key.startswith(start)]
    if len(matches) != 1:
        have = "models have" if matches else "model has"
        raise ConfigError(
            f"{len(matches) or 'No'} fitted {have} a key that starts with {start!r}.",
            "Give more digits." if matches else "fairbench recommend prints the commands to use.",
        )
    return matches[0]


def stored_method(text: str, units: Sequence[UnitRecord], registry: Registry) -> str:
    """Resolve the name of a method whose models a query means.

    Raises
    ------
    StoreError, UnknownNameError
        It is not installed; the first where ``units`` has models of it.
    """
    if text not in registry.methods and any(unit.method == text for unit in units):
        raise not_installed(text, units)
    return registry.methods.resolve(text)


def not_installed(method: str, units: Iterable[UnitRecord]) -> StoreError:
    """Return the error for a method that ``units`` has models of and that is not installed."""
    plugins = sorted({unit.plugin for unit in units if unit.method == method})
    return StoreError(
        f"The results of {method!r} were made by {' and '.join(plugins)}, which is not installed "
        "here.",
        "Install it. fairbench list methods prints the methods that are installed.",
    )


def _of_one_split(units: Sequence[UnitRecord]) -> list[UnitRecord]:
    """Of several splits the official one, else the first fold; --unit names a model of another."""
    chosen = first_split(unit.split for unit in units)
    return [unit for unit in units if unit.split == chosen]


def first_split(names: Iterable[str]) -> str:
    """Of the splits that results are of, return the official one, else the first fold."""
    return min(names, key=Split.parse)


def _of_seed(units: Sequence[UnitRecord], seed: int | None) -> list[UnitRecord]:
    seeds = sorted({unit.seed for unit in units})
    chosen = seeds[0] if seed is None else seed
    if chosen not in seeds:
        raise ConfigError(
            f"{units[0].method} has no fitted model of seed {chosen} on {units[0].dataset}.",
            f"Seeds here: {', '.join(map(str, seeds))}.",
        )
    return [unit for unit in units if unit.seed == chosen]


def _of_point(
    units: Sequence[UnitRecord], text: str | None, measured: Sequence[PointRecord]
) -> list[UnitRecord]:
    """Of a multi-shot method the units at one point; of others all."""
    multi = [unit for unit in units if unit.point not in (None, NO_KNOBS)]
    if not multi:
        return list(units)
    point = None if text is None else parse_point(text)
    knobs = {name for unit in multi for name, _ in parse_point(str(unit.point)).values}
    for name, _ in () if point is None else point.values:
        if name not in knobs:
            raise UnknownNameError(f"knob of {units[0].method}", name, knobs)
    label = None if point is None else point.label
    if label is None and len({unit.point for unit in multi}) == 1:
        return multi
    at_point = [unit for unit in multi if unit.point == label]
    if not at_point:
        problem = "--point is missing" if text is None else f"there is no model at {label}"
        labels = [point.label for point in measured] + [str(unit.point) for unit in multi]
        raise ConfigError(
            f"{units[0].method} is multi-shot, each of its points a model of its own: {problem}."
            f"\n{list_points(measured) or '  ' + ', '.join(dict.fromkeys(labels))}",
            "Another point needs training: fairbench run.",
        )
    return at_point


def _describe(unit: UnitRecord) -> str:
    kind = ", simulated" if unit.simulated else ""
    label = f"{unit.label}: " if unit.label else ""
    return (
        f"{unit.key[:KEY_DIGITS]}  {label}{unit.params_label}, budget {unit.budget}{kind}, "
        f"finished {unit.finished}"
    )
