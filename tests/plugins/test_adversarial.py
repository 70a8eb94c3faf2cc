"""LATFR and MaxEnt-ARL: signs of the game, and what their knobs do."""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier

from fairbench.api import FitContext, Point, Role, TrainingRows, Unit
from fairbench.api.method import Representation
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared
from fairbench.stats.scores import information
from fairbench.training.model import Batch, onehot, summed_squares
from fairbench.training.networks import Networks
from fairbench.training.representation import NeuralRepresentation
from fairbench.training.schedule import Schedule
from fairbench.training.steps import players_of, set_gradients
from fairbench.training.streams import Streams
from fairbench.training.trainer import train as train_stack
from fairbench_datasets.adults import AdultsGender
from fairbench_plugins.adversarial import AdversarialParams, Latfr, LatfrParams, MaxEntArl
from fairbench_plugins.adversarial.model import AdversarialModel


def model_and_batch(
    reward: Literal["cross-entropy", "entropy"],
    groups: int,
    weights: list[float],
    limit: float | None = None,
) -> tuple[AdversarialModel, Batch]:
    models = len(weights)
    streams = Streams([0] * models)
    networks = Networks(4, (16,), 3)
    params = AdversarialParams()
    model = AdversarialModel(params, networks, groups, reward, weights, streams, limit)
    x = torch.randn(1, 256, 4, generator=torch.Generator().manual_seed(1)).expand(models, -1, -1)
    s = (x[..., 0] * groups).abs().long() % groups
    with torch.no_grad():  # an adversary with an opinion: at first all predict nearly uniformly
        for parameter in model.adversary.parameters():
            parameter.mul_(3.0)
    return model, Batch(x, s, onehot(s, groups), 0.0, streams)


def adversary_entropy(model: AdversarialModel, batch: Batch) -> float:
    log_c = torch.log_softmax(model.adversary(model.encoder(batch.x)), dim=-1)
    return float(-(log_c.exp() * log_c).sum(-1).mean().detach())


def cross_entropies(model: AdversarialModel, batch: Batch) -> torch.Tensor:
    log_c = torch.log_softmax(model.adversary(model.encoder(batch.x)), dim=-1)
    return -(batch.s_onehot * log_c).sum(-1).mean(-1)


def adversary_cross_entropy(model: AdversarialModel, batch: Batch) -> float:
    return float(cross_entropies(model, batch).sum().detach())


def after_a_step(
    model: AdversarialModel,
    batch: Batch,
    player: str,
    measure: Callable[[AdversarialModel, Batch], float],
) -> float:
    """How a small step of one player changes a measure."""
    players = players_of(model)
    set_gradients(model.losses(batch), players)
    before = measure(model, batch)
    with torch.no_grad():
        for p in players[player]:
            assert p.grad is not None
            p -= 1e-4 * p.grad
    return measure(model, batch) - before


@pytest.mark.parametrize("groups", [2, 5])
def test_latfrs_encoder_raises_and_the_adversary_lowers_its_cross_entropy(groups: int) -> None:
    model, batch = model_and_batch("cross-entropy", groups, [50.0])
    assert after_a_step(model, batch, "model", adversary_cross_entropy) > 0
    model, batch = model_and_batch("cross-entropy", groups, [50.0])
    assert after_a_step(model, batch, "adversary", adversary_cross_entropy) < 0


@pytest.mark.parametrize("groups", [2, 5, 10])
def test_maxent_arls_encoder_raises_the_entropy_of_the_prediction(groups: int) -> None:
    """For binary and for multiclass s: published code lowers it for the latter."""
    model, batch = model_and_batch("entropy", groups, [50.0])
    assert after_a_step(model, batch, "model", adversary_entropy) > 0
    model, batch = model_and_batch("entropy", groups, [50.0])
    assert after_a_step(model, batch, "adversary", adversary_cross_entropy) < 0


@pytest.mark.parametrize("reward", ["cross-entropy", "entropy"])
def test_the_adversarys_gradient_does_not_depend_on_the_encoders_weight(
    reward: Literal["cross-entropy", "entropy"],
) -> None:
    model, batch = model_and_batch(reward, 2, [0.1, 4.0])
    players = players_of(model)
    set_gradients(model.losses(batch), players)
    for p in players["adversary"]:
        assert p.grad is not None
        torch.testing.assert_close(p.grad[0], p.grad[1])


@pytest.mark.thorough
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "point"), [(Latfr, Point.of(gamma=4.0)), (MaxEntArl, Point.of(alpha=50.0))]
)
def test_an_audit_finds_more_than_the_methods_own_adversary_believed(
    method: type[Latfr] | type[MaxEntArl], point: Point
) -> None:
    """The adversary is what the encoder learned to fool; a fresh classifier is not."""
    table = AdultsGender().simulate()
    data = prepare(table, AdultsGender, source="simulated", origin="test")
    rows, audit_rows, test = (
        data.roles[r] for r in (Role.ENCODER_TRAIN, Role.AUDITOR_TRAIN, Role.TEST)
    )
    train = TrainingRows(rows.x, rows.s, data.info)
    (fitted,) = method().fit(train, [Unit(0, point)], FitContext(iterations=1500))
    assert isinstance(fitted, NeuralRepresentation)
    z = fitted.encode(test.x)
    with torch.no_grad():
        logits = fitted.model.adversary(torch.from_numpy(z)[None])[0]
    believed = information(torch.softmax(logits, dim=1).numpy(), test.s)
    auditor = HistGradientBoostingClassifier().fit(fitted.encode(audit_rows.x), audit_rows.s)
    estimate = information(auditor.predict_proba(z), test.s)
    assert estimate > believed + 0.05


def test_the_encoder_rests_between_its_turns(prepared: Prepared) -> None:
    """With as many adversary steps as steps, encoder and decoder move once, the adversary always.

    So one step and many leave the same encoder, but not the same adversary.
    """
    rows = prepared.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, prepared.info)
    streams = Streams([0])
    params = LatfrParams(hidden=(8,), latent=2, adversary_steps=50, adversary_width=2)
    method = Latfr(params)
    model = method.build(
        [Unit(0, Point.of(gamma=1.0))], prepared.info, method.networks(prepared.info), streams
    )
    assert model.adversary.layers[0].weight.shape[-1] == 128
    before = {name: p.clone() for name, p in model.named_parameters()}
    moved = []
    for steps in (1, 50):
        model.load_state_dict(before, strict=False)
        train_stack(
            model,
            train.x,
            train.s,
            groups=2,
            schedule=Schedule(steps, batch_size=32),
            streams=Streams([0]),
            progress=lambda fraction, note: None,
        )
        moved.append({name: p.detach().clone() for name, p in model.named_parameters()})
    for name in before:
        same = torch.allclose(moved[0][name], moved[1][name], atol=1e-6)
        assert same != name.startswith("adversary"), name


def test_the_distortion_weight_scales_the_distortion_alone() -> None:
    model, batch = model_and_batch("cross-entropy", 2, [0.0, 3.0])
    one = model.losses(batch)["model"]
    model.distortion_weight = 2.0
    two = model.losses(batch)["model"]
    reward = model.weight * cross_entropies(model, batch)
    torch.testing.assert_close(two + reward, 2 * (one + reward))


def test_the_encoders_gradient_is_of_distortion_minus_gamma_times_the_cross_entropy() -> None:
    model, batch = model_and_batch("cross-entropy", 2, [0.5, 3.0])
    set_gradients(model.losses(batch), players_of(model))
    found = [p.grad for p in model.encoder.parameters()]
    value = model.losses(batch)["model"]
    z = model.encoder(batch.x)
    distortion = summed_squares(batch.x, model.decode(z, batch.s_onehot, None))
    objective = distortion - model.weight * cross_entropies(model, batch)
    # By the value, restarts are compared.
    torch.testing.assert_close(value, objective)
    expected = torch.autograd.grad(objective.sum(), list(model.encoder.parameters()))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_rows_beyond_the_limit_of_the_reward_pull_the_encoder_no_further() -> None:
    groups, gamma, limit = 4, 50.0, 1.0
    model, batch = model_and_batch("cross-entropy", groups, [gamma], limit)
    z = model.encoder(batch.x)
    log_c = torch.log_softmax(model.adversary(z), dim=-1)
    rows = -(batch.s_onehot * log_c).sum(-1)
    beyond = rows > limit * math.log(groups)
    assert 0.1 < beyond.float().mean() < 0.9
    rewarded = torch.where(beyond, rows.detach(), rows)
    distortion = summed_squares(batch.x, model.decode(z, batch.s_onehot, None))
    own = list(model.encoder.parameters())
    objective = (distortion - gamma * rewarded.mean(-1)).sum()
    expected = torch.autograd.grad(objective, own, retain_graph=True)
    lesson = torch.autograd.grad(rows.mean(), list(model.adversary.parameters()))
    losses = model.losses(batch)
    set_gradients(losses, players_of(model))
    for parameter, gradient in zip(own, expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-5)
    # The adversary learns from all rows all the same.
    for parameter, gradient in zip(model.adversary.parameters(), lesson, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-5)
    # So the objective has a lower bound, whatever the size of the codes.
    assert losses["model"].item() >= -gamma * limit * math.log(groups)


@pytest.mark.parametrize("method", [Latfr, MaxEntArl])
def test_the_papers_grid_is_a_setting_and_the_default_goes_on_from_it(
    method: type[Latfr] | type[MaxEntArl],
) -> None:
    paper = method(method.Params(grid="paper")).points()
    assert len(paper) == {"latfr": 10, "maxent-arl": 29}[method.name]
    assert method().points()[: len(paper)] == paper
    knob = method.knobs[0]
    assert method().points()[-1][knob.name] == knob.high > 10 * paper[-1][knob.name]
