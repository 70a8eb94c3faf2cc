"""``fairbench plugin new``: write an installable package that keeps every promise."""

from __future__ import annotations

import importlib.util
import keyword
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fairbench.cli.console import out
from fairbench.cli.plugins import load_plugins
from fairbench.errors import ConfigError
from fairbench.registry import NAME, Catalogue, Registry, column_owners, taken_name
from fairbench.scaffold import PluginKind, clashes, class_of, module_of, render


def plugin_new_command(
    name: Annotated[
        str, typer.Argument(help="Name of the plugin: lower-case words joined by hyphens.")
    ],
    kind: Annotated[PluginKind, typer.Option(help="Kind of plugin.")],
    neural: Annotated[
        bool, typer.Option("--neural", help="Use the template of neural methods.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(help="Folder to write [default: NAME in this folder].")
    ] = None,
) -> None:
    """Write a new installable package: a module, a test and a README."""
    new_plugin(load_plugins(), name, kind, neural=neural, output=output)


def new_plugin(
    registry: Registry, name: str, kind: PluginKind, *, neural: bool, output: Path | None
) -> None:
    """Write the package, and print what to type next; ConfigError where that is impossible."""
    if neural and kind is not PluginKind.METHOD:
        raise ConfigError(
            f"--neural works only with --kind method; {name!r} is to be a {kind}.",
            "Leave --neural out.",
        )
    _check_name(registry, name, kind)
    folder = output or Path(name)
    if folder.exists():
        raise ConfigError(
            f"{folder} is there already, and is kept as it is.",
            "Choose another folder with --output, or take that one away.",
        )
    files = render(name, kind, neural=neural)
    if clashes(name, files):
        raise ConfigError(
            f"{name!r} would give the class {class_of(name)!r}, but the module already uses that "
            "name.",
            f"Choose another name: my-{name}",
        )
    try:
        _write(folder, files)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written: {error.strerror}.", "") from error
    for path in files:
        out.print(f"wrote {folder / path}", markup=False)
    install = shlex.join(["pip", "install", "-e", str(folder)])
    out.print(f"\nNext:\n  {install}\n  fairbench check {name}", markup=False)


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write a new folder, whole or not at all; raises OSError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as aside:
        package = Path(aside) / folder.name
        for path, text in files.items():
            (package / path).parent.mkdir(parents=True, exist_ok=True)
            (package / path).write_text(text, encoding="utf-8")
        package.rename(folder)


def _check_name(registry: Registry, name: str, kind: PluginKind) -> None:
    if not NAME.fullmatch(name) or not name[0].isalpha():
        raise ConfigError(
            f"{name!r} is no name for a plugin.",
            "Names are lower-case words joined by single hyphens, like 'my-method', and begin "
            "with a letter.",
        )
    if why := taken_name(kind.value, name):
        raise ConfigError(f"No {kind} can be named {name!r}: {why}.", "Choose another name.")
    catalogues: dict[PluginKind, Catalogue[Any]] = {
        PluginKind.METHOD: registry.methods,
        PluginKind.DATASET: registry.datasets,
        PluginKind.METRIC: registry.metrics,
    }
    catalogue = catalogues[kind]
    if name in catalogue:
        owner = catalogue.sources[catalogue.resolve(name)]
        raise ConfigError(
            f"There is a {kind} {name!r} already, from {owner}.", f"Choose another name: my-{name}"
        )
    module = module_of(name)
    taken = module in sys.stdlib_module_names or keyword.iskeyword(module)
    if taken or importlib.util.find_spec(module) is not None:
        raise ConfigError(
            f"{name!r} would be the module {module!r}, which there is already.",
            f"Choose another name: my-{name}",
        )
    owners = column_owners(registry.metrics) if kind is PluginKind.METRIC else {}
    if module in owners:
        raise ConfigError(
            f"{name!r} would have the column {module!r}, which belongs to the {owners[module]}.",
            f"Choose another name: my-{name}",
        )
