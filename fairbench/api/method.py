"""The interface of methods: what is fitted, and what a fit gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
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
)


class Representation(ABC):
    """An encoder at one point, and what else the method knows about its codes.

    ``encode`` is all a method owes. A method without a decoder is judged by one that the suite fits
    after the fact, the same for all methods.
    """

    @abstractmethod
    def encode(
        self, x: Floats, *, s: Ints | None = None, generator: np.random.Generator | None = None
    ) -> Floats:
        """Map rows to representations.

        Parameters
        ----------
        x : ndarray of float32, shape (n, d)
            Prepared features; of images uint8, 0 and 1.
        s : ndarray of int64, shape (n,), optional
            Given to methods of the ``aware`` track alone.
        generator : numpy.random.Generator, optional
            Given to stochastic encoders, which draw from it and nothing else; None to others.

        Returns
        -------
        ndarray of float32, shape (n, k)
            What is released.
        """

    def decode(self, z: Floats, s: Ints) -> Floats | None:
        """Reconstruct x, ``(n, d)``, from z ``(n, k)`` and s ``(n,)``; None: no decoder."""
        return None

    def rate(self, x: Floats) -> float | None:
        """Mean code length H(Z) by the method's own model, in nats; None: it has no such model."""
        return None

    def bits(self, x: Floats) -> npt.NDArray[np.int8] | None:
        """Released bits ``(n, k, bits)``: 0, 1, or -1 where masked; None: not a code of bits."""
        return None

    def parameters(self) -> int | None:
        """How many trained numbers this one model has; None: it does not count them."""
        return None

    def multiply_adds(self) -> int | None:
        """Multiply-adds of the whole model on one row, in training; by default, its numbers."""
        return self.parameters()

    def state(self) -> Mapping[str, npt.NDArray[Any]] | None:
        """Arrays from which ``Method.restore`` makes it again; None: it cannot be kept."""
        return None


class Curve(ABC):
    """What a single-shot fit returns: one model that can be read at any point.

    Which points are read is decided after the fit: ``points`` where the curve has a natural list of
    its own, otherwise spread evenly over the distortion between the ends of ``knob``.
    """

    knob: Knob
    points: tuple[Point, ...] | None = None

    @abstractmethod
    def at(self, point: Point) -> Representation:
        """Return the representation at one setting of the knob."""

    def state(self) -> Mapping[str, npt.NDArray[Any]] | None:
        """Arrays from which ``Method.restore`` makes it again; None: it cannot be kept."""
        return None


@dataclass(frozen=True)
class Diverged:
    """In place of a representation: this unit's training blew up; its stack-mates went on.

    Parameters
    ----------
    reason : str
        What was seen and at which step.
    """

    reason: str


Fitted = Representation | Curve | Diverged
"""What ``Method.fit`` returns for a unit."""


class Params(BaseModel):
    """Hyperparameters of a method: a frozen pydantic model whose defaults are the paper's."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Method(ABC):
    """A way of learning representations. Required: ``name``, ``summary``, ``points``, ``fit``.

    Attributes
    ----------
    name : str
        Lower case words joined by hyphens; unique in the registry.
    aliases : tuple of str
        Other names it answers to.
    summary : str
        One line for ``fairbench list methods``.
    reference : str
        The paper.
    track, coding, shots : Track, Coding, Shots
        What the encoder sees, what it releases, what a curve costs.
    has_decoder : bool
        Whether its representations decode.
    baseline : bool
        Baselines of the blind track are added to every run, those of another to every run with a
        method of that track, so that no leaderboard is without them.
    knobs : tuple of Knob
        Its fairness parameters.
    Params : type
        Its hyperparameters.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    reference: ClassVar[str] = ""
    track: ClassVar[Track] = Track.BLIND
    coding: ClassVar[Coding] = Coding.DETERMINISTIC
    shots: ClassVar[Shots] = Shots.MULTI
    has_decoder: ClassVar[bool] = False
    baseline: ClassVar[bool] = False
    knobs: tuple[Knob, ...] = ()
    Params: ClassVar[type[Params]] = Params

    def __init__(self, params: BaseModel | None = None) -> None:
        self.params: Any = params if params is not None else self.Params()

    def points(self) -> tuple[Point, ...]:
        """The paper's grid of points of a multi-shot method; one empty point without knobs."""
        return (Point(),)

    def search_space(self) -> Mapping[str, Any]:
        """Optuna distributions by parameter name; empty: nothing to search."""
        return {}

    def supports(self, info: DatasetInfo) -> str | None:
        """Say why this method cannot run on a dataset; None: it can."""
        return None

    @abstractmethod
    def fit(
        self, train: TrainingRows, units: Sequence[Unit], context: FitContext
    ) -> Sequence[Fitted]:
        """Fit one model a unit; all randomness comes from the unit's seed.

        Parameters
        ----------
        train : TrainingRows
            The encoder-train role and nothing else.
        units : sequence of Unit
            What to fit. The suite may ask for many at once, so that they can share work.
        context : FitContext
            Budget, device, progress.

        Returns
        -------
        sequence of Representation, Curve or Diverged
            One a unit, in order: a Curve for single-shot methods.
        """

    def restore(
        self, state: Mapping[str, npt.NDArray[Any]], unit: Unit, info: DatasetInfo
    ) -> Representation | Curve:
        """Make again what ``fit`` returned for a unit, able to encode; needed if ``state`` is.

        Parameters
        ----------
        state : mapping of str to ndarray
            What :meth:`Representation.state`, or :meth:`Curve.state`, gave.
        unit : Unit
            What it was fitted for.
        info : DatasetInfo
            Of the dataset it was fitted on.
        """
        raise NotImplementedError(f"{self.name} cannot restore what it fitted")

    @property
    def tags(self) -> tuple[str, ...]:
        """Coding, shots, whether it has a decoder and is a baseline, for lists and records."""
        decoder = ("decoder",) if self.has_decoder else ()
        baseline = ("baseline",) if self.baseline else ()
        return (self.coding.value, self.shots.value, *decoder, *baseline)
