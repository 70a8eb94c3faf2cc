"""The base class of variational autoencoders: what a draw is, and what it costs."""

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from fairbench.training import Batch, GaussianModel, Networks, Streams, onehot, rate

ROWS, LATENT = 4000, 3


class Plain(GaussianModel):
    """Nothing but the distortion."""

    def losses(self, batch: Batch) -> dict[str, torch.Tensor]:
        return {"model": self.draw(batch).distortion}


@pytest.fixture
def model() -> Plain:
    return Plain(Networks(2, (8,), LATENT), 2, Streams([0, 1]))


def make_batch() -> Batch:
    x = torch.randn(1, 1, 2, generator=torch.Generator().manual_seed(0)).expand(2, ROWS, 2)
    s = torch.arange(ROWS).remainder(2).expand(2, ROWS)
    return Batch(x, s, onehot(s, 2), 0.0, Streams([0, 1]))


def test_a_draw_has_the_mean_and_the_variance_of_its_encoder(model: Plain) -> None:
    drawn = model.draw(make_batch())
    assert drawn.z.shape == drawn.mean.shape == drawn.log_variance.shape == (2, ROWS, LATENT)
    apart = (drawn.z - drawn.mean) / torch.exp(0.5 * drawn.log_variance)
    np.testing.assert_allclose(apart.mean(1).detach(), 0.0, atol=0.07)
    np.testing.assert_allclose(apart.std(1).detach(), 1.0, atol=0.05)
    assert not torch.equal(drawn.z[0], drawn.z[1])


def test_the_distortion_is_that_of_the_draw_decoded_with_s(model: Plain) -> None:
    batch = make_batch()
    drawn = model.draw(batch)
    x_hat = model.decode(drawn.z, batch.s_onehot, None)
    expected = (x_hat - batch.x).square().sum(-1).mean(-1)
    torch.testing.assert_close(drawn.distortion, expected)
    other = model.decode(drawn.z, 1 - batch.s_onehot, None)
    assert not torch.allclose(other, x_hat)


def test_the_rate_is_the_divergence_from_the_prior(model: Plain) -> None:
    drawn = model.draw(make_batch())
    q = Normal(drawn.mean, torch.exp(0.5 * drawn.log_variance))
    expected = kl_divergence(q, Normal(0.0, 1.0)).sum(-1).mean(-1)
    torch.testing.assert_close(rate(drawn.mean, drawn.log_variance), expected)
    torch.testing.assert_close(model.code_length(make_batch().x, None), expected)


def test_variances_stay_in_their_range(model: Plain) -> None:
    with torch.no_grad():
        for parameter in model.encoder.parameters():
            parameter.mul_(1e3)
    _, log_variance = model.gaussian(make_batch().x)
    low, high = model.log_variances
    assert log_variance.min().item() >= low
    assert log_variance.max().item() <= high
