"""In which dtype a method's models multiply."""

from __future__ import annotations

from typing import Any

import pytest

from fairbench.api import FitContext, Role, Shots, TrainingRows, Unit
from fairbench.data.prepared import Prepared
from fairbench.registry import load_registry
from fairbench.training.trainer import train


@pytest.mark.parametrize(
    ("name", "fast"), [("latfr", True), ("sofair", False), ("latfr-ss", False)]
)
def test_the_dtype_of_products_depends_on_the_method_and_not_on_the_stack(
    name: str, fast: bool, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def spied(*words: Any, **named: Any) -> list[str | None]:
        seen.append(named["fast"])
        return train(*words, **named)

    monkeypatch.setattr("fairbench.training.trainer.train", spied)
    cls = load_registry().methods[name]
    method, rows = cls(), prepared.roles[Role.ENCODER_TRAIN]
    point = None if cls.shots is Shots.SINGLE else method.points()[0]
    for count in (1, 5):
        units = [Unit(seed, point) for seed in range(count)]
        method.fit(TrainingRows(rows.x, rows.s, prepared.info), units, FitContext(2, "cpu"))
    assert seen == [fast, fast]
