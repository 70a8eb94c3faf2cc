"""Recommending one stored point for use: chosen on the validation set, reported on the test set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairbench.api import Coding, Track
from fairbench.auditing.config import AuditPreset
from fairbench.errors import ConfigError, UnknownNameError
from fairbench.models.certify import Certificates, SelectedCertificate, certify_candidates
from fairbench.models.lookup import StoredModel, StoredPoint
from fairbench.models.query import ResultsLocation
from fairbench.models.results import StoredResults
from fairbench.models.select import first_split, resolve_dataset
from fairbench.registry import Registry
from fairbench.store.records import ReferenceRecord

_MIN_LEVEL = 1e-9
"""Below, 1 - level / candidates could be rounded to 1: a certificate that never fails."""


@dataclass(frozen=True)
class Limits:
    """Limits that a point must keep on the validation set.

    Parameters
    ----------
    leakage : float
        Largest I(Z;S), nats.
    accuracy : float, optional
        Smallest accuracy of the main task.

    Raises
    ------
    ConfigError
        A limit is out of its range.
    """

    leakage: float
    accuracy: float | None = None

    def __post_init__(self) -> None:
        if not self.leakage >= 0:
            raise ConfigError(f"--max-leakage {self.leakage:g}: it is in nats, 0 or more.")
        if self.accuracy is not None and not 0 <= self.accuracy <= 1:
            raise ConfigError(f"--min-accuracy {self.accuracy:g}: it is a share, from 0 to 1.")

    def allows_leakage(self, candidate: StoredPoint) -> bool:
        """Whether a candidate leaks no more, by the auditors' estimate on the validation set."""
        return candidate.figure("mutual_information_validation") <= self.leakage

    def allows_accuracy(self, candidate: StoredPoint) -> bool:
        """Whether it is accurate enough on the validation set; without that figure it is not."""
        accuracy = candidate.figures.get("accuracy_y_validation")
        return self.accuracy is None or (accuracy is not None and accuracy >= self.accuracy)


@dataclass(frozen=True)
class RecommendQuery:
    """A description of the point to recommend; ConfigError for a level that cannot be kept.

    Parameters
    ----------
    certified : bool
        Whether a certificate must keep the limit of leakage, too.
    level : float
        Probability that any certificate fails, over all candidates.
    """

    limits: Limits
    dataset: str | None = None
    track: Track = Track.BLIND
    certified: bool = False
    level: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ConfigError(f"--level {self.level:g}: it is a probability, such as .05.")
        if self.level < _MIN_LEVEL:
            raise ConfigError(
                f"--level {self.level:g} cannot be told apart from 0, a certificate that never "
                "fails.",
                f"The least is {_MIN_LEVEL:g}.",
            )


@dataclass(frozen=True)
class CandidateSet:
    """All points that a recommendation chooses among.

    Parameters
    ----------
    dataset : str
        The dataset, as leaderboards call it.
    audit : str
        Preset of the audit of all of them; figures of two presets do not compare.
    points : tuple of StoredPoint
        At least one.
    reference : ReferenceRecord, optional
        Of the first seed, where it was measured.
    notes : tuple of str
        What was left out, and why.
    """

    dataset: str
    audit: str
    points: tuple[StoredPoint, ...]
    reference: ReferenceRecord | None
    notes: tuple[str, ...]

    @property
    def simulated(self) -> bool:
        """Whether these are figures of a simulated twin."""
        return self.points[0].unit.simulated

    @property
    def has_task(self) -> bool:
        """Whether the dataset has a task."""
        return any("accuracy_y" in point.figures for point in self.points)


@dataclass(frozen=True)
class NearestMisses:
    """The least leaking candidate that is accurate enough, the most accurate one that is tight."""

    accurate: StoredPoint | None
    tight: StoredPoint | None


@dataclass(frozen=True)
class Recommendation:
    """The answer to a query.

    Parameters
    ----------
    within_limits : tuple of StoredPoint
        Candidates that keep the limits on the validation set, the most useful first.
    certificates : Certificates or None
        Of all candidates, where the query asks for them.
    untried : tuple of str
        Methods of the track without a candidate.
    certifiable : tuple of str
        Methods of the track that could be certified.
    """

    query: RecommendQuery
    candidates: CandidateSet
    within_limits: tuple[StoredPoint, ...]
    certificates: Certificates | None
    untried: tuple[str, ...]
    certifiable: tuple[str, ...]

    @property
    def accepted(self) -> tuple[StoredPoint, ...]:
        """Those within the limits, certified where the query asks for it; most useful first."""
        if self.certificates is None:
            return self.within_limits
        leakage = self.query.limits.leakage
        return tuple(p for p in self.within_limits if self.certificates.certifies(p, leakage))

    @property
    def leakage_of_x(self) -> float | None:
        """I(X;S) of x itself on the validation set, nats, where x is within the limit of leakage.

        None where it is not, where that is not known, and where certificates decide.
        """
        reference = self.candidates.reference
        figures = {} if reference is None or self.query.certified else reference.figures
        leakage = figures.get("mutual_information_max_validation")
        within = leakage is not None and leakage <= self.query.limits.leakage
        return leakage if within else None

    @property
    def chosen(self) -> StoredPoint | None:
        """The recommended point; None where nothing fits."""
        return next(iter(self.accepted), None)

    @property
    def certificate(self) -> SelectedCertificate | None:
        """The certificate that the recommended point was chosen by."""
        if self.certificates is None or self.chosen is None:
            return None
        return self.certificates.selected(self.chosen)


def recommend(
    query: RecommendQuery, location: ResultsLocation, registry: Registry
) -> Recommendation:
    """Choose the most useful measured point within the limits.

    Raises
    ------
    FairbenchError
        There is no store or no candidate; or a certificate is asked for and the data are not
        available.
    """
    candidates = gather_candidates(
        StoredResults.open(location, registry), dataset=query.dataset, track=query.track
    )
    within_limits = select_within_limits(candidates, query.limits)
    certificates = None
    if query.certified:
        data = candidates.points[0].model.data
        certificates = certify_candidates(candidates.points, data, level=query.level)
    return Recommendation(
        query,
        candidates,
        tuple(within_limits),
        certificates,
        tuple(list_untried(candidates, registry, query.track)),
        tuple(list_certifiable(registry, query.track)),
    )


def parse_track(text: str) -> Track:
    """Parse the name of a track; UnknownNameError lists them."""
    names = [track.value for track in Track]
    if text not in names:
        raise UnknownNameError("track", text, names)
    return Track(text)


def gather_candidates(
    results: StoredResults, *, dataset: str | None = None, track: Track = Track.BLIND
) -> CandidateSet:
    """Gather every measured point of a dataset and track that leaderboards show.

    Raises
    ------
    ConfigError
        There is none, or the store holds several datasets and none is named.
    """
    points = _points_of_leaderboards(results)
    if not points:
        raise ConfigError(
            "The store holds no measured point.", "Run something first: fairbench run"
        )
    table = resolve_dataset([point.unit for point in points], dataset, results.registry)
    points = [p for p in points if p.unit.table == table]
    tracks = {point.unit.track for point in points}
    of_track = [point for point in points if point.unit.track == track]
    if not of_track:
        raise ConfigError(
            f"No point of {table} is of the {track} track.",
            f"There are: {', '.join(sorted(tracks))}.",
        )
    notes = list(results.card_data.notes)
    if others := sorted(tracks - {track.value}):
        notes.append(f"Left out: points of the {', '.join(others)} track (--track).")
    # A quick audit finds less: beside it a strictly audited point would look the worse one.
    strict = [point for point in of_track if point.point.audit == AuditPreset.STRICT]
    kept = strict or of_track
    if len(kept) < len(of_track):
        notes.append(
            f"Left out: {len(of_track) - len(kept)} points with a quick audit only, as others had "
            "a strict one."
        )
    # One split: people of another's validation set may be in this one's test set.
    split = first_split(point.unit.split for point in kept)
    of_split = [point for point in kept if point.unit.split == split]
    if len(of_split) < len(kept):
        notes.append(f"Left out: {len(kept) - len(of_split)} points of other splits than {split}.")
        kept = of_split
    first = min(kept, key=lambda point: point.unit.seed)
    return CandidateSet(table, first.point.audit, tuple(kept), first.reference, tuple(notes))


def _points_of_leaderboards(results: StoredResults) -> list[StoredPoint]:
    points = []
    for curves in results.leaderboard_records.curves.values():
        for curve in curves:
            models = {unit.key: StoredModel(unit, results) for unit in curve.units}
            points += [StoredPoint(models[point.unit], point) for point in curve.done]
    return points


def rank_by_usefulness(points: Sequence[StoredPoint]) -> list[StoredPoint]:
    """Rank points by I(Z;Y) on the validation set; without a task, or between equals, by low D."""

    def usefulness(point: StoredPoint) -> tuple[float, float]:
        useful = point.figures.get("mutual_information_y_validation")
        return useful if useful is not None else 0.0, -point.figure("distortion_validation")

    return sorted(points, key=lambda point: (usefulness(point), point.key), reverse=True)


def select_within_limits(candidates: CandidateSet, limits: Limits) -> list[StoredPoint]:
    """Select those that keep all limits on the validation set, the most useful first.

    Raises
    ------
    ConfigError
        An accuracy is asked for, and there is no task, or it was never measured on the validation
        set.
    """
    if limits.accuracy is not None:
        if not candidates.has_task:
            raise ConfigError(
                f"{candidates.dataset} has no task, so there is no accuracy.",
                "Leave --min-accuracy out.",
            )
        if all(p.figures.get("accuracy_y_validation") is None for p in candidates.points):
            raise ConfigError(
                "These points were measured before accuracies on the validation set were stored.",
                "Measure them again: fairbench audit --results DIR",
            )
    return rank_by_usefulness(
        [p for p in candidates.points if limits.allows_leakage(p) and limits.allows_accuracy(p)]
    )


def find_nearest_misses(candidates: CandidateSet, limits: Limits) -> NearestMisses:
    """Find the candidates that come nearest to the limits."""
    accurate = [point for point in candidates.points if limits.allows_accuracy(point)]
    tight = [point for point in candidates.points if limits.allows_leakage(point)]
    return NearestMisses(
        min(accurate, key=lambda p: p.figure("mutual_information_validation"), default=None),
        max(tight, key=lambda p: p.figures.get("accuracy_y_validation") or 0.0, default=None),
    )


def list_untried(candidates: CandidateSet, registry: Registry, track: Track) -> list[str]:
    """List registered methods of a track that have no candidate."""
    tried = {point.unit.method for point in candidates.points}
    return [
        name
        for name, method in registry.methods.classes.items()
        if method.track is track and name not in tried
    ]


def list_certifiable(registry: Registry, track: Track) -> list[str]:
    """List registered methods of a track whose z takes few values, as certificates need."""
    return sorted(
        name
        for name, method in registry.methods.classes.items()
        if method.coding is Coding.QUANTISED and method.track is track
    )
