"""Stage 1: a training on the device that is cut off goes on from its checkpoint, bit by bit."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairbench.api import FitContext, Shots, TrainingRows, Unit
from fairbench.api.method import Diverged
from fairbench.training import NeuralMethod
from gpu_stages.records import Outcome, Part, Row, of_unit
from gpu_stages.settings import Settings, adults, counted, training_rows
from gpu_stages.stacks import neural_methods, units_of

NOTE = (
    "Trained whole, and cut off half-way and continued from the checkpoint: the largest difference "
    "of a weight at the end. Where the device does not even repeat a whole training to the last "
    "bit, that is reported and not judged."
)


@dataclass(frozen=True)
class ResumeComparison(Row):
    """Weights of a training that was cut off, against one that was not."""

    method: str
    models: int = of_unit("models")
    steps: int = of_unit("steps")
    repeated: float = of_unit("largest difference of a weight")
    resumed: float = of_unit("largest difference of a weight")


class _CutOffError(Exception):
    """Ends a training as the end of its process would."""


def parts(settings: Settings) -> list[Part]:
    """Return one part per method."""
    return [Part(f"checkpoint of {one.name}", _of(one)) for one in neural_methods(settings)]


def _of(method: type[NeuralMethod]) -> Callable[[Settings], Outcome]:
    def run(settings: Settings) -> Outcome:
        rows = training_rows(adults(settings.data_root))
        return _outcome(compare(method(), rows, settings))

    return run


def _outcome(one: ResumeComparison) -> Outcome:
    """Judge a comparison, unless the device does not repeat a whole training either."""
    equal, apart = one.resumed == 0, f"{one.resumed:.1e} apart"
    found = "resumes to the last bit" if equal else apart
    exceeded = not equal and one.repeated == 0
    over = (f"{apart}, though the device repeats a whole training",) if exceeded else ()
    return Outcome([one], f"{counted(one.models)}, {one.steps} steps: {found}", NOTE, over)


def compare(method: NeuralMethod, rows: TrainingRows, settings: Settings) -> ResumeComparison:
    """Train some models of a method twice whole, and once cut off and continued."""
    seeds = 2 if method.shots is Shots.SINGLE else 1
    units = units_of(method, seeds=seeds, points=2)
    steps = settings.sizes.resume_steps

    def fit(checkpoint: Path | None = None, *, cut: bool = False) -> list[Mapping[str, np.ndarray]]:
        def progress(fraction: float, note: str) -> None:
            if cut and fraction > 0.5:
                raise _CutOffError

        context = FitContext(
            steps, settings.device, progress, checkpoint=checkpoint, checkpoint_every=0.0
        )
        return _weights(method, rows, units, context)

    whole = fit()
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "stack.checkpoint"
        try:
            fit(checkpoint, cut=True)
        except _CutOffError:
            continued = fit(checkpoint)
        else:
            raise RuntimeError(f"{method.name} was not cut off: it reports no progress")
    return ResumeComparison(
        method=method.name,
        models=len(units),
        steps=steps,
        repeated=_difference(whole, fit()),
        resumed=_difference(whole, continued),
    )


def _weights(
    method: NeuralMethod, rows: TrainingRows, units: Sequence[Unit], context: FitContext
) -> list[Mapping[str, np.ndarray]]:
    fitted = method.fit(rows, units, context)
    for one in fitted:
        if isinstance(one, Diverged):
            raise RuntimeError(f"{method.name} diverged: {one.reason}")
    return [one.state() or {} for one in fitted if not isinstance(one, Diverged)]


def _difference(
    one: Sequence[Mapping[str, np.ndarray]], other: Sequence[Mapping[str, np.ndarray]]
) -> float:
    return max(
        float(np.abs(a[name].astype(np.float64) - b[name]).max())
        for a, b in zip(one, other, strict=True)
        for name in a
        if a[name].size
    )
