"""Penalties on dependence, against their definitions; what paying for them does."""

from itertools import permutations

import numpy as np
import pytest
import torch
from torch import Tensor

from fairbench.api import FitContext, Point, Role, TrainingRows, Unit
from fairbench.api.method import Diverged, Representation
from fairbench.data.prepared import Prepared
from fairbench.training.model import Batch, onehot
from fairbench.training.networks import Networks
from fairbench.training.steps import players_of, set_gradients
from fairbench.training.streams import Streams
from fairbench_plugins.penalties import (
    WEIGHTS,
    DependencePenalty,
    FairDisCo,
    FairDisCoParams,
    Penalty,
    PenaltyParams,
)
from fairbench_plugins.penalties.model import (
    FairDisCoModel,
    PenaltyModel,
    dependence,
    differences,
    distances,
    gaussian_kernels,
    overlaps,
    pairwise_discrepancy,
    squared_differences,
    standardised,
)

each_penalty = pytest.mark.parametrize("penalty", WEIGHTS)


def penalty_of(penalty: str, z: Tensor, s_onehot: Tensor) -> Tensor:
    code = standardised(z)
    if penalty == "sipm":
        groups = torch.arange(s_onehot.shape[-1])
        return squared_differences(torch.sigmoid(code[..., :1] - 0.2 * groups), s_onehot)
    if penalty == "distance-covariance":
        return dependence(-distances(code), s_onehot)
    if penalty == "fair-disco":
        return dependence(overlaps(z, torch.zeros_like(z)), s_onehot)
    kernel = gaussian_kernels(code, (0.5, 2.0))
    return (dependence if penalty == "hsic" else pairwise_discrepancy)(kernel, s_onehot)


def gaussian_rows(models: int, rows: int, groups: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(models, rows, 2, generator=generator)
    return z, onehot(torch.randint(0, groups, (models, rows), generator=generator), groups)


@pytest.mark.parametrize("groups", [2, 4])
@pytest.mark.parametrize("penalty", [*WEIGHTS, "fair-disco"])
def test_independent_codes_cost_nothing_on_average_and_dependent_ones_much(
    penalty: str, groups: int
) -> None:
    z, s = gaussian_rows(3000, 40, groups)
    agree = penalty_of(penalty, z, s)
    spread = float(agree.std()) / 3000**0.5
    assert abs(float(agree.mean())) < 4 * spread
    apart = penalty_of(penalty, z + s[..., :2], s)
    assert float(apart.mean()) > 50 * spread


@pytest.mark.parametrize("penalty", [*WEIGHTS, "fair-disco"])
def test_its_gradient_lowers_dependence(penalty: str) -> None:
    z, s = gaussian_rows(1, 200, 3)
    z = (z + s[..., :2]).requires_grad_()
    before = penalty_of(penalty, z, s).sum()
    (gradient,) = torch.autograd.grad(before, z)
    after = penalty_of(penalty, (z - 0.05 * gradient / gradient.norm()).detach(), s)
    assert float(after) < float(before.detach())


def test_dependence_is_the_mean_over_different_rows_of_its_definition() -> None:
    """HSIC = E[k l] + E[k] E[l] - 2 E[k(1,2) l(1,3)], over all ways to draw without repeats."""
    z, s = gaussian_rows(1, 7, 3)
    k = gaussian_kernels(z, (1.0,))[0].double()
    same = (s[0] @ s[0].T).double()
    first = [k[i, j] * same[i, j] for i, j in permutations(range(7), 2)]
    second = [k[i, j] * same[a, b] for i, j, a, b in permutations(range(7), 4)]
    third = [k[i, j] * same[i, a] for i, j, a in permutations(range(7), 3)]
    expected = sum(
        torch.stack(terms).mean() * f for terms, f in ((first, 1), (second, 1), (third, -2))
    )
    torch.testing.assert_close(dependence(k[None].float(), s)[0].double(), expected)


def test_dependence_of_a_nearly_constant_kernel_is_not_lost_in_rounding() -> None:
    """FairDisCo's codes near the prior: kernels near 1, the penalty times 1e5."""
    z, s = gaussian_rows(20, 256, 2)
    kernel = overlaps(0.1 * z, 0.1 * z)
    exact = dependence(kernel.double(), s.double())
    assert float((dependence(kernel, s) - exact).abs().max()) < 1e-8
    assert float((dependence(kernel + 1, s) - exact).abs().max()) < 1e-8


def test_distance_covariance_of_two_normal_groups_is_their_energy_distance() -> None:
    """2 p0^2 p1^2 (2 E|a - b| - E|a - a'| - E|b - b'|); in one dimension, far apart."""
    generator = torch.Generator().manual_seed(0)
    s = onehot((torch.rand(1, 4000, generator=generator) < 0.3).long(), 2)
    z = 100 * s[..., 1:] + torch.randn(1, 4000, 1, generator=generator)
    share = float(s[..., 1].mean())
    energy = 2 * 100 - 2 * 2 / np.pi**0.5
    expected = 2 * share**2 * (1 - share) ** 2 * energy
    measured = float(dependence(-distances(z), s))
    assert measured == pytest.approx(expected, rel=0.01)


def test_the_overlap_of_two_gaussians_is_the_integral_of_their_product() -> None:
    mean, log_variance = torch.randn(1, 2, 1), torch.randn(1, 2, 1)
    grid = torch.linspace(-30, 30, 200_001)
    q = [
        torch.distributions.Normal(mean[0, i, 0], (0.5 * log_variance[0, i, 0]).exp())
        .log_prob(grid)
        .exp()
        for i in (0, 1)
    ]
    integral = float(torch.trapezoid(q[0] * q[1], grid)) * (4 * np.pi) ** 0.5
    assert float(overlaps(mean, log_variance)[0, 0, 1]) == pytest.approx(integral, rel=1e-3)
    prior = torch.zeros(1, 2, 5)
    torch.testing.assert_close(overlaps(prior, prior), torch.ones(1, 2, 2))


@pytest.mark.parametrize("latent", [8, 24, 64])
def test_overlaps_are_finite_for_codes_of_any_width(latent: int) -> None:
    params = FairDisCoParams(latent=latent)
    model = FairDisCoModel(params, Networks(4, (8,), latent), 2, [1.0], Streams([0]))
    certain = torch.full((1, 6, latent), model.log_variances[0])
    kernel = overlaps(torch.zeros(1, 6, latent), certain)
    assert torch.isfinite(kernel).all()
    _, s_onehot = gaussian_rows(1, 6, 2)
    assert torch.isfinite(dependence(kernel, s_onehot)).all()


def test_the_gradient_of_overlaps_is_that_of_finite_differences() -> None:
    generator = torch.Generator().manual_seed(0)
    mean, log_variance = (
        torch.randn(2, 4, 3, generator=generator, dtype=torch.float64).requires_grad_()
        for _ in range(2)
    )
    assert torch.autograd.gradcheck(overlaps, (mean, log_variance))


def test_discrepancy_is_the_mean_over_pairs_of_groups() -> None:
    z, _ = gaussian_rows(1, 9, 3)
    s = torch.tensor([0, 0, 0, 1, 1, 1, 1, 2, 2])
    kernel = gaussian_kernels(z, (1.0,))
    rows = [np.flatnonzero(s == g) for g in range(3)]
    within = [np.mean([float(kernel[0, i, j]) for i in own for j in own if i != j]) for own in rows]
    pairs = [
        within[a] + within[b] - 2 * float(kernel[0][np.ix_(rows[a], rows[b])].mean())
        for a, b in ((0, 1), (0, 2), (1, 2))
    ]
    measured = float(pairwise_discrepancy(kernel, onehot(s, 3)[None]))
    assert measured == pytest.approx(np.mean(pairs), rel=1e-4)


@pytest.mark.parametrize("penalty", [*WEIGHTS, "fair-disco"])
def test_a_group_of_one_row_or_none_does_no_harm(penalty: str) -> None:
    z = torch.randn(1, 6, 2, requires_grad=True)
    s = onehot(torch.tensor([[0, 0, 0, 1, 1, 2]]), 4)
    cost = penalty_of(penalty, z, s)
    (gradient,) = torch.autograd.grad(cost.sum(), z)
    assert bool(cost.isfinite().all())
    assert bool(gradient.isfinite().all())


@each_penalty
def test_rows_drawn_twice_and_dead_dimensions_have_finite_gradients(penalty: str) -> None:
    z = torch.randn(1, 6, 2)
    z = torch.cat([z, z, torch.zeros(1, 2, 2)], dim=1) * torch.tensor([1.0, 0.0])
    z.requires_grad_()
    s = onehot(torch.arange(14)[None] % 2, 2)
    (gradient,) = torch.autograd.grad(penalty_of(penalty, z, s).sum(), z)
    assert bool(gradient.isfinite().all())


@each_penalty
def test_the_scale_of_a_code_does_not_change_the_price(penalty: str) -> None:
    z, s = gaussian_rows(1, 60, 2)
    z = z + s
    scaled = penalty_of(penalty, z * torch.tensor([0.05, 20.0]), s)
    torch.testing.assert_close(penalty_of(penalty, z, s), scaled, rtol=1e-3, atol=1e-6)


def test_the_neuron_finds_a_larger_difference_and_the_encoder_a_smaller_one() -> None:
    streams = Streams([0])
    model = PenaltyModel(
        PenaltyParams(penalty="sipm", latent=2), Networks(4, (16,), 2), 3, [1e4], streams
    )
    x = torch.randn(1, 256, 4, generator=torch.Generator().manual_seed(1))
    s = (x[..., 0] > 0).long() + (x[..., 0] > 1).long()
    batch = Batch(x, s, onehot(s, 3), 0.0, streams)

    def measure() -> float:
        u = torch.sigmoid(model.critic(standardised(model.encoder(x))))
        return float(differences(u, batch.s_onehot).detach())

    players = players_of(model)
    for _ in range(200):  # a neuron with an opinion
        set_gradients(model.losses(batch), players)
        before = measure()
        with torch.no_grad():
            for p in players["critic"]:
                assert p.grad is not None
                p -= 0.1 * p.grad
        assert measure() > before - 1e-6
    set_gradients(model.losses(batch), players)
    before = measure()
    with torch.no_grad():
        for p in players["model"]:
            assert p.grad is not None
            p -= 1e-5 * p.grad
    assert 0 < measure() < before


def gap(representation: object, data: Prepared) -> float:
    rows = data.roles[Role.ENCODER_TRAIN]
    assert isinstance(representation, Representation)
    z = representation.encode(rows.x, generator=np.random.default_rng(0))
    apart = np.abs(z[rows.s == 1].mean(0) - z[rows.s == 0].mean(0)) / z.std(0)
    return float(apart.max())


@pytest.mark.thorough
@pytest.mark.parametrize("penalty", [*WEIGHTS, "fair-disco"])
def test_a_higher_price_separates_groups_less(penalty: Penalty | str, prepared: Prepared) -> None:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, prepared.info)
    if penalty == "fair-disco":
        method: FairDisCo | DependencePenalty = FairDisCo(FairDisCoParams(hidden=(32,), latent=2))
        units = [Unit(0, Point.of(beta=beta)) for beta in (0.0, 1000.0)]
    else:
        method = DependencePenalty(
            PenaltyParams.model_validate({"penalty": penalty, "hidden": (32,), "latent": 2})
        )
        units = [Unit(0, Point.of(weight=weight)) for weight in (0.0, 3000.0)]
    free, dear = method.fit(train, units, FitContext(iterations=300))
    assert gap(dear, prepared) < 0.6 * gap(free, prepared)


def test_the_largest_beta_does_not_diverge(prepared: Prepared) -> None:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, prepared.info)
    method = FairDisCo(FairDisCoParams(hidden=(16,)))
    (fitted,) = method.fit(train, [Unit(0, method.points()[-1])], FitContext(iterations=200))
    assert not isinstance(fitted, Diverged)


@each_penalty
def test_points_are_of_the_penalty_and_within_the_knobs_range(penalty: Penalty) -> None:
    method = DependencePenalty(PenaltyParams(penalty=penalty))
    weights = [point["weight"] for point in method.points()]
    assert weights == sorted(weights)
    assert method.knobs[0].low == weights[0]
    assert weights[-1] <= method.knobs[0].high
