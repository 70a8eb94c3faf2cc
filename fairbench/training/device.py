"""The device that methods train on, and the number of processor cores."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fairbench.config import Device
from fairbench.errors import DeviceError

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Environment variable: the GPUs that a process sees."""


def resolve_device(requested: Device) -> str:
    """``cpu`` or ``cuda``; DeviceError where CUDA is requested and not available."""
    if requested is Device.CPU:
        return "cpu"
    if _has_driver():
        import torch

        if torch.cuda.is_available():
            return "cuda"
    if requested is Device.CUDA:
        raise DeviceError(
            "--device cuda: no CUDA device was found.",
            "Use --device cpu, or check the driver and that torch is a CUDA build.",
        )
    return "cpu"


def _has_driver() -> bool:
    """Whether there may be a CUDA device; torch, which knows, takes seconds to load."""
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
