"""Render the files of a new plugin package from templates."""

from __future__ import annotations

import ast
import enum
import keyword
from collections.abc import Mapping
from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates" / "plugin"


class PluginKind(enum.StrEnum):
    """Kind of a plugin."""

    METHOD = "method"
    """A way of learning representations."""
    DATASET = "dataset"
    """A table with a sensitive attribute."""
    METRIC = "metric"
    """Numbers of an evaluated point, or of a whole curve."""


def module_of(name: str) -> str:
    """Return the import name of a plugin."""
    return name.replace("-", "_")


def class_of(name: str) -> str:
    """Return the name of a plugin's class."""
    return "".join(word.capitalize() for word in name.split("-"))


def clashes(name: str, files: Mapping[str, str]) -> bool:
    """Return whether a plugin's class would have a name that its module uses otherwise."""
    class_name = class_of(name)
    if keyword.iskeyword(class_name):
        return True
    bound: list[str] = []
    for node in ast.parse(files[f"{module_of(name)}/__init__.py"]).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.ClassDef):
            bound.append(node.name)
    return bound.count(class_name) > 1


def render(name: str, kind: PluginKind, *, neural: bool = False) -> dict[str, str]:
    """Return the files of a new package: text by relative path."""
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
        "cls": class_of(name),
    }
    return {
        path: environment.get_template(template).render(words)
        for path, template in templates.items()
    }
