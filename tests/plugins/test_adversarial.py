"""LATFR: signs of the game, and what its knob does."""

import numpy as np
import pytest
import torch

from fairbench.api import FitContext, Point, Representation, Role, TrainingRows, Unit
from fairbench.data.prepare import Prepared
from fairbench.training.model import Batch, onehot
from fairbench.training.streams import Streams
from fairbench.training.trainer import _players, _set_gradients
from fairbench_plugins.latfr import GAMMAS, Latfr, LatfrParams
from fairbench_plugins.latfr.model import LatfrModel


def test_the_papers_ten_points() -> None:
    assert [p["gamma"] for p in Latfr().points()] == list(GAMMAS)
    assert len(GAMMAS) == 10


@pytest.mark.parametrize("groups", [2, 5])
def test_the_encoder_raises_and_the_adversary_lowers_its_cross_entropy(groups: int) -> None:
    streams = Streams([0])
    model = LatfrModel(LatfrParams(), (4, 16, 3), groups, [50.0], streams)
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(1, 256, 4, generator=generator)
    s = (x[..., 0] * groups).abs().long() % groups
    batch = Batch(x, s, onehot(s, groups), 0.0, streams)
    players = _players(model)
    _set_gradients(model.losses(batch), players)
    before = float(model.losses(batch)["adversary"].detach())
    for name, sign in (("model", 1), ("adversary", -1)):
        with torch.no_grad():
            for p in players[name]:
                p -= 1e-4 * p.grad
            after = float(model.losses(batch)["adversary"])
            for p in players[name]:
                p += 1e-4 * p.grad
        assert sign * (after - before) > 0


def test_the_adversarys_gradient_does_not_depend_on_gamma() -> None:
    x = torch.randn(2, 64, 4, generator=torch.Generator().manual_seed(1))[:1].expand(2, -1, -1)
    s = (x[..., 0] > 0).long()
    streams = Streams([3, 3])
    model = LatfrModel(LatfrParams(), (4, 16, 3), 2, [0.1, 4.0], streams)
    players = _players(model)
    _set_gradients(model.losses(Batch(x, s, onehot(s, 2), 0.0, streams)), players)
    for p in players["adversary"]:
        assert p.grad is not None
        torch.testing.assert_close(p.grad[0], p.grad[1])


def test_a_larger_gamma_separates_groups_less(prepared: Prepared) -> None:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    method = Latfr(LatfrParams(hidden=(32,), latent=2))
    units = [Unit(0, Point.of(gamma=g)) for g in (0.0, 3.0)]
    train = TrainingRows(rows.x, rows.s, prepared.info)
    fitted = method.fit(train, units, FitContext(iterations=1200))
    gaps = []
    for representation in fitted:
        assert isinstance(representation, Representation)
        z = representation.encode(rows.x)
        gap = np.abs(z[rows.s == 1].mean(0) - z[rows.s == 0].mean(0)) / z.std(0)
        gaps.append(gap.max())
    assert gaps[1] < 0.6 * gaps[0]
