"""The state of a stack in training, saved every few minutes; continuing is bitwise the same."""

from __future__ import annotations

import io
import time
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

import torch

from fairbench.training import checkpoint_files as checkpoints
from fairbench.training.model import StackedModel
from fairbench.training.streams import Streams

if TYPE_CHECKING:
    from fairbench.training.divergence import DivergenceMonitor
    from fairbench.training.schedule import Schedule


class Checkpoint:
    """Saves and restores a training stack; ``every`` seconds between two saves.

    All that later steps depend on is saved: parameters and buffers (with
    ``get_extra_state`` of a module that has more), the optimizer, every stream, the watch over
    diverging models, and torch's global generator.
    """

    def __init__(self, path: Path, every: float) -> None:
        self.path, self.every = path, every
        self.earlier_seconds = 0.0
        """Seconds of training before this process continued it."""
        self._started = self._saved = time.monotonic()

    def due(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() - self._saved >= self.every

    def save(
        self,
        step: int,
        model: StackedModel,
        optimizer: torch.optim.Optimizer,
        streams: Streams,
        watch: DivergenceMonitor,
        schedule: Schedule,
    ) -> None:
        """Save the state in which ``step`` is the next one."""
        state = {
            "made_for": _made_for(streams, schedule),
            "step": step,
            "seconds": self.earlier_seconds + time.monotonic() - self._started,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "streams": streams.state(),
            "watch": watch.state(),
            "generator": torch.get_rng_state(),
        }
        content = io.BytesIO()
        torch.save(state, content)
        checkpoints.write(self.path, content.getvalue())
        self._saved = time.monotonic()

    def restore(
        self,
        model: StackedModel,
        optimizer: torch.optim.Optimizer,
        streams: Streams,
        watch: DivergenceMonitor,
        schedule: Schedule,
    ) -> int:
        """Restore the state; returns the next step, 0 where there is no usable checkpoint."""
        try:
            content = checkpoints.read(self.path)
            if content is None:
                return 0
            # Plain tensors and numbers, nothing that could run.
            state: dict[str, Any] = torch.load(
                io.BytesIO(content), map_location="cpu", weights_only=True
            )
        # The driver reported what was damaged before the run; extra state may not be plain.
        except (checkpoints.DamagedError, checkpoints.ForeignError, UnpicklingError):
            return 0
        if state["made_for"] != _made_for(streams, schedule):
            return 0
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        streams.restore(state["streams"])
        watch.restore(state["watch"])
        torch.set_rng_state(state["generator"])
        self.earlier_seconds = state["seconds"]
        return int(state["step"])


def _made_for(streams: Streams, schedule: Schedule) -> list[Any]:
    """What must agree; with another torch the figures would be of neither version."""
    plan = [schedule.iterations, schedule.batch_size, schedule.learning_rate]
    if not schedule.decay:
        plan.append(schedule.decay)
    return [str(torch.__version__), str(streams.device), list(streams.seeds), plan]
