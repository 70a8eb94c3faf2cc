"""Choosing one stored point for use: on the validation role, to be reported on test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairbench.api import Track
from fairbench.errors import ConfigError, UnknownNameError
from fairbench.leaderboard.build import table_name
from fairbench.leaderboard.select import read
from fairbench.models.lookup import dataset_of
from fairbench.registry import Registry
from fairbench.store.database import Row, Store

BASELINE = "baseline"
"""Tag of methods that a leaderboard needs and nobody publishes papers about."""


@dataclass(frozen=True)
class Candidate:
    """A measured point: its unit's row, and its own."""

    unit: Row
    point: Row

    @property
    def key(self) -> str:
        """Of the point."""
        return str(self.point["key"])

    @property
    def values(self) -> Mapping[str, float | None]:
        """Its figures, by column."""
        found: Mapping[str, float | None] = self.point["values"]
        return found

    def figure(self, column: str) -> float:
        """A figure that every point has."""
        value = self.values[column]
        assert value is not None
        return value

    @property
    def is_baseline(self) -> bool:
        """Whether its method is a baseline."""
        return BASELINE in self.unit["tags"]

    @property
    def usefulness(self) -> tuple[float, float]:
        """I(Z;Y) on validation; without a task, or between equals, minus D on validation."""
        useful = self.values.get("mutual_information_y_validation")
        return useful if useful is not None else 0.0, -self.figure("distortion_validation")

    @property
    def title(self) -> str:
        """Method, point and seed."""
        knobs = f", {self.point['label']}" if self.point["knobs"] else ""
        return f"{self.unit['method']}{knobs}, seed {self.unit['seed']}"


@dataclass(frozen=True)
class Field:
    """All that can be chosen among.

    Parameters
    ----------
    table : str
        The dataset as leaderboards call it.
    audit : str
        How all of them were audited; figures of two audits do not compare.
    candidates : list of Candidate
    reference : mapping of str to float, or None
        ``mutual_information_max``, ``accuracy_y_constant`` of the first seed, where they were measured.
    notes : list of str
        What was left out, and why.
    """

    table: str
    audit: str
    candidates: list[Candidate]
    reference: Mapping[str, float] | None
    notes: list[str]

    @property
    def simulated(self) -> bool:
        """Whether these are figures of a twin."""
        return bool(self.candidates[0].unit["data_source"] == "simulated")

    @property
    def has_task(self) -> bool:
        """Whether anything is to be predicted."""
        return any("accuracy_y" in candidate.values for candidate in self.candidates)


@dataclass(frozen=True)
class Limits:
    """What a point must keep, on validation.

    Parameters
    ----------
    leakage : float
        Most I(Z;S), nats.
    accuracy : float, optional
        Least A_y of the main task.
    """

    leakage: float
    accuracy: float | None = None

    def __post_init__(self) -> None:
        if not self.leakage >= 0:
            raise ConfigError(f"--max-leakage {self.leakage:g}: it is in nats, 0 or more.")
        if self.accuracy is not None and not 0 <= self.accuracy <= 1:
            raise ConfigError(f"--min-accuracy {self.accuracy:g}: it is a share, from 0 to 1.")

    def keeps_leakage(self, candidate: Candidate) -> bool:
        """Whether it leaks no more, as far as auditors found on validation."""
        return candidate.figure("mutual_information_validation") <= self.leakage

    def keeps_accuracy(self, candidate: Candidate) -> bool:
        """Whether it is accurate enough on validation; without that figure it is not."""
        found = candidate.values.get("accuracy_y_validation")
        return self.accuracy is None or (found is not None and found >= self.accuracy)


def track_of(text: str) -> Track:
    """A track by name; UnknownNameError says which there are."""
    names = [track.value for track in Track]
    if text not in names:
        raise UnknownNameError("track", text, names)
    return Track(text)


def field_of(
    store: Store, registry: Registry, *, dataset: str | None = None, track: Track = Track.BLIND
) -> Field:
    """Every measured point of a dataset that the leaderboards speak of.

    Raises
    ------
    ConfigError
        There is none, or more than one dataset and none is named.
    """
    records = read(store)
    found = [
        Candidate({unit["key"]: unit for unit in curve.units}[point["unit"]], point)
        for curves in records.curves.values()
        for curve in curves
        for point in curve.done
    ]
    if not found:
        raise ConfigError(
            "The store holds no measured point.", "Run something first: fairbench run"
        )
    table = dataset_of([candidate.unit for candidate in found], dataset, registry)
    found = [c for c in found if table_name(c.unit["dataset"], c.unit["data_source"]) == table]
    notes = []
    of_track = [c for c in found if c.unit["track"] == track]
    if not of_track:
        there = ", ".join(sorted({c.unit["track"] for c in found}))
        raise ConfigError(f"No point of {table} is of the {track} track.", f"There are: {there}.")
    if others := sorted({c.unit["track"] for c in found} - {track.value}):
        notes.append(f"Left out: points of the {', '.join(others)} track (--track).")
    # A light audit finds less: beside it a well audited point would look the worse one.
    strict = [c for c in of_track if c.point["audit"] == "strict"]
    kept = strict or of_track
    if len(kept) < len(of_track):
        notes.append(
            f"Left out: {len(of_track) - len(kept)} points with a quick audit only, as others had "
            "a strict one."
        )
    first = min(kept, key=lambda c: c.unit["seed"])
    unit, audit = first.unit, first.point["audit"]
    place = (unit["fingerprint"], unit["protocol"], unit["seed"], audit)
    reference = records.references.get(place)
    return Field(table, audit, kept, reference and reference["values"], notes)


def most_useful(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates from the most useful on, as validation says."""
    return sorted(candidates, key=lambda c: (c.usefulness, c.key), reverse=True)


def fitting(found: Field, limits: Limits) -> list[Candidate]:
    """Those that keep all limits on validation, the most useful first.

    Raises
    ------
    ConfigError
        An accuracy is asked for, and it is of nothing, or was never measured on validation.
    """
    if limits.accuracy is not None:
        if not found.has_task:
            raise ConfigError(
                f"{found.table} has no task, so there is no accuracy.", "Leave --min-accuracy out."
            )
        if all(c.values.get("accuracy_y_validation") is None for c in found.candidates):
            raise ConfigError(
                "These points were measured before accuracies on validation were kept.",
                "Measure them again: fairbench audit --results DIR",
            )
    kept = [c for c in found.candidates if limits.keeps_leakage(c) and limits.keeps_accuracy(c)]
    return most_useful(kept)


@dataclass(frozen=True)
class Near:
    """How near the best came where nothing fits.

    Parameters
    ----------
    accurate : Candidate or None
        Of those that are accurate enough the one that leaks least.
    tight : Candidate or None
        Of those that leak little enough the most accurate one.
    """

    accurate: Candidate | None
    tight: Candidate | None


def nearest_to(found: Field, limits: Limits) -> Near:
    """How near the best came."""
    accurate = [c for c in found.candidates if limits.keeps_accuracy(c)]
    tight = [c for c in found.candidates if limits.keeps_leakage(c)]
    return Near(
        min(accurate, key=lambda c: c.figure("mutual_information_validation"), default=None),
        max(tight, key=lambda c: c.values.get("accuracy_y_validation") or 0.0, default=None),
    )


def untried(found: Field, registry: Registry, track: Track) -> list[str]:
    """Registered methods of the track without a point here."""
    tried = {c.unit["method"] for c in found.candidates}
    return [
        name
        for name, cls in registry.methods.classes.items()
        if cls.track is track and name not in tried
    ]
