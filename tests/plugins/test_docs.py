"""docs/methods.md lists what is registered: methods, parameters, numbers of points."""

import re
from pathlib import Path

import pytest

from fairbench.api import Shots
from fairbench.registry import load_registry
from fairbench.training.neural_method import NeuralParams

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "methods.md").read_text()
BIBLIOGRAPHY = (ROOT / "plugins" / "fairbench_plugins" / "references.bib").read_text("utf-8")
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


def test_papers_of_the_page_are_cited_for_the_same_methods() -> None:
    cited: dict[str, set[str]] = {}
    for entry in re.findall(r"^@.*?^\}", BIBLIOGRAPHY, re.DOTALL | re.MULTILINE):
        (names,) = re.findall(r"methods = \{(.*)\}", entry)
        for number in re.findall(r"eprint = \{(.*)\}", entry) or [entry.partition(",")[0]]:
            cited[number] = {name.strip() for name in names.split(",")}
    with_entry = set().union(*cited.values())
    papers = PAGE.partition("## Papers")[2].partition("\n## ")[0]
    rows = [row for row in papers.splitlines() if re.search(r"\[arXiv:", row)]
    assert rows
    for row in rows:
        named = set(re.findall(r"`([\w-]+)`", row.split("|")[2])) & set(METHODS)
        for number in re.findall(r"\[arXiv:([\d.]+)\]", row):
            # A method without an entry is cited by the reference that it declares.
            without = {m for m in named - with_entry if f"arXiv:{number}" in METHODS[m].reference}
            assert named - without <= cited.get(number, set()), row
