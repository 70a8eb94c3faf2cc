"""Which GPU a job trains on, where several jobs share one or several of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from fairbench.runs.job import Job
from fairbench.training.device import VISIBLE

_SLACK = 1e-9
"""Of sums of shares."""


class Devices:
    """Shares of ``count`` GPUs of this machine."""

    def __init__(self, count: int) -> None:
        self._free = [1.0] * count

    def fits(self, share: float) -> bool:
        """Whether a job can start now; one that asks for more than there is starts on what is."""
        return share <= 0 or not self._free or max(self._free) >= min(share, 1.0) - _SLACK

    def would_fit(self, share: float, waiting: Iterable[float]) -> bool:
        """Whether a job fits even after all those that wait have taken their shares."""
        after = Devices(0)
        after._free = list(self._free)
        for other in waiting:
            after.take(other)
        return after.fits(share)

    def take(self, share: float) -> int | None:
        """Number of the least used GPU, ``share`` of which is taken; None for a job without."""
        if share <= 0 or not self._free:
            return None
        best = max(range(len(self._free)), key=lambda i: (self._free[i], -i))
        self._free[best] -= min(share, 1.0)
        return best

    def give_back(self, number: int | None, share: float) -> None:
        """Return what was taken."""
        if number is not None:
            self._free[number] += min(share, 1.0)


def share_of(job: Job) -> float:
    """Share of a GPU that a job needs; 0 for one that needs none."""
    return float(getattr(job, "gpus", 0.0))


def environment_of(number: int | None, inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables with which a process sees GPU ``number`` of the inherited alone."""
    if number is None:
        return {}
    visible = [part for part in inherited.get(VISIBLE, "").split(",") if part.strip()]
    return {VISIBLE: visible[number] if visible else str(number)}


def count_devices() -> int:
    """CUDA devices that this process may use."""
    import torch

    return torch.cuda.device_count()
