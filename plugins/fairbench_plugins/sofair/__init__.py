"""SoFaiR (Gitiaux and Rangwala 2022, "SoFaiR: Single Shot Fair Representation Learning").

The objective, its equations and the departures from the paper are in model.py and entropy.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from fairbench.api import Coding, DatasetInfo, Knob, Method, Shots, Unit
from fairbench.hookspecs import hookimpl
from fairbench.neural import NeuralMethod, NeuralParams

if TYPE_CHECKING:
    from fairbench.training.streams import Streams
    from fairbench_plugins.sofair.model import SofairModel


class SofairParams(NeuralParams):
    """Hyperparameters of SoFaiR; where a default is not the paper's, model.py says why."""

    distortion_weight: float = Field(3.0, gt=0, allow_inf_nan=False)
    """w = 1 / (2 sigma^2) of the isotropic Gaussian behind the distortion."""
    beta_max: float = Field(1.25, gt=0, allow_inf_nan=False)
    """Largest beta, at training and at reading."""
    beta_power: float = Field(1.0, gt=0, allow_inf_nan=False)
    """beta = beta_max * u^power with u ~ U[0, 1]; 1 draws beta uniformly, as the paper does."""
    warmup: float = Field(0.4, ge=0, le=1)
    """Share of the budget over which the rate term grows from zero."""
    bits: int = Field(8, ge=1, le=16)
    """A, the most bits a dimension."""
    components: int = Field(5, ge=1)
    """K, the logistics in each mixture of the entropy model."""
    rate: Literal["codes", "lengths"] = "lengths"
    """Rate in the objective: of the codes alone (the paper), or of their lengths too."""


class Sofair(NeuralMethod):
    """One autoencoder whose bit stream is masked by beta; every beta is a point."""

    name = "sofair"
    summary = "single-shot: masks the tail of a learned bit stream by beta"
    reference = "Gitiaux and Rangwala 2022, SoFaiR: Single Shot Fair Representation Learning"
    coding = Coding.QUANTISED
    shots = Shots.SINGLE
    Params = SofairParams

    def __init__(self, params: SofairParams | None = None) -> None:
        super().__init__(params)
        beta = Knob("beta", 0.0, self.params.beta_max, "price of rate; more is fairer")
        self.knobs = (beta,)

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        return {
            "distortion_weight": FloatDistribution(1.0, 20.0, log=True),
            "beta_max": FloatDistribution(0.3, 30.0, log=True),
            "beta_power": FloatDistribution(1.0, 4.0),
            "warmup": FloatDistribution(0.0, 0.6),
            "learning_rate": FloatDistribution(3e-4, 3e-3, log=True),
            "rate": CategoricalDistribution(["codes", "lengths"]),
        }

    def build(
        self, units: Sequence[Unit], info: DatasetInfo, sizes: tuple[int, ...], streams: Streams
    ) -> SofairModel:
        from fairbench_plugins.sofair.model import SofairModel

        return SofairModel(self.params, sizes, len(info.groups), streams)


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """SoFaiR."""
    return [Sofair]
