"""The types that plugins and suite share: roles, tracks, knobs, points, units, fit contexts."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
"""A float32 array."""
Ints = npt.NDArray[np.int64]
"""An int64 array."""


class Role(enum.StrEnum):
    """What a row is used for; the four roles are disjoint."""

    ENCODER_TRAIN = "encoder-train"
    """Fits encoders and decoders, and every statistic for scaling."""
    AUDITOR_TRAIN = "auditor-train"
    """Fits auditors, downstream classifiers and refitted decoders."""
    VALIDATION = "validation"
    """Chooses among auditors, decoders, points of a curve and hyperparameters."""
    TEST = "test"
    """Reports, and nothing else."""


AUDIT_ROLES = (Role.AUDITOR_TRAIN, Role.VALIDATION, Role.TEST)
"""The roles that are encoded and stored; encoder-train is never audited."""


class Track(enum.StrEnum):
    """What an encoder may look at; each track is ranked apart."""

    BLIND = "blind"
    """The encoder sees x alone: the paper's setting."""
    AWARE = "aware"
    """The encoder may also see s."""


class Coding(enum.StrEnum):
    """How an encoder maps a row to its representation."""

    DETERMINISTIC = "deterministic"
    """The same row always gives the same real-valued z."""
    STOCHASTIC = "stochastic"
    """z is a sample; audits look at several draws."""
    QUANTISED = "quantised"
    """Deterministic, and each dimension takes few values (a code of bits)."""


class DataSource(enum.StrEnum):
    """Where the rows of a dataset come from."""

    REAL = "real"
    """The files that its source publishes, or a user's own."""
    RENDERED = "rendered"
    """Images that fairbench draws."""
    SIMULATED = "simulated"
    """A simulated twin, drawn from published statistics because the files are not there."""


class Shots(enum.StrEnum):
    """How many models a curve costs."""

    SINGLE = "single-shot"
    """One model gives every point of the curve."""
    MULTI = "multi-shot"
    """Each point of the curve is a model of its own."""


@dataclass(frozen=True)
class Knob:
    """A method's fairness parameter.

    Parameters
    ----------
    name : str
        ``beta``, ``gamma``, ...
    low, high : float
        The range in which a single-shot curve can be read.
    summary : str
        One line: what turning it up does.
    logarithmic : bool
        Whether settings of a single-shot curve are tried evenly in its logarithm; low is above 0.
    limits : tuple of float
        Least and largest value at which a multi-shot method can be trained, also beyond its grid.
    whole : bool
        Whether its values are whole numbers, such as a number of cells.
    """

    name: str
    low: float
    high: float
    summary: str = ""
    logarithmic: bool = False
    limits: tuple[float, float] = (0.0, math.inf)
    whole: bool = False


NO_KNOBS = "-"
"""Label of the one point of a method without knobs."""


@dataclass(frozen=True)
class Point:
    """One setting of the knobs, e.g. ``Point.of(beta=0.5)``; knob names are kept sorted."""

    values: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, **knobs: float) -> Point:
        """Make a point from keyword arguments; a trailing underscore (``lambda_``) is dropped."""
        return cls(tuple(sorted((name.rstrip("_"), float(v)) for name, v in knobs.items())))

    def __getitem__(self, knob: str) -> float:
        return dict(self.values)[knob]

    @property
    def label(self) -> str:
        """``beta=0.5``, or ``-`` for a method without knobs."""
        return ",".join(f"{name}={value:.6g}" for name, value in self.values) or NO_KNOBS


@dataclass(frozen=True)
class Unit:
    """What one model is trained for: a seed and, for multi-shot methods, a point.

    ``point`` is None for a single-shot method: its one model gives every point.
    """

    seed: int
    point: Point | None


@dataclass(frozen=True)
class Feature:
    """A column of the prepared X.

    Parameters
    ----------
    name : str
        Its name; one-hot columns are called ``column=category``.
    source : str
        The column of the raw table it comes from.
    categories : tuple of str
        The categories behind the integer codes; empty for a number.
    """

    name: str
    source: str
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class Architecture:
    """Sizes of encoder and decoder that suit a dataset (the paper's Table 2).

    Parameters
    ----------
    hidden : tuple of int
        Units of each hidden layer; the decoder mirrors the encoder.
    latent : int
        Dimensions of the representation.
    image : tuple of int, optional
        Channels, height and width where a row of x is an image, flattened in that order.
    channels : tuple of int
        Channels of each convolution of an image's encoder; each halves height and width. Where
        there are none, the network is fully connected.
    """

    hidden: tuple[int, ...] = (128, 128)
    latent: int = 8
    image: tuple[int, int, int] | None = None
    channels: tuple[int, ...] = ()


@dataclass(frozen=True)
class DatasetInfo:
    """A dataset as a method may know it before it sees rows.

    Parameters
    ----------
    name : str
        The dataset's name.
    features : tuple of Feature
        One per column of x.
    groups : tuple of str
        Names of the values of s, in the order of its codes.
    architecture : Architecture
        The sizes to use unless the method's hyperparameters say otherwise.
    """

    name: str
    features: tuple[Feature, ...]
    groups: tuple[str, ...]
    architecture: Architecture


@dataclass(frozen=True)
class Workload:
    """Size of a method's training, for plans, time estimates and the count of operations.

    Parameters
    ----------
    architecture : Architecture
        Sizes of its networks.
    batch_size : int
        Rows per training step.
    models_per_unit : int
        Models that are trained for each unit, of which one is selected.
    """

    architecture: Architecture
    batch_size: int
    models_per_unit: int = 1


@dataclass(frozen=True)
class TrainingRows:
    """The training set: the rows of the encoder-train role, and all that a method is fitted on.

    A method that needs a validation part carves it from here, so that no method sees the rows its
    auditors use. There are no task labels: the setting is unsupervised.

    Parameters
    ----------
    x : ndarray of float32, shape (n, d)
        Standardised features; read-only. Of images uint8, 0 and 1.
    s : ndarray of int64, shape (n,)
        Sensitive attribute, ``0 .. len(info.groups) - 1``; read-only.
    info : DatasetInfo
        Names and sizes.
    """

    x: Floats
    s: Ints
    info: DatasetInfo


Progress = Callable[[float, str], None]
"""Takes the share of a job that is done, from 0 to 1, and a note."""


@dataclass(frozen=True)
class FitContext:
    """Budget, device and callbacks of a fit.

    Parameters
    ----------
    iterations : int
        The budget: training steps of a neural method. Others may ignore it.
    device : str
        ``cpu`` or ``cuda``.
    progress : callable
        ``progress(fraction, note)``, fraction from 0 to 1; to be called now and then.
    report : callable
        ``report(name, value)`` for costs that only the method knows, named as in
        ``fairbench.api.costs.COSTS``; neural methods report their ``steps``.
    deadline : float or None
        Value of ``time.monotonic()`` after which the job is killed; a method may raise
        TimeoutError itself once it has passed.
    checkpoint : Path or None
        File to which a long fit may save its state. A fit that finds the file continues from it;
        the suite deletes it once there is a result. Neural methods do both by themselves.
    checkpoint_every : float
        Seconds between two saves.
    """

    iterations: int
    device: str = "cpu"
    progress: Progress = field(default=lambda fraction, note: None)
    report: Callable[[str, float], None] = field(default=lambda name, value: None)
    deadline: float | None = None
    checkpoint: Path | None = None
    checkpoint_every: float = 300.0


def iterate_points(points: Sequence[Point], count: int | None) -> Iterator[Point]:
    """Yield ``count`` points spread evenly over a grid, ends included; None: all of them."""
    if count is None or count >= len(points):
        yield from points
        return
    for i in np.unique(np.linspace(0, len(points) - 1, count).round().astype(int)):
        yield points[i]
