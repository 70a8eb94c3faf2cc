"""Methods that train against an adversary: LATFR and MaxEnt-ARL.

LATFR: Madras et al. 2018, "Learning Adversarially Fair and Transferable Representations".
MaxEnt-ARL: Roy and Boddeti 2019, "Mitigating Information Leakage in Image Representations: A
Maximum Entropy Approach". Both in the SoFaiR paper's unsupervised repurposing: the downstream loss
is replaced by the distortion. Objectives and departures are in model.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, PositiveInt

from fairbench.api import DatasetInfo, Knob, Method, Params, Point, Unit
from fairbench.hookspecs import hookimpl
from fairbench.training import NeuralMethod, NeuralParams, SingleShotTwin

if TYPE_CHECKING:
    from fairbench.training import Networks, StackedModel, Streams

GAMMAS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0)
"""LATFR's points in the paper (appendix, "Comparative Methods")."""

ALPHAS = (
    *(round(0.1 * i, 1) for i in range(10)),
    *(float(i) for i in range(1, 10)),
    *(float(10 * i) for i in range(1, 11)),
)
"""MaxEnt-ARL's 29 points in the paper: 0 to 1 in steps of .1, to 10 in 1, to 100 in 10."""

MORE_GAMMAS = (8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0)
MORE_ALPHAS = (200.0, 500.0, 1000.0, 3000.0, 10000.0, 30000.0)
"""The paper's progressions continued. Neither end is fair on Adults-Gender: where the adversary
fails, more weight on it does not help (docs/methods.md)."""


class AdversarialParams(NeuralParams):
    """Hyperparameters of both methods."""

    distortion_weight: float = Field(1.0, gt=0, allow_inf_nan=False)
    """Factor on the distortion."""
    adversary_hidden: tuple[PositiveInt, ...] = (64, 64)
    """Units of the adversary's hidden layers."""
    adversary_width: int = Field(1, ge=1)
    """Factor on these units."""
    adversary_steps: int = Field(1, ge=1)
    """Steps of the adversary for each step of encoder and decoder; the budget counts all steps."""
    adversary_rate: float = Field(1.0, gt=0, allow_inf_nan=False)
    """Factor on the learning rate for the adversary."""
    grid: Literal["extended", "paper"] = "extended"
    """``paper``: the SoFaiR paper's points; ``extended``: also larger weights."""


class LatfrParams(AdversarialParams):
    """Hyperparameters of LATFR."""

    added: ClassVar[frozenset[str]] = AdversarialParams.added | {"reward_limit"}

    reward_limit: float | None = Field(None, gt=0, allow_inf_nan=False)
    """Largest cross-entropy of a row that is rewarded, in multiples of log(groups), what a uniform
    guess has; no limit by default."""


class AdversarialMethod(NeuralMethod):
    """An autoencoder whose encoder is rewarded for the errors of its adversary."""

    Params: ClassVar[type[Params]] = AdversarialParams
    reward: ClassVar[Literal["cross-entropy", "entropy"]]

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        return {
            "learning_rate": FloatDistribution(3e-4, 3e-3, log=True),
            "distortion_weight": FloatDistribution(0.1, 10.0, log=True),
            "adversary_rate": FloatDistribution(0.3, 10.0, log=True),
            "adversary_width": CategoricalDistribution([1, 2, 4]),
            "adversary_steps": CategoricalDistribution([1, 2, 5]),
            "batch_size": CategoricalDistribution([64, 128, 256]),
        }

    def build(
        self, units: Sequence[Unit], info: DatasetInfo, networks: Networks, streams: Streams
    ) -> StackedModel:
        from fairbench_plugins.adversarial.model import AdversarialModel

        knob = self.knobs[0].name
        weights = [unit.point[knob] for unit in units if unit.point is not None]
        return AdversarialModel(
            self.params, networks, len(info.groups), self.reward, weights, streams, self.limit()
        )

    def limit(self) -> float | None:
        """Return the most that a row is rewarded, in multiples of log(groups), or None."""
        return None


class Latfr(AdversarialMethod):
    """The encoder lowers distortion and raises the adversary's cross-entropy."""

    name = "latfr"
    aliases: ClassVar[tuple[str, ...]] = ("laftr",)
    summary = "adversarial: distortion minus gamma times the adversary's cross-entropy"
    reference = "Madras et al. 2018, arXiv:1802.06309; unsupervised as in the SoFaiR paper"
    knobs = (Knob("gamma", 0.0, MORE_GAMMAS[-1], "weight of the adversary; more is fairer"),)
    Params: ClassVar[type[Params]] = LatfrParams
    # Without it, codes of images grow without end, and are never drawn from (docs/images.md).
    image_params: ClassVar[Mapping[str, Any]] = {"reward_limit": 1.5}
    reward = "cross-entropy"

    def limit(self) -> float | None:
        limit: float | None = self.params.reward_limit
        return limit

    def points(self) -> tuple[Point, ...]:
        """The paper's 10, and 8 beyond."""
        more = MORE_GAMMAS if self.params.grid == "extended" else ()
        return tuple(Point.of(gamma=gamma) for gamma in (*GAMMAS, *more))


class MaxEntArl(AdversarialMethod):
    """The encoder lowers distortion and raises the entropy of the adversary's prediction."""

    name = "maxent-arl"
    summary = "adversarial: distortion minus alpha times the entropy of the adversary's prediction"
    reference = "Roy and Boddeti 2019, arXiv:1904.05514; unsupervised as in the SoFaiR paper"
    knobs = (Knob("alpha", 0.0, MORE_ALPHAS[-1], "weight of the entropy; more is fairer"),)
    reward = "entropy"

    def points(self) -> tuple[Point, ...]:
        """The paper's 29, and 6 beyond."""
        more = MORE_ALPHAS if self.params.grid == "extended" else ()
        return tuple(Point.of(alpha=alpha) for alpha in (*ALPHAS, *more))


class LatfrSingleShot(SingleShotTwin, Latfr):
    """LATFR, one model for all gamma."""

    name = "latfr-ss"
    aliases = ()
    summary = "single-shot twin of latfr: one model, conditioned on gamma"
    knobs = (
        Knob(
            "gamma",
            GAMMAS[0],
            MORE_GAMMAS[-1],
            "weight of the adversary; more is fairer",
            logarithmic=True,
        ),
    )
    knob_buffers: ClassVar[Mapping[str, float]] = {"weight": 1.0}


class MaxEntArlSingleShot(SingleShotTwin, MaxEntArl):
    """MaxEnt-ARL, one model for all alpha."""

    name = "maxent-arl-ss"
    summary = "single-shot twin of maxent-arl: one model, conditioned on alpha"
    knobs = (
        Knob(
            "alpha", 0.1, MORE_ALPHAS[-1], "weight of the entropy; more is fairer", logarithmic=True
        ),
    )
    knob_buffers: ClassVar[Mapping[str, float]] = {"weight": 1.0}


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """LATFR and MaxEnt-ARL."""
    return [Latfr, MaxEntArl, LatfrSingleShot, MaxEntArlSingleShot]
