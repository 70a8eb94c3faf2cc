"""Training on images starts: the bits of SoFaiR tell images apart within a few hundred steps."""

import numpy as np
import pytest

from fairbench.api import Architecture, DatasetInfo, Unit
from fairbench.registry import load_registry
from fairbench.training import Networks, Streams
from fairbench.training.schedule import Schedule
from fairbench.training.trainer import train

SIDE, SPRITE = 32, 8
STEPS = 250


def squares(count: int) -> np.ndarray:
    """Images of one white square each, ``(count, SIDE^2)``, of 0 and 1."""
    rng = np.random.default_rng(0)
    images = np.zeros((count, SIDE, SIDE), np.uint8)
    corners = rng.integers(0, SIDE - SPRITE, (count, 2))
    for image, (row, column) in zip(images, corners, strict=True):
        image[row : row + SPRITE, column : column + SPRITE] = 1
    return images.reshape(count, -1)


@pytest.mark.slow
@pytest.mark.parametrize("code", ["bits", "resolution"])
@pytest.mark.parametrize("name", ["sofair", "sofair-nos", "msfair"])
def test_sprites_are_drawn_after_a_few_hundred_steps(name: str, code: str) -> None:
    x = squares(2000)
    s = np.arange(len(x)) % 2
    image, channels = (1, SIDE, SIDE), (8, 16, 16)
    networks = Networks(SIDE**2, (64,), 12, image=image, channels=channels)
    info = DatasetInfo("squares", (), ("a", "b"), Architecture(image=image, channels=channels))
    cls = load_registry().methods[name]
    method = cls(cls.Params(code=code))
    point = method.points()[0] if name == "msfair" else None
    streams = Streams([0])
    model = method.build([Unit(0, point)], info, networks, streams)
    reasons = train(
        model,
        x,
        s,
        groups=2,
        schedule=Schedule(STEPS, batch_size=64, learning_rate=2e-3),
        streams=streams,
        progress=lambda share, note: None,
    )
    assert reasons == [None]
    import torch

    from fairbench.training.model import onehot

    with torch.no_grad():
        images = torch.from_numpy(x[:500]).float()[None]
        knob = None if point is not None else torch.zeros(1, 500, 1)
        z = model.encode(images, knob, None)
        drawn = model.decode(z, onehot(torch.from_numpy(s[:500])[None], 2), knob)
        left = ((images - drawn) ** 2).sum(-1).mean().item()
    all_of_it = float(x.var(axis=0).sum())
    assert left < 0.5 * all_of_it
