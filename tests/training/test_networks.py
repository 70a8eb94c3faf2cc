"""Networks of images: a stack of convolutions is the convolutions it is made of."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from fairbench.training import layers
from fairbench.training.layers import StackedConv
from fairbench.training.model import Batch, StackedModel, count_products
from fairbench.training.networks import Networks
from fairbench.training.representation import NeuralRepresentation
from fairbench.training.streams import Streams

DSPRITES = Networks(4096, (128,), 24, image=(1, 64, 64), channels=(32, 32, 64, 64))


@pytest.mark.parametrize("transposed", [False, True])
def test_a_grouped_convolution_is_each_models_own(transposed: bool) -> None:
    stack = StackedConv(Streams([1, 2, 3]).generators("w"), 2, 5, transposed=transposed)
    x = torch.randn(4, 3, 2, 8, 8)
    together = stack(x.flatten(1, 2)).view(4, 3, 5, *(2 * [16 if transposed else 4]))
    single = torch.nn.ConvTranspose2d if transposed else torch.nn.Conv2d
    for i in range(3):
        one = single(2, 5, kernel_size=4, stride=2, padding=1)
        one.weight.data, one.bias.data = stack.weight[i].data, stack.bias[i].data
        torch.testing.assert_close(together[:, i], one(x[:, i]), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("inputs", "outputs"), [(3, 1), (1, 5), (3, 5), (1, 1)])
@pytest.mark.parametrize("transposed", [False, True])
def test_one_model_alone_is_the_convolution_too(
    transposed: bool, inputs: int, outputs: int
) -> None:
    """One model on a CPU goes other ways: channels innermost, one output channel by a product."""
    alone = StackedConv(Streams([1]).generators("w"), inputs, outputs, transposed=transposed)
    single = torch.nn.ConvTranspose2d if transposed else torch.nn.Conv2d
    plain = single(inputs, outputs, kernel_size=4, stride=2, padding=1)
    plain.weight.data, plain.bias.data = alone.weight[0].data.clone(), alone.bias[0].data.clone()
    x = torch.randn(4, inputs, 8, 16, requires_grad=True)
    same = x.detach().clone().requires_grad_()
    out, expected = alone(x), plain(same)
    torch.testing.assert_close(out, expected, atol=1e-5, rtol=1e-4)
    out.square().sum().backward()
    expected.square().sum().backward()
    torch.testing.assert_close(x.grad, same.grad, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(alone.weight.grad[0], plain.weight.grad, atol=1e-3, rtol=1e-4)
    torch.testing.assert_close(alone.bias.grad[0], plain.bias.grad, atol=1e-3, rtol=1e-4)


def test_convolutions_in_bfloat16_change_little_and_only_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layers, "fastest_products", lambda: torch.bfloat16)
    make = Streams([0]).generators("w")
    encoder, decoder = DSPRITES.encoder(make), DSPRITES.decoder(make, 24)
    networks = torch.nn.Sequential(encoder, decoder)
    x = (torch.rand(1, 16, 4096) < 0.1).float()
    exact = networks(x)
    parameters = list(networks.parameters())
    of_exact = torch.autograd.grad((exact - x).square().sum(), parameters)
    with layers.use_fastest_products(networks):
        near = networks(x)
    assert near.dtype is torch.float32
    assert 0 < (near - exact).norm() < 0.02 * exact.norm()
    of_near = torch.autograd.grad((near - x).square().sum(), parameters)
    for one, other in zip(of_near, of_exact, strict=True):
        assert one.dtype is torch.float32
        assert (one - other).norm() < 0.15 * other.norm()
    torch.testing.assert_close(networks(x), exact)


class OfImages(StackedModel):
    def __init__(self) -> None:
        super().__init__()
        make = Streams([0]).generators("w")
        self.encoder, self.decoder = DSPRITES.encoder(make), DSPRITES.decoder(make, 24)

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        raise NotImplementedError

    def encode(self, x: Tensor, knob: Tensor | None, noise: Tensor | None) -> Tensor:
        z: Tensor = self.encoder(x)
        return z

    def decode(self, z: Tensor, s: Tensor, knob: Tensor | None) -> Tensor:
        x: Tensor = self.decoder(z)
        return x


@pytest.mark.thorough
def test_codes_of_images_are_exact_and_their_reconstructions_nearly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stored encoder gives the same codes on every processor."""
    fitted = NeuralRepresentation(OfImages().eval(), groups=2, features=4096, stochastic=False)
    x = (np.random.default_rng(0).random((100, 4096)) < 0.1).astype(np.uint8)
    s = np.zeros(100, np.int64)
    found = []
    for products in (torch.float32, torch.bfloat16):
        monkeypatch.setattr(layers, "fastest_products", lambda products=products: products)
        z = fitted.encode(x)
        found.append((z, fitted.decode(z, s)))
    (z, exact), (same, near) = found
    np.testing.assert_array_equal(z, same)
    assert 0 < np.abs(near - exact).max() < 0.03 * np.abs(exact).max()


def test_the_papers_image_architecture() -> None:
    """Table 2: 1024 numbers after the convolutions; Linear(1024, 128); Linear(24 + 4, 128)."""
    make = Streams([0, 1]).generators("w")
    encoder, decoder = DSPRITES.encoder(make), DSPRITES.decoder(make, 24 + 4)
    assert encoder.dense.layers[0].weight.shape == (2, 1024, 128)
    assert decoder.dense.layers[0].weight.shape == (2, 28, 128)
    z = encoder(torch.rand(2, 3, 4096))
    assert z.shape == (2, 3, 24)
    assert decoder(torch.rand(2, 3, 28)).shape == (2, 3, 4096)
    assert decoder.convolutions[-1].weight.shape == (2, 32, 1, 4, 4)


def test_what_differs_between_images_differs_in_their_codes_from_the_start() -> None:
    """With PyTorch's own scale the spread of the encoder's outputs would be .001."""
    make = Streams([0, 1]).generators("w")
    encoder, decoder = DSPRITES.encoder(make), DSPRITES.decoder(make, 24)
    # One square in each image, as bright and as small as a sprite.
    images = torch.zeros(2, 64, 64, 64)
    for i in range(64):
        row, column = 6 * (i // 8), 6 * (i % 8)
        images[:, i, row : row + 13, column : column + 13] = 1
    codes = encoder(images.flatten(2))
    assert (codes.std(dim=1) > 0.05).all()
    drawn = decoder(torch.randn(2, 64, 24))
    assert 0.01 < drawn.std(dim=1).mean() < 1


def test_models_of_an_image_stack_do_not_mix() -> None:
    encoder = DSPRITES.encoder(Streams([0, 1]).generators("w"))
    x = torch.rand(2, 3, 4096)
    changed = x.clone()
    changed[1] += 1
    torch.testing.assert_close(encoder(x)[0], encoder(changed)[0])


def test_an_image_that_cannot_be_halved_is_refused() -> None:
    odd = Networks(36, (8,), 2, image=(1, 6, 6), channels=(4, 4))
    with pytest.raises(ValueError, match="6 x 6 pixels cannot be halved 2 times"):
        odd.encoder(Streams([0]).generators("w"))


@pytest.mark.parametrize("half", ["encoder", "decoder"])
def test_operations_are_those_that_pytorch_counts(half: str) -> None:
    """PyTorch leaves biases out; fairbench counts them as it does weights."""
    make = Streams([0]).generators("w")
    network = DSPRITES.encoder(make) if half == "encoder" else DSPRITES.decoder(make, 28)
    with FlopCounterMode(display=False) as counter:
        network(torch.rand(1, 1, 4096 if half == "encoder" else 28))
    biases = sum(
        module.bias.numel() * getattr(module, "uses", 1)
        for module in network.modules()
        if hasattr(module, "bias")
    )
    assert 0 < biases < 0.02 * count_products(network)
    assert 2 * (count_products(network) - biases) == counter.get_total_flops()


def test_operations_of_a_model_are_those_of_its_networks() -> None:
    model = OfImages()
    products = count_products(model.encoder) + count_products(model.decoder)
    assert model.multiply_adds() == products
