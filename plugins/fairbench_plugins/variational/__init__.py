"""Variational autoencoders with a price on the information in z: beta-VAE, CVIB, VFAE, FCRL.

Objectives, equations and departures are in model.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fairbench.api import Coding, DatasetInfo, Knob, Method, Params, Point, Unit
from fairbench.hookspecs import hookimpl
from fairbench.training import NeuralMethod, NeuralParams, SingleShotTwin

if TYPE_CHECKING:
    from fairbench.training import Networks, StackedModel, Streams


PAPER_BETAS = tuple(round(0.05 * i, 2) for i in range(21))
"""beta-VAE's points in the paper: 0 to 1 in steps of .05."""

MORE_BETAS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""Where the paper stops, D is a third of D_max on Adults-Gender; z is empty from about 4 on."""

VFAE_GAMMAS = (0.0, 1.0, 3.0, 10.0, 30.0, 60.0, 100.0, 200.0, 400.0, 1000.0)
"""VFAE's points in version 0.1: the orders of magnitude in which the penalty takes hold."""

MORE_GAMMAS = (3000.0, 10000.0, 30000.0, 100000.0)
"""On Adults-Gender the largest releases next to nothing."""

FCRL_BETAS = (0.005, 0.01, 0.03, 0.07, 0.1, 0.2, 0.4, 0.7, 1.0, 2.0)
"""FCRL's points in version 0.1, spread over the orders of magnitude of beta."""

MORE_FCRL_BETAS = (4.0, 8.0, 16.0, 32.0)
"""On Adults-Gender the largest releases next to nothing, unless ``contrast`` is above 1."""


class VariationalParams(NeuralParams):
    """Hyperparameters of all four methods."""

    batch_size: int = Field(128, ge=2)
    """Rows per step; CVIB, VFAE and FCRL compare them with each other."""
    distortion_weight: float = Field(1.0, gt=0, allow_inf_nan=False)
    """w = 1 / (2 sigma^2) of the isotropic Gaussian behind the distortion."""


class GridParams(VariationalParams):
    """Hyperparameters of the methods whose grid has two ends."""

    grid: Literal["extended", "paper"] = "extended"
    """``paper``: the SoFaiR paper's points, or as few for methods that are not in it; ``extended``:
    also beyond, up to where z tells next to nothing."""


class VariationalMethod(NeuralMethod):
    """A variational autoencoder whose decoder sees s; z is a draw from q(z|x)."""

    coding = Coding.STOCHASTIC
    Params: ClassVar[type[Params]] = VariationalParams

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        return {
            "distortion_weight": FloatDistribution(0.3, 10.0, log=True),
            "learning_rate": FloatDistribution(3e-4, 3e-3, log=True),
            "batch_size": CategoricalDistribution([64, 128, 256]),
        }

    def build(
        self, units: Sequence[Unit], info: DatasetInfo, networks: Networks, streams: Streams
    ) -> StackedModel:
        from fairbench_plugins.variational import model

        made = getattr(model, self.model)
        points = [unit.point for unit in units if unit.point is not None]
        stack: StackedModel = made(self.params, networks, len(info.groups), points, streams)
        return stack

    model: ClassVar[str]
    """Name of its stacked model in model.py, which is imported when something is fitted."""


class BetaVAE(VariationalMethod):
    """Distortion plus beta times the rate."""

    name = "beta-vae"
    summary = "variational: distortion plus beta times KL(q(z|x) || N(0, I))"
    reference = "Higgins et al. 2017; with s in the decoder: Gitiaux and Rangwala 2021"
    knobs = (Knob("beta", 0.0, MORE_BETAS[-1], "weight of the rate; more is fairer"),)
    model = "BetaVAEModel"
    Params: ClassVar[type[Params]] = GridParams

    def points(self) -> tuple[Point, ...]:
        """The paper's 21, and 7 beyond."""
        more = MORE_BETAS if self.params.grid == "extended" else ()
        return tuple(Point.of(beta=beta) for beta in (*PAPER_BETAS, *more))


class CVIB(VariationalMethod):
    """Invariance without adversaries: pairwise divergences bound I(Z;S)."""

    name = "cvib"
    summary = "variational: adds lambda times the pairwise KL between encodings, a bound on I(Z;S)"
    reference = "Moyer et al. 2018, arXiv:1805.09458; unsupervised as in the SoFaiR paper"
    knobs: tuple[Knob, ...] = (
        Knob("beta", 0.001, 0.1, "weight of the rate; more is fairer"),
        Knob("lambda", 0.01, 1.0, "weight of the invariance; more is fairer"),
    )
    model = "CVIBModel"

    def points(self) -> tuple[Point, ...]:
        """The paper's 57: beta in {.001, .01, .1}, lambda to .1 in steps of .01, to 1 in .1."""
        lambdas = [round(0.01 * i, 2) for i in range(1, 10)]
        lambdas += [round(0.1 * i, 1) for i in range(1, 11)]
        betas = (0.001, 0.01, 0.1)
        return tuple(Point.of(beta=b, lambda_=value) for b in betas for value in lambdas)


class VFAEParams(GridParams):
    """Hyperparameters of VFAE."""

    beta: float = Field(0.1, ge=0, allow_inf_nan=False)
    """Weight of the rate."""


class VFAE(VariationalMethod):
    """A penalty on the distance between the groups' distributions of z."""

    name = "vfae"
    summary = "variational: adds gamma times the maximum mean discrepancy between groups"
    reference = "Louizos et al. 2016, arXiv:1511.00830; unsupervised: one latent layer, no y"
    knobs = (Knob("gamma", 0.0, MORE_GAMMAS[-1], "weight of the discrepancy; more is fairer"),)
    model = "VFAEModel"
    Params: ClassVar[type[Params]] = VFAEParams

    def points(self) -> tuple[Point, ...]:
        """Ten, and 4 beyond."""
        more = MORE_GAMMAS if self.params.grid == "extended" else ()
        return tuple(Point.of(gamma=gamma) for gamma in (*VFAE_GAMMAS, *more))

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import FloatDistribution

        return {**super().search_space(), "beta": FloatDistribution(1e-3, 1.0, log=True)}


class FCRLParams(GridParams):
    """Hyperparameters of FCRL."""

    contrast: float = Field(1.0, ge=0, allow_inf_nan=False)
    """lambda / beta: weight of the contrastive bound on I(Z;X|S) relative to the rate's. The
    authors' published script has 2 (examples/params/fcrl-published.yaml)."""


class FCRL(VariationalMethod):
    """Pays for the rate, except for information of z on x beyond s."""

    name = "fcrl"
    summary = "variational: beta times (KL minus a contrastive estimate of I(Z;X|S))"
    reference = "Gupta et al. 2021, arXiv:2101.04108; unsupervised: x in place of y"
    knobs = (Knob("beta", 0.005, MORE_FCRL_BETAS[-1], "weight of the rate; more is fairer"),)
    model = "FCRLModel"
    Params: ClassVar[type[Params]] = FCRLParams

    def points(self) -> tuple[Point, ...]:
        """Ten, and 4 beyond."""
        more = MORE_FCRL_BETAS if self.params.grid == "extended" else ()
        return tuple(Point.of(beta=beta) for beta in (*FCRL_BETAS, *more))

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import FloatDistribution

        return {**super().search_space(), "contrast": FloatDistribution(0.5, 5.0)}


class BetaVAESingleShot(SingleShotTwin, BetaVAE):
    """beta-VAE, one model for all beta."""

    name = "beta-vae-ss"
    summary = "single-shot twin of beta-vae: one model, conditioned on beta"
    knobs = (
        Knob("beta", 0.01, MORE_BETAS[-1], "weight of the rate; more is fairer", logarithmic=True),
    )
    knob_buffers: ClassVar[Mapping[str, float]] = {"knob_beta": 1.0}


class CVIBSingleShot(SingleShotTwin, CVIB):
    """CVIB, one model for all lambda; beta is a tenth of lambda."""

    name = "cvib-ss"
    summary = "single-shot twin of cvib: one model, conditioned on lambda; beta is a tenth of it"
    knobs = (
        Knob("lambda", 0.01, 10.0, "weight of the invariance; more is fairer", logarithmic=True),
    )
    knob_buffers: ClassVar[Mapping[str, float]] = {"knob_lambda": 1.0, "knob_beta": 0.1}
    rows_per_knob = 16


class FCRLSingleShot(SingleShotTwin, FCRL):
    """FCRL, one model for all beta."""

    name = "fcrl-ss"
    summary = "single-shot twin of fcrl: one model, conditioned on beta"
    knobs = (
        Knob(
            "beta",
            FCRL_BETAS[0],
            MORE_FCRL_BETAS[-1],
            "weight of the rate; more is fairer",
            logarithmic=True,
        ),
    )
    knob_buffers: ClassVar[Mapping[str, float]] = {"knob_beta": 1.0}
    rows_per_knob = 16


class VFAESingleShot(SingleShotTwin, VFAE):
    """VFAE, one model for all gamma."""

    name = "vfae-ss"
    summary = "single-shot twin of vfae: one model, conditioned on gamma"
    knobs = (
        Knob(
            "gamma",
            1.0,
            MORE_GAMMAS[-1],
            "weight of the discrepancy; more is fairer",
            logarithmic=True,
        ),
    )
    knob_buffers: ClassVar[Mapping[str, float]] = {"knob_gamma": 1.0}
    rows_per_knob = 16


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """beta-VAE, CVIB, VFAE and FCRL, and their single-shot twins."""
    twins = [BetaVAESingleShot, CVIBSingleShot, VFAESingleShot, FCRLSingleShot]
    return [BetaVAE, CVIB, VFAE, FCRL, *twins]
