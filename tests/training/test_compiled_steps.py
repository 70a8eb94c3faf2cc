"""Steps that are compiled: the same training as step by step.

Most tests leave out the C++ compiler: they run what was traced as it stands.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.fx import GraphModule

from fairbench.data.prepared import Prepared
from fairbench.training import Batch, compiled_steps, compiler, trainer
from fairbench.training.checkpoint import Checkpoint
from fairbench.training.compiled_steps import CompiledSteps
from fairbench.training.divergence import DivergenceMonitor
from fairbench.training.model import StackedModel
from fairbench.training.recorded_steps import RecordedSteps
from fairbench.training.schedule import FEWEST_COMPILED, Schedule
from fairbench.training.steps import Losses, Steps
from fairbench.training.streams import Streams
from tests.training.test_engine import Auto, S, X
from tests.training.test_recorded_steps import NEURAL, SCHEDULE, STEPS, Player, built, rows_of


class AsItStands:
    """Compiles nothing: a traced step is run operation by operation."""

    def __init__(self) -> None:
        self.compiled = 0

    def __call__(self, traced: GraphModule) -> Callable[..., Any]:
        self.compiled += 1
        return traced


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("sofair", "latfr") else pytest.mark.thorough)
        for name in NEURAL
    ],
)
def test_every_neural_method_trains_alike_as_traced(name: str, prepared: Prepared) -> None:
    rows, groups = rows_of(prepared), len(prepared.info.groups)
    kept: list[list[Losses]] = []
    models: list[StackedModel] = []
    backend = AsItStands()
    for compiled in (False, True):
        model, streams = built(name, rows, [1, 2])
        steps = Steps(model, rows.x, rows.s, groups, SCHEDULE, streams)
        take = CompiledSteps(steps, backend).take if compiled else steps.take
        model.train()
        kept.append([{who: loss.clone() for who, loss in take(i).items()} for i in range(STEPS)])
        models.append(model)
    assert backend.compiled == 1 + (model.turns > 1)
    for mine, theirs in zip(*kept, strict=True):
        for who, loss in mine.items():
            torch.testing.assert_close(theirs[who], loss, rtol=1e-4, atol=1e-5)
    plain, traced = (dict(model.named_buffers()) for model in models)
    for at, buffer in plain.items():
        torch.testing.assert_close(traced[at], buffer, rtol=1e-3, atol=1e-4)


@pytest.mark.thorough
@pytest.mark.skipif(not compiler.compiler_is_there(), reason="there is no C++ compiler")
def test_compiled_steps_are_those_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    class Noisy(Auto):
        """Draws, warms up and remembers; its adversary trains alone every other step."""

        recordable, turns = True, 2
        seen: Tensor

        def __init__(self, streams: Streams) -> None:
            super().__init__(streams)
            self.register_buffer("seen", torch.zeros(len(streams.seeds)))

        def losses(self, batch: Batch) -> Losses:
            z = self.encoder(batch.x)
            z = z + 0.1 * batch.streams.normal("noise", *z.shape[1:])
            distortion = (self.decoder(z) - batch.x).square().sum(-1).mean(-1)
            logits = self.adversary(z).transpose(1, 2)
            ce = torch.nn.functional.cross_entropy(logits, batch.s, reduction="none").mean(1)
            self.seen.add_(ce.detach())
            return {"model": distortion - batch.ramp(0.5) * ce, "adversary": ce}

    def trained(fewest: int) -> tuple[Noisy, list[str | None]]:
        monkeypatch.setattr(compiler, "FEWEST_COMPILED", fewest)
        streams = Streams([1, 2])
        model = Noisy(streams)
        reasons = trainer.train(
            model,
            X,
            S,
            groups=2,
            schedule=Schedule(60, batch_size=32),
            streams=streams,
            progress=lambda fraction, note: None,
        )
        return model, reasons

    made: list[CompiledSteps] = []
    own = compiled_steps.CompiledSteps

    def making(steps: Steps) -> CompiledSteps:
        made.append(own(steps))
        return made[-1]

    monkeypatch.setattr(compiled_steps, "CompiledSteps", making)
    (plain, fine), (compiled, too) = trained(61), trained(60)
    assert len(made) == 1
    assert len(made[0]._compiled) == 2  # two kinds of step; neither was refused
    assert fine == too == [None, None]
    for one, other in zip(plain.state_dict().values(), compiled.state_dict().values(), strict=True):
        torch.testing.assert_close(other, one, rtol=1e-3, atol=1e-4)


def test_without_a_compiler_training_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "there-is-none")
    streams = Streams([1])
    model = Auto(streams)
    model.recordable = True
    steps = Steps(model, X, S, 2, Schedule(FEWEST_COMPILED, batch_size=32), streams)
    assert trainer._taken_by(steps) == steps.take


def test_what_cannot_be_compiled_is_trained_step_by_step() -> None:
    class Asking(Auto):
        """Asks for the value of a tensor after it has drawn."""

        def losses(self, batch: Batch) -> Losses:
            drawn = batch.streams.normal("more", 2)
            return super().losses(batch) if (batch.x.sum() + drawn.sum()).item() < 1e9 else {}

    trained, drawn = [], []
    for compiled in (False, True):
        streams = Streams([1])
        model = Asking(streams)
        steps = Steps(model, X, S, 2, SCHEDULE, streams)
        take = CompiledSteps(steps, AsItStands()).take if compiled else steps.take
        with warnings.catch_warnings(record=True) as told:
            for step in range(STEPS):
                take(step)
        trained.append(list(model.parameters()))
        drawn.append(streams.normal("more", 2))
    assert torch.equal(*drawn)
    assert len(told) == 1
    message = str(told[0].message)
    assert message.startswith("Asking is recordable, but a step cannot be compiled: ")
    assert message.endswith(". It is trained step by step, which takes longer.")
    for one, other in zip(*trained, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    "faster",
    [
        pytest.param(lambda steps: CompiledSteps(steps, AsItStands()), id="compiled"),
        pytest.param(lambda steps: RecordedSteps(steps, Player()), id="recorded"),
    ],
)
def test_a_faster_training_goes_on_from_its_checkpoint_bit_by_bit(
    faster: Callable[[Steps], CompiledSteps | RecordedSteps], tmp_path: Path
) -> None:
    path, half = tmp_path / "stack.checkpoint", STEPS // 2

    def trained(first: int, last: int) -> list[Tensor]:
        streams = Streams([1, 2])
        model, watch = Auto(streams), DivergenceMonitor(2)
        steps = Steps(model, X, S, 2, SCHEDULE, streams)
        taking = faster(steps)
        checkpoint = Checkpoint(path, 0.0)
        found = checkpoint.restore(model, steps.optimizer, streams, watch, SCHEDULE)
        assert found == first
        for step in range(first, last):
            taking.take(step)
        if last == half:
            checkpoint.save(half, model, steps.optimizer, streams, watch, SCHEDULE)
        return list(model.parameters())

    whole = trained(0, STEPS)
    trained(0, half)
    for one, other in zip(whole, trained(half, STEPS), strict=True):
        assert torch.equal(one, other)


def first_refusal(model: StackedModel, streams: Streams) -> str | None:
    steps = CompiledSteps(Steps(model, X, S, 2, SCHEDULE, streams), AsItStands())
    with warnings.catch_warnings(action="ignore"):
        steps.take(0)
    return steps.refused


class OtherTensors(Auto):
    """Has a list of its parameters beside them, which a trace would keep as they are."""

    def __init__(self, streams: Streams) -> None:
        super().__init__(streams)
        self.all = list(self.encoder.parameters())

    def losses(self, batch: Batch) -> Losses:
        found = super().losses(batch)
        return {**found, "model": found["model"] + self.all[0].square().sum((1, 2))}


class Masked(Auto):
    """Takes rows by a mask: another number in each batch."""

    def losses(self, batch: Batch) -> Losses:
        found = super().losses(batch)
        women = self.encoder(batch.x)[batch.s == 1]
        return {**found, "model": found["model"] + women.mean()}


class Hooked(Auto):
    """Changes a gradient on its way."""

    def __init__(self, streams: Streams) -> None:
        super().__init__(streams)
        next(self.encoder.parameters()).register_hook(lambda gradient: 0 * gradient)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (OtherTensors, "neither a parameter nor a buffer"),
        (Masked, "depends on values"),
        (Hooked, "a parameter has a hook"),
    ],
)
def test_what_a_trace_would_get_wrong_is_trained_plainly(
    model: Callable[[Streams], StackedModel], says: str
) -> None:
    streams = Streams([1, 2])
    assert says in (first_refusal(model(streams), streams) or "")


def test_a_submodule_of_two_names_stays_the_models_own() -> None:
    class TwoNames(Auto):
        def __init__(self, streams: Streams) -> None:
            super().__init__(streams)
            self.same = torch.nn.ModuleList([self.encoder, self.decoder])

    trained = []
    for compiled in (False, True):
        streams = Streams([1, 2])
        model = TwoNames(streams)
        steps = Steps(model, X, S, 2, SCHEDULE, streams)
        take = CompiledSteps(steps, AsItStands()).take if compiled else steps.take
        own = {id(one) for one in model.parameters()}
        for step in range(STEPS):
            take(step)
        assert {id(one) for one in model.parameters()} == own
        trained.append(list(model.parameters()))
    for one, other in zip(*trained, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("variable", "value"), [("CXX", "no-such-compiler -O2"), ("TORCH_COMPILE_DISABLE", "1")]
)
def test_compiling_can_be_impossible_or_forbidden(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    assert not compiler.compiler_is_there()
