"""Results of earlier sources that are still found: declared for the present sources alone."""

import pytest

import fairbench_plugins
from fairbench.registry import load_registry
from fairbench.runs.plan import code_of


def test_the_declaration_names_present_sources_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an edit of a family its entry is stale: take it out, or show that no figure changes."""
    declared = fairbench_plugins.__fairbench_same_results__
    monkeypatch.setattr(fairbench_plugins, "__fairbench_same_results__", {})
    methods = load_registry().methods.classes.values()
    present = {code_of(m) for m in methods if m.__module__.startswith("fairbench_plugins")}
    assert set(declared) <= present
