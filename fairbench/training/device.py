"""Which device methods train on, and how many cores there are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fairbench.config import Device
from fairbench.errors import DeviceError


def resolve_device(asked: Device) -> str:
    """``cpu`` or ``cuda``; DeviceError where CUDA is asked for and is not there."""
    if asked is Device.CPU:
        return "cpu"
    if _driver_is_there():
        import torch

        if torch.cuda.is_available():
            return "cuda"
    if asked is Device.CUDA:
        raise DeviceError(
            "--device cuda: no CUDA device is to be found here.",
            "Use --device cpu, or check the driver and that torch is a CUDA build.",
        )
    return "cpu"


def _driver_is_there() -> bool:
    """Whether asking torch, which takes seconds to load, could give anything but no."""
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
