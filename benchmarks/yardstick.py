"""A yardstick of the machine: a fixed load on one thread, timed beside what is measured.

    python benchmarks/yardstick.py

Seconds do not travel from one machine to another, nor from a quiet hour to a busy one. So each
benchmark times this load before and after, publishes its figures in seconds and in yardsticks, and
has its limits in yardsticks. The load is what the suite is made of: steps of plain torch networks,
batched matrix products and boosted trees.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from fairbench.runs.cost import hardware

STEPS = 700
"""Steps of Adam on a network of two layers of 128, batch 256."""
PRODUCTS = 60
"""Batched products of (5, 512, 256) and (5, 256, 256), forwards and backwards."""
ROUNDS = 60
"""Boosting rounds on 10,000 rows of 10 columns."""


def measure() -> float:
    """Return the seconds of one yardstick; the first of a process also warms libraries up."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    x = torch.randn(10_000, 10)
    y = x[:, :1] * x[:, 1:2]
    network = torch.nn.Sequential(
        torch.nn.Linear(10, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 1),
    )
    optimizer = torch.optim.Adam(network.parameters())
    stack = torch.randn(5, 512, 256)
    weight = torch.randn(5, 256, 256, requires_grad=True)
    table = rng.normal(size=(10_000, 10))
    target = table[:, 0] * table[:, 1]
    trees = HistGradientBoostingRegressor(max_iter=ROUNDS, early_stopping=False, random_state=0)
    try:
        with threadpool_limits(1):
            start = time.perf_counter()
            for step in range(STEPS):
                rows = slice(step % 39 * 256, step % 39 * 256 + 256)
                optimizer.zero_grad()
                (network(x[rows]) - y[rows]).square().mean().backward()
                optimizer.step()
            for _ in range(PRODUCTS):
                torch.bmm(stack, weight).square().mean().backward()  # type: ignore[no-untyped-call]
            trees.fit(table, target).predict(table)
            return time.perf_counter() - start
    finally:
        torch.set_num_threads(threads)


def quickest(times: int = 3) -> float:
    """Return the seconds of the quickest of some yardsticks, warmed up."""
    measure()
    return min(measure() for _ in range(times))


def processor() -> str:
    """Name the processor, whether it multiplies in bfloat16, and the cores there are to use."""
    facts = hardware("cpu")
    more = ", bfloat16 products" if facts["audit_products"] == "bfloat16" else ""
    return f"{facts['processor']}{more}, {facts['cores']} cores"


if __name__ == "__main__":
    print(f"{processor()}: one yardstick is {quickest():.3f} s")
