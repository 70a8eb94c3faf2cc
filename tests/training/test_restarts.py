"""Of several models of a unit the one with the least loss is kept, and only that."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from fairbench.api import Curve, Diverged, FitContext, Point, Role, TrainingRows, Unit
from fairbench.data.prepare import Prepared
from fairbench.training.model import Batch, StackedModel
from fairbench.training.restarts import best_of
from fairbench_plugins.sofair import Sofair, SofairParams


class Known(StackedModel):
    """Models whose losses are given."""

    def __init__(self, losses: list[float]) -> None:
        super().__init__()
        self.given = torch.tensor(losses)

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        return {"model": self.given}

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("losses", "diverged", "kept"),
    [
        ([3.0, 1.0, 2.0, 5.0, 6.0, 4.0], [], [1, 5]),
        ([3.0, 1.0, 2.0, 5.0, 6.0, 4.0], [1, 5], [2, 3]),
        ([float("nan"), 1.0, 2.0, float("inf"), 6.0, 4.0], [], [1, 5]),
        ([3.0, 1.0, 2.0, 5.0, 6.0, 4.0], [0, 1, 2], [0, 5]),
    ],
)
def test_the_least_loss_of_each_unit_is_kept(
    losses: list[float], diverged: list[int], kept: list[int]
) -> None:
    x, s = np.zeros((50, 2), np.float32), np.zeros(50, np.int64)
    reasons = ["broke" if i in diverged else None for i in range(6)]
    found = best_of(Known(losses), x, s, groups=2, restarts=3, reasons=reasons, device="cpu")
    assert found == kept


def fitted(prepared: Prepared, seeds: list[int], restarts: int) -> list[np.ndarray]:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    method = Sofair(SofairParams(hidden=(8,), latent=2, restarts=restarts))
    train = TrainingRows(rows.x, rows.s, prepared.info)
    reported: dict[str, float] = {}
    context = FitContext(iterations=30, report=reported.__setitem__)
    found = method.fit(train, [Unit(seed, None) for seed in seeds], context)
    assert reported["steps"] == 30 * restarts
    codes = []
    for one in found:
        assert not isinstance(one, Diverged)
        assert isinstance(one, Curve)
        codes.append(one.at(Point.of(beta=0.3)).encode(rows.x))
    return codes


def test_what_is_kept_does_not_depend_on_what_it_is_stacked_with(prepared: Prepared) -> None:
    together = fitted(prepared, [0, 1], 3)
    np.testing.assert_array_equal(together[1], fitted(prepared, [1], 3)[0])
