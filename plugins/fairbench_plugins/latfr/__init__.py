"""LATFR (Madras et al. 2018, "Learning Adversarially Fair and Transferable Representations").

The paper's unsupervised repurposing: the downstream loss is replaced by the distortion. The
objective is in model.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field, PositiveInt

from fairbench.api import DatasetInfo, Knob, Method, Point, Unit
from fairbench.hookspecs import hookimpl
from fairbench.neural import NeuralMethod, NeuralParams

if TYPE_CHECKING:
    from fairbench.training.streams import Streams
    from fairbench_plugins.latfr.model import LatfrModel

GAMMAS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0)
"""The paper's points (appendix, "Comparative Methods")."""


class LatfrParams(NeuralParams):
    """Hyperparameters of LATFR."""

    adversary_hidden: tuple[PositiveInt, ...] = (64, 64)
    """Units of the adversary's hidden layers."""
    adversary_rate: float = Field(1.0, gt=0, allow_inf_nan=False)
    """Factor on the learning rate for the adversary."""


class Latfr(NeuralMethod):
    """Adversarial: the encoder lowers distortion and raises the adversary's cross-entropy."""

    name = "latfr"
    aliases = ("laftr",)
    summary = "adversarial: distortion minus gamma times the adversary's cross-entropy"
    reference = "Madras et al. 2018, arXiv:1802.06309; unsupervised as in the SoFaiR paper"
    knobs = (Knob("gamma", 0.0, 4.0, "weight of the adversary; more is fairer"),)
    Params = LatfrParams

    def points(self) -> tuple[Point, ...]:
        return tuple(Point.of(gamma=gamma) for gamma in GAMMAS)

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        return {
            "learning_rate": FloatDistribution(3e-4, 3e-3, log=True),
            "adversary_rate": FloatDistribution(0.3, 10.0, log=True),
            "batch_size": CategoricalDistribution([64, 128, 256]),
        }

    def build(
        self, units: Sequence[Unit], info: DatasetInfo, sizes: tuple[int, ...], streams: Streams
    ) -> LatfrModel:
        from fairbench_plugins.latfr.model import LatfrModel

        gammas = [unit.point["gamma"] for unit in units if unit.point is not None]
        return LatfrModel(self.params, sizes, len(info.groups), gammas, streams)


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """LATFR."""
    return [Latfr]
