"""FNF: flows invert, densities are densities, and groups meet where gamma asks for it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from torch.utils.flop_counter import FlopCounterMode

from fairbench.api import FitContext, Point, Representation, Role, TrainingRows, Unit
from fairbench.data.prepared import Prepared
from fairbench.testing.sample_data import sample_data
from fairbench.training.model import Batch, onehot
from fairbench.training.streams import Streams
from fairbench_plugins.fnf import FNF, FNFParams, column_values, noise_widths
from fairbench_plugins.fnf.density import Density
from fairbench_plugins.fnf.flow import Flow
from fairbench_plugins.fnf.model import FlowModel


def generators(count: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(i) for i in range(count)]


def disturbed(module: torch.nn.Module) -> torch.nn.Module:
    """Parameters anywhere but at their start, where a flow is the identity."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return module.double()


def model(groups: int = 2, gammas: tuple[float, ...] = (0.5,)) -> FlowModel:
    params = FNFParams(couplings=2, coupling_hidden=(8,), density_hidden=(16,))
    widths = np.full(3, 0.1, np.float32)
    any_value = np.full((3, 4), np.inf, np.float32)
    return FlowModel(params, widths, any_value, groups, gammas, Streams(list(range(len(gammas)))))


@pytest.mark.parametrize("columns", [2, 5])
def test_a_flow_is_inverted_and_its_determinants_cancel(columns: int) -> None:
    flow = disturbed(Flow(generators(2), 3, columns, 4, (8,)))
    x = torch.randn(2, 3, 11, columns, dtype=torch.float64)
    z, forward = flow(x)
    assert (z - x).abs().mean() > 0.1
    back, inverse = flow.inverse(z)
    torch.testing.assert_close(back, x)
    torch.testing.assert_close(forward, -inverse)


def test_its_determinant_is_that_of_the_jacobian() -> None:
    flow = disturbed(Flow(generators(1), 1, 4, 3, (8,)))
    x = torch.randn(4, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda row: flow(row.view(1, 1, 1, 4))[0], x)
    _, log_determinant = flow(x.view(1, 1, 1, 4))
    expected = torch.linalg.slogdet(jacobian.view(4, 4)).logabsdet
    torch.testing.assert_close(log_determinant.squeeze(), expected)


def test_a_flow_starts_as_the_identity() -> None:
    x = torch.randn(1, 2, 5, 3)
    z, log_determinant = Flow(generators(1), 2, 3, 4, (8,))(x)
    torch.testing.assert_close(z, x)
    assert not log_determinant.any()


def test_densities_of_each_group_integrate_to_one() -> None:
    density = disturbed(Density(generators(1), 2, 2, (16,), 3))
    axis = torch.linspace(-40, 40, 401, dtype=torch.float64)
    step = float(axis[1] - axis[0])
    grid = torch.cartesian_prod(axis, axis)[None]
    for group in (0, 1):
        s = torch.full((1, len(grid[0])), group)
        with torch.no_grad():
            mass = density(grid, onehot(s, 2).double()).exp().sum() * step**2
        assert float(mass) == pytest.approx(1, abs=0.01)


def test_a_column_sees_s_and_those_before_it_alone() -> None:
    density = Density(generators(1), 2, 4, (32, 16), 3)
    paths = torch.eye(6)
    for layer in range(len(density.weights)):
        paths = paths @ getattr(density, f"mask{layer}")[0]
    seen = paths.view(6, 3, 3, 4).sum((1, 2)) > 0  # inputs by columns of the output
    assert seen[:2].all()
    torch.testing.assert_close(seen[2:], torch.ones(4, 4).triu(1) > 0)


def test_of_two_groups_the_divergence_is_the_papers() -> None:
    flows = model()
    s = torch.randint(0, 2, (1, 30), generator=torch.Generator().manual_seed(1))
    log_p = torch.randn(1, 2, 30)
    ratio = log_p[0, 0] - log_p[0, 1]
    expected = ratio[s[0] == 0].mean() - ratio[s[0] == 1].mean()
    got = flows.divergence(log_p, onehot(s, 2))
    torch.testing.assert_close(got[0], expected)


def test_equal_densities_diverge_by_nothing_with_any_number_of_groups() -> None:
    flows = model(groups=4)
    s = torch.arange(40).remainder(4)[None]
    log_p = torch.randn(1, 1, 40).expand(1, 4, 40)
    assert float(flows.divergence(log_p, onehot(s, 4)).abs().max()) < 1e-6


def test_the_decoder_undoes_the_flow_of_the_group() -> None:
    flows = model()
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in flows.flow.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    x = torch.randn(1, 9, 3)
    s = torch.arange(9).remainder(2)[None]
    with torch.no_grad():
        z = flows.move(x, s)
    torch.testing.assert_close(flows.decode(z, onehot(s, 2), None), x, atol=1e-4, rtol=1e-4)
    with torch.no_grad():
        other = flows.decode(z, onehot(1 - s, 2), None)
    assert float((other - x).abs().mean()) > 0.05


def test_noise_is_as_wide_as_the_smallest_step() -> None:
    x = np.array([[0.0, 0.0, 1.0], [0.5, 0.01, 1.0], [2.0, 0.02, 1.0]], np.float32)
    np.testing.assert_allclose(noise_widths(x), [0.5, 0.1, 0.1])


def test_decoded_rows_have_values_of_the_training_set() -> None:
    flows = model()
    flows.values[:] = torch.tensor([[-1.0, 0.0, 2.0, torch.inf]] * 2 + [[torch.inf] * 4])
    x = torch.tensor([[[-7.0, 0.9, 0.123], [1.1, 9.0, -4.5]]])
    z = flows.move(x, torch.zeros(1, 2, dtype=torch.int64))
    decoded = flows.decode(z, onehot(torch.zeros(1, 2, dtype=torch.int64), 2), None)
    expected = torch.tensor([[[-1.0, 0.0, 0.123], [2.0, 2.0, -4.5]]])
    torch.testing.assert_close(decoded, expected)


def test_columns_of_many_values_are_not_rounded() -> None:
    x = np.stack([np.arange(300) % 2, np.arange(300)], axis=1).astype(np.float32)
    values = column_values(x)
    np.testing.assert_array_equal(values[0, :3], [0, 1, np.inf])
    assert np.isinf(values[1]).all()


@pytest.mark.thorough
def test_codes_of_columns_with_few_values_do_not_tell_the_group() -> None:
    """Without the noise, a tree tells the groups' codes apart to the last row."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 4000)
    x = np.stack([rng.binomial(3, 0.4 + 0.2 * s), rng.binomial(1, 0.3 + 0.3 * s)], axis=1)
    x = ((x - x.mean(0)) / x.std(0)).astype(np.float32)
    info = sample_data().info
    info = replace(info, features=info.features[:2])
    params = FNFParams(couplings=4, coupling_hidden=(32,), density_hidden=(32,))
    unit = Unit(0, Point.of(gamma=0.85))
    (fitted,) = FNF(params).fit(TrainingRows(x, s, info), [unit], FitContext(1000))
    assert isinstance(fitted, Representation)
    z = fitted.encode(x, s=s, generator=rng)
    tree = HistGradientBoostingClassifier(random_state=0).fit(z[:2000], s[:2000])
    assert np.log(2) - log_loss(s[2000:], tree.predict_proba(z[2000:])) < 0.05
    np.testing.assert_allclose(fitted.decode(z, s), x, atol=1e-6)


@pytest.mark.thorough
def test_more_weight_brings_the_groups_together(prepared: Prepared) -> None:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    params = FNFParams(couplings=2, coupling_hidden=(16,), density_hidden=(32,))
    units = [Unit(0, Point.of(gamma=gamma)) for gamma in (0.0, 0.95)]
    train = TrainingRows(rows.x, rows.s, prepared.info)
    apart = []
    for fitted in FNF(params).fit(train, units, FitContext(400)):
        assert isinstance(fitted, Representation)
        z = fitted.encode(rows.x, s=rows.s, generator=np.random.default_rng(0))
        apart.append(abs(z[rows.s == 1].mean(0) - z[rows.s == 0].mean(0)).max())
        back = fitted.decode(z, rows.s)
        # But for the noise in columns of many values.
        np.testing.assert_allclose(back, rows.x, atol=0.051)
    assert apart[0] > 0.6
    assert apart[1] < apart[0] / 3


@pytest.mark.parametrize("groups", [2, 5])
def test_operations_are_about_those_that_pytorch_counts(groups: int) -> None:
    stack, rows = model(groups), 64
    s = torch.arange(rows)[None] % groups
    x = torch.randn(1, rows, len(stack.widths[0]))
    batch = Batch(x, s, onehot(s, groups), 1.0, Streams([0]))
    with FlopCounterMode(display=False) as counter:
        stack.eval().losses(batch)
    assert 2 * rows * stack.multiply_adds() == pytest.approx(counter.get_total_flops(), rel=0.2)
