"""The base class of neural methods: a plugin gives networks and losses, the suite does the rest.

torch is imported only when something is fitted, so that listing methods stays quick.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy.typing as npt
from pydantic import Field, PositiveInt

from fairbench.api import (
    Architecture,
    Coding,
    DatasetInfo,
    FitContext,
    Shots,
    TrainingRows,
    Unit,
    Workload,
)
from fairbench.api.costs import EARLIER_SECONDS
from fairbench.api.method import Curve, Diverged, Fitted, Method, Params, Representation
from fairbench.stats.seeds import derive_seed

if TYPE_CHECKING:
    from fairbench.training.model import StackedModel
    from fairbench.training.networks import Networks
    from fairbench.training.representation import NeuralCurve, NeuralRepresentation
    from fairbench.training.streams import Streams


_MANY_FEATURES = 1000
"""Features of x from which on products in bfloat16 save time in one model too."""


class NeuralParams(Params):
    """Hyperparameters that all neural methods share."""

    learning_rate: float = Field(1e-3, gt=0, allow_inf_nan=False)
    """Of Adam at its peak. The paper prints .00003; docs/reproduction.md has its results."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """Of the learning rate: falling from its peak to 0 along half a cosine, or constant."""
    batch_size: int = Field(128, ge=1)
    """Rows per step."""
    hidden: tuple[PositiveInt, ...] | None = None
    """Units of each hidden layer; None: those of the dataset's architecture."""
    latent: PositiveInt | None = None
    """Dimensions of the representation; None: those of the dataset's architecture."""
    restarts: int = Field(1, ge=1)
    """Models trained per unit; the one with the least training objective on the training set is
    selected."""
    added: ClassVar[frozenset[str]] = frozenset({"schedule"})


class NeuralMethod(Method):
    """A method that trains as a stack. Required beside a Method's declarations: ``build``."""

    has_decoder: ClassVar[bool] = True
    uses_gpu: ClassVar[bool] = True
    Params: ClassVar[type[Params]] = NeuralParams

    @abstractmethod
    def build(
        self, units: Sequence[Unit], info: DatasetInfo, networks: Networks, streams: Streams
    ) -> StackedModel:
        """Make the stack, one model per unit, on the CPU.

        Parameters
        ----------
        units : sequence of Unit
            Seeds and points; knobs belong in buffers whose first axis is the models'.
        networks : Networks
            Makes encoders and decoders that suit the dataset.
        streams : Streams
            ``streams.generators("weights")`` initialise the layers.
        """

    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        """Train all units as one stack; see :func:`fairbench.training.trainer.train`.

        ``restarts`` models are trained for each unit, and the best one by the method's own
        objective on the training set is selected; see :mod:`fairbench.training.restarts`.
        """
        from fairbench.training.checkpoint import Checkpoint
        from fairbench.training.restarts import select_best
        from fairbench.training.schedule import Schedule
        from fairbench.training.streams import Streams
        from fairbench.training.trainer import train as train_stack

        restarts = self.workload(train.info).models_per_unit
        models = [(unit, again) for unit in units for again in range(restarts)]
        seeds = [
            derive_seed(
                self.name, u.seed, u.point.label if u.point else "", *([again] if again else [])
            )
            for u, again in models
        ]
        streams = Streams(seeds, context.device)
        stacked = [unit for unit, _ in models]
        model = self.build(stacked, train.info, self.networks(train.info), streams)
        model = model.to(context.device)
        checkpoint = None
        if context.checkpoint is not None:
            checkpoint = Checkpoint(context.checkpoint, context.checkpoint_every)
        schedule = Schedule(
            context.iterations,
            self.params.batch_size,
            self.params.learning_rate,
            decay=self.params.schedule == "cosine",
        )
        reasons = train_stack(
            model,
            train.x,
            train.s,
            groups=len(train.info.groups),
            schedule=schedule,
            streams=streams,
            progress=context.progress,
            deadline=context.deadline,
            checkpoint=checkpoint,
            fast=self.multiplies_fast(len(train.info.features)),
        )
        context.report("steps", float(context.iterations * restarts))
        if checkpoint is not None and checkpoint.earlier_seconds:
            context.report(EARLIER_SECONDS, checkpoint.earlier_seconds)
        selected = list(range(len(models)))
        if restarts > 1:
            selected = select_best(
                model,
                train.x,
                train.s,
                groups=len(train.info.groups),
                restarts=restarts,
                reasons=reasons,
                device=context.device,
                deadline=context.deadline,
            )
        return [
            Diverged(reason) if (reason := reasons[i]) else self._fitted(model.take(i), train.info)
            for i in selected
        ]

    def multiplies_fast(self, features: int) -> bool:
        """Whether its models train with products in bfloat16, on a CPU that is fast in it.

        That saves time in stacks of the many points of a curve, and where x is wide; in one narrow
        model casting costs what it gains. It depends on method and data, never on the stack: a
        model must be the same alone and among others.
        """
        return self.shots is Shots.MULTI or features >= _MANY_FEATURES

    def restore(
        self, state: Mapping[str, npt.NDArray[Any]], unit: Unit, info: DatasetInfo
    ) -> Representation | Curve:
        """Build a stack of one model and load the trained weights."""
        import torch

        from fairbench.training.streams import Streams

        model = self.build([unit], info, self.networks(info), Streams([0], "cpu"))
        # A copy: torch wants memory that it may write to.
        model.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
        return self._fitted(model.eval(), info)

    def workload(self, info: DatasetInfo) -> Workload:
        """Sizes of the networks, batch size, and how many models are trained for each unit."""
        return Workload(self.architecture(info), self.params.batch_size, self.params.restarts)

    def architecture(self, info: DatasetInfo) -> Architecture:
        """The dataset's architecture, as far as the hyperparameters do not replace it."""
        given = {"hidden": self.params.hidden, "latent": self.params.latent}
        changes = {name: value for name, value in given.items() if value is not None}
        return replace(info.architecture, **changes)

    def networks(self, info: DatasetInfo) -> Networks:
        """Encoders and decoders of that architecture."""
        from fairbench.training.networks import Networks

        return Networks(features=len(info.features), **vars(self.architecture(info)))

    def _fitted(self, model: StackedModel, info: DatasetInfo) -> NeuralRepresentation | NeuralCurve:
        from fairbench.training.representation import NeuralCurve, NeuralRepresentation

        fitted = NeuralRepresentation(
            model,
            groups=len(info.groups),
            features=len(info.features),
            stochastic=self.coding is Coding.STOCHASTIC,
        )
        return NeuralCurve(self.knobs[0], fitted) if self.shots is Shots.SINGLE else fitted
