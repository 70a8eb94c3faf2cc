"""Load plugins one by one, leave out a broken one, and resolve names and aliases."""

from __future__ import annotations

import copy
import functools
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

import pluggy

from fairbench import hookspecs
from fairbench.api.collection import Collection
from fairbench.api.dataset import Dataset
from fairbench.api.method import Method
from fairbench.api.metric import Metric
from fairbench.api.published import BoardFile
from fairbench.errors import ConfigError, PluginError, UnknownNameError, place_of, text_of
from fairbench.metrics.columns import RESERVED

T = TypeVar("T")
N = TypeVar("N", Collection, BoardFile)
DISTRIBUTION = "fairbench-frl"
"""Name of the distribution that the built-in plugins come from."""
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
PLUGIN_CLASSES = (Method, Dataset, Metric)


@dataclass(frozen=True)
class BrokenPlugin:
    """A plugin that could not be loaded, and was left out."""

    source: str
    """Entry point and distribution."""
    error: str
    """Type, message and place of the exception."""


@dataclass
class Catalogue(Generic[T]):
    """All classes of one kind (``method``, ``dataset`` or ``metric``), by name."""

    kind: str
    classes: dict[str, type[T]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    _aliases: dict[str, str] = field(default_factory=dict)

    def add(self, cls: type[T], source: str) -> None:
        """Register a class; PluginError for a bad name or one that is taken."""
        name: str = getattr(cls, "name", "")
        aliases: tuple[str, ...] = getattr(cls, "aliases", ())
        for text in (name, *aliases):
            if not isinstance(text, str) or not NAME.fullmatch(text):
                raise PluginError(
                    f"{cls.__module__}.{cls.__qualname__} has the {self.kind} name {text!r}, which "
                    "is no name: lower-case words joined by single hyphens, like 'my-method'."
                )
            if text in self._aliases:
                owner = self._aliases[text]
                raise PluginError(
                    f"Two plugins register the {self.kind} name {text!r}: "
                    f"{self.sources[owner]} and {source}.",
                    "Uninstall one of them or rename one of the two.",
                )
        self.classes[name], self.sources[name] = cls, source
        self._aliases.update(dict.fromkeys((name, *aliases), name))

    def resolve(self, name: str) -> str:
        """Turn a name or alias into the registered name; UnknownNameError names the nearest."""
        try:
            return self._aliases[name]
        except KeyError:
            command = f"fairbench list {self.kind}s"
            raise UnknownNameError(self.kind, name, self._aliases, command=command) from None

    def __contains__(self, name: str) -> bool:
        return name in self._aliases

    def __getitem__(self, name: str) -> type[T]:
        return self.classes[self.resolve(name)]


@dataclass
class Registry:
    """All plugins that could be loaded, and those that could not."""

    methods: Catalogue[Method] = field(default_factory=lambda: Catalogue("method"))
    datasets: Catalogue[Dataset] = field(default_factory=lambda: Catalogue("dataset"))
    metrics: Catalogue[Metric] = field(default_factory=lambda: Catalogue("metric"))
    collections: dict[str, Collection] = field(default_factory=dict)
    boards: dict[str, BoardFile] = field(default_factory=dict)
    broken: list[BrokenPlugin] = field(default_factory=list)

    def dataset(self, name: str) -> type[Dataset]:
        """A dataset by name or alias, or a user's own by the path of its dataset card."""
        from fairbench.data.card import is_card
        from fairbench.data.card_dataset import dataset_from_card

        if not is_card(name):
            return self.datasets[name]
        dataset = dataset_from_card(Path(name))
        if dataset.name in self.datasets:
            raise ConfigError(
                f"{name} has the name {dataset.name!r}, which belongs to a registered dataset.",
                f"Write another into the card: name: my-{dataset.name}",
            )
        return dataset


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
                _add_plugin(registry, manager, point.load(), f"{source}: {point.value}", source)
        # A plugin may do anything at import, sys.exit included; the others must still load.
        except (Exception, SystemExit) as error:
            registry.broken.append(BrokenPlugin(source, _describe(error)))
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
    return f"{text} ({place})" if place else text


def _add_plugin(
    registry: Registry, manager: pluggy.PluginManager, plugin: Any, name: str, source: str
) -> None:
    """Register a plugin with the manager, and its classes with the catalogues: all or nothing."""
    try:
        manager.register(plugin, name=name)
        manager.check_pending()
        methods = _with_classes(
            registry.methods, manager, "register_methods", plugin, Method, source
        )
        datasets = _with_classes(
            registry.datasets, manager, "register_datasets", plugin, Dataset, source
        )
        metrics = _with_classes(
            registry.metrics, manager, "register_metrics", plugin, Metric, source
        )
        collections = _with_named(
            registry.collections, manager, "register_collections", plugin, Collection
        )
        boards = _with_named(registry.boards, manager, "register_boards", plugin, BoardFile)
    except BaseException:
        # Nothing of it may stay behind: the checks of the next plugin look at all hooks.
        if manager.is_registered(plugin):
            manager.unregister(plugin)
        raise
    registry.methods, registry.datasets, registry.metrics = methods, datasets, metrics
    registry.collections, registry.boards = collections, boards


def _with_classes(
    catalogue: Catalogue[T],
    manager: pluggy.PluginManager,
    hook: str,
    plugin: Any,
    base: type,
    source: str,
) -> Catalogue[T]:
    """A copy of a catalogue with the classes that one plugin registers."""
    others = [other for other in manager.get_plugins() if other is not plugin]
    extended = copy.deepcopy(catalogue)
    for classes in manager.subset_hook_caller(hook, others)():
        for cls in classes:
            _check_class(cls, base, catalogue.kind)
            if issubclass(cls, Metric):
                _check_columns(cls, extended)
            extended.add(cls, source)
    return extended


def _with_named(
    known: Mapping[str, N], manager: pluggy.PluginManager, hook: str, plugin: Any, kind: type[N]
) -> dict[str, N]:
    """A copy of the collections or boards with those that one plugin registers."""
    others = [other for other in manager.get_plugins() if other is not plugin]
    extended, what = dict(known), kind.__name__
    for given in manager.subset_hook_caller(hook, others)():
        for one in given:
            if not isinstance(one, kind) or not NAME.fullmatch(one.name):
                raise PluginError(
                    f"{hook} returned {one!r}, which is no {what}, or has a bad name.",
                    f"Return instances of fairbench.api.{what}, with lower-case names.",
                )
            if one.name in extended:
                raise PluginError(
                    f"Two plugins register the {what} {one.name!r}.", "Rename one of them."
                )
            extended[one.name] = one
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


def column_owners(metrics: Catalogue[Any]) -> dict[str, str]:
    """Columns that are taken, and their owners."""
    owners = {c: f"metric {m.name}" for m in metrics.classes.values() for c in m.columns}
    return owners | dict.fromkeys(RESERVED, "leaderboard")


def _check_columns(metric: type[Metric], others: Catalogue[Any]) -> None:
    """Raise PluginError for a column of another metric, or of the core."""
    owners = column_owners(others)
    for column in metric.columns:
        if column in owners:
            raise PluginError(
                f"The metric {metric.name!r} declares the column {column!r}, which belongs to the "
                f"{owners[column]}.",
                "Choose another name for the column.",
            )


@functools.cache
def plugin_version(cls: type) -> str:
    """``distribution version`` of the package a plugin class comes from, for records."""
    from importlib.metadata import version

    package = cls.__module__.split(".")[0]
    names = _distributions().get(package, [])
    return f"{names[0]} {version(names[0])}" if names else package


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    """Installed distributions by package; this reads the files of all of them, in .3 s."""
    from importlib.metadata import packages_distributions

    return packages_distributions()


def family(cls: type) -> str:
    """Name the family of a plugin class: methods of one module, and of one idea.

    Of a package that declares ``__fairbench_families__``, see :func:`plugin_source`, a subpackage.
    """
    top, *below = cls.__module__.split(".")
    declared = getattr(sys.modules.get(top), "__fairbench_families__", False)
    name = below[0] if below and declared else cls.__module__.rpartition(".")[2]
    return name.replace("_", "-")


@functools.cache
def plugin_source(cls: type) -> Mapping[str, str]:
    """Python files behind a plugin class, relative name to sha256.

    Stored results are reused only for the source that made them, so this goes into every key. It is
    the whole top-level package, since any of its modules may be used; where that is a namespace
    package, the first below it that is none, or else the folder of the module. Of its base classes,
    the packages of other plugins count too, and what is of one distribution with them; fairbench
    itself and libraries do not. A package whose subpackages share no code can declare
    ``__fairbench_families__ = True``: then only the files of the class's own subpackage count.
    Raises PluginError for a class without files, such as one that was typed into a notebook.

    A change of the source that leaves all results as they are, such as a renamed function, would
    orphan the stored ones. The package can declare so and keep them::

        __fairbench_same_results__ = {"<code of the present source>": "<of the earlier source>"}

    A code is 16 hexadecimal digits, from the column ``code`` of the units in the store, and hashes
    source and protocol version; :func:`earlier_code` looks it up. Name the earliest source that
    has results, as the lookup is done once. The mapping must not stand in a file that is hashed,
    for that would change the code that it names: with families, write it into the package's own
    ``__init__.py``; otherwise read it there from a data file, such as JSON.
    """
    import hashlib

    own, source = _package_of(cls.__module__), {}
    for module in dict.fromkeys(base.__module__ for base in _classes_behind(cls)):
        package = _package_of(module)
        folder, files = _files_of(module, package)
        if not files:
            raise PluginError(
                f"{cls.__qualname__} has no source: there is no Python file of {module}.",
                "Stored results are found by the source that made them. Write the class into a "
                ".py file.",
            )
        for file in files:
            name = file.relative_to(folder).as_posix()
            name = name if package == own else f"{package}:{name}"
            source[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return source


def _classes_behind(cls: type) -> list[type]:
    """A plugin class and its base classes whose code is part of the plugin."""
    bases = [base for base in cls.__mro__ if _top(base) != "fairbench"] or [cls]
    plugins = [base for base in bases if base is cls or issubclass(base, PLUGIN_CLASSES)]
    tops = {_top(base) for base in plugins}
    others = {_top(base) for base in bases} - tops - sys.stdlib_module_names
    if others:  # what is installed together with a plugin
        installed = {name for top in tops for name in _distributions().get(top, [])}
        tops |= {top for top in others if installed & set(_distributions().get(top, []))}
    return [base for base in bases if _top(base) in tops]


def _top(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def _package_of(module: str) -> str:
    """The first package above a module that is no namespace package, or the module itself."""
    parts = module.split(".")
    names = [".".join(parts[: n + 1]) for n in range(len(parts))]
    return next((n for n in names if getattr(sys.modules.get(n), "__file__", None)), module)


def _files_of(module: str, package: str) -> tuple[Path, list[Path]]:
    """The folder of a package, and the files there that belong to one of its modules."""
    loaded = sys.modules.get(package)
    file = getattr(loaded, "__file__", None)
    if file is None:
        return Path(), []
    path = Path(file)
    folder, below = path.parent, module.removeprefix(package).split(".")[1:]
    if path.name != "__init__.py" and "." not in package:
        files = [path]  # one module is the whole plugin
    elif below and getattr(loaded, "__fairbench_families__", False):
        family = folder / below[0]
        files = sorted(family.rglob("*.py")) or [family.with_suffix(".py")]
    else:
        files = sorted(folder.rglob("*.py"))
    return folder, [file for file in files if file.is_file()]


def earlier_code(cls: type, code: str) -> str:
    """The code of an earlier source with the same results, where the plugin's package names one.

    ``code`` is of the present source, see :func:`plugin_source`; returned where no other is
    declared.
    """
    package = sys.modules.get(_package_of(cls.__module__))
    same: Mapping[str, str] = getattr(package, "__fairbench_same_results__", {})
    return same.get(code, code)
