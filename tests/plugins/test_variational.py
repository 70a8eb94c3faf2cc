"""The prices that variational methods put on z, against their definitions."""

import math

import numpy as np
import pytest
import torch

from fairbench.api import FitContext, Point, Role, TrainingRows, Unit
from fairbench.data.prepared import Prepared
from fairbench.training.model import onehot
from fairbench_plugins.variational import CVIB, FCRL, VFAE, BetaVAE
from fairbench_plugins.variational.model import (
    conditional_info_nce,
    group_discrepancy,
    mean_pairwise_divergence,
    rate,
)


def test_rate_is_the_divergence_from_the_prior() -> None:
    mean, log_variance = torch.randn(2, 5, 3), torch.randn(2, 5, 3)
    q = torch.distributions.Normal(mean, (0.5 * log_variance).exp())
    prior = torch.distributions.Normal(torch.zeros(3), torch.ones(3))
    expected = torch.distributions.kl_divergence(q, prior).sum(-1).mean(-1)
    torch.testing.assert_close(rate(mean, log_variance), expected)


def test_pairwise_divergence_is_the_mean_over_all_other_pairs() -> None:
    mean, log_variance = 3 + torch.randn(2, 7, 3), torch.randn(2, 7, 3)
    total = torch.zeros(2)
    for i in range(7):
        for j in range(7):
            pair = [
                torch.distributions.Normal(mean[:, k], (0.5 * log_variance[:, k]).exp())
                for k in (i, j)
            ]
            total += torch.distributions.kl_divergence(*pair).sum(-1)
    torch.testing.assert_close(mean_pairwise_divergence(mean, log_variance), total / (7 * 6))


def test_discrepancy_is_zero_on_average_where_groups_agree_and_positive_where_not() -> None:
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(400, 60, 2, generator=generator)
    s = onehot(torch.randint(0, 4, (400, 60), generator=generator), 4)
    shares = torch.full((400, 4), 0.25)
    agree = group_discrepancy(z, s, shares)
    assert abs(float(agree.mean())) < 4 * float(agree.std()) / math.sqrt(400)
    apart = group_discrepancy(z + s[..., :2], s, shares)
    assert float(apart.mean()) > 20 * abs(float(agree.mean()))


def test_discrepancy_matches_its_definition_without_pairs_of_a_row_with_itself() -> None:
    z = torch.randn(1, 9, 2)
    s = torch.tensor([0, 0, 0, 1, 1, 1, 1, 2, 2])
    shares = torch.tensor([0.3, 0.5, 0.2])
    kernel = torch.exp(-torch.cdist(z[0], z[0]).square() / 2)
    terms = []
    for i in range(9):
        others = [j for j in range(9) if j != i]
        mates = [j for j in others if s[j] == s[i]]
        share = shares[s[i]]
        counts_for = (1 - share) / (1 - (1 - share) ** 8 - share)
        terms.append(counts_for * (kernel[i, mates].mean() - kernel[i, others].mean()))
    expected = torch.stack(terms).mean()
    found = group_discrepancy(z, onehot(s, 3)[None], shares[None])[0]
    torch.testing.assert_close(found, expected)
    constant = group_discrepancy(torch.ones(1, 9, 2), onehot(s, 3)[None], shares[None])
    assert abs(float(constant)) < 1e-6


@pytest.mark.parametrize(
    ("share", "rows"),
    [(0.003, 16), (0.01, 16), pytest.param(0.01, 128, marks=pytest.mark.thorough), (0.3, 16)],
)
def test_discrepancy_of_a_rare_group_is_right_on_average(share: float, rows: int) -> None:
    """A rare group at a point, the other one around it: most batches have no two of its rows."""
    generator = torch.Generator().manual_seed(0)
    total, count = torch.zeros(0), 640_000 // rows
    for _ in range(4):
        s = (torch.rand(count // 4, rows, generator=generator) < share).long()
        z = 3 * torch.randn(count // 4, rows, 1, generator=generator) * (s == 0).unsqueeze(-1)
        shares = torch.tensor([1 - share, share]).expand(count // 4, 2)
        total = torch.cat([total, group_discrepancy(z, onehot(s, 2), shares)])
    # E exp(-(u - v)^2) of two normal u and v of variance 9, and of one of them and 0.
    own, between = 1 / math.sqrt(1 + 4 * 9), 1 / math.sqrt(1 + 2 * 9)
    known = share * (1 - share) * (own + 1 - 2 * between)
    error = float(total.std()) / math.sqrt(len(total))
    assert abs(float(total.mean()) - known) < 4 * error
    assert error < 0.2 * known


def test_a_group_of_one_row_does_no_harm() -> None:
    z, s = torch.randn(1, 5, 2), torch.tensor([[0, 0, 1, 1, 2]])
    shares = torch.tensor([[0.4, 0.4, 0.2]])
    assert bool(group_discrepancy(z, onehot(s, 3), shares).isfinite().all())


def test_info_nce_tells_rows_apart_within_their_group_alone() -> None:
    s = torch.tensor([[0, 0, 0, 0, 1, 1]])
    known = conditional_info_nce(100.0 * torch.eye(6)[None], s)
    torch.testing.assert_close(known[0], torch.tensor((4 * math.log(4) + 2 * math.log(2)) / 6))
    by_group = 100.0 * (s[0, :, None] == s[0, None, :]).float()[None]
    torch.testing.assert_close(conditional_info_nce(by_group, s)[0], torch.tensor(0.0))


@pytest.mark.thorough
def test_a_draw_is_mean_plus_noise_and_costs_its_rate(prepared: Prepared) -> None:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, prepared.info)
    method = BetaVAE(BetaVAE.Params(hidden=(16,), latent=2))
    units = [Unit(0, Point.of(beta=b)) for b in (0.05, 1.0)]
    loose, tight = method.fit(train, units, FitContext(iterations=1500))
    rates = [fitted.rate(rows.x) for fitted in (loose, tight)]  # type: ignore[union-attr]
    assert rates[0] > rates[1] > 0
    draws = [
        loose.encode(rows.x[:1].repeat(4000, 0), generator=np.random.default_rng(i))  # type: ignore[union-attr]
        for i in (0, 1)
    ]
    np.testing.assert_allclose(draws[0].mean(0), draws[1].mean(0), atol=0.1)
    assert draws[0].std() > 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("method", "free", "dear"),
    [
        (CVIB, {"beta": 0.01, "lambda_": 0.0}, {"beta": 0.01, "lambda_": 1.0}),
        (VFAE, {"gamma": 0.0}, {"gamma": 300.0}),
    ],
)
def test_a_higher_price_separates_groups_less(
    method: type, free: dict, dear: dict, prepared: Prepared
) -> None:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, prepared.info)
    params = method.Params(hidden=(32,), latent=2)
    units = [Unit(0, Point.of(**free)), Unit(0, Point.of(**dear))]
    gaps = []
    for fitted in method(params).fit(train, units, FitContext(iterations=1200)):
        z = fitted.encode(rows.x, generator=np.random.default_rng(0))
        gaps.append(np.abs((z[rows.s == 1].mean(0) - z[rows.s == 0].mean(0)) / z.std(0)).max())
    assert gaps[1] < 0.6 * gaps[0]


@pytest.mark.parametrize(("method", "few"), [(BetaVAE, 21), (VFAE, 10), (FCRL, 10)])
def test_the_papers_grid_is_a_setting_and_the_default_goes_on_from_it(
    method: type[BetaVAE] | type[VFAE] | type[FCRL], few: int
) -> None:
    paper = method(method.Params(grid="paper")).points()
    assert len(paper) == few
    assert method().points()[:few] == paper
    knob = method.knobs[0]
    assert method().points()[-1][knob.name] == knob.high > paper[-1][knob.name]
