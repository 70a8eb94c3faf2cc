"""The benchmark of audits measures what a run does."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fairbench.data.prepared import Prepared

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
try:
    import audits
    from inputs import load_real_adults, open_results
finally:
    sys.path.pop(0)


def test_a_point_is_audited_with_soft_labels(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As every blind method in a run: without them the family of auditors is another one."""
    seen: list[Any] = []

    def evaluate(encoded: Any, data: Prepared, **options: Any) -> Any:
        seen.append(options["soft"])
        chosen = SimpleNamespace(test_information=0.1, auditor="blend", view="all")
        return None, SimpleNamespace(chosen=chosen)

    soft = np.ones((4, 2), np.float32)
    monkeypatch.setattr(audits, "evaluate", evaluate)
    monkeypatch.setattr(audits, "_given", [(prepared, soft)])
    kind, *_, found = audits.audit_point("x")
    assert seen[0] is soft
    assert (kind, found) == ("x", "I 0.100 by blend, all")


def test_the_twin_is_not_measured_under_the_name_of_adults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAIRBENCH_OFFLINE", "1")
    monkeypatch.setenv("FAIRBENCH_CACHE", str(tmp_path))
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    with pytest.raises(SystemExit, match=r"adults-gender.*not available"):
        load_real_adults(None)


def test_a_folder_without_results_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=str(tmp_path)):
        open_results(tmp_path, None)
