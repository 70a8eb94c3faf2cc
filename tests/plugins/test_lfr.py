"""LFR: assignments, the parity of their use, and what its weight does."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from fairbench.api import FitContext, Point, Representation, Role, TrainingRows, Unit
from fairbench.data.prepare import prepare
from fairbench.data.prepared import Prepared
from fairbench.training.model import Batch, onehot
from fairbench.training.networks import Networks
from fairbench.training.streams import Streams
from fairbench_datasets.adults import AdultsGender
from fairbench_plugins.lfr import LFR, LFRParams
from fairbench_plugins.lfr.model import LFRModel, parity_gap
from tests.support.small_table import make_table


def stack(weights: list[float], prototypes: int = 5) -> LFRModel:
    return LFRModel(Networks(4, (), prototypes), weights, Streams(list(range(len(weights)))))


def fit(data: Prepared, weights: list[float], seed: int = 0) -> list[Representation]:
    rows = data.roles[Role.ENCODER_TRAIN]
    method = LFR(LFRParams(latent=6))
    units = [Unit(seed, Point.of(parity=weight)) for weight in weights]
    fitted = method.fit(TrainingRows(rows.x, rows.s, data.info), units, FitContext(500))
    assert all(isinstance(one, Representation) for one in fitted)
    return fitted  # type: ignore[return-value]


def uses(fitted: Representation, data: Prepared) -> np.ndarray:
    """Mean assignments by group."""
    rows = data.roles[Role.ENCODER_TRAIN]
    z = fitted.encode(rows.x)
    return np.stack([z[rows.s == group].mean(0) for group in range(len(data.info.groups))])


def test_rows_are_assigned_by_their_weighted_distances() -> None:
    model = stack([0.0, 1.0])
    x = torch.randn(2, 7, 4)
    with torch.no_grad():
        model.log_alpha += torch.randn(2, 1, 4)
        assigned = model.encode(x, None, None)
    gaps = (x[:, :, None] - model.prototypes[:, None]).square()
    distances = (model.log_alpha.exp()[:, None] * gaps).sum(-1)
    torch.testing.assert_close(assigned, torch.softmax(-distances, dim=-1))
    torch.testing.assert_close(assigned.sum(-1), torch.ones(2, 7))
    decoded = model.decode(assigned, onehot(torch.zeros(2, 7).long(), 2), None)
    torch.testing.assert_close(decoded, torch.einsum("mnk,mkd->mnd", assigned, model.prototypes))


def test_of_two_groups_parity_is_the_papers() -> None:
    assigned = torch.softmax(torch.randn(3, 40, 5), dim=-1)
    s = torch.randint(0, 2, (3, 40))
    for model in range(3):
        means = [assigned[model][s[model] == group].mean(0) for group in (0, 1)]
        expected = (means[1] - means[0]).abs().sum()
        torch.testing.assert_close(parity_gap(assigned, onehot(s, 2))[model], expected)


def test_of_several_groups_each_is_compared_with_their_mean() -> None:
    assigned = torch.softmax(torch.randn(1, 60, 3), dim=-1)
    s = torch.arange(60)[None] % 4
    means = torch.stack([assigned[0][s[0] == group].mean(0) for group in range(4)])
    expected = (means - means.mean(0)).abs().sum()
    # A fifth group has no rows in this batch.
    torch.testing.assert_close(parity_gap(assigned, onehot(s, 5))[0], expected)
    alone = parity_gap(assigned, onehot(torch.zeros_like(s), 5))
    torch.testing.assert_close(alone, torch.zeros(1))


def test_the_loss_is_distortion_plus_weight_times_parity() -> None:
    streams = Streams([0, 1])
    model = stack([0.0, 7.0])
    x, s = torch.randn(2, 30, 4), torch.randint(0, 3, (2, 30))
    batch = Batch(x, s, onehot(s, 3), 0.0, streams)
    assigned = model.encode(x, None, None)
    distortion = (x - assigned @ model.prototypes).square().sum(-1).mean(-1)
    expected = distortion + torch.tensor([0.0, 7.0]) * parity_gap(assigned, batch.s_onehot)
    torch.testing.assert_close(model.losses(batch)["model"], expected)


@pytest.mark.parametrize("groups", [2, 5])
def test_at_the_fair_end_all_groups_use_prototypes_alike(groups: int) -> None:
    table = make_table(groups=groups)
    data = prepare(table, AdultsGender, source="simulated", origin="test")
    informative, fair = (uses(one, data) for one in fit(data, [0.0, 300.0]))
    assert np.abs(informative - informative.mean(0)).sum(1).max() > 0.1
    assert np.abs(fair - fair.mean(0)).sum(1).max() < 0.03


def test_assignments_sum_to_one_and_prototypes_reconstruct(prepared: Prepared) -> None:
    (fitted,) = fit(prepared, [0.0])
    x, s = prepared.roles[Role.TEST].x, prepared.roles[Role.TEST].s
    z = fitted.encode(x)
    assert z.shape == (len(x), 6)
    assert z.min() >= 0
    np.testing.assert_allclose(z.sum(1), 1, atol=1e-5)
    x_hat = fitted.decode(z, s)
    assert x_hat is not None
    assert ((x_hat - x) ** 2).sum(1).mean() < 0.5 * x.var(0).sum()
    np.testing.assert_array_equal(x_hat, fitted.decode(z, 1 - s))  # the authors' does not see s


def test_a_group_of_one_row_does_no_harm(prepared: Prepared) -> None:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    s = np.zeros_like(rows.s)
    s[0] = 1
    train = TrainingRows(rows.x, s, prepared.info)
    (fitted,) = LFR().fit(train, [Unit(0, Point.of(parity=10.0))], FitContext(50))
    assert isinstance(fitted, Representation)
    assert np.isfinite(fitted.encode(rows.x)).all()


@pytest.mark.thorough
def test_a_seed_decides_the_prototypes(prepared: Prepared) -> None:
    x = prepared.roles[Role.TEST].x
    first, again, other = (fit(prepared, [1.0], seed)[0].encode(x) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_operations_are_about_those_that_pytorch_counts() -> None:
    made = stack([1.0])
    x = torch.randn(1, 64, made.prototypes.shape[2])
    with FlopCounterMode(display=False) as counter:
        made.decode(made.encode(x, None, None), torch.empty(0), None)
    assert 2 * 64 * made.multiply_adds() == pytest.approx(counter.get_total_flops(), rel=0.2)
