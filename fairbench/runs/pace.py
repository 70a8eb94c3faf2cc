"""How fast this machine is, by a short fixed load: rules of thumb are of one other machine."""

from __future__ import annotations

import functools
import time

import numpy as np
from threadpoolctl import threadpool_limits

_REFERENCE = 0.038
"""Seconds of the load on one core of an AMD EPYC (Zen 4), where the rules were measured."""
_STEPS = 300


@functools.cache
def slowness() -> float:
    """Return how many times slower this machine is than the one where the rules were measured.

    Measured once per process: a tenth of a second of products and sums on one thread, as training
    has them, the quickest of three. Without torch, which would take longer to load than this.
    Processor time: what else runs in this tenth of a second says nothing about the hours of a run.
    """
    x = np.ones((4, 128, 64), np.float32)
    weight = np.full((4, 64, 64), 0.01, np.float32)
    times = []
    with threadpool_limits(1):
        for _ in range(3):
            start = time.thread_time()
            for _ in range(_STEPS // 3):
                np.square(np.maximum(x @ weight, 0.0) @ weight).mean()
            times.append(time.thread_time() - start)
    return min(times) * 3 / _REFERENCE
