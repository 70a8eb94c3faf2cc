"""The meter: energy by a counter of the card, and nothing where none is known."""

import sys
import time
from types import SimpleNamespace

import pytest
import torch

from fairbench.api.metric import CurveEvaluation
from fairbench.leaderboard.frames import to_frame
from fairbench.metrics.cost import Cost
from fairbench.runs.cost import Meter, stack_costs, with_earlier_attempts
from fairbench.runs.plugin_values import ContractError, ReportedCosts


class Card:
    """NVML with one card, whose counter (millijoules) is read off a list; None: it fails."""

    def __init__(self, readings: list[int | None]) -> None:
        self.readings = readings
        self.requested: list[str] = []

    def nvmlInit(self) -> None:
        pass

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        self.requested.append(uuid)
        return uuid

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:
        reading = self.readings.pop(0)
        if reading is None:
            raise RuntimeError("Not Supported")
        return reading


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that sees one card, the second of its machine."""
    card = SimpleNamespace(uuid="1234")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)


def metered(monkeypatch: pytest.MonkeyPatch, *readings: int | None, phase: str = "train") -> Meter:
    card = Card(list(readings))
    monkeypatch.setitem(sys.modules, "pynvml", card)
    meter = Meter("cuda")
    with meter.phase(phase):
        pass
    assert set(card.requested) == {"GPU-1234"}
    return meter


@pytest.mark.usefixtures("cuda")
def test_energy_is_what_the_counter_of_the_own_card_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    assert metered(monkeypatch, 5_000_000, 5_012_500).energy_j == 12.5


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("readings", [(None, None), (5_000, None), (5_000, 3), (5_000, 5_000)])
def test_a_counter_that_fails_or_starts_anew_tells_nothing(
    monkeypatch: pytest.MonkeyPatch, readings: tuple[int | None, int | None]
) -> None:
    assert metered(monkeypatch, *readings).energy_j is None


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(
    ("readings", "joules"),
    [
        ((5_000, 17_500, 20_000, 21_000), 13.5),
        ((5_000, 17_500, 20_000, 20_000), 12.5),  # the counter moves a few times a second
        ((5_000, None, 20_000, 21_000), None),
        ((5_000, 3, 20_000, 21_000), None),
        ((5_000, 17_500, 20_000, 3), None),
    ],
)
def test_energy_is_of_all_parts_of_a_training_or_unknown(
    monkeypatch: pytest.MonkeyPatch, readings: tuple[int | None, ...], joules: float | None
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", Card(list(readings)))
    meter = Meter("cuda")
    for _ in range(2):
        with meter.phase("train"):
            pass
    assert meter.energy_j == joules


@pytest.mark.usefixtures("cuda")
def test_energy_is_of_training_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert metered(monkeypatch, 1_000, 9_000, phase="encode").energy_j is None


@pytest.mark.usefixtures("cuda")
def test_without_the_library_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    meter = Meter("cuda")
    with meter.phase("train"):
        pass
    assert meter.energy_j is None
    assert meter.seconds["train"] >= 0


def test_waiting_takes_wall_time_and_no_processor_time() -> None:
    meter = Meter("cpu")
    with meter.phase("train"):
        time.sleep(0.3)
    assert meter.seconds["train"] >= 0.3
    assert meter.processor["train"] < 0.2


@pytest.mark.usefixtures("cuda")
def test_on_a_gpu_both_are_wall_time() -> None:
    meter = Meter("cuda")
    with meter.phase("train"):
        time.sleep(0.1)
    assert meter.processor == meter.seconds


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (0.0, 26.0),  # an interrupted run left the checkpoint: what it took is known by that alone
        (30.0, 31.0),  # of two models, 25 s each of the attempt that failed are in the checkpoint
    ],
)
def test_what_a_checkpoint_kept_of_an_earlier_attempt_is_counted_once(
    before: float, expected: float
) -> None:
    meter = Meter("cpu", seconds={"train": 2.0}, processor={"train": 2.0})
    costs = stack_costs(meter, {"earlier_seconds": 50.0}, 2, None)
    total = with_earlier_attempts(costs, before)
    assert total["processor_seconds"] == expected
    assert "earlier_seconds" not in total


def test_what_is_measured_is_not_what_a_plugin_reports() -> None:
    meter = Meter("cpu", seconds={"train": 2.0}, processor={"train": 4.0})
    reported = {"train_seconds": 1e-9, "processor_seconds": 1e-9, "steps": 10.0, "queries": 3.0}
    costs = stack_costs(meter, reported, 2, None)
    assert (costs["train_seconds"], costs["processor_seconds"]) == (1.0, 2.0)
    assert costs["queries"] == 3.0


def test_a_cost_below_zero_is_refused() -> None:
    with pytest.raises(ContractError, match="'steps' given to report\\(\\) is below 0: -3"):
        ReportedCosts().report("steps", -3.0)


def test_a_cpu_has_no_counter() -> None:
    meter = Meter("cpu")
    with meter.phase("train"):
        pass
    assert meter.energy_j is None
    assert set(meter.peaks()) == {"peak_memory_mb"}


@pytest.mark.parametrize(
    ("known", "expected"),
    [([2.0, 3.0], 5.0), ([2.0, None], None), ([None, None], None), ([], None)],
)
def test_a_curves_energy_is_of_all_its_models_or_unknown(
    known: list[float | None], expected: float | None
) -> None:
    costs = [{} if joules is None else {"energy_joules": joules} for joules in known]
    point = {"distortion": 1.0, "mutual_information": 0.1}
    energy = Cost().compute(CurveEvaluation([point], {}, costs))["energy_joules"]
    assert energy == expected
    text = to_frame([{"method": "m", "energy_joules": energy}]).to_csv(index=False)
    assert text == f"method,energy_joules\nm,{'' if expected is None else expected}\n"
