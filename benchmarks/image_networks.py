"""What networks for images cost, and how well they draw after a time: D by seconds of training.

    python benchmarks/image_networks.py [--seconds 30 120] [--method msfair] [--only NAME ...]

Each way is trained as one model of a method at its informative end, on one thread and images of
DSprites-Unfair, for as many steps as fit into each time, with the whole schedule of rates. D is the
squared error of 2,000 other images, summed over pixels. Networks are that of the paper's Table 2,
narrower convolutions, and those of ``dsprites-unfair-small``. Products are the fastest of this CPU
(fairbench.training.layers), or in float32.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace

import numpy as np
import torch
from figures import Figures

from fairbench.api import Architecture, DatasetInfo, Ints, Shots, Unit
from fairbench.registry import load_registry
from fairbench.training import Networks, NeuralMethod, Streams
from fairbench.training.layers import fastest_products
from fairbench.training.model import StackedModel, onehot
from fairbench.training.schedule import Schedule
from fairbench.training.trainer import train
from fairbench_datasets.dsprites_unfair import DSpritesUnfair, DSpritesUnfairSmall
from fairbench_datasets.dsprites_unfair.render import FACTORS, render

IMAGES, TEST = 100_000, 2_000
TRIAL = 20
"""Steps from which the time of one is measured, beyond as many that pay for the start."""
PART = 100
"""Images encoded at once."""


@dataclass(frozen=True)
class Way:
    """A network and how it is trained; ``code`` is SoFaiR's hyperparameter."""

    network: Architecture
    batch_size: int = 128
    rate: float = 1e-3
    exact: bool = False  # products in float32
    code: str = "resolution"


PAPERS, SMALL = DSpritesUnfair.architecture, DSpritesUnfairSmall.architecture
WAYS = {
    "the paper's convolutions": Way(PAPERS),
    "the same in float32": Way(PAPERS, exact=True),
    "the same with a layer for bits": Way(PAPERS, code="bits"),
    "the same, 512 images a step at twice the rate": Way(PAPERS, batch_size=512, rate=2e-3),
    "half as many channels": Way(replace(PAPERS, channels=(16, 16, 32, 32))),
    "fully connected, 512 and 512": Way(SMALL),
    "fully connected in float32": Way(SMALL, exact=True),
    "fully connected, 512 images a step at twice the rate": Way(SMALL, batch_size=512, rate=2e-3),
}


def images() -> tuple[np.ndarray, Ints]:
    """Images and their quadrants; every factor is uniform."""
    rng = np.random.default_rng(0)
    latents = np.stack([rng.integers(0, n, IMAGES + TEST) for n in FACTORS.values()], axis=1)
    return render(latents).reshape(len(latents), -1), latents[:, 3] // 10


class Training:
    """One model of a method, trained one way."""

    def __init__(self, method: str, way: Way, x: np.ndarray, s: Ints) -> None:
        cls = load_registry().methods[method]
        self.way = way
        self.single = cls.shots is Shots.SINGLE
        takes_code = "code" in cls.Params.model_fields
        instance = cls(cls.Params(**({"code": way.code} if takes_code else {})))
        assert isinstance(instance, NeuralMethod)
        self.instance = instance
        self.unit = Unit(0, None if self.single else self.instance.points()[0])
        self.x, self.s = x, s
        self.networks = Networks(features=x.shape[1], **vars(way.network))
        self.info = DatasetInfo("images", (), tuple("1234"), way.network)

    def fit(self, steps: int) -> tuple[StackedModel, float]:
        """Train so many steps; the model, and seconds of the processor."""
        streams = Streams([0])
        model = self.instance.build([self.unit], self.info, self.networks, streams)
        start = time.process_time()
        train(
            model,
            self.x[:IMAGES],
            self.s[:IMAGES],
            groups=4,
            schedule=Schedule(steps, self.way.batch_size, self.way.rate),
            streams=streams,
            progress=lambda share, note: None,
            fast=not self.way.exact,
        )
        return model, time.process_time() - start

    def step_seconds(self) -> float:
        """Processor seconds of a step: least of three longer trainings, less that of shorter."""
        self.fit(TRIAL)  # warm up
        longer, shorter = [min(self.fit(n)[1] for _ in range(3)) for n in (2 * TRIAL, TRIAL)]
        return (longer - shorter) / TRIAL

    def distortion(self, model: StackedModel) -> float:
        total = 0.0
        for start in range(IMAGES, IMAGES + TEST, PART):
            rows = slice(start, start + PART)
            x = torch.from_numpy(self.x[rows]).float()[None]
            s = onehot(torch.from_numpy(self.s[rows])[None], 4)
            knob = torch.zeros(1, PART, 1) if self.single else None
            with torch.no_grad():
                drawn = model.decode(model.encode(x, knob, None), s, knob)
            assert drawn is not None
            total += float(((x - drawn) ** 2).sum())
        return total / TEST


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, nargs="+", default=[30.0, 120.0])
    parser.add_argument("--method", default="msfair")
    parser.add_argument("--only", nargs="+", choices=list(WAYS), default=list(WAYS))
    given = parser.parse_args()
    torch.set_num_threads(1)
    x, s = images()
    blind = ((x[IMAGES:] - x[:IMAGES].mean(axis=0)) ** 2).sum(axis=1).mean()
    fastest = str(fastest_products()).removeprefix("torch.")
    print(f"D of the mean image: {blind:.1f}; products in {fastest} unless it says otherwise")
    with Figures("image-networks") as figures:
        for name in given.only:
            training = Training(given.method, WAYS[name], x, s)
            step = training.step_seconds()
            title = f"`{given.method}` on images, {name}"
            figures.seconds(f"{title}: 1,000 images", 1000 * step / training.way.batch_size)
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
