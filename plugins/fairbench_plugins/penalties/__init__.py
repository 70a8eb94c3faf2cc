"""Autoencoders that pay for dependence between z and s: FairDisCo, and four other penalties.

FairDisCo: Liu et al. 2022, "Fair Representation Learning: An Alternative to Mutual Information".
The other penalties: distance covariance (Szekely, Rizzo and Bakirov 2007), HSIC (Gretton et al.
2005), maximum mean discrepancy (Gretton et al. 2012) and the sigmoid integral probability metric
(Kim et al. 2022, "Learning fair representation with a parametric integral probability metric").
Objectives, equations and departures are in model.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from fairbench.api import Coding, DatasetInfo, Knob, Method, Params, Point, Unit
from fairbench.hookspecs import hookimpl
from fairbench.training import NeuralMethod, NeuralParams

if TYPE_CHECKING:
    from fairbench.training import Networks, Streams
    from fairbench_plugins.penalties.model import FairDisCoModel, PenaltyModel

Penalty = Literal["distance-covariance", "hsic", "mmd", "sipm"]

WEIGHTS: Mapping[Penalty, tuple[float, ...]] = {
    "distance-covariance": (0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0, 100000.0),
    "hsic": (0.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0, 30000.0, 300000.0),
    "mmd": (0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0, 100000.0),
    "sipm": (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 30000.0),
}
"""Points by penalty, as their units differ."""

BETAS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0, 30000.0, 100000.0)
"""Points of FairDisCo. The authors' published script has 1, 10, ... 10^10 for densities that are
(4 pi)^(k/2) times smaller, k the latent dimensions: about 4e-5 to 4e5 in this unit for k = 8."""


class PenaltyParams(NeuralParams):
    """Hyperparameters of dependence-penalty."""

    batch_size: int = Field(128, ge=4)
    """Rows per step; the estimates compare each with each, and need four."""
    distortion_weight: float = Field(1.0, gt=0, allow_inf_nan=False)
    """Factor on the distortion."""
    penalty: Penalty = "distance-covariance"
    """Which measure of dependence is paid for."""
    bandwidths: tuple[PositiveFloat, ...] = Field((0.02, 0.1, 0.5), min_length=1)
    """Of hsic and mmd: squared widths of the kernels that are averaged, as multiples of half the
    mean squared distance of standardised codes."""
    critic_steps: PositiveInt = 1
    """Of sipm: steps of the critic for each step of encoder and decoder; the budget counts all."""
    critic_rate: PositiveFloat = 10.0
    """Of sipm: factor on the learning rate for the critic: one neuron has far to go."""


class DependencePenalty(NeuralMethod):
    """An autoencoder plus the weight times a measure of dependence between z and s."""

    name = "dependence-penalty"
    summary = "autoencoder plus a penalty on dependence: distance covariance, HSIC, MMD or sIPM"
    reference = "Szekely et al. 2007; Gretton et al. 2005, 2012; Kim et al. 2022, arXiv:2202.02943"
    knobs = (Knob("weight", 0.0, 300000.0, "weight of the penalty; more is fairer"),)
    Params: ClassVar[type[Params]] = PenaltyParams

    def points(self) -> tuple[Point, ...]:
        """Ten, other ones for each penalty."""
        return tuple(Point.of(weight=weight) for weight in WEIGHTS[self.params.penalty])

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        return {
            "penalty": CategoricalDistribution(["distance-covariance", "hsic", "mmd", "sipm"]),
            "learning_rate": FloatDistribution(3e-4, 3e-3, log=True),
            "batch_size": CategoricalDistribution([64, 128, 256]),
        }

    def build(
        self, units: Sequence[Unit], info: DatasetInfo, networks: Networks, streams: Streams
    ) -> PenaltyModel:
        from fairbench_plugins.penalties.model import PenaltyModel

        weights = [unit.point["weight"] for unit in units if unit.point is not None]
        return PenaltyModel(self.params, networks, len(info.groups), weights, streams)


class FairDisCoParams(NeuralParams):
    """Hyperparameters of FairDisCo."""

    batch_size: int = Field(128, ge=4)
    """Rows per step; the estimate compares each with each, and needs four."""
    distortion_weight: float = Field(1.0, gt=0, allow_inf_nan=False)
    """w = 1 / (2 sigma^2) of the isotropic Gaussian behind the distortion."""
    rate_weight: float = Field(0.1, ge=0, allow_inf_nan=False)
    """Weight of the rate; 1 is the evidence lower bound's, which loses much of x at every beta."""


class FairDisCo(NeuralMethod):
    """A variational autoencoder plus beta times the squared distance of p(z, s) to p(z) p(s)."""

    name = "fair-disco"
    summary = "variational: adds beta times the distance covariance of z and s, in closed form"
    reference = "Liu et al. 2022, doi:10.1145/3534678.3539302; penalty by the authors' code"
    coding = Coding.STOCHASTIC
    knobs = (Knob("beta", 0.0, BETAS[-1], "weight of the distance covariance; more is fairer"),)
    Params: ClassVar[type[Params]] = FairDisCoParams

    def points(self) -> tuple[Point, ...]:
        """Twelve."""
        return tuple(Point.of(beta=beta) for beta in BETAS)

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        return {
            "rate_weight": FloatDistribution(0.01, 1.0, log=True),
            "learning_rate": FloatDistribution(3e-4, 3e-3, log=True),
            "batch_size": CategoricalDistribution([64, 128, 256]),
        }

    def build(
        self, units: Sequence[Unit], info: DatasetInfo, networks: Networks, streams: Streams
    ) -> FairDisCoModel:
        from fairbench_plugins.penalties.model import FairDisCoModel

        betas = [unit.point["beta"] for unit in units if unit.point is not None]
        return FairDisCoModel(self.params, networks, len(info.groups), betas, streams)


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """The penalties and FairDisCo."""
    return [DependencePenalty, FairDisCo]
