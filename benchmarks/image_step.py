"""What a training step on images costs with and without keeping freed memory.

    python benchmarks/image_step.py

Two processes run the same convolutional autoencoder on one thread: one as jobs do
(fairbench.runs.executors.base.keep_freed_memory), one as glibc does by itself. Prints processor
seconds
in the program and in the system, page faults, and the ratio.
"""

from __future__ import annotations

import multiprocessing
import resource

from fairbench.runs.executors.base import keep_freed_memory
from fairbench.training.threads import use_one_thread

BATCH, STEPS = 512, 6


def measured(keep: bool, answers: multiprocessing.Queue[tuple[float, float, int]]) -> None:
    """User seconds, system seconds and page faults of a few steps."""
    use_one_thread()
    if keep:
        keep_freed_memory()
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(
        *(nn.Conv2d(1, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU()),
        *(nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 1, 4, 2, 1)),
    )
    x = torch.rand(BATCH, 1, 64, 64)

    def step() -> None:
        net.zero_grad()
        (net(x) - x).square().sum().backward()

    step()
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(STEPS):
        step()
    after = resource.getrusage(resource.RUSAGE_SELF)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    answers.put((user, system, after.ru_minflt - before.ru_minflt))


def main() -> None:
    context = multiprocessing.get_context("spawn")
    totals = []
    for keep in (False, True):
        answers = context.Queue()
        process = context.Process(target=measured, args=(keep, answers))
        process.start()
        user, system, faults = answers.get()
        process.join()
        totals.append(user + system)
        name = "kept" if keep else "given back"
        print(
            f"{name:10}  {user:5.2f} s in the program, {system:5.2f} s in the system, "
            f"{faults:,} page faults"
        )
    print(f"ratio {totals[1] / totals[0]:.2f}")


if __name__ == "__main__":
    main()
