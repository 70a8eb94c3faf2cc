"""Stage 4: SoFaiR on DSprites-Unfair for the time there is, from checkpoint to checkpoint.

The schedule is that of the dataset's full budget, however far one call gets. The losses of every
step are averaged over ``loss_every`` steps and appended to a file; at the start of a call, what
lies beyond the checkpoint is dropped from it, and measured again.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path

import torch
from torch import Tensor

from fairbench.api import DatasetInfo, FitContext, Unit
from fairbench.api.method import Diverged
from fairbench.data.loading import load_dataset
from fairbench.data.prepared import Prepared
from fairbench.files import write_atomically
from fairbench.training import Batch, Networks, Streams
from fairbench_datasets.dsprites_unfair import DSpritesUnfair
from fairbench_plugins.sofair import Sofair
from fairbench_plugins.sofair.model import SofairModel
from fairbench_plugins.sofair.resolution import ResolutionModel
from gpu_stages.records import MIN_SECONDS, Outcome, Part, Row, of_unit
from gpu_stages.settings import Settings, synchronise, training_rows
from gpu_stages.small_data import small_images

_CHECKPOINT_EVERY = 20.0
"""Seconds between checkpoints."""
_RESERVE = MIN_SECONDS + 15.0
"""Seconds of the stage that are left for the end of it."""
_LOSSES = "losses.csv"


@dataclass(frozen=True)
class ImageTraining(Row):
    """How far the training is, and how fast this call trained."""

    data: str
    data_source: str
    step: int = of_unit("steps")  # trained so far; the checkpoint may be some seconds older
    full_budget: int = of_unit("steps")
    batch_size: int = of_unit("rows per step")
    steps_of_this_call: int = of_unit("steps")
    seconds_of_this_call: float = of_unit("s of training")
    iterations_per_second: float = of_unit("steps/s")
    full_training: float = of_unit("h, at this rate")
    tf32_convolutions: bool | None = None  # None: not a GPU
    peak_device_memory: float | None = field(default=None, metadata={"unit": "GB"})


@dataclass(frozen=True)
class LossPoint(Row):
    """The mean loss of some steps."""

    step: int = of_unit("steps, at their end")
    steps: int = of_unit("steps in the mean")
    loss: float = of_unit("nats, as SoFaiR weighs distortion and rate")


def folder(settings: Settings) -> Path:
    """Return the folder of the checkpoint and the losses."""
    return settings.out / "images"


def parts(settings: Settings) -> list[Part]:
    """Return the training, and the curve of its losses, finished or not."""
    return [Part("sofair on images", _run, keeps_time=True), Part("curve of losses", _curve)]


def _run(settings: Settings) -> Outcome:
    folder(settings).mkdir(parents=True, exist_ok=True)
    data = (
        small_images() if settings.quick else load_dataset(DSpritesUnfair, root=settings.data_root)
    )
    row = train(data, settings)
    text = f"step {row.step:,} of {row.full_budget:,}"
    if row.steps_of_this_call:
        text += (
            f", {row.iterations_per_second:,.1f} steps/s "
            f"(the whole training in {row.full_training:.1f} h)"
        )
    note = f"Images: {data.source} ({data.origin})."
    return Outcome([row], text, note, finished=row.step == row.full_budget)


def _curve(settings: Settings) -> Outcome:
    curve = read_losses(folder(settings))
    if not curve:
        return Outcome([], "no losses yet", finished=False)
    text = f"{curve[0].loss:.1f} at step {curve[0].step:,}, {curve[-1].loss:.1f} at step "
    text += f"{curve[-1].step:,}"
    note = "Mean loss of the steps before each; the weight of the rate grows over the first 40%."
    finished = curve[-1].step == settings.sizes.image_steps
    return Outcome(curve, text, note, finished=finished)


def train(data: Prepared, settings: Settings) -> ImageTraining:
    """Train until the stage's time is up, or the budget."""
    rows = training_rows(data)
    steps = settings.sizes.image_steps
    log = _LossLog(folder(settings), steps, settings.sizes.loss_every)
    method = _RecordedSofair(log)
    context = FitContext(
        steps,
        settings.device,
        log.watch,
        deadline=settings.deadline - _RESERVE,
        checkpoint=folder(settings) / "sofair.checkpoint",
        checkpoint_every=0.0 if settings.quick else _CHECKPOINT_EVERY,
    )
    on_gpu = settings.device == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    try:
        fitted = method.fit(rows, [Unit(0, None)], context)
        if isinstance(fitted[0], Diverged):
            raise RuntimeError(f"SoFaiR diverged: {fitted[0].reason}")
        step = steps
    except TimeoutError:
        step = log.step
    synchronise(settings.device)
    log.write()
    rate = log.steps_timed / log.seconds if log.seconds else 0.0
    return ImageTraining(
        data=data.info.name,
        data_source=data.source,
        step=step,
        full_budget=steps,
        batch_size=method.params.batch_size,
        steps_of_this_call=log.steps_timed,
        seconds_of_this_call=log.seconds,
        iterations_per_second=rate,
        full_training=steps / rate / 3600 if rate else 0.0,
        tf32_convolutions=torch.backends.cudnn.allow_tf32 if on_gpu else None,
        peak_device_memory=torch.cuda.max_memory_allocated() / 1e9 if on_gpu else None,
    )


class _RecordedSofair(Sofair):
    """SoFaiR whose losses are written down."""

    def __init__(self, log: _LossLog) -> None:
        super().__init__()
        self._log = log

    def build(
        self, units: Sequence[Unit], info: DatasetInfo, networks: Networks, streams: Streams
    ) -> SofairModel | ResolutionModel:
        model = super().build(units, info, networks, streams)
        own = model.losses

        def losses(batch: Batch) -> dict[str, Tensor]:
            found = own(batch)
            self._log.add(found["model"].detach().sum())
            return found

        model.losses = losses  # type: ignore[method-assign]
        return model


class _LossLog:
    """Sums up the losses of ``every`` steps at a time, and measures the time of a training.

    The file is always at least as far as the checkpoint: progress is reported before one is saved.
    """

    def __init__(self, where: Path, iterations: int, every: int) -> None:
        self.step = 0
        self._iterations, self._every = iterations, every
        self._path = where / _LOSSES
        self._points = read_losses(where)
        self._first: int | None = None
        self._sums: Tensor | None = None  # of losses, and how many they are
        self._clock: list[tuple[int, float]] = []

    @property
    def steps_timed(self) -> int:
        """Steps between the first and the last look at the clock."""
        return self._clock[-1][0] - self._clock[0][0] if self._clock else 0

    @property
    def seconds(self) -> float:
        """Seconds that these steps took, checkpoints included."""
        return self._clock[-1][1] - self._clock[0][1] if self._clock else 0.0

    def add(self, loss: Tensor) -> None:
        """Take in the loss of one step, on its device: the step may be one that is recorded."""
        one = torch.stack([loss, torch.ones_like(loss)])
        if self._sums is None:
            self._sums = torch.zeros_like(one)
        self._sums.add_(one)

    def watch(self, fraction: float, note: str) -> None:
        """Look at the clock; to be called when the device has caught up, as progress is.

        The first steps, which load libraries, do not count.
        """
        self.step = min(round(fraction * self._iterations) + 1, self._iterations)
        assert self._sums is not None
        loss, count = self._sums.tolist()
        if self._first is None:
            self._first = self.step
            self._points = [p for p in self._points if p.step <= self.step - round(count)]
        else:
            self._clock.append((self.step, time.perf_counter()))
        last = self._points[-1].step if self._points else 0
        if count and (self.step - last >= self._every or self.step == self._iterations):
            self._points.append(LossPoint(self.step, round(count), loss / count))
            self._sums.zero_()
            self.write()

    def write(self) -> None:
        """Write the file, whole or not at all."""
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(one.name for one in fields(LossPoint))
        lines.writerows(astuple(point) for point in self._points)
        write_atomically(self._path, text.getvalue().encode())


def read_losses(where: Path) -> list[LossPoint]:
    """Read the curve of losses of a folder; empty where none was written yet."""
    path = where / _LOSSES
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return [
            LossPoint(int(row["step"]), int(row["steps"]), float(row["loss"]))
            for row in csv.DictReader(stream)
        ]
