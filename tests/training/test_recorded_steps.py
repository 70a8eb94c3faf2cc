"""Steps that are recorded and replayed: the same training as step by step.

There is no GPU here, so a recording is played by a function that takes the step anew. It gets what
a graph gets: the memory that the recorded step read, and nothing of Python's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import pytest
import torch

from fairbench.api import Shots, TrainingRows, Unit
from fairbench.api.types import Role, iterate_points
from fairbench.data.prepared import Prepared
from fairbench.registry import load_registry
from fairbench.training import Batch, NeuralMethod
from fairbench.training.model import StackedModel
from fairbench.training.placed_streams import PlacedStreams
from fairbench.training.recorded_steps import WARM_UP, RecordedSteps
from fairbench.training.schedule import Schedule
from fairbench.training.steps import Losses, Steps
from fairbench.training.streams import Streams
from tests.training.test_engine import Auto, S, X

STEPS = 12
SCHEDULE = Schedule(STEPS, batch_size=32)
NEURAL = sorted(
    name
    for name, method in load_registry().methods.classes.items()
    if issubclass(method, NeuralMethod)
)


class Player:
    """Plays a graph: what was recorded is only run when it is replayed."""

    def __init__(self) -> None:
        self.recorded = self.replayed = 0

    def __call__(self, step: Callable[[], Losses]) -> tuple[Callable[[], object], Losses]:
        self.recorded += 1
        places: Losses = {}

        def replay() -> None:
            self.replayed += 1
            places.update(step())

        return replay, places


def rows_of(data: Prepared) -> TrainingRows:
    rows = data.roles[Role.ENCODER_TRAIN]
    return TrainingRows(rows.x, rows.s, data.info)


def built(name: str, rows: TrainingRows, seeds: Sequence[int]) -> tuple[StackedModel, Streams]:
    method = load_registry().methods[name]()
    assert isinstance(method, NeuralMethod)
    point = None if method.shots is Shots.SINGLE else next(iter(iterate_points(method.points(), 1)))
    streams = Streams(seeds)
    units = [Unit(seed, point) for seed in seeds]
    return method.build(units, rows.info, method.networks(rows.info), streams), streams


ONE_OF_EACH_KIND = {"sofair", "sofair-adv", "latfr", "cvib", "l-mifr-ss"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ONE_OF_EACH_KIND else pytest.mark.thorough)
        for name in NEURAL
    ],
)
def test_every_neural_method_trains_alike_recorded(name: str, prepared: Prepared) -> None:
    rows, groups = rows_of(prepared), len(prepared.info.groups)
    kept: list[list[Losses]] = []
    player = Player()
    for more in ({}, {"record": player}):
        model, streams = built(name, rows, [1, 2])
        assert model.recordable
        steps = Steps(model, rows.x, rows.s, groups, SCHEDULE, streams)
        take = RecordedSteps(steps, **more).take if more else steps.take
        model.train()
        kept.append([dict(take(step)) for step in range(STEPS)])
    assert player.recorded == 1 + (model.turns > 1)
    assert player.replayed == STEPS - WARM_UP * player.recorded
    for mine, theirs in zip(*kept, strict=True):
        for who, loss in mine.items():
            torch.testing.assert_close(theirs[who], loss, rtol=1e-4, atol=1e-5)


def test_each_kind_of_step_is_recorded_once() -> None:
    streams = Streams([1, 2])
    model, player = Auto(streams), Player()
    model.turns = 3  # two kinds: the model moves, or rests
    steps = RecordedSteps(Steps(model, X, S, 2, SCHEDULE, streams), player)
    before = [one.detach().clone() for one in model.encoder.parameters()]
    for step in range(STEPS):
        steps.take(step)
        moved = [
            not torch.equal(a, b) for a, b in zip(before, model.encoder.parameters(), strict=True)
        ]
        assert all(moved) if step % 3 == 0 else not any(moved)
        before = [one.detach().clone() for one in model.encoder.parameters()]
    assert player.recorded == 2


def test_what_cannot_be_recorded_is_trained_step_by_step() -> None:
    class Asking(Auto):
        """Has drawn by the time that it does what cannot be recorded."""

        recording = False

        def losses(self, batch: Batch) -> Losses:
            batch.streams.normal("more", 2)
            if self.recording:
                raise RuntimeError("operation not permitted when stream is capturing\nmore")
            return super().losses(batch)

    def refuse(step: Callable[[], Losses]) -> tuple[Callable[[], object], Losses]:
        model.recording = True
        try:
            return (lambda: None), step()
        finally:
            model.recording = False

    trained, drawn = [], []
    for more in ({}, {"record": refuse}):
        streams = Streams([1])
        model = Asking(streams)
        steps = Steps(model, X, S, 2, SCHEDULE, streams)
        take = RecordedSteps(steps, **more).take if more else steps.take
        with warnings.catch_warnings(record=True) as told:
            for step in range(STEPS):
                take(step)
        trained.append(list(model.parameters()))
        drawn.append(streams.normal("more", 2))
    assert torch.equal(*drawn)
    assert [str(one.message) for one in told] == [
        "Asking is recordable, but a step cannot be recorded: operation not permitted when stream "
        "is capturing. It is trained step by step, which takes longer."
    ]
    for one, other in zip(*trained, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-3, atol=1e-5)


def test_draws_have_a_place_that_stays_and_are_those_of_plain_streams() -> None:
    plain, placed = Streams([3, 4]), PlacedStreams(Streams([3, 4]))
    for step in range(70):  # beyond a block of draws
        placed.next_step()
        drawn = [placed.normal("z", 2), placed.uniform("u", 3), placed.normal("z", 2)]
        drawn.append(placed.indices("rows", 9, 4))
        if step == 0:
            places = [one.data_ptr() for one in drawn]
        assert [one.data_ptr() for one in drawn] == places
        expected = [plain.normal("z", 2), plain.uniform("u", 3), plain.normal("z", 2)]
        for one, other in zip(drawn, [*expected, plain.indices("rows", 9, 4)], strict=True):
            assert torch.equal(one, other)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.4, 1.0])
def test_a_ramp_of_a_recorded_step_weighs_to_the_last_bit_as_one_of_python(share: float) -> None:
    empty, loss = torch.zeros(1, 1), torch.tensor([0.7, 3.1])
    for step in range(140):
        done = step / 140
        number, tensor = (
            Batch(empty, empty, empty, given, Streams([0])).ramp(share)
            for given in (done, torch.tensor(done, dtype=torch.float64))
        )
        assert number == (min(1.0, done / share) if share else 1.0)
        weighed = tensor * loss
        assert weighed.dtype is torch.float32
        assert torch.equal(weighed, number * loss)
