"""What a plugin author imports: the three interfaces and the few types they speak in.

A *method* learns an encoder, a *dataset* brings a table, a *metric* turns an evaluated
representation, or a whole curve of them, into numbers. Nothing in this module imports torch or
pandas, so that declaring a plugin costs nothing until it is used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from fairbench.vocabulary import (
    AUDIT_ROLES,
    NO_KNOBS,
    Architecture,
    Coding,
    DatasetInfo,
    Feature,
    FitContext,
    Floats,
    Ints,
    Knob,
    Point,
    Role,
    Shots,
    Track,
    TrainingRows,
    Unit,
    iterate_points,
)

if TYPE_CHECKING:
    import pandas as pd

    from fairbench.auditing.certificate import Certificate

__all__ = [
    "AUDIT_ROLES",
    "NO_KNOBS",
    "Architecture",
    "AuditorResult",
    "Coding",
    "Curve",
    "CurveEvaluation",
    "DataFile",
    "Dataset",
    "DatasetInfo",
    "Diverged",
    "Feature",
    "FitContext",
    "Fitted",
    "Floats",
    "Images",
    "Ints",
    "Knob",
    "Method",
    "Metric",
    "Params",
    "Point",
    "PointEvaluation",
    "Prediction",
    "Representation",
    "Role",
    "Shots",
    "Table",
    "Track",
    "TrainingRows",
    "Unit",
    "iterate_points",
]


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


@dataclass(frozen=True)
class DataFile:
    """One file of a dataset.

    Parameters
    ----------
    name : str
        File name on disk.
    urls : tuple of str
        Where it can be downloaded, best first; the rest are mirrors.
    sha256 : str, optional
        Of the whole file, hexadecimal. None: not known; such a file is never downloaded, and
        ``load`` must check its format.
    size : int, optional
        Bytes; None: not known.
    """

    name: str
    urls: tuple[str, ...] = ()
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class Table:
    """A dataset as loaded: raw columns, not yet split, coded or scaled.

    Parameters
    ----------
    x : DataFrame, shape (n, columns)
        Features; numbers as numbers, categories as strings.
    s : ndarray of int64, shape (n,)
        Sensitive attribute, codes into ``groups``.
    groups : tuple of str
        What each code of s means.
    y : mapping of str to ndarray of int64, shape (n,)
        Task labels by task name, the main task first; classes are 0, 1, ...
    is_test : ndarray of bool, shape (n,), optional
        The official test rows, where there are any.
    onehot : bool
        Categories become one-hot columns instead of integer codes.
    notes : tuple of str
        Doubts that a run shows as warnings.
    missing : tuple of str
        Columns of x whose missing values became the category ``missing``; those of new rows do too.
    """

    x: pd.DataFrame
    s: Ints
    groups: tuple[str, ...]
    y: Mapping[str, Ints]
    is_test: npt.NDArray[np.bool_] | None = None
    onehot: bool = False
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Images:
    """Binary images as loaded: packed, and already dealt to the four roles.

    Parameters
    ----------
    pixels : mapping of Role to ndarray of uint8, shape (n, ceil(pixels / 8))
        ``numpy.packbits`` over each flattened image; no image stands in two roles.
    s : mapping of Role to ndarray of int64, shape (n,)
        Sensitive attribute, codes into ``groups``.
    groups : tuple of str
        What each code of s means.
    y : mapping of Role to mapping of str to ndarray of int64, shape (n,)
        Task labels by task name, the main task first.
    source : str
        ``real``, or ``rendered`` where the images are drawn here; it goes into every record.
    """

    pixels: Mapping[Role, npt.NDArray[np.uint8]]
    s: Mapping[Role, Ints]
    groups: tuple[str, ...]
    y: Mapping[Role, Mapping[str, Ints]]
    source: str


class Dataset(ABC):
    """A table with a sensitive attribute. Required: ``name``, ``summary``, ``load``.

    Attributes
    ----------
    name, aliases, summary : as for methods
    citation, licence, url : str
        Whom to cite, what is allowed, the dataset's page.
    folder : str
        Folder below the data root and the cache in which its files are looked for.
    files : tuple of DataFile
        All of them are needed, and checked, before ``load`` is called.
    archive : str or None
        Name of a file that may stand in place of all ``files``; ``load`` reads it itself.
    optional : bool
        Without its files the dataset is made by ``load``, which then gets an empty folder.
    home : Path or None
        The one place of a user's own table: neither data root nor cache is searched.
    rows : int or None
        Rows of the table, where that is known beforehand; for ``fairbench data list``.
    sensitive : tuple of str
        The columns that S is made of; for ``fairbench data list``.
    iterations : int or None
        Training steps of the full budget; None: 100 epochs at batch 128, clipped to 5K .. 27K.
    architecture : Architecture
        Encoder and decoder sizes for neural methods.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    citation: ClassVar[str] = ""
    licence: ClassVar[str] = ""
    url: ClassVar[str] = ""
    folder: ClassVar[str] = ""
    files: ClassVar[tuple[DataFile, ...]] = ()
    archive: ClassVar[str | None] = None
    optional: ClassVar[bool] = False
    home: ClassVar[Path | None] = None
    rows: ClassVar[int | None] = None
    sensitive: ClassVar[tuple[str, ...]] = ()
    iterations: ClassVar[int | None] = None
    architecture: ClassVar[Architecture] = Architecture()

    @abstractmethod
    def load(self, folder: Path) -> Table | Images:
        """Read the data from the folder that holds ``files``, or ``archive`` in their place.

        Raises
        ------
        DataError
            What was found is malformed.
        """

    def simulate(self) -> Table | None:
        """The embedded simulated twin, for when there are no files; None: there is none."""
        return None


@dataclass(frozen=True)
class Prediction:
    """What one classifier, trained on representations, says of the test role.

    Parameters
    ----------
    probabilities : ndarray, shape (n, classes)
        Of each class.
    labels : ndarray of int64, shape (n,)
        The truth.
    """

    probabilities: Floats
    labels: Ints


@dataclass(frozen=True)
class AuditorResult:
    """What one auditor found in one view of the representation.

    Parameters
    ----------
    auditor, view : str
        ``mlp``, ``boosted-trees``, ...; ``raw``, ``standardised``, ``bit-planes``.
    selection_information, test_information : float
        H(S) minus mean log loss, nats, on the selection and the test role; may be negative.
    """

    auditor: str
    view: str
    selection_information: float
    test_information: float


@dataclass(frozen=True)
class PointEvaluation:
    """All that was measured of one representation, for point-level metrics.

    Parameters
    ----------
    z, s, y, x : arrays of the test role
        Representation ``(n, k)``, groups ``(n,)``, labels by task, features ``(n / draws, d)``. Of
        a stochastic encoder n counts ``draws`` draws of all rows, draw after draw.
    audits : tuple of AuditorResult
        Every auditor of the strict family.
    audit : Prediction
        Of the strict auditor chosen on the selection role.
    paper_audits : tuple of Prediction
        Of the paper's five MLPs.
    downstream : mapping of str to Prediction
        By task, of the downstream classifier chosen on the selection role.
    distortion : mapping of str to ndarray, shape (n,)
        Squared error summed over features, a test row, by decoder: ``own``, ``refitted``, and the
        better of them on the selection role, ``strict``.
    selection : mapping of str to float
        ``information`` (nats), ``accuracy`` and ``distortion`` of the strict choices on the
        selection role; ``downstream`` and ``downstream_accuracy``, I(Z;Y) (nats) and accuracy of
        the main task's downstream classifier, where there is one.
    permuted_distortion : float or None
        Distortion of the own decoder with z permuted across rows; None without a decoder.
    rate : float or None
        The method's own code length, nats.
    draws : int
        Draws of each row in z, s, y and in the predictions; distortions are means over them.
    certificate : Certificate or None
        Upper bounds on what any classifier of z can do; None where z takes too many values.
    replicates : mapping of str to ndarray, shape (resamples,)
        Bootstrap over test rows, the same resamples for every point of a dataset: ``i`` of the
        strict auditor (nats), ``d`` of the strict decoder, ``a_y`` of the main task.
    """

    z: Floats
    s: Ints
    y: Mapping[str, Ints]
    x: Floats
    audits: tuple[AuditorResult, ...]
    audit: Prediction
    paper_audits: tuple[Prediction, ...]
    downstream: Mapping[str, Prediction]
    distortion: Mapping[str, Floats]
    selection: Mapping[str, float]
    permuted_distortion: float | None
    rate: float | None
    draws: int = 1
    certificate: Certificate | None = None
    replicates: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)


@dataclass(frozen=True)
class CurveEvaluation:
    """All points of one method, dataset and seed, for curve-level metrics.

    Parameters
    ----------
    points : sequence of mapping of str to float
        The point-level metrics' columns, one mapping a point, in the order of the points.
    reference : mapping of str to float
        Of the dataset, same seed: ``i_max``, ``i_max_selection``, ``i_max_paper`` (nats),
        ``d_max``, ``d_max_selection``; ``a_y_constant``, the accuracy of the class commonest on
        auditor-train, where there is a task; ``a_s``, ``a_s_constant``, the accuracies of x's
        auditor and of the commonest group, where fairbench measured it after these came.
    costs : sequence of mapping of str to float
        One a fitted unit; see :mod:`fairbench.cost` for the names.
    single_shot : bool
        Whether one unit gave all points: single-shot methods, and those without knobs.
    replicates : sequence of mapping of str to ndarray, shape (resamples,)
        Of each point, see :class:`PointEvaluation`; empty where the audit kept none.
    reference_replicates : mapping of str to ndarray, shape (resamples,)
        ``i_max``, ``d_max``, ``a_y_constant`` on the same resamples; empty likewise.
    """

    points: Sequence[Mapping[str, float]]
    reference: Mapping[str, float]
    costs: Sequence[Mapping[str, float]] = ()
    single_shot: bool = False
    replicates: Sequence[Mapping[str, npt.NDArray[np.float64]]] = ()
    reference_replicates: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)


class Metric(ABC):
    """Numbers from an evaluated point, or from a whole curve.

    Attributes
    ----------
    name, summary : str
        As for methods.
    columns : mapping of str to str
        Each column it writes and one line on what it means, with its unit.
    level : str
        ``point`` (gets a :class:`PointEvaluation`) or ``curve`` (a :class:`CurveEvaluation`).
    direction : str
        ``lower``, ``higher`` or ``none``: which values are better.
    unit : str
        ``nats``, ``seconds``, ``1`` for a plain ratio.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    columns: ClassVar[Mapping[str, str]]
    level: ClassVar[str]
    direction: ClassVar[str] = "none"
    unit: ClassVar[str] = "1"

    @abstractmethod
    def compute(self, evaluation: Any) -> Mapping[str, float | None]:
        """Return a value for each of ``columns``; None where it cannot be said."""

    def resampled(self, evaluation: CurveEvaluation) -> Mapping[str, npt.NDArray[np.float64]]:
        """Optional, for curve metrics: replicates ``(resamples,)`` of a column over test rows.

        A column that is given here, and its ``{column}_low`` and ``{column}_high``, declared in
        ``columns`` and left out by ``compute``, get a 95% interval on the leaderboard.
        """
        return {}
