"""The benchmark of the limit: what its seconds are of."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fairbench_plugins.merged_cells.joining import CellSums

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
try:
    import limit
finally:
    sys.path.pop(0)


def test_merged_cells_do_not_count_for_the_time_of_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SimpleNamespace(now=0.0)

    def best(sums: CellSums, squares: float, prices: list[float], **options: Any) -> list[Any]:
        clock.now += 3
        return [
            SimpleNamespace(distortion=1.0, information=0.1, price=price, gap=0.0)
            for price in prices
        ]

    def search(sums: CellSums, prices: list[float], sweeps: int) -> list[Any]:
        clock.now += 10
        return [np.zeros(len(sums.n), np.int64) for _ in prices]

    monkeypatch.setattr(limit, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    monkeypatch.setattr(limit, "limit", best)
    monkeypatch.setattr(limit, "search", search)
    rng = np.random.default_rng(0)
    x, share = rng.normal(size=(60, 2)), rng.uniform(0.2, 0.8, size=60)
    sums = CellSums.of(np.arange(60) % 5, 5, x, np.column_stack([share, 1 - share]))
    curves = limit.measure(sums, x)
    assert curves.seconds == 3
    assert curves.best.shape == curves.merged.shape == (len(limit.PRICES), 2)
