"""The benchmark of the engine: what is set against what, and what counts as overhead."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
try:
    import engine
finally:
    sys.path.pop(0)

Work = Callable[[], None]


def test_overhead_is_of_steps_without_the_profiler_and_without_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A start takes 5 s, 2 of them in kernels; a step takes .1 s, .04 and .03 of it in kernels."""
    steps: list[int] = []

    def seconds(work: Work) -> float:
        work()
        return 5 + 0.1 * steps[-1]

    def kernel_seconds(work: Work) -> dict[str, float]:
        work()
        return {"matrix products": 0.04 * steps[-1], "element-wise": 2 + 0.03 * steps[-1]}

    monkeypatch.setattr(engine, "seconds", seconds)
    monkeypatch.setattr(engine, "kernel_seconds", kernel_seconds)
    shares = engine.shares_of_time(steps.append, 100)
    assert shares == pytest.approx({"matrix products": 0.4, "element-wise": 0.3, "overhead": 0.3})


@pytest.mark.parametrize("fastest", [torch.bfloat16, torch.float32])
def test_a_stack_in_float32_is_set_against_float32(
    fastest: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products in bfloat16 take half the time here, and have a row of their own."""
    took = {"alone": 1.0, "float32": 0.4, "fast": 0.2}
    clock = SimpleNamespace(now=0.0)

    def stacked(rows: Any, models: int, steps: int, *, fast: bool = False) -> None:
        clock.now += took["fast" if fast else "float32"] * steps * models

    def one_by_one(rows: Any, steps: int) -> None:
        clock.now += took["alone"] * steps

    def seconds(work: Work) -> float:
        start = clock.now
        work()
        return float(clock.now - start)

    found: dict[str, float] = {}

    def keep(name: str, value: float, *words: Any, **more: Any) -> None:
        found[name] = value

    monkeypatch.setattr(engine, "fastest_products", lambda: fastest)
    monkeypatch.setattr(engine, "stacked", stacked)
    monkeypatch.setattr(engine, "one_by_one", one_by_one)
    monkeypatch.setattr(engine, "seconds", seconds)
    monkeypatch.setattr(engine, "shares_of_time", lambda work, steps: {"overhead": 0.1})
    rows = SimpleNamespace(x=np.zeros((4, 2)))
    engine.compare_stack(rows, SimpleNamespace(seconds=keep, other=keep), "one thread")
    (ratio,) = (value for name, value in found.items() if "against by itself" in name)
    assert ratio == pytest.approx(0.4)
    in_bfloat16 = [value for name, value in found.items() if name.endswith("in bfloat16")]
    assert in_bfloat16 == pytest.approx([200.0] if fastest is torch.bfloat16 else [])
