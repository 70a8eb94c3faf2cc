"""Memory that a process has freed: kept for the next step on images, given back elsewhere."""

from __future__ import annotations

import os
import sys

_LARGEST = 2**31 - 1

_SETTINGS = {
    # environment variable: parameter of mallopt (malloc.h), value
    "MALLOC_MMAP_MAX_": (-4, 0),
    "MALLOC_TRIM_THRESHOLD_": (-1, _LARGEST),
}


def keep_freed_memory() -> None:
    """Have this process, and those it starts, keep the memory that they free until they end.

    By default glibc gives blocks above 32 MB back to the system at once. The activations of a
    convolutional network are such blocks, and a training step would spend more time on page faults
    than on its products (benchmarks/image_step.py). Arrays of tables are smaller: jobs on tables
    would gain no time by it. What the environment sets already stays. Nothing happens with other C
    libraries.
    """
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    for variable, (parameter, value) in _SETTINGS.items():
        if mallopt is not None and variable not in os.environ:
            mallopt(parameter, value)
            os.environ[variable] = str(value)  # for processes that it starts


def give_back_freed_memory() -> None:
    """Give what was freed and lies between blocks in use back to the system, in milliseconds.

    glibc itself gives back what lies at the end alone. Nothing happens with other C libraries.
    """
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
