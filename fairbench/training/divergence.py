"""The detection of models that diverge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

CHECK_EVERY = 50
"""Steps between checks of the losses: each check waits for the device."""

_EXPLOSION = 1e8
"""A loss this many times its starting size counts as diverged."""


class DivergenceMonitor:
    """Finds models that diverged and masks them."""

    def __init__(self, models: int) -> None:
        self.reasons: list[str | None] = [None] * models
        self._start: np.ndarray | None = None

    def state(self) -> dict[str, Any]:
        """The reasons and starting losses so far, as plain numbers and text."""
        start = None if self._start is None else self._start.tolist()
        return {"reasons": list(self.reasons), "start": start}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a :meth:`state`."""
        self.reasons = list(state["reasons"])
        self._start = None if state["start"] is None else np.array(state["start"])

    def check_losses(
        self, losses: dict[str, Tensor], parameters: dict[str, list[nn.Parameter]], step: int
    ) -> None:
        """Mask models whose loss is not finite, or exploded."""
        values = torch.stack([loss.detach() for loss in losses.values()]).abs().amax(0)
        # A NaN in one player must not hide behind a finite one: amax propagates NaN.
        size = values.double().cpu().numpy()
        if self._start is None:
            self._start = np.where(np.isfinite(size), np.maximum(size, 1.0), 1.0)
        for i in np.flatnonzero(~np.isfinite(size) | (size > _EXPLOSION * self._start)):
            self.reasons[i] = self.reasons[i] or f"loss {size[i]:.3g} at step {step:,}"
        self._mask(parameters)

    def check_parameters(self, parameters: dict[str, list[nn.Parameter]]) -> None:
        """Mask models that the last step broke, after the last check of the losses."""
        for own in parameters.values():
            for parameter in own:
                finite = parameter.detach().isfinite().flatten(1).all(1).cpu().numpy()
                for i in np.flatnonzero(~finite):
                    self.reasons[i] = self.reasons[i] or "parameters not finite after the last step"
        self._mask(parameters)

    def _mask(self, parameters: dict[str, list[nn.Parameter]]) -> None:
        dead = [i for i, reason in enumerate(self.reasons) if reason is not None]
        if dead:
            with torch.no_grad():
                for own in parameters.values():
                    for parameter in own:
                        parameter[dead] = 0.0
