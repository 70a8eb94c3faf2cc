"""The stacked engine: a stack is its models, each with its own gradients, numbers and fate."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from fairbench.training import layers
from fairbench.training.layers import StackedLinear, StackedMLP, fastest_products
from fairbench.training.model import Batch, StackedModel, onehot, summed_squares
from fairbench.training.schedule import Schedule
from fairbench.training.steps import set_gradients
from fairbench.training.streams import Streams
from fairbench.training.trainer import train

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)).astype(np.float32)
S = (X[:, 0] + RNG.normal(size=400) > 0).astype(np.int64)


class Auto(StackedModel):
    """An autoencoder with an adversary; model ``poisoned`` gives NaN from step ``when`` on."""

    def __init__(self, streams: Streams, poisoned: int | None = None, when: int = 0) -> None:
        super().__init__()
        make = streams.generators("weights")
        self.encoder = StackedMLP(make, (3, 16, 2))
        self.decoder = StackedMLP(make, (2, 16, 3))
        self.adversary = StackedMLP(make, (2, 8, 2))
        self.players = {"adversary": 1.0}
        self.poisoned, self.when, self.steps = poisoned, when, 0

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        z = self.encoder(batch.x)
        distortion = summed_squares(batch.x, self.decoder(z))
        logits = self.adversary(z).transpose(1, 2)
        ce = torch.nn.functional.cross_entropy(logits, batch.s, reduction="none").mean(1)
        if self.poisoned is not None and self.steps >= self.when:
            factor = torch.ones_like(distortion)
            factor[self.poisoned] = torch.nan
            distortion = distortion * factor
        self.steps += 1
        return {"model": distortion - 0.5 * ce, "adversary": ce}

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        z: Tensor = self.encoder(x)
        return z


def fit(seeds: Sequence[int], *, steps: int = 120, **more: int | None) -> tuple[Auto, list]:
    streams = Streams(seeds)
    model = Auto(streams, **more)  # type: ignore[arg-type]
    reasons = train(
        model,
        X,
        S,
        groups=2,
        schedule=Schedule(steps, batch_size=32),
        streams=streams,
        progress=lambda fraction, note: None,
    )
    return model, reasons


def test_a_loss_of_no_player_is_an_error() -> None:
    """Misspelt, it would leave the player to another loss, silently."""
    model = Auto(Streams([0]))
    parts = {"model": list(model.encoder.parameters()), "adversary": []}
    losses = {"model": torch.zeros(1), "adversry": torch.zeros(1)}
    with pytest.raises(ValueError, match="adversry"):
        set_gradients(losses, parts)


@pytest.mark.parametrize("wrong", [torch.zeros(2), {"model": torch.zeros(())}, None])
def test_losses_are_one_number_for_each_model(wrong: object) -> None:
    """A loss that is summed over the models hides which of them diverges."""

    class Wrong(Auto):
        def losses(self, batch: Batch) -> dict[str, Tensor]:
            return wrong  # type: ignore[return-value]

    streams = Streams([0, 1])
    schedule = Schedule(3, batch_size=8)
    with pytest.raises(TypeError, match=r"here are 2 models, and it returned"):
        train(
            Wrong(streams),
            X,
            S,
            groups=2,
            schedule=schedule,
            streams=streams,
            progress=lambda fraction, note: None,
        )


def test_a_layer_that_models_would_share_is_refused_before_the_first_step() -> None:
    """It made models of one another, and the training failed after its last step."""

    class Shared(Auto):
        def __init__(self, streams: Streams) -> None:
            super().__init__(streams)
            self.last = torch.nn.LayerNorm(3)

        def losses(self, batch: Batch) -> dict[str, Tensor]:
            raise AssertionError("a step was taken")

    streams = Streams([0, 1])
    with pytest.raises(
        TypeError, match=r"last\.weight has the shape \(3,\): the first axis must be"
    ):
        train(
            Shared(streams),
            X,
            S,
            groups=2,
            schedule=Schedule(3, batch_size=8),
            streams=streams,
            progress=lambda fraction, note: None,
        )


def parameters(model: Auto, index: int) -> list[np.ndarray]:
    return [p.detach()[index].numpy() for p in model.parameters()]


def test_a_stacked_network_is_the_plain_networks_side_by_side() -> None:
    make = [torch.Generator().manual_seed(i) for i in range(3)]
    stack = StackedMLP(make, (4, 8, 2))
    x = torch.randn(3, 5, 4)
    for i in range(3):
        first, second = stack.layers
        hidden = torch.relu(x[i] @ first.weight[i] + first.bias[i])
        torch.testing.assert_close(stack(x)[i], hidden @ second.weight[i] + second.bias[i])


def test_stacks_equal_singles_up_to_rounding() -> None:
    together, _ = fit([1, 2, 3])
    alone, _ = fit([2])
    for a, b in zip(parameters(together, 1), parameters(alone, 0), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)


def test_the_same_seeds_give_the_same_bytes() -> None:
    for a, b in zip(parameters(fit([5, 6])[0], 0), parameters(fit([5, 6])[0], 0), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("when", [0, 60, 119])
def test_a_nan_is_told_and_leaves_stack_mates_untouched(when: int) -> None:
    healthy, none = fit([1, 2, 3])
    assert none == [None, None, None]
    sick, reasons = fit([1, 2, 3], poisoned=1, when=when)
    assert reasons[1] is not None
    assert reasons[0] is None
    assert reasons[2] is None
    for mate in (0, 2):
        for a, b in zip(parameters(sick, mate), parameters(healthy, mate), strict=True):
            np.testing.assert_array_equal(a, b)
    assert all(np.isfinite(p).all() for p in parameters(sick, 1))


def test_each_player_gets_the_gradient_of_its_own_loss_alone() -> None:
    streams = Streams([0])
    model = Auto(streams).double()
    batch = Batch(
        torch.as_tensor(X[None, :50]).double(),
        torch.as_tensor(S[None, :50]),
        onehot(torch.as_tensor(S[None, :50]), 2).double(),
        0.0,
        streams,
    )
    from fairbench.training.steps import players_of, set_gradients

    players = players_of(model)
    set_gradients(model.losses(batch), players)
    for name, own in players.items():
        parameter = own[0]
        assert parameter.grad is not None
        for index in ((0, 0, 0), (0, 1, 1)):
            numeric = _slope(model, batch, name, parameter, index)
            assert float(parameter.grad[index]) == pytest.approx(numeric, rel=1e-4, abs=1e-7)


def _slope(
    model: Auto, batch: Batch, player: str, parameter: Tensor, index: tuple[int, ...]
) -> float:
    """Central finite difference of a player's loss in one number."""
    step = 1e-5
    values = []
    for sign in (1, -1):
        with torch.no_grad():
            parameter[index] += sign * step
            values.append(float(model.losses(batch)[player].sum()))
            parameter[index] -= sign * step
    return (values[0] - values[1]) / (2 * step)


def test_training_lowers_distortion() -> None:
    model, _ = fit([0], steps=400)
    z = model.encode(torch.as_tensor(X[None]), None, None)
    squares = (model.decoder(z) - torch.as_tensor(X)).square().sum(-1)
    assert float(squares.detach().mean()) < 0.6 * 3


def test_a_model_taken_from_a_stack_encodes_as_it_did_there() -> None:
    model, _ = fit([1, 2])
    x = torch.as_tensor(X).expand(2, -1, -1)
    one = model.take(1)
    torch.testing.assert_close(one.encode(x[1:], None, None)[0], model.encode(x, None, None)[1])
    assert all(len(p) == 1 for p in one.parameters())


def test_streams_do_not_depend_on_their_neighbours() -> None:
    pair, single = Streams([7, 8]), Streams([8])
    for _ in range(130):
        torch.testing.assert_close(pair.uniform("beta", 4)[1], single.uniform("beta", 4)[0])
        torch.testing.assert_close(pair.indices("rows", 99, 5)[1], single.indices("rows", 99, 5)[0])
    draws = torch.stack([single.normal("noise", 200) for _ in range(50)])
    assert abs(float(draws.mean())) < 0.05
    assert abs(float(draws.std()) - 1) < 0.05


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_trains_as_the_cpu_does() -> None:
    on_cpu, _ = fit([1, 2], steps=50)
    streams = Streams([1, 2], "cuda")
    model = Auto(Streams([1, 2])).to("cuda")
    train(
        model,
        X,
        S,
        groups=2,
        schedule=Schedule(50, batch_size=32),
        streams=streams,
        progress=lambda fraction, note: None,
    )
    for a, b in zip(on_cpu.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(a, b.cpu(), rtol=1e-2, atol=1e-3)


class Transposed(Auto):
    """The same autoencoder, computed with its weights transposed."""

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        x = batch.x.transpose(1, 2)
        for player in (self.encoder, self.decoder):
            *hidden, last = player.layers
            for layer in hidden:
                x = torch.relu(self.rows_last(layer, x))
            x = self.rows_last(last, x)
        return {"model": summed_squares(batch.x, x.transpose(1, 2))}

    @staticmethod
    def rows_last(layer: StackedLinear, x: Tensor) -> Tensor:
        return torch.baddbmm(layer.bias.transpose(1, 2), layer.weight.transpose(1, 2), x)


class Plain(Auto):
    def losses(self, batch: Batch) -> dict[str, Tensor]:
        return {"model": summed_squares(batch.x, self.decoder(self.encoder(batch.x)))}


def test_gradients_of_transposed_weights_are_applied_where_they_belong() -> None:
    """The fused optimizer ignores strides: gradients must come in the parameters' own order."""
    trained = []
    for kind in (Plain, Transposed):
        streams = Streams([3, 4])
        model = kind(streams)
        model.players = {}
        del model.adversary
        train(
            model,
            X,
            S,
            groups=2,
            schedule=Schedule(60, batch_size=32),
            streams=streams,
            progress=lambda fraction, note: None,
        )
        trained.append(model)
    for one, other in zip(*(model.parameters() for model in trained), strict=True):
        torch.testing.assert_close(one, other, atol=2e-4, rtol=1e-3)


def test_fast_products_change_little_and_only_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "fastest_products", lambda: torch.bfloat16)
    torch.manual_seed(0)
    made = StackedMLP([torch.Generator().manual_seed(i) for i in range(3)], (6, 128, 128, 4))
    x = torch.randn(3, 50, 6)
    exact = made(x)
    with layers.use_fastest_products(made):
        near = made(x)
    assert near.dtype is torch.float32
    assert 0 < (near - exact).abs().max() < 0.02
    exact.square().mean().backward()
    of_exact = [p.grad.clone() for p in made.parameters() if p.grad is not None]
    made.zero_grad()
    near.square().mean().backward()
    for one, p in zip(of_exact, made.parameters(), strict=True):
        assert p.grad is not None
        assert p.grad.dtype is torch.float32
        torch.testing.assert_close(p.grad, one, atol=0.01, rtol=0.05)
    torch.testing.assert_close(made(x), exact)


@pytest.mark.parametrize(
    ("able", "fastest"),
    [
        ({"cpu_name": "AMD EPYC", "avx512_bf16": True}, torch.bfloat16),
        ({"cpu_name": "Intel Xeon", "avx512_bf16": True}, torch.float32),
        ({"cpu_name": "Intel Xeon", "avx512_bf16": True, "amx_bf16": True}, torch.bfloat16),
        ({"cpu_name": "AMD EPYC", "avx2": True}, torch.float32),
        ({}, torch.float32),
    ],
)
def test_products_are_in_bfloat16_where_that_pays(
    able: dict[str, object], fastest: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    assert fastest_products() is fastest
