"""SoFaiR: its bits nest, its entropy model is a code length, its gradients reach the mask."""

import math
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest
import torch

from fairbench.api import (
    Architecture,
    DatasetInfo,
    FitContext,
    Point,
    Role,
    TrainingRows,
    Unit,
)
from fairbench.api.method import Curve, Diverged, Method
from fairbench.data.prepared import Prepared
from fairbench.errors import ConfigError, PluginError
from fairbench.runs.curve_points import points_to_read
from fairbench.runs.hyperparameters import params_label, params_on, validate_params
from fairbench.training.model import Batch, onehot
from fairbench.training.networks import Networks
from fairbench.training.streams import Streams
from fairbench_plugins.sofair import (
    MSFaiR,
    Sofair,
    SofairAdv,
    SofairAdvParams,
    SofairMethod,
    SofairNOS,
    SofairParams,
)
from fairbench_plugins.sofair.entropy import LogisticMixtureEntropy
from fairbench_plugins.sofair.leakage import Adversary, AdversaryShare
from fairbench_plugins.sofair.model import SofairModel
from fairbench_plugins.sofair.resolution import ResolutionModel


@pytest.fixture(scope="module")
def curve(prepared: Prepared) -> Curve:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    method = Sofair(SofairParams(hidden=(32,), latent=3))
    train = TrainingRows(rows.x, rows.s, prepared.info)
    (fitted,) = method.fit(train, [Unit(0, None)], FitContext(iterations=800))
    assert isinstance(fitted, Curve)
    return fitted


@pytest.fixture(scope="module")
def by_resolution(prepared: Prepared) -> Curve:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    method = Sofair(SofairParams(hidden=(32,), latent=3, code="resolution", beta_max=4))
    train = TrainingRows(rows.x, rows.s, prepared.info)
    (fitted,) = method.fit(train, [Unit(0, None)], FitContext(iterations=600))
    assert isinstance(fitted, Curve)
    return fitted


@pytest.mark.thorough
def test_codes_by_resolution_nest_and_are_what_their_bits_say(
    by_resolution: Curve, prepared: Prepared
) -> None:
    x = prepared.roles[Role.TEST].x
    looser = None
    for beta in np.linspace(0, by_resolution.knob.high, 9):
        representation = by_resolution.at(Point.of(beta=beta))
        bits, z = representation.bits(x), representation.encode(x)
        assert bits is not None
        kept = bits >= 0
        assert (np.diff(kept.astype(int), axis=-1) <= 0).all()
        assert (kept == kept[0]).all()  # the number of bits is no one's own
        cell = (np.where(kept, bits, 0) * 0.5 ** np.arange(1, 9)).sum(-1)
        np.testing.assert_array_equal(z, (cell + 0.5 ** (1 + kept.sum(-1))).astype(np.float32))
        if looser is not None:
            np.testing.assert_array_equal(looser[kept], bits[kept])
        looser = bits
    assert representation.rate(x) < by_resolution.at(Point.of(beta=0.0)).rate(x)


def test_rounding_to_a_resolution_has_the_gradients_it_says() -> None:
    streams = Streams([0], "cpu")
    networks = Networks(features=2, hidden=(4,), latent=2)
    model = ResolutionModel(SofairParams(code="resolution"), networks, 2, None, streams)
    e = torch.tensor([[[0.1, 0.9], [0.3, 1.0]]], requires_grad=True)
    n = torch.full((1, 2, 2), 2.0, requires_grad=True)
    z = model.quantise(e, n)
    assert z.tolist() == [[[0.125, 0.875], [0.375, 0.875]]]
    z.sum().backward()
    assert e.grad is not None
    assert n.grad is not None
    assert (e.grad == 1).all()
    torch.testing.assert_close(n.grad, -math.log(2) * (z - e).detach())


@pytest.mark.thorough
def test_bits_of_a_larger_beta_are_kept_by_every_smaller_one(
    curve: Curve, prepared: Prepared
) -> None:
    x = prepared.roles[Role.TEST].x
    betas = np.linspace(0, curve.knob.high, 9)
    bits = [curve.at(Point.of(beta=b)).bits(x) for b in betas]
    for looser, tighter in pairwise(bits):
        assert looser is not None
        assert tighter is not None
        kept = tighter >= 0
        np.testing.assert_array_equal(looser[kept], tighter[kept])
        # Kept bits are a prefix of each dimension's.
        assert (np.diff(kept.astype(int), axis=-1) <= 0).all()


def test_beta_zero_keeps_all_bits_and_z_is_their_binary_fraction(
    curve: Curve, prepared: Prepared
) -> None:
    x = prepared.roles[Role.TEST].x
    representation = curve.at(Point.of(beta=0.0))
    bits = representation.bits(x)
    assert bits is not None
    assert (bits >= 0).all()
    z = (bits * 0.5 ** np.arange(1, 9)).sum(-1)
    np.testing.assert_array_equal(representation.encode(x), z.astype(np.float32))


def test_the_curve_is_read_from_one_end_to_the_other(curve: Curve, prepared: Prepared) -> None:
    betas = [p["beta"] for p in points_to_read(curve, prepared.roles[Role.ENCODER_TRAIN], 6)]
    assert betas == sorted(betas)
    assert (betas[0], betas[-1]) == (0.0, curve.knob.high)


def model_and_batch(
    adversary: AdversaryShare | None = None, **params: object
) -> tuple[SofairModel, Batch]:
    streams = Streams([0])
    made = SofairParams(warmup=0.0, **params)  # type: ignore[arg-type]
    model = SofairModel(made, Networks(4, (16,), 3), 2, None, streams, adversary=adversary)
    x = torch.randn(1, 64, 4, generator=torch.Generator().manual_seed(1))
    s = (x[..., 0] > 0).long()
    return model, Batch(x, s, onehot(s, 2), 1.0, streams)


def test_the_gradient_of_distortion_reaches_the_mask() -> None:
    model, batch = model_and_batch()
    bits, mask = model.code(batch.x, torch.full((1, 1, 64), 1.0))
    z = model.released(bits, mask)
    x_hat = model.decode(z.transpose(1, 2), batch.s_onehot, torch.full((1, 64, 1), 1.0))
    ((x_hat - batch.x) ** 2).sum().backward()
    assert model.to_depth.weight.grad is not None
    assert float(model.to_depth.weight.grad.abs().sum()) > 0


def test_the_coder_of_lengths_learns_and_is_no_part_of_the_objective() -> None:
    """Restarts are compared by the objective, and the coder of lengths is not in it."""
    values = []
    for scale in (1.0, 5.0):
        model, batch = model_and_batch(rate="codes")
        with torch.no_grad():
            for parameter in model.entropy.lengths.parameters():
                parameter.mul_(scale)
        loss = model.losses(batch)["model"]
        loss.sum().backward()
        values.append(float(loss.detach()))
        gradients = [parameter.grad for parameter in model.entropy.lengths.parameters()]
        assert any(g is not None and float(g.abs().sum()) > 0 for g in gradients)
    assert values[0] == pytest.approx(values[1], abs=1e-4)


def test_rounding_sends_ties_up() -> None:
    model, batch = model_and_batch()
    with torch.no_grad():
        model.to_depth.weight.zero_()
    _, mask = model.code(batch.x, torch.zeros(1, 1, 64))  # a = 8: sigmoid(8 - 8) = 1/2
    assert bool((mask == 1).all())


def entropy_model(dimensions: int, bits: int) -> LogisticMixtureEntropy:
    return LogisticMixtureEntropy([torch.Generator().manual_seed(0)], dimensions, bits)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_bins_of_one_resolution_sum_to_at_most_one(n: int) -> None:
    model = entropy_model(1, 8)
    z = (torch.arange(2**n) / 2**n).view(1, 1, -1)
    half = torch.full_like(z, 2.0 ** -(n + 1))
    mass = torch.exp(-model.rate(z, half, torch.full_like(z, 0.5))).sum().detach()
    assert 0.5 < float(mass) <= 1.0 + 1e-5


def test_a_dimension_is_coded_given_those_before_it_alone() -> None:
    model = entropy_model(3, 4)
    z = torch.rand(1, 3, 1)
    beta = torch.full((1, 1, 1), 0.3)
    out = model._conditionals(model.mixture, z, beta)
    later = z.clone()
    later[:, 2] += 0.4
    changed = model._conditionals(model.mixture, later, beta)
    torch.testing.assert_close(out, changed)  # nothing comes after the last
    earlier = z.clone()
    earlier[:, 0] += 0.4
    changed = model._conditionals(model.mixture, earlier, beta)
    torch.testing.assert_close(out[:, :, 0], changed[:, :, 0])
    assert not torch.allclose(out[:, :, 1:], changed[:, :, 1:])


def train_coder(
    z: torch.Tensor, n: torch.Tensor, shares: torch.Tensor, bits: int
) -> tuple[float, float]:
    """Fit the entropy model to codes (z, n); code length without and with lengths, nats.

    ``z`` and ``n`` are ``(1, codes, dimensions)``, ``shares`` those of the rows with each code.
    """
    z, n = z.transpose(1, 2), n.transpose(1, 2)
    model = entropy_model(z.shape[1], bits)
    mask = (n.unsqueeze(1) >= torch.arange(1, bits + 1).view(1, -1, 1, 1)).float()
    half = torch.exp2(-n.float() - 1)
    beta = torch.zeros(1, 1, z.shape[2])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(500):
        optimizer.zero_grad()
        codes = (model.rate(z, half, beta) * shares).sum()
        sizes = (model.rate_of_lengths(z, mask, beta) * shares).sum()
        (codes + sizes).backward()
        optimizer.step()
    return codes.item(), (codes + sizes).item()


def test_with_fixed_lengths_the_rate_bounds_the_entropy_closely() -> None:
    rng = np.random.default_rng(0)
    first = rng.choice(4, size=4000, p=[0.5, 0.25, 0.125, 0.125])
    second = np.where(rng.random(4000) < 0.9, first, 0)
    distinct, counts = np.unique(np.stack([first, second], 1), axis=0, return_counts=True)
    shares = torch.tensor(counts / 4000).float()
    exact = -float((shares * shares.log()).sum())
    z = torch.tensor(distinct / 4).float()[None]
    codes, honest = train_coder(z, torch.full_like(z, 2), shares, 2)
    assert exact - 1e-3 <= codes
    assert honest <= exact + 0.35


def test_with_row_dependent_lengths_only_the_honest_rate_is_a_bound() -> None:
    """Half the rows (n = 0, z = 0), half (n = 1, z = 1/2): H = ln 2, yet the codes cost nothing."""
    n = torch.tensor([0, 1]).view(1, -1, 1)
    codes, honest = train_coder(n * 0.5, n, torch.full((2,), 0.5), 1)
    assert codes < 0.3  # "bound" below H = .693: why lengths must be paid for
    assert math.log(2) - 1e-3 <= honest < math.log(2) + 0.2


def test_the_honest_rate_bounds_the_plugin_entropy_of_a_trained_curve(
    curve: Curve, prepared: Prepared
) -> None:
    x = prepared.roles[Role.ENCODER_TRAIN].x
    for beta in (0.2, 0.6):
        representation = curve.at(Point.of(beta=beta * curve.knob.high))
        counts = np.unique(representation.encode(x), axis=0, return_counts=True)[1] / len(x)
        rate = representation.rate(x)
        assert rate is not None
        assert rate >= -(counts * np.log(counts)).sum() - 1e-6


def test_an_adversary_reads_s_from_a_late_digit() -> None:
    streams = Streams([0])
    adversary = Adversary(streams.generators("weights"), 2, (64, 64), 2, 1.0, sees_beta=False)
    rng = np.random.default_rng(0)
    z = torch.tensor(rng.random((1, 2, 2000)), dtype=torch.float32)
    s = (torch.floor(z[0, 0] * 8) % 2).long().unsqueeze(0)  # the third digit
    optimizer = torch.optim.Adam(adversary.parameters(), lr=3e-3)
    for _ in range(200):
        optimizer.zero_grad()
        loss = adversary.cross_entropy(z, torch.zeros(1, 1, 2000), onehot(s, 2)).mean()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.2  # of log 2 = .69


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_the_price_mixes_the_length_of_a_code_with_what_the_adversary_reads(share: float) -> None:
    model, batch = model_and_batch(AdversaryShare(share, (64, 64), 1.0) if share else None)
    beta, z, rate = torch.full((1, 1, 64), 0.5), torch.rand(1, 3, 64), torch.rand(1, 64)
    losses = model.objective(batch.x, z, rate, beta, batch)
    expected = (1 - share) * rate
    if share:
        assert model.adversary is not None
        read = model.adversary.cross_entropy(z, beta, batch.s_onehot)
        expected = expected - share * read
        torch.testing.assert_close(losses["adversary"], read.mean(-1))
    else:
        assert list(losses) == ["model"]
        assert not any("adversary" in name for name in model.state_dict())
    torch.testing.assert_close(losses["model"], 0.5 * expected.mean(-1))


def test_a_balanced_objective_weighs_rows_so_that_both_weights_add_up_to_w() -> None:
    model, batch = model_and_batch(None)
    w = model.params.distortion_weight
    beta, z, rate = 10 * torch.rand(1, 1, 64), torch.rand(1, 3, 64), torch.rand(1, 64)
    x_hat = torch.zeros_like(batch.x)
    model.params = model.params.model_copy(update={"balanced": True})
    loss = model.objective(x_hat, z, rate, beta, batch)["model"]
    squares, own = batch.x.square().sum(-1), beta[:, 0]
    expected = (w * w / (w + own) * squares + w * own / (w + own) * rate).mean(-1)
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("method", [Sofair, SofairNOS, MSFaiR, SofairAdv])
@pytest.mark.parametrize("code", ["bits", "resolution"])
def test_every_variant_trains_and_comes_back(
    method: type[SofairMethod], code: str, prepared: Prepared
) -> None:
    rows = prepared.roles[Role.ENCODER_TRAIN]
    train = TrainingRows(rows.x, rows.s, prepared.info)
    made = method(method.Params(code=code, hidden=(16,), latent=2))
    unit = Unit(0, made.points()[3] if method is MSFaiR else None)
    (fitted,) = made.fit(train, [unit], FitContext(iterations=20))
    assert not isinstance(fitted, Diverged)
    state = fitted.state()
    assert state is not None
    assert any("adversary" in name for name in state) == (method is SofairAdv)
    again = made.restore(state, unit, prepared.info)
    if isinstance(fitted, Curve):
        assert isinstance(again, Curve)
        middle = Point.of(beta=0.5)
        fitted, again = fitted.at(middle), again.at(middle)
    assert not isinstance(again, Curve)
    np.testing.assert_array_equal(fitted.encode(rows.x), again.encode(rows.x))


@pytest.mark.parametrize("method", [Sofair, SofairNOS, MSFaiR])
def test_the_adversary_is_sofair_advs_and_the_error_says_so(method: type[Method]) -> None:
    with pytest.raises(ConfigError, match="no parameter 'adversary'") as caught:
        validate_params(method, {"adversary": 0.98})
    assert caught.value.hint is not None
    assert "sofair-adv" in caught.value.hint
    assert validate_params(SofairAdv, {"adversary": 0.9}) == SofairAdvParams(adversary=0.9)


@pytest.mark.parametrize("method", [Sofair, SofairNOS, MSFaiR])
def test_on_images_codes_are_by_resolution_and_beta_goes_further(
    method: type[Method], prepared: Prepared
) -> None:
    images = DatasetInfo("images", (), ("a", "b"), Architecture(image=(1, 16, 16)))
    own = params_on(method, {"beta_power": 2}, images)
    assert own == method.Params(**{**method.image_params, "beta_power": 2})
    assert method(own).knobs[0].high > 10
    assert params_label(method, own, images) == "beta_power=2.0"
    assert params_on(method, {}, prepared.info) == method.Params()
    assert params_label(method, params_on(method, {}, images), prepared.info) != "default"


def test_unusable_defaults_for_images_are_the_plugins_fault() -> None:
    class Wrong(Sofair):
        image_params: ClassVar = {"no_such": 1}

    images = DatasetInfo("images", (), ("a", "b"), Architecture(image=(1, 16, 16)))
    with pytest.raises(PluginError, match="image_params of sofair cannot be used"):
        params_on(Wrong, {}, images)


def test_the_knob_of_sofair_adv_reaches_its_own_beta_max() -> None:
    assert SofairAdv().knobs[0].high == 150
    assert Sofair().knobs[0].high == 1.25
