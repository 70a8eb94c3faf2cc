"""How fast this machine is, by a short fixed load: rules of thumb are of one other machine."""

from __future__ import annotations

import functools
import time

_REFERENCE = 0.07
"""Seconds of the load on one core of an AMD EPYC (Zen 4), where the rules were measured."""
_STEPS = 150


@functools.cache
def slowness() -> float:
    """Return the seconds of this machine for each of the one where rules were measured, once.

    A tenth of a second of steps of a small stack of networks on one thread: the quickest of three.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    x = torch.ones(4, 128, 64)
    weight = torch.full((4, 64, 64), 0.01, requires_grad=True)
    times = []
    try:
        for _ in range(3):
            start = time.perf_counter()
            for _ in range(_STEPS // 3):
                torch.bmm(torch.bmm(x, weight).relu(), weight).square().mean().backward()  # type: ignore[no-untyped-call]
            times.append(time.perf_counter() - start)
    finally:
        torch.set_num_threads(threads)
    return min(times) * 3 / _REFERENCE
