"""LFR: soft assignments to prototypes that all groups use alike.

Zemel et al. 2013, "Learning Fair Representations", ICML, PMLR 28(3):325-333. The objective and
departures are in model.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from fairbench.api import DatasetInfo, Knob, Method, Params, Point, Unit
from fairbench.hookspecs import hookimpl
from fairbench.training import NeuralMethod, NeuralParams

if TYPE_CHECKING:
    from fairbench.training import Networks, Streams
    from fairbench_plugins.lfr.model import LFRModel

PARITIES = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Points."""


class LFRParams(NeuralParams):
    """Hyperparameters of LFR; ``hidden`` has no use, as there are no hidden layers."""

    learning_rate: float = Field(1e-2, gt=0, allow_inf_nan=False)
    """Of Adam at its peak: prototypes have the scale of x, weights of networks a smaller one."""
    batch_size: int = Field(256, ge=1)
    """Rows per step."""


class LFR(NeuralMethod):
    """Reconstructs rows by a few prototypes, each of which all groups use as much."""

    name = "lfr"
    summary = "soft prototypes: distortion plus A_z times the groups' difference in their use"
    reference = "Zemel et al. 2013, PMLR 28(3):325-333; unsupervised: no y"
    knobs = (Knob("parity", 0.0, PARITIES[-1], "A_z, the weight of parity; more is fairer"),)
    Params: ClassVar[type[Params]] = LFRParams

    def points(self) -> tuple[Point, ...]:
        """Eight."""
        return tuple(Point.of(parity=weight) for weight in PARITIES)

    def search_space(self) -> Mapping[str, Any]:
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        return {
            # None, the default: the dataset's number.
            "latent": CategoricalDistribution((None, 5, 12, 20, 32, 50)),
            "learning_rate": FloatDistribution(1e-3, 3e-2, log=True),
        }

    def build(
        self, units: Sequence[Unit], info: DatasetInfo, networks: Networks, streams: Streams
    ) -> LFRModel:
        from fairbench_plugins.lfr.model import LFRModel

        weights = [unit.point["parity"] for unit in units if unit.point is not None]
        return LFRModel(networks, weights, streams)


@hookimpl
def register_methods() -> Sequence[type[Method]]:
    """LFR."""
    return [LFR]
