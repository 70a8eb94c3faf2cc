"""The stacked engine against one model after the other, its overhead, MSFaiR and seeds of SoFaiR.

    python benchmarks/engine.py --data-root DIR [--threads 2]

All in one process, on Adults-Gender, batch 128. An autoencoder by itself is made of plain modules,
with fused Adam and products in float32. Overhead is time outside matrix products, optimizer and
element-wise kernels. Limits are for two threads.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import torch
from figures import Figures
from inputs import load_real_adults
from torch import Tensor, nn

from fairbench.api import FitContext, Role, Shots, TrainingRows, Unit
from fairbench.api.method import Method
from fairbench.training.layers import fastest_products
from fairbench.training.model import Batch, StackedModel, onehot, summed_squares
from fairbench.training.networks import Networks
from fairbench.training.schedule import FEWEST_COMPILED, Schedule
from fairbench.training.stack_size import LARGEST_STACK
from fairbench.training.streams import Streams
from fairbench.training.trainer import train
from fairbench_plugins.sofair import MSFaiR, Sofair

BATCH = 128
MODELS = LARGEST_STACK["cpu"]
STACK_LIMIT = 0.45
"""Step of a model in the stack, of one on its own."""
OVERHEAD_LIMIT = 15
"""Percent of a step of the stack."""
SEEDS_LIMIT = 3
"""Five seeds of a single-shot method, in trainings of one."""
POINTS_LIMIT = 6
"""MSFaiR's 16 points, in trainings of SoFaiR."""
MSFAIR_LIMIT = 190
"""Yardsticks, of MSFaiR's 27,000 iterations."""

MATRIX = ("aten::bmm", "aten::baddbmm", "aten::mm", "aten::addmm")
NO_KERNEL = ("autograd::", "Optimizer", "aten::empty", "aten::view", "aten::as_strided")
"""Events of the profile that move no numbers."""


class Autoencoder(StackedModel):
    """The paper's autoencoder of Adults: 9-128-128-8, s to the decoder."""

    def __init__(self, networks: Networks, groups: int, streams: Streams) -> None:
        super().__init__()
        make = streams.generators("weights")
        self.encoder = networks.encoder(make)
        self.decoder = networks.decoder(make, networks.latent + groups)

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        z = torch.cat([self.encoder(batch.x), batch.s_onehot], dim=-1)
        return {"model": summed_squares(batch.x, self.decoder(z))}

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        z: Tensor = self.encoder(x)
        return z


def stacked(rows: TrainingRows, models: int, steps: int, *, fast: bool = False) -> None:
    """Train a stack; ``fast``: in the fastest products of this CPU, as multi-shot methods do."""
    streams = Streams(range(models))
    model = Autoencoder(Networks(rows.x.shape[1], (128, 128), 8), 2, streams)
    train(
        model,
        rows.x,
        rows.s,
        groups=2,
        schedule=Schedule(steps, BATCH),
        streams=streams,
        progress=lambda fraction, note: None,
        fast=fast,
    )


def one_by_one(rows: TrainingRows, steps: int) -> None:
    """The same step as most would write it."""
    d = rows.x.shape[1]

    def mlp(*sizes: int) -> nn.Sequential:
        layers: list[nn.Module] = []
        for n_in, n_out in pairwise(sizes):
            layers += [nn.Linear(n_in, n_out), nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    encoder, decoder = mlp(d, 128, 128, 8), mlp(10, 128, 128, d)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], fused=True)
    x, s = torch.tensor(rows.x), onehot(torch.tensor(rows.s), 2)
    for _ in range(steps):
        at = torch.randint(len(x), (BATCH,))
        batch = x[at]
        x_hat = decoder(torch.cat([encoder(batch), s[at]], dim=1))
        optimizer.zero_grad(set_to_none=True)
        (x_hat - batch).square().sum(1).mean().backward()
        optimizer.step()


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def kernel_seconds(work: Callable[[], None]) -> dict[str, float]:
    """Seconds that a profiled run spends in kernels, by kind of work."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        work()
    times = {"matrix products": 0.0, "optimizer": 0.0, "element-wise": 0.0}
    for event in profile.key_averages():
        spent = event.self_cpu_time_total / 1e6
        if event.key in MATRIX:
            times["matrix products"] += spent
        elif event.key.startswith("aten::_fused_adam"):
            times["optimizer"] += spent
        elif event.key.startswith("aten::") and not event.key.startswith(NO_KERNEL):
            times["element-wise"] += spent
    return times


def shares_of_time(work: Callable[[int], None], steps: int) -> dict[str, float]:
    """Shares of a step's time by kind of work; what no kernel accounts for is overhead.

    Kernels are timed by the profiler, and steps without it: it slows what lies between kernels.
    Both are of so many steps beyond a short run, so that the start of a training does not count.
    """

    def short() -> None:
        work(steps // 5)

    def long() -> None:
        work(steps // 5 + steps)

    wall = min(seconds(long) for _ in range(3)) - min(seconds(short) for _ in range(3))
    started, spent = kernel_seconds(short), kernel_seconds(long)
    shares = {kind: (spent[kind] - started[kind]) / wall for kind in spent}
    return shares | {"overhead": 1 - sum(shares.values())}


def fit(method: Method, rows: TrainingRows, steps: int, *, seeds: int = 1) -> None:
    single = method.shots is Shots.SINGLE
    points = [None] if single else method.points()
    units = [Unit(seed, point) for seed in range(seeds) for point in points]
    method.fit(rows, units, FitContext(steps))


def compare_stack(rows: TrainingRows, figures: Figures, on: str) -> None:
    """A stack of autoencoders against one after the other, and what a step of it is made of.

    The ratio is of products in float32 on both sides. Points of a multi-shot method multiply in the
    fastest products of the CPU; where that is bfloat16, such a stack is measured too, and the
    shares of a step are its.
    """
    in_fast = ", products in bfloat16" if fastest_products() is torch.bfloat16 else ""
    stacked(rows, MODELS, 20)
    one_by_one(rows, 100)
    single, together, fast = [], [], []
    for _ in range(3):  # in turns, so that a busy machine slows all
        single.append(seconds(lambda: one_by_one(rows, 1000)) / 1000)
        together.append(seconds(lambda: stacked(rows, MODELS, 400)) / 400 / MODELS)
        if in_fast:
            fast.append(seconds(lambda: stacked(rows, MODELS, 400, fast=True)) / 400 / MODELS)
    figures.seconds(f"one autoencoder by itself, 1,000 steps, {on}", 1000 * min(single))
    of_stack = f"one autoencoder of a stack of {MODELS}, 1,000 steps, {on}"
    figures.seconds(of_stack, 1000 * min(together))
    if in_fast:
        figures.seconds(f"{of_stack}{in_fast}", 1000 * min(fast))
    figures.other(
        f"a step of one autoencoder: in a stack of {MODELS} against by itself, {on}",
        min(together) / min(single),
        "ratio",
        limit=STACK_LIMIT,
    )
    shares = shares_of_time(lambda steps: stacked(rows, MODELS, steps, fast=True), 100)
    for kind, share in shares.items():
        limit = OVERHEAD_LIMIT if kind == "overhead" else None
        what = f"a step of {MODELS} autoencoders in a stack, {on}{in_fast}: share of {kind}"
        figures.other(what, 100 * share, "%", limit=limit)


def compare_msfair(rows: TrainingRows, figures: Figures, on: str) -> None:
    """Five seeds of SoFaiR, and all points of MSFaiR, as one stack against SoFaiR's one model.

    So many steps that they are compiled, where the machine has a C++ compiler. The compiler's own
    time does not count: it has done its work in a first training.
    """

    def thousand(method: Method, seeds: int = 1) -> float:
        for _ in range(2):
            took = seconds(lambda: fit(method, rows, FEWEST_COMPILED, seeds=seeds))
        return 1000 * took / FEWEST_COMPILED

    once, five, sixteen = thousand(Sofair()), thousand(Sofair(), 5), thousand(MSFaiR())
    figures.other(
        f"a step: five seeds of SoFaiR in a stack against one, {on}",
        five / once,
        "ratio",
        limit=SEEDS_LIMIT,
    )
    figures.seconds(f"SoFaiR, 1,000 steps, {on}", once)
    figures.seconds(f"MSFaiR, 1,000 steps of its 16 points, {on}", sixteen)
    figures.other(
        f"a step: MSFaiR's 16 points against SoFaiR, {on}",
        sixteen / once,
        "ratio",
        limit=POINTS_LIMIT,
    )
    figures.seconds(
        f"MSFaiR, 16 points, 27,000 iterations, extrapolated, {on}",
        27 * sixteen,
        limit=MSFAIR_LIMIT,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", type=Path, default=None)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    data = load_real_adults(given.data_root)
    train_role = data.roles[Role.ENCODER_TRAIN]
    rows = TrainingRows(train_role.x, train_role.s, data.info)
    with Figures("engine") as figures:
        on = f"{given.threads} threads" if given.threads > 1 else "one thread"
        compare_stack(rows, figures, on)
        compare_msfair(rows, figures, on)
    return figures.failed


if __name__ == "__main__":
    sys.exit(main())
