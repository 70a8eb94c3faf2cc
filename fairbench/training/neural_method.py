"""The base class of neural methods: a plugin gives networks and losses, the suite does the rest.

torch is imported only when something is fitted, so that listing methods stays quick.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveInt

from fairbench.api import (
    Architecture,
    Coding,
    DatasetInfo,
    FitContext,
    Floats,
    Ints,
    Knob,
    Point,
    RowCache,
    Shots,
    TrainingRows,
    Unit,
    Workload,
)
from fairbench.api.method import Curve, Diverged, Fitted, Method, Params, Representation

if TYPE_CHECKING:
    import torch

    from fairbench.training.model import StackedModel
    from fairbench.training.networks import Networks
    from fairbench.training.streams import Streams

_ENCODE_CELLS = 2_000_000
"""Rows times features encoded at once: bounds memory."""

_CONVOLVED_ROWS = 64
"""Images encoded or decoded at once: their activations stay in the cache."""


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
        from fairbench.api.costs import EARLIER_SECONDS
        from fairbench.stats.seeds import derive_seed
        from fairbench.training.checkpoint import Checkpoint
        from fairbench.training.restarts import select_best
        from fairbench.training.streams import Streams
        from fairbench.training.trainer import train as train_stack
        from fairbench.training.watch import Schedule

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
        fitted = NeuralRepresentation(
            model,
            groups=len(info.groups),
            features=len(info.features),
            stochastic=self.coding is Coding.STOCHASTIC,
        )
        return NeuralCurve(self.knobs[0], fitted) if self.shots is Shots.SINGLE else fitted


@dataclass
class NeuralRepresentation(Representation):
    """One trained model of a stack, at one setting of its knob.

    Parameters
    ----------
    model : StackedModel
        A stack of one, on the CPU.
    groups, features : int
        Number of values of s, and of columns of x.
    stochastic : bool
        Whether the encoder takes noise.
    knob : float or None
        Where a single-shot curve is read.
    """

    model: StackedModel
    groups: int
    features: int
    stochastic: bool
    knob: float | None = None
    _gaussian_codes: RowCache[tuple[Floats, Floats] | None] = field(
        default_factory=RowCache, init=False, repr=False, compare=False
    )

    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        """Encode in chunks; a stochastic encoder draws its noise from ``generator``.

        ``s`` is given to methods of the aware track alone.
        """
        rng = generator if generator is not None else np.random.default_rng()
        code = None
        if self.stochastic and s is None:
            code = self._gaussian_codes.of(x, self.gaussian_code)
        if code is not None:
            mean, deviation = code
            return np.asarray(mean + deviation * rng.standard_normal(mean.shape).astype(np.float32))

        def one(rows: slice) -> torch.Tensor:
            import torch

            from fairbench.training.model import onehot

            part = torch.tensor(x[rows], dtype=torch.float32)[None]
            noise = None
            if self.stochastic:
                shape = (1, part.shape[1], self.model.noise_dimensions)
                noise = torch.from_numpy(rng.standard_normal(shape).astype(np.float32))
            knob = self._knob(part.shape[1])
            if s is None:
                return self.model.encode(part, knob, noise)[0]
            group = onehot(torch.tensor(s[rows]), self.groups)
            return self.model.encode_aware(part, group[None], knob, noise)[0]

        return self._in_chunks(len(x), one)

    def gaussian_code(self, x: Floats) -> tuple[Floats, Floats] | None:
        """Mean and deviation of each row's code; None of other encoders."""
        import torch

        codes = []
        with torch.no_grad():
            for rows in self._chunks(len(x)):
                part = torch.tensor(x[rows], dtype=torch.float32)[None]
                code = self.model.gaussian_code(part, self._knob(part.shape[1]))
                if code is None:
                    return None
                codes.append([tensor[0].numpy() for tensor in code])
        mean, deviation = (np.concatenate(arrays) for arrays in zip(*codes, strict=True))
        return mean, deviation

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        """Decode in chunks; None where the model has no decoder.

        Images are decoded in the CPU's fastest products, which takes less than half the time:
        squared errors differ by .01%. Codes are always in float32, so that they are the same
        everywhere.
        """
        from fairbench.training.layers import fast_products
        from fairbench.training.model import StackedModel

        if type(self.model).decode is StackedModel.decode:
            return None

        def one(rows: slice) -> torch.Tensor:
            import torch

            from fairbench.training.model import onehot

            part = torch.tensor(z[rows], dtype=torch.float32)[None]
            group = onehot(torch.tensor(s[rows]), self.groups)
            x_hat = self.model.decode(part, group[None], self._knob(part.shape[1]))
            assert x_hat is not None
            return x_hat[0]

        with fast_products(self.model) if self._has_convolutions() else nullcontext():
            return self._in_chunks(len(z), one)

    def rate(self, x: Floats) -> float | None:
        """Code length by the model's own coder, nats."""
        import torch

        total = 0.0
        with torch.no_grad():
            for rows in self._chunks(len(x)):
                part = torch.tensor(x[rows], dtype=torch.float32)
                length = self.model.code_length(part[None], self._knob(len(part)))
                if length is None:
                    return None
                total += float(length[0]) * len(part)
        return total / len(x)

    def bits(self, x: Floats) -> npt.NDArray[np.int8]:
        """Released bits ``(n, k, bits)``, -1 where masked."""
        import torch

        def one(rows: slice) -> torch.Tensor:
            part = torch.tensor(x[rows], dtype=torch.float32)[None]
            return self.model.code_bits(part, self._knob(part.shape[1]))[0]

        return self._in_chunks(len(x), one)

    def parameters(self) -> int:
        """Trainable parameters of this model, adversaries included."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def multiply_adds(self) -> int:
        """Of all trainable parameters on one row; a convolution uses each at every place."""
        return sum(
            parameter.numel() * getattr(module, "uses", 1)
            for module in self.model.modules()
            for parameter in module.parameters(recurse=False)
        )

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        """Weights and buffers, adversaries' included."""
        return {name: tensor.numpy() for name, tensor in self.model.state_dict().items()}

    def _knob(self, rows: int) -> torch.Tensor | None:
        import torch

        return None if self.knob is None else torch.full((1, rows, 1), float(self.knob))

    def _has_convolutions(self) -> bool:
        from fairbench.training.layers import StackedConv

        return any(isinstance(layer, StackedConv) for layer in self.model.modules())

    def _chunks(self, n: int) -> list[slice]:
        if self._has_convolutions():
            step = _CONVOLVED_ROWS
        else:
            step = int(np.clip(_ENCODE_CELLS // self.features, 256, 8192))
        return [slice(start, start + step) for start in range(0, n, step)]

    def _in_chunks(self, n: int, one: Callable[[slice], torch.Tensor]) -> npt.NDArray[Any]:
        import torch

        with torch.no_grad():
            return np.concatenate([one(rows).numpy() for rows in self._chunks(n)])


@dataclass
class NeuralCurve(Curve):
    """A single-shot model: one network, read at any setting of its knob."""

    knob: Knob
    representation: NeuralRepresentation

    def at(self, point: Point) -> NeuralRepresentation:
        """The representation at ``point[knob]``."""
        return replace(self.representation, knob=point[self.knob.name])

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        """Weights and buffers."""
        return self.representation.state()
