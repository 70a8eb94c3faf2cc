"""The source files behind a plugin class: by them stored results are found again."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from pathlib import Path

from fairbench.api.dataset import Dataset
from fairbench.api.method import Method
from fairbench.api.metric import Metric
from fairbench.errors import PluginError

PLUGIN_CLASSES = (Method, Dataset, Metric)


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
    from importlib.metadata import distributions, packages_distributions

    try:
        return packages_distributions()
    except Exception:  # of a list of files that is damaged, whatever that leads to
        for one in distributions():
            try:
                _ = one.files
            except Exception:
                name = one.metadata["Name"]
                raise PluginError(
                    f"The list of files of the installed package {name} cannot be read.",
                    f"Install it again: pip install --force-reinstall {name}",
                ) from None
        raise


def family(cls: type) -> str:
    """Name the family of a plugin class: methods of one module, and of one idea.

    Of a package that declares ``__fairbench_families__``, see :func:`plugin_source`, a subpackage;
    else the whole name of the module counts, as packages of strangers may each have a ``model``.
    """
    top, *below = cls.__module__.split(".")
    declared = getattr(sys.modules.get(top), "__fairbench_families__", False)
    name = below[0] if below and declared else cls.__module__
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
