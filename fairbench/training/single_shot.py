"""Single-shot twins: a multi-shot neural method as one model for all settings of its knob.

    class BetaVAESingleShot(SingleShotTwin, BetaVAE):
        name = "my-beta-vae-ss"
        summary = "beta-VAE, one model for all beta"
        knobs = (Knob("beta", 0.01, 8.0, "weight of the rate; more is fairer", logarithmic=True),)
        knob_buffers = {"knob_beta": 1.0}

How the one model is trained stands in :mod:`fairbench.training.conditioned`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from fairbench.api import DatasetInfo, Point, Shots, Unit
from fairbench.training.neural_method import NeuralMethod

if TYPE_CHECKING:
    from fairbench.training.model import StackedModel
    from fairbench.training.networks import Networks
    from fairbench.training.streams import Streams


class SingleShotTwin(NeuralMethod):
    """Stands before a method in the bases of its twin.

    Required: ``name``, ``summary``, ``knobs`` and ``knob_buffers``. The method makes its networks
    by what ``build`` is given (``networks.encoder``, ``decoder``, ``mlp`` and ``linear``), so that
    they see the knob.

    Attributes
    ----------
    knobs : tuple of one Knob
        From its low, which is above 0, to its high the knob is drawn evenly in its logarithm.
    knob_buffers : mapping of str to float
        Buffers of the method's stack, and by what the knob is multiplied to be their values.
    rows_per_knob : int
        Rows of a batch that share a knob: 1 where the loss is a mean over rows; more where it
        compares the rows of a batch with each other.
    """

    shots = Shots.SINGLE
    knob_buffers: ClassVar[Mapping[str, float]]
    rows_per_knob: ClassVar[int] = 1

    def build(
        self, units: Sequence[Unit], info: DatasetInfo, networks: Networks, streams: Streams
    ) -> StackedModel:
        """Make a stack of the method's own models whose networks see the knob."""
        from fairbench.training.conditioned import KnobConditioned, KnobRange

        (knob,) = self.knobs
        # Buffers of the right shape: their values are those of the knob at each step.
        names = [one.name for one in self._twin_of().knobs]
        anywhere = Point(tuple((name, knob.low) for name in names))
        own = [Unit(unit.seed, anywhere) for unit in units]
        make = self._twin_of().build
        return KnobConditioned(
            lambda conditioned: make(self, own, info, conditioned, streams),
            networks,
            KnobRange(knob.low, knob.high),
            self.knob_buffers,
            self.rows_per_knob,
        )

    def supports(self, info: DatasetInfo) -> str | None:
        """Tables only."""
        if info.architecture.image is not None:
            return f"single-shot twins take tables; {info.name} has images"
        return super().supports(info)

    def _twin_of(self) -> type[NeuralMethod]:
        """The method that this is the twin of."""
        after = type(self).__mro__[type(self).__mro__.index(SingleShotTwin) + 1]
        assert issubclass(after, NeuralMethod)
        return after
