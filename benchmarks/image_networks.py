"""What networks for images cost, and how well they draw after a time: D by seconds of training.

    python benchmarks/image_networks.py [--seconds 60 240] [--method msfair] [--only NAME ...]

Each network is trained as one model of a method at its informative end, on one thread and images of
DSprites-Unfair, for as many steps as fit into each time, with the whole schedule of rates. D is the
squared error of 2,000 other images, summed over pixels. Networks are that of the paper's Table 2,
narrower convolutions, and fully connected ones, among them that of ``dsprites-unfair-small``.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

import numpy as np
import torch
from figures import Figures

from fairbench.api import Architecture, DatasetInfo, Floats, Ints, Shots, Unit
from fairbench.registry import load_registry
from fairbench.training import Networks, Streams
from fairbench.training.model import StackedModel, onehot
from fairbench.training.trainer import train
from fairbench.training.watch import Schedule
from fairbench_datasets.dsprites_unfair import DSpritesUnfair, DSpritesUnfairSmall
from fairbench_datasets.dsprites_unfair.render import FACTORS, render

IMAGES, TEST = 100_000, 2_000
BATCH, RATE = 128, 1e-3
TRIAL = 20
"""Steps from which the time of one is measured."""


NETWORKS = {
    "the paper's convolutions": DSpritesUnfair.architecture,
    "half as many channels": replace(DSpritesUnfair.architecture, channels=(16, 16, 32, 32)),
    "fully connected, 512 and 512": DSpritesUnfairSmall.architecture,
    "fully connected, 1,024 and 512": replace(DSpritesUnfairSmall.architecture, hidden=(1024, 512)),
}


def images() -> tuple[Floats, Ints]:
    """Images and their quadrants; every factor is uniform."""
    rng = np.random.default_rng(0)
    latents = np.stack([rng.integers(0, n, IMAGES + TEST) for n in FACTORS.values()], axis=1)
    return render(latents).reshape(len(latents), -1), latents[:, 3] // 10


class Training:
    """One model of a method on one network."""

    def __init__(self, method: str, network: Architecture, x: Floats, s: Ints) -> None:
        cls = load_registry().methods[method]
        self.single = cls.shots is Shots.SINGLE
        instance = cls()
        self.unit = Unit(0, None if self.single else instance.points()[0])
        self.x, self.s = x, s
        self.networks = Networks(features=x.shape[1], **vars(network))
        self.info = DatasetInfo("images", (), tuple("1234"), network)
        self.build = instance.build

    def fit(self, steps: int) -> tuple[StackedModel, float]:
        """Train so many steps; the model, and seconds of the processor."""
        streams = Streams([0])
        model = self.build([self.unit], self.info, self.networks, streams)
        start = time.process_time()
        train(
            model,
            self.x[:IMAGES],
            self.s[:IMAGES],
            groups=4,
            schedule=Schedule(steps, batch_size=BATCH, learning_rate=RATE),
            streams=streams,
            progress=lambda share, note: None,
        )
        return model, time.process_time() - start

    def distortion(self, model: StackedModel) -> float:
        x = torch.from_numpy(self.x[IMAGES:]).float()[None]
        s = onehot(torch.from_numpy(self.s[IMAGES:])[None], 4)
        knob = torch.zeros(1, TEST, 1) if self.single else None
        with torch.no_grad():
            drawn = model.decode(model.encode(x, knob, None), s, knob)
        return float(((x - drawn) ** 2).sum(-1).mean())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, nargs="+", default=[60.0, 240.0])
    parser.add_argument("--method", default="msfair")
    parser.add_argument("--only", nargs="+", choices=list(NETWORKS), default=list(NETWORKS))
    given = parser.parse_args()
    torch.set_num_threads(1)
    x, s = images()
    blind = ((x[IMAGES:] - x[:IMAGES].mean(axis=0)) ** 2).sum(axis=1).mean()
    print(f"D of the mean image: {blind:.1f}")
    with Figures("image-networks") as figures:
        for name in given.only:
            training = Training(given.method, NETWORKS[name], x, s)
            training.fit(TRIAL)
            step = training.fit(TRIAL)[1] / TRIAL
            title = f"`{given.method}` on images, {name}"
            figures.seconds(f"{title}: 1,000 images", 1000 * step / BATCH)
            for seconds in given.seconds:
                steps = int(seconds / step)
                model, spent = training.fit(steps)
                figures.other(
                    f"{title}: D after {seconds:,.0f} s",
                    training.distortion(model),
                    "squared pixels",
                    note=f"{steps:,} steps, {spent:.0f} s",
                )
    return figures.failed


if __name__ == "__main__":
    sys.exit(main())
