"""The interface of metrics: the evaluation of a point or a curve, and the columns made of it."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from fairbench.api.types import Floats, Ints


@dataclass(frozen=True)
class Certificate:
    """Upper bounds on what z tells of s; each holds with probability ``confidence``.

    The probability is over the draw of the certifying rows.

    Parameters
    ----------
    gap : float
        Upper bound on the demographic-parity gap of any classifier of z, randomised ones included;
        with several groups, for the pair with the widest gap. 1 is vacuous: it says nothing.
    information : float
        Upper bound on I(Z;S), nats. It is at most a bound on H(S), where it is vacuous.
    confidence : float
        Probability with which each of the two holds.
    cells : int
        Codes known beforehand, each a cell; all others make up the overflow.
    overflow : float
        Share of the certifying rows in the overflow. They count as if their codes revealed s.
    rows : int
        Certifying rows.
    groups, least_group, plug_in : int, int, float, or None
        With ``rows`` what :func:`fairbench.stats.information_bound.bound_information` needs to
        bound I(Z;S) at another level: groups, rows of the smallest one, and the plug-in estimate,
        nats. None in records of versions that did not store them.
    """

    gap: float
    information: float
    confidence: float
    cells: int
    overflow: float
    rows: int
    groups: int | None = None
    least_group: int | None = None
    plug_in: float | None = None


@dataclass(frozen=True)
class Prediction:
    """Predictions of one classifier of representations on the test set.

    Parameters
    ----------
    probabilities : ndarray, shape (n, classes)
        Predicted, of each class.
    labels : ndarray of int64, shape (n,)
        The true classes.
    """

    probabilities: Floats
    labels: Ints


@dataclass(frozen=True)
class AuditorResult:
    """Estimates of one auditor from one view of the representation.

    Parameters
    ----------
    auditor, view : str
        ``mlp``, ``boosted-trees``, ...; ``standardised``, ``bit-planes``, ``decoded-...``, ...
    validation_information, test_information : float
        H(S) minus mean log loss, nats, on the validation and the test set; may be negative.
    """

    auditor: str
    view: str
    validation_information: float
    test_information: float


class Access(enum.StrEnum):
    """What an auditor of one person may use; every figure of leakage names one of these."""

    RELEASE = "release"
    """z, once per person."""
    QUERIES_16 = "queries-16"
    """z, and the mean and the standard deviation of 16 draws of it."""
    QUERIES_256 = "queries-256"
    """The same, and those of 256 draws."""
    DECODER = "decoder"
    """z once and, where the distortion that counts is that of the method's own decoder, its
    reconstructions for all groups; otherwise as ``release``."""

    @property
    def draws(self) -> int | None:
        """Draws per person of repeated queries; None for other accesses."""
        return {Access.QUERIES_16: 16, Access.QUERIES_256: 256}.get(self)


@dataclass(frozen=True)
class SampleSize:
    """I(Z;S) as extrapolated from parts of the auditor training set to infinitely many rows.

    Parameters
    ----------
    extrapolated, low, high : float
        Nats, with its 95% interval; never below the strict auditor's reading.
    needs_more_rows : bool
        Whether the extrapolation is above the reading, clearly (by the 95% interval of the
        difference over the same resamples of rows) and by more than .005 nats and a tenth of it.
    """

    extrapolated: float
    low: float
    high: float
    needs_more_rows: bool


@dataclass(frozen=True)
class TransferAccuracy:
    """Accuracy of the downstream classifier of an unseen task, chosen on the validation set."""

    test: float
    validation: float


@dataclass(frozen=True)
class Distortions:
    """Squared error of each test row, summed over features, by decoder; arrays ``(n,)``.

    Parameters
    ----------
    refitted : ndarray
        Of the decoder that the suite fits to z and s.
    own : ndarray or None
        Of the method's own decoder; None where it has none that treats all rows alike.
    strict : ndarray
        Of the better of them on the validation set: the distortion that counts.
    """

    refitted: Floats
    own: Floats | None
    strict: Floats


@dataclass(frozen=True)
class ValidationFigures:
    """What is measured on the validation set, by which points are chosen.

    Parameters
    ----------
    mutual_information, accuracy_s : float
        Of the strict auditor: I(Z;S), nats, and the share of rows whose group it predicts.
    distortion : float
        Of the strict decoder.
    mutual_information_y, accuracy_y : float or None
        I(Z;Y), nats, and accuracy of the main task's downstream classifier; None without a task.
    """

    mutual_information: float
    accuracy_s: float
    distortion: float
    mutual_information_y: float | None = None
    accuracy_y: float | None = None


@dataclass(frozen=True)
class PointEvaluation:
    """The evaluation of one representation, for point-level metrics.

    Parameters
    ----------
    z, s, y, x : arrays of the test set
        Representation ``(n, k)``, groups ``(n,)``, labels by task, features ``(n / draws, d)``. Of
        a stochastic encoder n counts ``draws`` draws of all rows, draw after draw.
    audits : tuple of AuditorResult
        Of every strict auditor.
    audit : Prediction
        Of the strict auditor chosen on the validation set; its access is ``decoder``.
    paper_audits : tuple of Prediction
        Of the paper's five MLPs.
    downstream : mapping of str to Prediction
        By task, of the downstream classifier chosen on the validation set.
    distortion : Distortions
        By decoder.
    validation : ValidationFigures
        Of the validation set.
    permuted_distortion : float or None
        Distortion of the own decoder with z permuted across rows; None without a decoder.
    rate : float or None
        The method's own code length, nats.
    draws : int
        Draws of each row in z, s, y and in the predictions; distortions are means over them.
    certificate : Certificate or None
        Upper bounds for any classifier of z; None where z takes too many values.
    replicates : mapping of str to ndarray, shape (resamples,)
        Bootstrap over test rows, the same resamples for every point of a dataset:
        ``mutual_information`` of the strict auditor (nats), ``distortion`` of the strict decoder,
        ``accuracy_y`` of the main task.
    rejected_replicates : ndarray, shape (resamples,), or None
        ``mutual_information`` on the same resamples by the best auditor on the validation set,
        where it was not clearly better than the class prior, which is the strict auditor then.
    by_access : mapping of Access to float
        I(Z;S) on the test set, nats, by what auditors may use. Repeated queries are measured at
        three points of a curve, and are missing from the others.
    with_y : float or None
        I(Z, Y; S) on the test set, nats, for those who know the main task's label as well; None
        without a task.
    sample_size : SampleSize or None
        I(Z;S) extrapolated to infinitely many auditor training rows; None but at three points.
    transfer : mapping of str to TransferAccuracy
        By unseen task; empty where the dataset has none.
    shift : ShiftEvaluation or None
        The same representation in another domain, where the dataset has one.
    """

    z: Floats
    s: Ints
    y: Mapping[str, Ints]
    x: Floats
    audits: tuple[AuditorResult, ...]
    audit: Prediction
    paper_audits: tuple[Prediction, ...]
    downstream: Mapping[str, Prediction]
    distortion: Distortions
    validation: ValidationFigures
    permuted_distortion: float | None
    rate: float | None
    draws: int = 1
    certificate: Certificate | None = None
    replicates: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    rejected_replicates: npt.NDArray[np.float64] | None = None
    by_access: Mapping[Access, float] = field(default_factory=dict)
    with_y: float | None = None
    sample_size: SampleSize | None = None
    transfer: Mapping[str, TransferAccuracy] = field(default_factory=dict)
    shift: ShiftEvaluation | None = None


@dataclass(frozen=True)
class ShiftEvaluation:
    """One representation in another domain than that it was trained in.

    Parameters
    ----------
    target : PointEvaluation
        By auditors, decoders and classifiers fitted in the other domain.
    moved : mapping of str to Prediction
        By task: predictions on the test set of the other domain, by the downstream classifier that
        was fitted in the first one.
    """

    target: PointEvaluation
    moved: Mapping[str, Prediction]


@dataclass(frozen=True)
class CurveEvaluation:
    """All points of one method, dataset and seed, for curve-level metrics.

    Parameters
    ----------
    points : sequence of mapping of str to float
        The point-level metrics' columns, one mapping per point, in the order of the points.
    reference : mapping of str to float
        Of the dataset, same seed: ``mutual_information_max``,
        ``mutual_information_max_validation``, ``mutual_information_max_paper`` (nats),
        ``distortion_max``, ``distortion_max_validation``; ``accuracy_y_constant``, the accuracy of
        always guessing the auditor training set's largest class, where there is a task;
        ``accuracy_s`` of x's auditor and ``accuracy_s_constant`` of the constant guess, each also
        with ``_validation``, which records of older versions lack; for each unseen task
        ``transfer_accuracy_{task}``, the accuracy of x's downstream classifier, and
        ``transfer_constant_{task}``, that of a constant guess; the same on the validation set in
        ``transfer_validation_{task}`` and ``transfer_constant_validation_{task}``.
    costs : sequence of mapping of str to float
        One per fitted unit, named as in :data:`fairbench.api.costs.COSTS`.
    single_shot : bool
        Whether one unit gave all points: single-shot methods, and those without knobs.
    replicates : sequence of mapping of str to ndarray, shape (resamples,)
        Of each point, see :class:`PointEvaluation`; empty where the audit stored none.
    reference_replicates : mapping of str to ndarray, shape (resamples,)
        ``mutual_information_max``, ``distortion_max`` and ``accuracy_y_constant`` on the same
        resamples; empty likewise.
    knobs : sequence of mapping of str to float
        The setting of each point, by knob; empty where it is not known.
    """

    points: Sequence[Mapping[str, float]]
    reference: Mapping[str, float]
    costs: Sequence[Mapping[str, float]] = ()
    single_shot: bool = False
    replicates: Sequence[Mapping[str, npt.NDArray[np.float64]]] = ()
    reference_replicates: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    knobs: Sequence[Mapping[str, float]] = ()

    def __post_init__(self) -> None:
        if self.knobs and len(self.knobs) != len(self.points):
            raise ValueError(f"{len(self.points)} points have {len(self.knobs)} settings of knobs")


MetricLevel = Literal["point", "curve"]
"""What a metric measures: one evaluated point, or a whole curve."""

Direction = Literal["lower", "higher", "none"]
"""Which values of a metric are better; none: neither."""


class Metric(ABC):
    """Numbers from an evaluated point, or from a whole curve.

    Attributes
    ----------
    name, summary : str
        As for methods.
    columns : mapping of str to str
        Each column it writes, and one line with its meaning and unit. In a metric of points
        ``share_{task}`` declares all columns that start with ``share_``.
    level : MetricLevel
        ``point`` (gets a :class:`PointEvaluation`) or ``curve`` (a :class:`CurveEvaluation`).
    direction : Direction
        Which values are better: ``lower``, ``higher`` or ``none``.
    unit : str
        ``nats``, ``seconds``, ``1`` for a plain ratio.
    vacuous_columns : set of str
        Optional, for point metrics: upper bounds that say nothing where ``compute`` returns None.
        Tables show the word ``vacuous`` there.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    columns: ClassVar[Mapping[str, str]]
    level: ClassVar[MetricLevel]
    direction: ClassVar[Direction] = "none"
    unit: ClassVar[str] = "1"
    vacuous_columns: ClassVar[Set[str]] = frozenset()

    @abstractmethod
    def compute(self, evaluation: Any) -> Mapping[str, float | None]:
        """Return a value for each of ``columns``; None where it is not defined."""

    def resampled(self, evaluation: CurveEvaluation) -> Mapping[str, npt.NDArray[np.float64]]:
        """Optional, for curve metrics: bootstrap replicates ``(resamples,)`` of columns.

        A column that is returned here gets a 95% confidence interval on the leaderboard, where
        ``{column}_low`` and ``{column}_high`` are declared in ``columns`` and left out by
        ``compute``.
        """
        return {}
