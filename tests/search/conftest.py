"""The fixture of all tests of searches."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairbench.data.prepared import Prepared
from tests.search.bench import Bench


@pytest.fixture
def bench(prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(prepared, tmp_path / "out", monkeypatch)
