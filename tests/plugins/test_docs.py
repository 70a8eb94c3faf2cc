"""docs/methods.md lists what is registered: methods, parameters, numbers of points."""

import re
from pathlib import Path

import pytest

from fairbench.api import Shots
from fairbench.registry import load_registry
from fairbench.training.neural_method import NeuralParams

PAGE = (Path(__file__).parents[2] / "docs" / "methods.md").read_text()
METHODS = dict(load_registry().methods.classes)


@pytest.mark.parametrize("name", METHODS)
def test_the_page_names_the_method_its_points_and_its_parameters(name: str) -> None:
    cls = METHODS[name]
    (line,) = [
        row for row in PAGE.splitlines() if re.match(rf"\| `{name}`( \(`\w+`\))? \| [^`]", row)
    ]
    if cls.shots is Shots.MULTI:
        assert re.search(rf"\b{len(cls().points())}\b", line)
    own = set(cls.Params.model_fields) - set(NeuralParams.model_fields)
    if own:
        rows = [r for r in PAGE.splitlines() if r.startswith("|") and f"`{name}`" in r]
        assert any(all(f"`{p}`" in row for p in own) for row in rows)
    for tag in cls().tags[:1] if not cls.baseline else ():
        assert tag in line
