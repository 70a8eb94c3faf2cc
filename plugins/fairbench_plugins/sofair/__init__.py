"""SoFaiR, SoFaiR-NOS and MSFaiR (Gitiaux and Rangwala 2022, "SoFaiR: Single Shot Fair ...").

The objective, its equations and the departures from the paper are in model.py and entropy.py;
resolution.py has another code for the same objective. leakage.py has another price, and with it
sofair-adv, a method of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, PositiveInt

from fairbench.api import Coding, DatasetInfo, Knob, Method, Params, Point, Shots, Unit
from fairbench.hookspecs import hookimpl
from fairbench.training import NeuralMethod, NeuralParams

if TYPE_CHECKING:
    from fairbench.training import Networks, Streams
    from fairbench_plugins.sofair.leakage import AdversaryShare
    from fairbench_plugins.sofair.model import SofairModel
    from fairbench_plugins.sofair.resolution import ResolutionModel


_MOVED = "It belongs to the method sofair-adv: name that in --methods and in the parameters file."


class SofairParams(NeuralParams):
    """Hyperparameters of SoFaiR; model.py gives the reason where a default is not the paper's."""

    moved: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("adversary", "adversary_hidden", "adversary_rate"), _MOVED
    )
    added: ClassVar[frozenset[str]] = NeuralParams.added | {"balanced", "scaled_beta"}

    distortion_weight: float = Field(3.0, gt=0, allow_inf_nan=False)
    """w = 1 / (2 sigma^2) of the isotropic Gaussian behind the distortion."""
    beta_max: float = Field(1.25, gt=0, allow_inf_nan=False)
    """Largest beta, at training and at reading."""
    beta_power: float = Field(1.0, gt=0, allow_inf_nan=False)
    """beta = beta_max * u^power with u ~ U[0, 1]; 1 draws beta uniformly, as the paper does."""
    balanced: bool = False
    """Weigh the rows of a batch by w / (w + beta), so that those of large beta do not drown the
    others."""
    scaled_beta: bool = False
    """Give the decoder and the entropy model beta / beta_max instead of beta: where beta_max is far
    above 1, beta itself is a badly scaled input."""
    warmup: float = Field(0.4, ge=0, le=1)
    """Share of the budget over which the rate term grows from zero."""
    bits: int = Field(8, ge=1, le=16)
    """A, the largest number of bits per dimension."""
    components: int = Field(5, ge=1)
    """K, the logistics in each mixture of the entropy model."""
    rate: Literal["codes", "lengths"] = "lengths"
    """Rate in the objective: of the codes alone (the paper), or of their lengths too."""
    code: Literal["bits", "resolution"] = "bits"
    """Bits by a layer of their own, as many as the row asks for (the paper's; model.py), or the
    binary digits of e at a resolution that rows share (resolution.py)."""


class SofairAdvParams(SofairParams):
    """Hyperparameters of sofair-adv; those of SoFaiR have the ranges that its price needs."""

    moved: ClassVar[Mapping[str, str]] = {}
    distortion_weight: float = Field(1.0, gt=0, allow_inf_nan=False)
    """w, as in SoFaiR."""
    beta_max: float = Field(150.0, gt=0, allow_inf_nan=False)
    """Largest beta: a fiftieth of it is for the length of the code."""
    beta_power: float = Field(5.0, gt=0, allow_inf_nan=False)
    """As in SoFaiR; most draws of beta are small."""
    code: Literal["bits", "resolution"] = "resolution"
    """As in SoFaiR."""
    adversary: float = Field(0.98, gt=0, le=1)
    """Share of beta's price that is for an adversary's estimate of s from z, the rest being for the
    length of the code (leakage.py)."""
    adversary_hidden: tuple[PositiveInt, ...] = (64, 64)
    """Units of the adversary's hidden layers."""
    adversary_rate: float = Field(1.0, gt=0, allow_inf_nan=False)
    """Factor on the learning rate for the adversary."""


class SofairMethod(NeuralMethod):
    """An autoencoder whose bit stream is masked by beta."""

    reference = "Gitiaux and Rangwala 2022, SoFaiR: Single Shot Fair Representation Learning"
    coding = Coding.QUANTISED
    has_bits = True
    Params: ClassVar[type[Params]] = SofairParams
    # A layer for bits hardly learns to draw, and D of an image is so large that beta has to go far:
    # most draws of it are small, and rows of large beta do not drown the others (docs/images.md).
    image_params: ClassVar[Mapping[str, Any]] = {
        "code": "resolution",
        "beta_max": 16.0,
        "beta_power": 7.0,
        "balanced": True,
    }
    decoder_sees_s: ClassVar[bool] = True

    def __init__(self, params: SofairParams | None = None) -> None:
        super().__init__(params)
        beta = Knob("beta", 0.0, self.params.beta_max, "weight of the rate; more is fairer")
        self.knobs = (beta,)

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        return {
            "distortion_weight": FloatDistribution(1.0, 20.0, log=True),
            "beta_max": FloatDistribution(0.3, 200.0, log=True),
            "beta_power": FloatDistribution(1.0, 6.0),
            "warmup": FloatDistribution(0.0, 0.6),
            "learning_rate": FloatDistribution(3e-4, 3e-3, log=True),
            "rate": CategoricalDistribution(["codes", "lengths"]),
            "code": CategoricalDistribution(["bits", "resolution"]),
            "scaled_beta": CategoricalDistribution([False, True]),
        }

    def adversary(self) -> AdversaryShare | None:
        """What sofair-adv has and SoFaiR has not."""
        return None

    def build(
        self, units: Sequence[Unit], info: DatasetInfo, networks: Networks, streams: Streams
    ) -> SofairModel | ResolutionModel:
        from fairbench_plugins.sofair.model import SofairModel
        from fairbench_plugins.sofair.resolution import ResolutionModel

        fixed = [unit.point["beta"] for unit in units if unit.point is not None]
        model = ResolutionModel if self.params.code == "resolution" else SofairModel
        return model(
            self.params,
            networks,
            len(info.groups),
            fixed or None,
            streams,
            decoder_sees_s=self.decoder_sees_s,
            adversary=self.adversary(),
        )


class Sofair(SofairMethod):
    """One model; every beta is a point."""

    name = "sofair"
    summary = "single-shot: masks the tail of a learned bit stream by beta"
    shots = Shots.SINGLE


class SofairNOS(SofairMethod):
    """SoFaiR with a decoder that does not see s: the paper's ablation of Theorem 2.1."""

    name = "sofair-nos"
    summary = "SoFaiR whose decoder does not see s: the paper's ablation"
    shots = Shots.SINGLE
    decoder_sees_s = False


class MSFaiR(SofairMethod):
    """SoFaiR's multi-shot counterpart: one model per beta."""

    name = "msfair"
    summary = "multi-shot SoFaiR: one model for each of 16 (or --points 4, 8) betas"
    image_params: ClassVar[Mapping[str, Any]] = {
        "code": "resolution",
        "beta_max": 20.0,
        "beta_power": 3.0,
    }

    def points(self) -> tuple[Point, ...]:
        """16 betas spread over SoFaiR's range as SoFaiR draws them, ends included."""
        p = self.params
        betas = (p.beta_max * (i / 15) ** p.beta_power for i in range(16))
        return tuple(Point.of(beta=float(f"{beta:.6g}")) for beta in betas)


class SofairAdv(Sofair):
    """SoFaiR whose price is mostly an adversary's estimate of s: not the paper's method."""

    name = "sofair-adv"
    summary = "SoFaiR priced mostly by what an adversary reads of s; ours, not the paper's"
    reference = "after Gitiaux and Rangwala 2022, with an adversary as in Madras et al. 2018"
    Params: ClassVar[type[Params]] = SofairAdvParams
    image_params: ClassVar[Mapping[str, Any]] = {}

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        return {
            **super().search_space(),
            "adversary": CategoricalDistribution([0.9, 0.98]),
            "adversary_rate": FloatDistribution(0.3, 10.0, log=True),
        }

    def adversary(self) -> AdversaryShare:
        """The adversary of the hyperparameters."""
        from fairbench_plugins.sofair.leakage import AdversaryShare

        p = self.params
        return AdversaryShare(p.adversary, p.adversary_hidden, p.adversary_rate)


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """SoFaiR, SoFaiR-NOS, MSFaiR, and sofair-adv."""
    return [Sofair, SofairNOS, MSFaiR, SofairAdv]
