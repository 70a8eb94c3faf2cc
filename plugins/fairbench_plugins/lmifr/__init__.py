"""L-MIFR: as much of x in z as two limits on what z may say of s allow.

Song, Kalluri, Grover, Zhao and Ermon 2019, "Learning Controllable Fair Representations". Objective
and departures are in model.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, PositiveInt

from fairbench.api import Coding, DatasetInfo, Knob, Method, Params, Point, Shots, Unit
from fairbench.hookspecs import hookimpl
from fairbench.training import NeuralMethod, NeuralParams, SingleShotTwin

if TYPE_CHECKING:
    from fairbench.training import Networks, StackedModel, Streams

EPSILONS = (0.5, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002)
"""Nats. The paper's for Adult is .1."""


class LMIFRParams(NeuralParams):
    """Hyperparameters of L-MIFR."""

    distortion_weight: float = Field(1.0, gt=0, allow_inf_nan=False)
    """w = 1 / (2 sigma^2) of the isotropic Gaussian behind the distortion."""
    rate_limit: float = Field(100.0, gt=0, allow_inf_nan=False)
    """Limit on C1, as a multiple of epsilon, which is that on C2. The paper has 10 and .1 nats for
    Adult; 1 is a guarantee, by the rate alone."""
    dual_rate: float = Field(0.01, gt=0, allow_inf_nan=False)
    """Step of the multipliers. A violation of 100 % or more moves them by it in each step."""
    adversary_hidden: tuple[PositiveInt, ...] = (64, 64)
    """Units of the adversary's hidden layers."""
    adversary_steps: PositiveInt = 1
    """Steps of the adversary for each step of encoder and decoder; the budget counts all steps."""
    adversary_rate: float = Field(1.0, gt=0, allow_inf_nan=False)
    """Factor on the learning rate for the adversary."""


class LMIFR(NeuralMethod):
    """Reconstruction under limits on the rate and on an adversary's estimate of I(Z;S)."""

    name = "l-mifr"
    summary = "variational: limits on the rate and an adversary's I(Z;S), by trained multipliers"
    reference = "Song et al. 2019, arXiv:1812.04218"
    coding = Coding.STOCHASTIC
    knobs = (
        Knob(
            "epsilon",
            EPSILONS[-1],
            EPSILONS[0],
            "limit on I(Z;S), nats; less is fairer",
            limits=(1e-6, math.inf),
        ),
    )
    Params: ClassVar[type[Params]] = LMIFRParams

    def points(self) -> tuple[Point, ...]:
        """Twelve."""
        return tuple(Point.of(epsilon=epsilon) for epsilon in EPSILONS)

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        return {
            "rate_limit": FloatDistribution(10.0, 1000.0, log=True),
            "dual_rate": FloatDistribution(1e-3, 0.1, log=True),
            "learning_rate": FloatDistribution(3e-4, 3e-3, log=True),
            "adversary_rate": FloatDistribution(0.3, 10.0, log=True),
            "adversary_steps": CategoricalDistribution([1, 2, 5]),
        }

    def build(
        self, units: Sequence[Unit], info: DatasetInfo, networks: Networks, streams: Streams
    ) -> StackedModel:
        from fairbench_plugins.lmifr.model import LMIFRModel
        from fairbench_plugins.lmifr.single_shot import LMIFRCurveModel

        epsilons = [unit.point["epsilon"] for unit in units if unit.point is not None]
        given = (self.params, networks, len(info.groups), epsilons, streams)
        if self.shots is Shots.MULTI:
            return LMIFRModel(*given)
        (knob,) = self.knobs
        return LMIFRCurveModel(*given, low=knob.low, high=knob.high)


class LMIFRSingleShot(SingleShotTwin, LMIFR):
    """L-MIFR, one model for all epsilon."""

    name = "l-mifr-ss"
    summary = "single-shot twin of l-mifr: one model, conditioned on epsilon"
    knobs = (
        Knob(
            "epsilon",
            EPSILONS[-1],
            EPSILONS[0],
            "limit on I(Z;S), nats; less is fairer",
            logarithmic=True,
        ),
    )
    knob_buffers: ClassVar[Mapping[str, float]] = {"epsilon": 1.0}
    rows_per_knob = 16


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """L-MIFR and its single-shot twin."""
    return [LMIFR, LMIFRSingleShot]
