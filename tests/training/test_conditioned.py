"""Single-shot twins: the method's own losses, at knobs that the networks see."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from fairbench.api import Architecture, DatasetInfo, Feature, FitContext, Point, TrainingRows, Unit
from fairbench.api.method import Curve
from fairbench.registry import load_registry
from fairbench.training.conditioned import KnobConditioned, KnobRange
from fairbench.training.model import Batch, onehot
from fairbench.training.streams import Streams

TWINS = ("beta-vae-ss", "cvib-ss", "vfae-ss", "fcrl-ss", "latfr-ss", "maxent-arl-ss", "l-mifr-ss")
INFO = DatasetInfo(
    "toy", tuple(Feature(f"x{i}", f"x{i}") for i in range(3)), ("a", "b"), Architecture((16,), 2)
)


def a_stack(name: str, seeds: Sequence[int] = (1, 2)) -> tuple[KnobConditioned, Streams]:
    method = load_registry().methods[name]()
    streams = Streams(seeds)
    units = [Unit(seed, None) for seed in seeds]
    model = method.build(units, INFO, method.networks(INFO), streams)
    assert isinstance(model, KnobConditioned)
    return model, streams


def a_batch(streams: Streams, rows: int = 32) -> Batch:
    generator = torch.Generator().manual_seed(0)
    models = len(streams.seeds)
    x = torch.randn(models, rows, 3, generator=generator)
    s = torch.randint(0, 2, (models, rows), generator=generator)
    return Batch(x, s, onehot(s, 2), 0.5, streams)


def test_places_and_knobs_are_inverse_and_even_in_the_logarithm() -> None:
    knob = KnobRange(0.1, 1000.0)
    place = torch.tensor([0.0, 0.25, 0.5, 1.0])
    assert knob.knob(place).tolist() == pytest.approx([0.1, 1.0, 10.0, 1000.0])
    torch.testing.assert_close(knob.place(knob.knob(place)), place)
    assert knob.place(torch.tensor([0.0, 1e9])).tolist() == [0, 1]


@pytest.mark.parametrize("name", TWINS)
def test_every_player_has_a_loss_and_all_its_parameters_learn_from_it(name: str) -> None:
    model, streams = a_stack(name)
    losses = model.losses(a_batch(streams))
    assert all(loss.shape == (2,) and torch.isfinite(loss).all() for loss in losses.values())
    assert {"model"} <= set(losses) <= {"model", *model.players}
    for player in model.players:
        loss = losses[player if player in losses else "model"]
        gradients = torch.autograd.grad(
            loss.sum(), list(getattr(model, player).parameters()), retain_graph=True
        )
        assert all(gradient.abs().sum() > 0 for gradient in gradients)


@pytest.mark.parametrize("name", TWINS)
def test_buffers_are_of_one_knob_a_model_again_after_a_step(name: str) -> None:
    model, streams = a_stack(name)
    model.losses(a_batch(streams))
    for buffer in model.factors:
        assert getattr(model.inner, buffer).shape == (2,)
    one = model.take(1)
    assert all(len(tensor) == 1 for tensor in one.state_dict().values())


@pytest.mark.parametrize("rows_per_knob", [1, 8, 32, 100])
def test_the_loss_is_that_of_the_method_at_the_knobs_drawn(rows_per_knob: int) -> None:
    """The encoder's gradient is of D - gamma CE with each row's gamma, the adversary's of CE."""
    model, streams = a_stack("latfr-ss")
    model.rows_per_knob = rows_per_knob
    batch = a_batch(streams)
    shared = min(rows_per_knob, 32)
    drawn = Streams(streams.seeds).uniform("knob", 1)
    knobs = 32 // shared
    place = (torch.arange(knobs) + drawn) / knobs  # (models, knobs)
    gamma = model.knob.knob(place).repeat_interleave(shared, dim=1)
    losses = model.losses(batch)
    z = model.encode(batch.x, gamma.unsqueeze(-1), None)
    x_hat = model.decode(z, batch.s_onehot, gamma.unsqueeze(-1))
    assert x_hat is not None
    log_c = torch.log_softmax(model.inner.adversary(z), dim=-1)  # type: ignore[operator]
    cross_entropy = -(batch.s_onehot * log_c).sum(-1)
    distortion = (x_hat - batch.x).square().sum(-1)
    expected = (distortion - gamma * cross_entropy).mean(1)
    for part, objective in (("encoder", expected), ("adversary", cross_entropy.mean(1))):
        own = list(getattr(model.inner, part).parameters())
        found = torch.autograd.grad(losses["model"].sum(), own, retain_graph=True)
        known = torch.autograd.grad(objective.sum(), own, retain_graph=True)
        for one, other in zip(found, known, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("rows", "used"), [(7, 7), (31, 31), (32, 32), (37, 36), (50, 48)])
def test_of_a_batch_hardly_a_row_is_left_out(rows: int, used: int) -> None:
    """Knobs have 16 rows or more each, all alike."""
    model, streams = a_stack("cvib-ss")
    batch = a_batch(streams, rows=rows)
    x = batch.x.clone().requires_grad_()
    losses = model.losses(replace(batch, x=x))
    losses["model"].sum().backward()
    assert x.grad is not None
    assert int((x.grad[0].abs().sum(1) > 0).sum()) == used


def test_more_of_the_knob_is_more_distortion_after_training() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(512, 3)).astype(np.float32)
    s = (x[:, 0] + 0.3 * rng.normal(size=512) > 0).astype(np.int64)
    method = load_registry().methods["beta-vae-ss"]()
    context = FitContext(
        iterations=400,
        device="cpu",
        progress=lambda *_: None,
        report=lambda *_: None,
        deadline=None,
    )
    unit = Unit(0, None)
    (curve,) = method.fit(TrainingRows(x, s, INFO), [unit], context)
    assert isinstance(curve, Curve)

    def distortion(curve: Curve, beta: float) -> float:
        one = curve.at(Point.of(beta=beta))
        x_hat = one.decode(one.encode(x, generator=np.random.default_rng(0)), s)
        assert x_hat is not None
        return float(((x_hat - x) ** 2).sum(axis=1).mean())

    found = [distortion(curve, beta) for beta in (0.01, 0.3, 8.0)]
    assert found[0] < found[1] < found[2]
    state = curve.state()
    assert state is not None
    restored = method.restore(state, unit, INFO)
    assert isinstance(restored, Curve)
    assert distortion(restored, 0.3) == pytest.approx(found[1])


def test_images_are_refused() -> None:
    method = load_registry().methods["latfr-ss"]()
    images = replace(INFO, architecture=Architecture((16,), 2, (1, 8, 8), (4,)))
    assert "single-shot twins take tables" in str(method.supports(images))
