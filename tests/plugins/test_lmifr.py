"""L-MIFR: limits are kept, and cost nothing where they are far."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from fairbench.api import Curve, FitContext, Point, Role, TrainingRows, Unit
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared
from fairbench.training.model import Batch, onehot
from fairbench.training.networks import Networks
from fairbench.training.representation import NeuralRepresentation
from fairbench.training.steps import players_of, set_gradients
from fairbench.training.streams import Streams
from fairbench_datasets.adults import AdultsGender
from fairbench_plugins.lmifr import LMIFR, LMIFRParams, LMIFRSingleShot
from fairbench_plugins.lmifr.model import LMIFRModel
from fairbench_plugins.lmifr.single_shot import NODES, LMIFRCurveModel
from tests.support.small_table import make_table

EPSILONS = (0.02, 0.05, 2.0)


@dataclass(frozen=True)
class Trained:
    """A model for each epsilon; ``highest``: their multipliers, the highest of the training."""

    rate_limit: float  # as a multiple of epsilon
    models: list[NeuralRepresentation]
    highest: torch.Tensor  # (models, 2)


@pytest.fixture(scope="module", params=[5.0, pytest.param(2000.0, marks=pytest.mark.slow)])
def trained(request: pytest.FixtureRequest, prepared: Prepared) -> Trained:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, prepared.info)
    method = LMIFR(LMIFRParams(hidden=(32,), latent=2, rate_limit=request.param, dual_rate=0.02))
    units = [Unit(0, Point.of(epsilon=epsilon)) for epsilon in EPSILONS]
    highest = torch.zeros(len(units), 2)
    ascend = LMIFRModel.ascend

    def watched(model: LMIFRModel, exceeded: torch.Tensor) -> None:
        ascend(model, exceeded)
        torch.maximum(highest, model.multipliers, out=highest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LMIFRModel, "ascend", watched)
        fitted = method.fit(train, units, FitContext(iterations=900))
    models = [one for one in fitted if isinstance(one, NeuralRepresentation)]
    return Trained(request.param, models, highest)


def constraints(fitted: NeuralRepresentation, data: Prepared) -> tuple[float, float]:
    """C1 and C2 on the training set, nats; their definitions, apart from the model's code."""
    rows = data.roles[Role.ENCODER_TRAIN]
    mean, log_variance = fitted.model.gaussian(torch.tensor(rows.x)[None])
    q = torch.distributions.Normal(mean, (0.5 * log_variance).exp())
    prior = torch.distributions.Normal(torch.zeros(mean.shape[-1]), 1.0)
    rate = torch.distributions.kl_divergence(q, prior).sum(-1).mean()
    z = fitted.encode(rows.x, generator=np.random.default_rng(0))
    with torch.no_grad():
        log_c = torch.log_softmax(fitted.model.adversary(torch.tensor(z)[None]), -1)[0].numpy()
    shares = np.bincount(rows.s) / len(rows.s)
    own = log_c[np.arange(len(rows.s)), rows.s]
    return float(rate.detach()), float((own - np.log(shares[rows.s])).mean())


@pytest.mark.thorough
def test_limits_are_kept_at_the_end_of_a_training(trained: Trained, prepared: Prepared) -> None:
    """Whichever of the two is the tight one."""
    rates, rate_limit = [], trained.rate_limit
    for epsilon, fitted in zip(EPSILONS, trained.models, strict=True):
        rate, leak = constraints(fitted, prepared)
        assert rate < 1.05 * rate_limit * epsilon + 0.02
        assert leak < epsilon + 0.01
        rates.append(rate)
    assert rates == sorted(rates)


@pytest.mark.thorough
def test_a_multiplier_is_zero_where_its_limit_is_far(trained: Trained) -> None:
    """It rises where its limit is exceeded and falls again: its highest value is looked at."""
    rate_limit, (by_rate, by_leak) = trained.rate_limit, trained.highest[0].tolist()
    assert (by_rate > 0.1) == (rate_limit == 5.0)
    assert (by_leak > 0.1) == (rate_limit == 2000.0)
    loose = trained.models[-1]
    assert loose.model.multipliers[0, 1] == 0
    assert rate_limit == 5.0 or loose.model.multipliers[0, 0] == 0


def model_and_batch(groups: int = 3) -> tuple[LMIFRModel, Batch]:
    streams = Streams([0, 0])
    model = LMIFRModel(LMIFRParams(), Networks(4, (16,), 3), groups, [0.1, 0.1], streams)
    x = torch.randn(1, 512, 4, generator=torch.Generator().manual_seed(1)).expand(2, -1, -1)
    s = (x[..., 0] * groups).abs().long() % groups
    return model, Batch(x, s, onehot(s, groups), 0.0, streams)


def test_the_adversarys_gradient_does_not_depend_on_the_multipliers() -> None:
    model, batch = model_and_batch()
    model.multipliers.copy_(torch.tensor([[0.0, 0.0], [3.0, 5.0]]))
    players = players_of(model)
    set_gradients(model.losses(batch), players)
    for p in players["adversary"]:
        assert p.grad is not None
        torch.testing.assert_close(p.grad[0], p.grad[1])
    gradients = [p.grad for p in players["model"] if p.grad is not None]
    assert not all(torch.allclose(g[0], g[1]) for g in gradients)


def test_multipliers_move_in_training_alone() -> None:
    model, batch = model_and_batch()
    model.epsilon.fill_(1e9)
    model.rate_limit = 1e-18
    model.multipliers.fill_(0.5)
    model.eval()
    model.losses(batch)
    torch.testing.assert_close(model.multipliers, torch.full((2, 2), 0.5))
    model.train()
    model.losses(batch)
    model.lately[:, 0] = 1e9
    before = model.multipliers.clone()
    model.losses(batch)
    step = model.dual_rate  # a violation counts for 100 % at most
    expected = before[0] + torch.tensor([step, step * float(model.lately[0, 1])])
    torch.testing.assert_close(model.multipliers[0], expected)


def curve_model(epsilons: list[float]) -> LMIFRCurveModel:
    """Rows of several epsilon, of one model."""
    streams = Streams([0])
    low, high = epsilons[0], epsilons[-1]
    networks = Networks(4, (16,), 3)
    model = LMIFRCurveModel(LMIFRParams(), networks, 2, [low], streams, low=low, high=high)
    model.epsilon = torch.tensor(epsilons)
    return model


def test_multipliers_of_a_curve_are_linear_in_the_logarithm_of_epsilon() -> None:
    model = curve_model([0.01, 0.1, 1.0])
    model.multipliers.copy_(torch.arange(NODES)[None, :, None].expand(1, -1, 2))
    expected = torch.tensor([0.0, (NODES - 1) / 2, NODES - 1.0])
    torch.testing.assert_close(model.prices()[:, 0], expected)


def test_a_violation_raises_the_multipliers_of_the_epsilon_that_has_it() -> None:
    model = curve_model([0.01, 0.1, 1.0])
    for _ in range(50):
        model.ascend(torch.tensor([[0.5, -0.5], [-0.5, -0.5], [-0.5, 0.5]]))
    prices = model.prices()
    assert prices[0, 0] > 0.05
    assert prices[2, 1] > 0.05
    assert float(prices.sum()) == pytest.approx(float(prices[0, 0] + prices[2, 1]), abs=1e-6)


@pytest.mark.thorough
def test_one_model_of_all_epsilon_keeps_their_limits(prepared: Prepared) -> None:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, prepared.info)
    params = LMIFRParams(hidden=(32,), latent=2, rate_limit=2000.0, dual_rate=0.02)
    method = LMIFRSingleShot(params)
    (curve,) = method.fit(train, [Unit(0, None)], FitContext(iterations=900))
    assert isinstance(curve, Curve)
    leaks = []
    for epsilon in (0.01, 0.05, 0.5):
        one = curve.at(Point.of(epsilon=epsilon))
        z = one.encode(rows.x, generator=np.random.default_rng(0))
        leaks.append(read_linearly(z, rows.s))
    assert leaks[0] < 0.03, leaks
    assert leaks[0] < leaks[1] < leaks[2], leaks


def read_linearly(z: np.ndarray, s: np.ndarray) -> float:
    """I(Z;S) as logistic regression reads it, nats."""
    told = LogisticRegression().fit(z, s).predict_proba(z)
    prior = np.bincount(s) / len(s)
    return float(np.log(told / prior)[np.arange(len(z)), s].mean())


@pytest.mark.parametrize("groups", [2, 5])
def test_the_second_constraint_is_the_information_that_the_adversary_has(groups: int) -> None:
    model, batch = model_and_batch(groups)
    model.seen.copy_(batch.s_onehot.sum(1))
    with torch.no_grad():
        for parameter in model.adversary.parameters():
            parameter.zero_()
        model.adversary.layers[-1].bias.copy_(model.seen.log().unsqueeze(1))
    mean, log_variance = model.gaussian(batch.x)
    log_c = torch.log_softmax(model.adversary(mean), -1)
    cross_entropy = -(batch.s_onehot * log_c).sum(-1).mean(-1)
    found = model._constraints(mean, log_variance, cross_entropy, batch.s_onehot)[:, 1]
    torch.testing.assert_close(found, torch.zeros(2), atol=1e-5, rtol=0)  # predicts the shares
    perfect = model._constraints(mean, log_variance, torch.zeros(2), batch.s_onehot)[:, 1]
    shares = model.seen[0] / model.seen[0].sum()
    torch.testing.assert_close(perfect[0], -(shares * shares.log()).sum())


def test_ten_groups_of_which_one_is_nearly_empty() -> None:
    data = prepare(make_table(800, groups=10), AdultsGender, source="simulated", origin="test")
    rows = data.roles[Role.ENCODER_TRAIN]
    s = np.where(rows.s == 9, 8, rows.s)
    s[0] = 9
    method = LMIFR(LMIFRParams(hidden=(16,), latent=2))
    units = [Unit(0, point) for point in (method.points()[0], method.points()[-1])]
    fitted = method.fit(TrainingRows(rows.x, s, data.info), units, FitContext(iterations=60))
    for one in fitted:
        assert isinstance(one, NeuralRepresentation)
        assert np.isfinite(one.encode(rows.x, generator=np.random.default_rng(0))).all()


def test_points_go_from_loose_to_tight_limits() -> None:
    epsilons = [point["epsilon"] for point in LMIFR().points()]
    assert epsilons == sorted(epsilons, reverse=True)
