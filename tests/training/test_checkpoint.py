"""A fit that was cut off goes on from its checkpoint as if nothing had happened, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fairbench.api import FitContext, TrainingRows, Unit
from fairbench.api.types import Role, Shots
from fairbench.data.prepared import Prepared
from fairbench.registry import load_registry
from fairbench.training import checkpoint_files as checkpoints
from fairbench.training.checkpoint import Checkpoint
from fairbench.training.neural_method import NeuralMethod
from fairbench.training.schedule import Schedule
from fairbench.training.streams import Streams
from fairbench.training.trainer import train
from tests.training.test_engine import Auto, S, X

STEPS = 120
SEEDS = [1, 2, 3]


class CutOffError(Exception):
    pass


def fit(
    checkpoint: Checkpoint | None = None,
    *,
    cut_at: int | None = None,
    seeds: list[int] = SEEDS,
    break_one: bool = False,
) -> tuple[Auto, list[str | None], list[str]]:
    """Train; ``cut_at`` raises at that step, as a process that is killed would end."""
    streams = Streams(seeds)
    model = Auto(streams)
    if break_one:
        with torch.no_grad():
            next(model.parameters())[1] = float("nan")
    notes: list[str] = []

    def progress(fraction: float, note: str) -> None:
        notes.append(note)
        if cut_at is not None and fraction * STEPS >= cut_at:
            raise CutOffError

    reasons = train(
        model,
        X,
        S,
        groups=2,
        schedule=Schedule(STEPS, batch_size=32),
        streams=streams,
        progress=progress,
        checkpoint=checkpoint,
    )
    return model, reasons, notes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stack.checkpoint"


def cut_off(path: Path, step: int, **kwargs: bool) -> None:
    with pytest.raises(CutOffError):
        fit(Checkpoint(path, 0.0), cut_at=step, **kwargs)  # type: ignore[arg-type]
    assert path.exists()


def same(one: Auto, other: Auto) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.thorough
@pytest.mark.parametrize("cuts", [[50], [100], [50, 75, 100]])
def test_what_continues_is_bitwise_what_was_never_cut(path: Path, cuts: list[int]) -> None:
    whole, _, _ = fit()
    for cut in cuts:
        cut_off(path, cut)
    continued, _, notes = fit(Checkpoint(path, 0.0))
    assert same(whole, continued)
    assert len(notes) < STEPS // 25 + 2  # it did not start again


@pytest.mark.thorough
def test_a_model_that_diverged_stays_masked(path: Path) -> None:
    whole, reasons, _ = fit(break_one=True)
    cut_off(path, 50, break_one=True)
    continued, again, _ = fit(Checkpoint(path, 0.0))
    assert again == reasons
    assert reasons[1] is not None
    assert same(whole, continued)


@pytest.mark.thorough
@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b[:9], lambda b: b"", bytearray])
def test_a_damaged_checkpoint_is_told_and_ignored(
    path: Path, damage: Callable[[bytes], bytes]
) -> None:
    cut_off(path, 50)
    whole = path.read_bytes()
    garbled = damage(whole)
    if garbled == whole:
        garbled = bytearray(whole)
        garbled[len(whole) // 2] ^= 1
    path.write_bytes(garbled)
    continued, _, _ = fit(Checkpoint(path, 1e9))
    assert same(fit()[0], continued)
    (message,) = checkpoints.review([path])
    assert "damaged" in message
    assert not path.exists()
    assert checkpoints.review([path]) == []


@pytest.mark.thorough
def test_what_a_plugin_saved_itself_is_left_to_it(path: Path) -> None:
    """Of ``FitContext.checkpoint`` any content may be made: it is no damage."""
    with path.open("wb") as file:
        np.savez(file, step=7)
    saved = path.read_bytes()
    folder = path.with_name("folder.checkpoint")
    folder.mkdir()
    assert [message.split(" from ")[0] for message in checkpoints.review([path, folder])] == [
        "Training continues",
        "Training continues",
    ]
    assert path.read_bytes() == saved
    assert same(fit()[0], fit(Checkpoint(path, 1e9))[0])


def test_a_checkpoint_of_something_else_is_not_used(path: Path) -> None:
    cut_off(path, 50)
    fresh, _, _ = fit(seeds=[4, 5, 6])
    assert same(fresh, fit(Checkpoint(path, 1e9), seeds=[4, 5, 6])[0])


def test_none_is_written_where_the_folder_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "not shared" / "stack.checkpoint"
    fit(Checkpoint(path, 0.0))
    assert not path.parent.exists()


def test_a_quick_fit_writes_none(path: Path) -> None:
    fit(Checkpoint(path, 60.0))
    assert not path.exists()


def test_seconds_before_the_cut_count(path: Path) -> None:
    cut_off(path, 50)
    checkpoint = Checkpoint(path, 1e9)
    fit(checkpoint)
    assert 0 < checkpoint.earlier_seconds < 60


ONE_OF_EACH_KIND = {"sofair", "sofair-adv", "latfr", "cvib"}


def neural_methods() -> list[Any]:
    methods = load_registry().methods.classes.values()
    return [
        pytest.param(m, id=m.name, marks=() if m.name in ONE_OF_EACH_KIND else pytest.mark.slow)
        for m in methods
        if issubclass(m, NeuralMethod)
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("method", neural_methods())
def test_every_method_on_the_engine_continues(
    method: type[NeuralMethod], prepared: Prepared, path: Path
) -> None:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    train_rows = TrainingRows(rows.x, rows.s, prepared.info)
    single, points = method.shots is Shots.SINGLE, method().points()
    units = [Unit(3, None if single else points[0]), Unit(4, None if single else points[-1])]

    def representations(path: Path | None, cut: bool = False) -> list[np.ndarray]:
        def progress(fraction: float, note: str) -> None:
            if cut and fraction > 0.5:
                raise CutOffError

        context = FitContext(140, progress=progress, checkpoint=path, checkpoint_every=0.0)
        fits = method().fit(train_rows, units, context)
        return [array for fitted in fits for array in fitted.state().values()]  # type: ignore[union-attr]

    with pytest.raises(CutOffError):
        representations(path, cut=True)
    continued = representations(path)
    for a, b in zip(representations(None), continued, strict=True):
        np.testing.assert_array_equal(a, b)
