"""The public path for neural methods: it has what a plugin needs, and loads torch only then."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fairbench.training

ROOT = Path(__file__).parents[2]
PUBLIC = {"fairbench.api", "fairbench.training", "fairbench.hookspecs", "fairbench.testing"}
SOURCES = [
    path
    for folder in ("plugins", "examples", "fairbench/scaffold/templates/plugin")
    for path in sorted((ROOT / folder).rglob("*.py*"))
    if path.suffix in (".py", ".j2")
]


@pytest.mark.parametrize("name", fairbench.training.__all__)
def test_every_name_is_there_and_is_the_one_of_its_module(name: str) -> None:
    thing = getattr(fairbench.training, name)
    assert thing is getattr(importlib.import_module(thing.__module__), name)
    assert name in (fairbench.training.__doc__ or "")


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="StackedModels"):
        _ = fairbench.training.StackedModels  # type: ignore[attr-defined]


def test_declaring_a_method_loads_no_torch() -> None:
    code = (
        "import sys; from fairbench.training import NeuralMethod, NeuralParams;"
        "print('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert process.stdout.split() == ["False"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_plugins_examples_and_templates_import_the_public_paths_alone(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    imported = set(re.findall(r"^\s*(?:from|import) (fairbench(?:\.[\w.]+)?)(?!\w)", text, re.M))
    assert imported <= PUBLIC
