"""What a training step on images costs with and without keeping freed memory.

    python benchmarks/image_step.py

Two processes run the same convolutional autoencoder on one thread: one keeps freed memory, as jobs
on images do (fairbench.training.freed_memory), one does as glibc does by itself. Measures
processor time in the program and in the system, page faults, and the ratio.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys

from fairbench.training.freed_memory import keep_freed_memory
from fairbench.training.threads import use_one_thread

BATCH, STEPS = 512, 6


def measure_steps(*, keep: bool) -> tuple[float, float, int]:
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
    return user, system, after.ru_minflt - before.ru_minflt


def main() -> int:
    if "--measure" in sys.argv:
        print(json.dumps(measure_steps(keep="--keep" in sys.argv)))
        return 0
    from figures import Figures  # loads torch, which what is measured loads by itself

    settings: dict[str, list[str]] = {
        "memory freed as by default": [],
        "freed memory kept": ["--keep"],
    }
    totals = []
    with Figures("image-step") as figures:
        for name, options in settings.items():
            answer = subprocess.run(
                [sys.executable, __file__, "--measure", *options],
                check=True,
                capture_output=True,
                text=True,
            )
            user, system, faults = json.loads(answer.stdout)
            totals.append(user + system)
            what = f"{STEPS} steps on {BATCH} images, {name}"
            figures.seconds(f"{what}: processor time in the program", user)
            figures.seconds(f"{what}: processor time in the system", system)
            figures.other(f"{what}: page faults", faults, "faults")
        what = "steps on images: processor time with freed memory kept, against the default"
        figures.other(what, totals[1] / totals[0], "ratio")
    return figures.failed


if __name__ == "__main__":
    sys.exit(main())
