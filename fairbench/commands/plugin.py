"""``fairbench plugin new``: an installable package that keeps every promise, to start from."""

from __future__ import annotations

import enum
import importlib.util
import keyword
import sys
from pathlib import Path

from fairbench.console import out
from fairbench.errors import ConfigError
from fairbench.registry import NAME, Registry

TEMPLATES = Path(__file__).parents[1] / "templates" / "plugin"


class PluginKind(enum.StrEnum):
    """What a plugin adds."""

    METHOD = "method"
    """A way of learning representations."""
    DATASET = "dataset"
    """A table with a sensitive attribute."""
    METRIC = "metric"
    """Numbers from an evaluated point, or a whole curve."""


def new_command(
    registry: Registry, name: str, kind: PluginKind, *, neural: bool, output: Path | None
) -> None:
    """Write the package, and tell what to type next.

    Raises
    ------
    ConfigError
        The name is none, or taken; the folder is there; ``neural`` is asked of what is no method.
    """
    if neural and kind is not PluginKind.METHOD:
        raise ConfigError(f"--neural is of methods; {name!r} is to be a {kind}.", "Leave it out.")
    _check_name(registry, name, kind)
    folder = output or Path(name)
    if folder.exists():
        raise ConfigError(
            f"{folder} is there already, and is kept as it is.",
            "Choose another folder with --output, or take that one away.",
        )
    files = render(name, kind, neural=neural)
    try:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written: {error.strerror}.", "") from error
    for path in files:
        out.print(f"wrote {folder / path}", markup=False)
    out.print(f"\nNext:\n  pip install -e {folder}\n  fairbench check {name}", markup=False)


def _check_name(registry: Registry, name: str, kind: PluginKind) -> None:
    if not NAME.fullmatch(name) or not name[0].isalpha():
        raise ConfigError(
            f"{name!r} is no name for a plugin.",
            "Names are lower-case words joined by single hyphens, like 'my-method', and begin "
            "with a letter.",
        )
    catalogues = {
        PluginKind.METHOD: registry.methods,
        PluginKind.DATASET: registry.datasets,
        PluginKind.METRIC: registry.metrics,
    }
    found = catalogues[kind]
    if name in found:
        owner = found.sources[found.resolve(name)]
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


def module_of(name: str) -> str:
    """The import name of a plugin."""
    return name.replace("-", "_")


def render(name: str, kind: PluginKind, *, neural: bool = False) -> dict[str, str]:
    """The files of a new package, relative path to text."""
    import jinja2

    loader = jinja2.FileSystemLoader(TEMPLATES)
    environment = jinja2.Environment(
        loader=loader, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    module = module_of(name)
    templates = {
        "pyproject.toml": "pyproject.toml.j2",
        "README.md": "README.md.j2",
        f"{module}/__init__.py": f"{'neural' if neural else kind.value}.py.j2",
        f"tests/test_{module}.py": "test_plugin.py.j2",
    }
    if neural:
        templates[f"{module}/model.py"] = "model.py.j2"
    words = {
        "name": name,
        "kind": kind.value,
        "module": module,
        "cls": "".join(word.capitalize() for word in name.split("-")),
    }
    return {
        path: environment.get_template(template).render(words)
        for path, template in templates.items()
    }
