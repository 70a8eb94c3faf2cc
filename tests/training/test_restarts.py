"""Of several models of a unit the one with the least loss is kept, and only that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fairbench.api import FitContext, Point, Role, Shots, TrainingRows, Unit
from fairbench.api.method import Curve, Diverged, Fitted, Method, Params
from fairbench.auditing.config import PRESETS, AuditPreset
from fairbench.data.prepared import Prepared
from fairbench.registry import load_registry
from fairbench.runs.plan import Budget, PlannedUnit, stacks
from fairbench.stats.seeds import derive_seed
from fairbench.training.model import Batch, StackedModel, onehot
from fairbench.training.neural_method import NeuralMethod
from fairbench.training.restarts import select_best
from fairbench.training.streams import Streams
from fairbench_plugins.sofair import Sofair, SofairParams
from tests.training.test_checkpoint import ONE_OF_EACH_KIND


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
    selected = select_best(Known(losses), x, s, groups=2, restarts=3, reasons=reasons, device="cpu")
    assert selected == kept


class Counting(Known):
    """Notes how many rows each batch has."""

    def __init__(self) -> None:
        super().__init__([1.0, 2.0])
        self.rows: list[int] = []

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        self.rows.append(batch.x.shape[1])
        return super().losses(batch)


@pytest.mark.parametrize("count", [3, 900, 1024, 1025, 1027, 1028, 2049])
def test_no_batch_is_a_rest_of_a_few_rows(count: int) -> None:
    """Losses that compare the rows of a batch would not be finite there."""
    model = Counting()
    x, s = np.zeros((count, 2), np.float32), np.zeros(count, np.int64)
    select_best(model, x, s, groups=1, restarts=2, reasons=[None] * 2, device="cpu")
    assert sum(model.rows) % count == 0
    assert min(model.rows) >= min(count, 4)


def fitted(prepared: Prepared, seeds: list[int], restarts: int) -> list[np.ndarray]:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    method = Sofair(SofairParams(hidden=(8,), latent=2, restarts=restarts))
    train = TrainingRows(rows.x, rows.s, prepared.info)
    reported: dict[str, float] = {}
    context = FitContext(iterations=30, report=reported.__setitem__)
    fits = method.fit(train, [Unit(seed, None) for seed in seeds], context)
    assert reported["steps"] == 30 * restarts
    codes = []
    for one in fits:
        assert not isinstance(one, Diverged)
        assert isinstance(one, Curve)
        codes.append(one.at(Point.of(beta=0.3)).encode(rows.x))
    return codes


def test_what_is_kept_does_not_depend_on_what_it_is_stacked_with(prepared: Prepared) -> None:
    together = fitted(prepared, [0, 1], 3)
    np.testing.assert_array_equal(together[1], fitted(prepared, [1], 3)[0])


def test_restarts_are_other_models_and_the_chosen_one_is_given(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {}
    for chosen in range(3):
        name = "fairbench.training.restarts.select_best"
        monkeypatch.setattr(name, lambda *_, chosen=chosen, **__: [chosen, 3 + chosen])
        given[chosen] = fitted(prepared, [0, 1], 3)
    first = fitted(prepared, [0, 1], 1)
    for unit in range(2):
        np.testing.assert_allclose(given[0][unit], first[unit], atol=1e-4)
        assert not np.allclose(given[1][unit], given[0][unit], atol=1e-4)
        assert not np.allclose(given[2][unit], given[1][unit], atol=1e-4)


NEURAL = {
    name: method
    for name, method in load_registry().methods.classes.items()
    # Its loss at knobs drawn up to 100,000 is mostly noise.
    if issubclass(method, NeuralMethod) and name != "vfae-ss"
}


def set_apart(model: StackedModel, sizes: Sequence[float]) -> None:
    """Add noise of another size to the parameters of each model of a stack."""
    draws = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            for piece, size in zip(parameter, sizes, strict=True):
                piece += size * torch.randn(piece.shape, generator=draws)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ONE_OF_EACH_KIND else pytest.mark.thorough)
        for name in NEURAL
    ],
)
def test_every_neural_method_gives_the_restart_of_least_own_objective(
    name: str, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model given has the least loss of those trained, and all that were trained are reported.

    The models are set apart before they are compared: losses of short trainings are nearly equal.
    """
    seen: list[tuple[StackedModel, list[int]]] = []

    def spy(model: StackedModel, *args: Any, **kwargs: Any) -> list[int]:
        # Which of the three stays as it was trained depends on the method.
        set_apart(model, np.roll([0.0, 1.0, 3.0], len(name)).tolist())
        seen.append((model, select_best(model, *args, **kwargs)))
        return seen[0][1]

    monkeypatch.setattr("fairbench.training.restarts.select_best", spy)
    cls = NEURAL[name]
    method = cls(cls.Params(hidden=(8,), latent=2, restarts=3))
    rows = prepared.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, prepared.info)
    # Not the first point: where s is not hidden, the flow of fnf is x itself, and its loss 0.
    unit = Unit(0, None if method.shots is Shots.SINGLE else method.points()[1])
    reported: dict[str, float] = {}
    context = FitContext(iterations=25, report=reported.__setitem__)
    (one,) = method.fit(train, [unit], context)
    assert reported["steps"] == 75
    work = method.workload(prepared.info)
    assert work.models_per_unit == 3
    assert not isinstance(one, Diverged)
    ((model, (chosen,)),) = seen
    x, s = torch.tensor(rows.x)[None], torch.tensor(rows.s)[None]
    streams = Streams([derive_seed("restarts")] * 3)
    batch = Batch(
        x.expand(3, -1, -1), s.expand(3, -1), onehot(s, 2).expand(3, -1, -1), 1.0, streams
    )
    with torch.no_grad():
        losses = model.losses(batch)["model"]
    losses[losses.isnan()] = torch.inf
    least, second = losses.sort().values[:2]
    assert second - least > 0.2 * least.abs() > 0
    assert chosen == losses.argmin()
    given = one.state()
    assert given is not None
    for parameter, array in zip(model.state_dict().values(), given.values(), strict=True):
        np.testing.assert_array_equal(parameter[chosen].numpy(), array[0])


def test_stacks_are_no_larger_for_restarts(prepared: Prepared) -> None:
    budget = Budget("30", 30, PRESETS[AuditPreset.QUICK])
    units = [
        PlannedUnit(
            f"{i}", Sofair, SofairParams(restarts=4), prepared, Unit(i, None), budget, 4, None
        )
        for i in range(8)
    ]
    assert [len(stack) for stack in stacks(units, "cpu")] == [2, 2, 2, 2]


def test_a_deadline_holds_while_they_are_compared() -> None:
    x, s = np.zeros((50, 2), np.float32), np.zeros(50, np.int64)
    with pytest.raises(TimeoutError, match="while restarts were compared"):
        select_best(
            Known([1.0, 2.0]),
            x,
            s,
            groups=2,
            restarts=2,
            reasons=[None, None],
            device="cpu",
            deadline=0.0,
        )


class RestartParams(Params):
    restarts: int | None = None


class Plain(Method):
    """A method that is not neural, and calls another thing restarts."""

    name = "plain"
    Params = RestartParams

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        raise NotImplementedError


def test_only_neural_methods_report_restarts(prepared: Prepared) -> None:
    info, budget = prepared.info, Budget("30", 30, PRESETS[AuditPreset.QUICK])
    work = Sofair(SofairParams(restarts=4, batch_size=32, hidden=(5,))).workload(info)
    assert (work.models_per_unit, work.batch_size) == (4, 32)
    assert work.architecture == replace(info.architecture, hidden=(5,))
    for params in (RestartParams(), RestartParams(restarts=10)):
        assert Plain(params).workload(info) is None
        unit = PlannedUnit("0", Plain, params, prepared, Unit(0, Point()), budget, None, None)
        assert [len(stack) for stack in stacks([unit] * 8, "cpu")] == [8]
