"""Stored models whose code has changed, or is gone, are named beside their figures."""

import pytest

from fairbench.cli.stored_code import note_other_code
from fairbench.registry import load_registry
from fairbench.runs.plan import code_of
from tests.support.exports import a_unit

REGISTRY = load_registry()
PRESENT = code_of(REGISTRY.methods["leace"])


def test_models_of_other_code_and_of_no_installed_plugin_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    note_other_code(
        [
            a_unit("a", method="leace", code=PRESENT),
            a_unit("b", method="pca", code="0" * 16),
            a_unit("c", method="gone", plugin="gone-plugin 0.2.0"),
        ],
        REGISTRY,
    )
    said = " ".join(capsys.readouterr().err.split())
    assert "Trained by other code than is installed: pca. The same run trains them again." in said
    assert "Not installed here: gone (gone-plugin 0.2.0)." in said
    assert "leace" not in said


def test_imported_models_and_those_of_this_code_need_no_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    units = [
        a_unit("a", method="leace", code=PRESENT),
        a_unit("b", method="gone", origin="a-paper"),
    ]
    note_other_code(units, REGISTRY)
    assert capsys.readouterr().err == ""
