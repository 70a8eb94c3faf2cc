"""The interface of methods: a method, its hyperparameters, and the results of a fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from fairbench.api.types import (
    Coding,
    DatasetInfo,
    FitContext,
    Floats,
    Ints,
    Knob,
    Point,
    Shots,
    Track,
    TrainingRows,
    Unit,
    Workload,
)


class Representation(ABC):
    """An encoder at one point. Required: ``encode``.

    A method without a decoder is judged by one that the suite fits afterwards, the same for all
    methods.
    """

    @abstractmethod
    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        """Map rows to representations, each by itself: rows come in a random order.

        Parameters
        ----------
        x : ndarray of float32, shape (n, d)
            Prepared features; of images uint8, 0 and 1.
        s : ndarray of int64, shape (n,), optional
            Passed to methods of the ``aware`` track only.
        generator : numpy.random.Generator, optional
            Passed to stochastic encoders, which draw from it and nothing else; else None.

        Returns
        -------
        ndarray of float32, shape (n, k)
            The released codes.
        """

    def input_columns(self) -> Sequence[int] | None:
        """Columns of x that ``encode`` reads, from 0; None: all. New rows need no others."""
        return None

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        """Reconstruct x, ``(n, d)``, from z ``(n, k)`` and s ``(n,)``; None: no decoder.

        Called once for each group, with that group for all rows. Auditors see the results for all
        groups, rounded to three decimals.
        """
        return None

    def rate(self, x: Floats) -> float | None:
        """Mean code length H(Z) by the method's own model, in nats; None: it has no such model."""
        return None

    def bits(self, x: Floats) -> npt.NDArray[np.int8]:
        """Released bits ``(n, k, bits)``: 0, 1, or -1 where masked.

        Needed, and called, only where the method declares ``has_bits``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no bits")

    def parameters(self) -> int | None:
        """Number of trainable parameters of this model; None: not counted."""
        return None

    def multiply_adds(self) -> int | None:
        """Multiply-adds of the whole model per training row; by default, one per parameter."""
        return self.parameters()

    def state(self) -> Mapping[str, npt.NDArray[Any]] | None:
        """Arrays from which ``Method.restore`` rebuilds it; None: it cannot be stored."""
        return None


class Curve(ABC):
    """The result of a single-shot fit: one model that gives a representation at any point.

    The points are chosen after the fit: ``points`` where the curve has a list of its own, otherwise
    points spread evenly over the distortion between the ends of ``knob``.
    """

    knob: Knob
    points: tuple[Point, ...] | None = None

    @abstractmethod
    def at(self, point: Point) -> Representation:
        """Return the representation at one setting of the knob."""

    def find_point(self, point: Point) -> Point | None:
        """Find the one of its ``points`` with the label of another; numbers in labels are rounded.

        None: there is none, or the curve has no list of points.
        """
        return next((own for own in self.points or () if own.label == point.label), None)

    def state(self) -> Mapping[str, npt.NDArray[Any]] | None:
        """Arrays from which ``Method.restore`` rebuilds it; None: it cannot be stored."""
        return None


@dataclass(frozen=True)
class Diverged:
    """Stands in for a representation where the training of this unit diverged.

    Parameters
    ----------
    reason : str
        The symptom, and the step at which it was seen.
    """

    reason: str


Fitted = Representation | Curve | Diverged
"""The result of ``Method.fit`` for one unit."""


class Params(BaseModel):
    """Hyperparameters of a method: a frozen pydantic model whose defaults are the paper's."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    moved: ClassVar[Mapping[str, str]] = {}
    """Earlier names of hyperparameters, and for each the hint that the error shows."""
    added: ClassVar[frozenset[str]] = frozenset()
    """Hyperparameters that were added when there were results. At their defaults they are left out
    of keys, so that these results stay valid."""

    def identity(self) -> dict[str, Any]:
        """Return the plain values that enter the keys of stored results."""
        fields = type(self).model_fields
        defaults = {
            name: fields[name].get_default(call_default_factory=True) for name in self.added
        }
        later = {name for name, default in defaults.items() if getattr(self, name) == default}
        return self.model_dump(mode="json", exclude=later)

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """Return plain values as pydantic does, and sets in one order as JSON.

        The order of a set of texts is another in each process.
        """
        plain = super().model_dump(**options)
        if options.get("mode") == "json":
            for name in plain:
                if isinstance(getattr(self, name), Set):
                    plain[name] = sorted(plain[name], key=repr)
        return plain


class Method(ABC):
    """A method that learns representations. Required: ``name``, ``summary``, ``fit``.

    A method with knobs also needs ``points`` (multi-shot), or returns a :class:`Curve`.

    Attributes
    ----------
    name : str
        Lower-case words joined by hyphens; unique in the registry.
    aliases : tuple of str
        Other names it answers to.
    summary : str
        One line for ``fairbench list methods``.
    reference : str
        The paper.
    track, coding, shots : Track, Coding, Shots
        What the encoder may see, how it codes, how many models a curve takes.
    has_decoder : bool
        Whether its representations decode.
    has_bits : bool
        Whether its code is made of bits, which :meth:`Representation.bits` gives; they are stored,
        and ``fairbench explain`` shows them.
    tested_against : bool
        Whether leaderboards test other methods of its track against it, in a column ``p_<name>``.
        It counts of fairbench's own methods alone.
    baseline : bool
        Baselines of the blind track are added to every run, those of another track to every run
        with a method of that track, so that every leaderboard has them. It counts likewise.
    most_features : int or None
        Features of x that it takes at most; None: any number.
    uses_gpu : bool
        Whether ``fit`` computes on ``context.device``. Otherwise that is always ``cpu``, and no
        share of a GPU is kept for it. Neural methods do.
    knobs : tuple of Knob
        Its fairness parameters.
    Params : type
        Its hyperparameters.
    image_params : mapping of str to value
        Those whose defaults are others on datasets of images.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    reference: ClassVar[str] = ""
    track: ClassVar[Track] = Track.BLIND
    coding: ClassVar[Coding] = Coding.DETERMINISTIC
    shots: ClassVar[Shots] = Shots.MULTI
    has_decoder: ClassVar[bool] = False
    has_bits: ClassVar[bool] = False
    baseline: ClassVar[bool] = False
    tested_against: ClassVar[bool] = False
    most_features: ClassVar[int | None] = None
    uses_gpu: ClassVar[bool] = False
    knobs: tuple[Knob, ...] = ()
    Params: ClassVar[type[Params]] = Params
    image_params: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, params: BaseModel | None = None) -> None:
        self.params: Any = params if params is not None else self.Params()

    def points(self) -> tuple[Point, ...]:
        """Grid of points of a multi-shot method; one empty point without knobs."""
        return (Point(),)

    def search_space(self) -> Mapping[str, Any]:
        """Optuna distributions by hyperparameter; empty: nothing to search."""
        return {}

    def supports(self, info: DatasetInfo) -> str | None:
        """Return the reason why this method cannot run on a dataset; None: it can.

        By itself it compares the features with ``most_features``.
        """
        count = len(info.features)
        if self.most_features is not None and count > self.most_features:
            return f"it takes at most {self.most_features} features; {info.name} has {count}"
        return None

    def workload(self, info: DatasetInfo) -> Workload | None:
        """Report the size of the training on a dataset; None: nothing is trained in steps.

        Neural methods have one. The cost ``flops`` of a method that reports its ``steps`` counts a
        batch per step, and without a workload one row per step.
        """
        return None

    @abstractmethod
    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        """Fit one model per unit; all randomness comes from the unit's seed.

        Parameters
        ----------
        train : TrainingRows
            The training set.
        units : sequence of Unit
            Seeds and points. The suite may pass many at once, so that they can share work.
        context : FitContext
            Budget, device, progress.

        Returns
        -------
        sequence of Representation, Curve or Diverged
            One per unit, in order: a Curve for single-shot methods.
        """

    def restore(
        self, state: Mapping[str, npt.NDArray[Any]], unit: Unit, info: DatasetInfo
    ) -> Representation | Curve:
        """Rebuild a fitted representation or curve, able to encode; needed where ``state`` is.

        Parameters
        ----------
        state : mapping of str to ndarray
            From :meth:`Representation.state` or :meth:`Curve.state`.
        unit : Unit
            The unit it was fitted for.
        info : DatasetInfo
            The dataset it was fitted on.
        """
        raise NotImplementedError(f"{self.name} cannot restore a fitted representation")

    @classmethod
    def device(cls, available: str) -> str:
        """Return what ``context.device`` of its fits is: ``available``, or ``cpu``."""
        return available if cls.uses_gpu else "cpu"

    @property
    def tags(self) -> tuple[str, ...]:
        """Coding, shots, decoder and baseline as words, for lists and records."""
        decoder = ("decoder",) if self.has_decoder else ()
        baseline = ("baseline",) if self.baseline else ()
        return (self.coding.value, self.shots.value, *decoder, *baseline)
