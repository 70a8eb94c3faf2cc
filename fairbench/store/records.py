"""Records of the store, each field spelled once: tables, exports and imports derive from them.

A *unit* is what one model was trained for; a *point* is one audited representation of it; a
*reference* is what the curves of a dataset are normalised by; a *run* is a command that was given.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeVar, get_type_hints

import sqlalchemy as sa

from fairbench.api import DataSource
from fairbench.data.splits import OFFICIAL
from fairbench.files.paths import twin_name
from fairbench.store.secrets import redact_command, redact_values
from fairbench.store.status import Status
from fairbench.store.text import escape

Key = Annotated[str, sa.String(64), "key"]
Index = Annotated[str, sa.String(128), "index"]
Short = Annotated[str, sa.String(16)]
Name = Annotated[str, sa.String(32)]
FileName = Annotated[str | None, sa.String(128)]
Text = Annotated[str, sa.Text]
MaybeText = Annotated[str | None, sa.Text]
Time = Annotated[str | None, sa.String(40)]
Whole = Annotated[int, sa.Integer]
MaybeWhole = Annotated[int | None, sa.Integer]
Seconds = Annotated[float | None, sa.Float]
Origin = Annotated[str | None, sa.String(128)]

Figures = Mapping[str, float | None]
"""Measured figures by column; None where a figure does not exist."""


@dataclass(frozen=True)
class ReadPoint:
    """A setting of the knobs at which a model was read; its label is ``-`` without knobs."""

    label: str
    knobs: Mapping[str, float]


@dataclass(frozen=True)
class AuditorReading:
    """The estimate of one auditor on one view, nats, on the validation and on the test set.

    The strict auditor of its point is ``chosen``.
    """

    auditor: str
    view: str
    mutual_information_validation: float
    mutual_information: float
    chosen: bool


ReadPoints = Annotated[tuple[ReadPoint, ...] | None, sa.JSON, ReadPoint]
AuditorReadings = Annotated[tuple[AuditorReading, ...] | None, sa.JSON, AuditorReading]


@dataclass(frozen=True)
class RunRecord:
    """A command that was given, with its configuration and the versions of libraries."""

    id: Annotated[str, sa.String(64), "key"]
    started: Annotated[str, sa.String(40)]
    command: Text
    config: Annotated[Mapping[str, Any], sa.JSON]
    versions: Annotated[Mapping[str, str], sa.JSON]

    @property
    def redacted(self) -> RunRecord:
        """The same without the passwords of URLs in it; a file name may hold what is no text."""
        command, config = escape(redact_command(self.command)), redact_values(self.config)
        return dataclasses.replace(self, command=command, config=config)


@dataclass(frozen=True)
class Record:
    """What all records that are exported have.

    ``origin`` is the name of what it was imported from; None: made here.
    """

    key: Key
    status: Annotated[Status, sa.String(16)]
    origin: Origin = dataclasses.field(default=None, kw_only=True)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    @property
    def done(self) -> bool:
        """Whether it counts as a result."""
        return self.status is Status.DONE


@dataclass(frozen=True, kw_only=True)
class UnitRecord(Record):
    """One model: what it was trained for, what became of it, what it cost.

    Parameters
    ----------
    run : str, optional
        Id of the run it belongs to; of a trial of a search it starts with ``trial-``.
    error, traceback : str, optional
        Why it is not DONE; of one that is DONE why its encoder is not stored.
    split : str
        Name of the split of the rows; see fairbench.data.splits.
    point : str, optional
        Label of a multi-shot unit's point; None for single-shot units.
    params : mapping
        All hyperparameters; ``params_label`` has those that differ from the defaults.
    label : str, optional
        What whoever trained it calls these hyperparameters.
    curve_points : int, optional
        Points at which a single-shot curve is read.
    packing : sequence of str, optional
        Keys of the units it trained with, in their order.
    read_points : tuple of ReadPoint, optional
        Points it was read at; None before it was trained.
    costs : mapping of str to float, optional
        See fairbench.api.costs.
    artefact, encoder : str, optional
        Names of the files of its representations and of its encoder.
    finished : str, optional
        UTC, ISO 8601.
    """

    run: Annotated[str | None, sa.String(64)] = None
    error: MaybeText = None
    traceback: MaybeText = None
    method: Index
    dataset: Index
    seed: Whole
    point: MaybeText = None
    track: Name
    tags: Annotated[Sequence[str], sa.JSON]
    params: Annotated[Mapping[str, Any], sa.JSON]
    params_label: Text
    plugin: Text
    budget: Name
    iterations: Whole
    curve_points: MaybeWhole = None
    data_source: Short
    fingerprint: Annotated[str, sa.String(64)]
    protocol: Whole
    code: Short
    packing: Annotated[Sequence[str] | None, sa.JSON] = None
    read_points: ReadPoints = None
    costs: Annotated[Mapping[str, float] | None, sa.JSON] = None
    hardware: Annotated[Mapping[str, Any] | None, sa.JSON] = None
    versions: Annotated[Mapping[str, str] | None, sa.JSON] = None
    artefact: FileName = None
    finished: Time = None
    encoder: FileName = None
    split: Name = OFFICIAL.name
    label: MaybeText = None

    @property
    def points(self) -> tuple[ReadPoint, ...]:
        """Points it was read at; none before it was trained."""
        return self.read_points or ()

    def number_of(self, label: str) -> int:
        """Return the place of the point of a label among them, from 0; ValueError: not there."""
        return [point.label for point in self.points].index(label)

    @property
    def training_identity(self) -> tuple[object, ...]:
        """What the model was trained as: equal for models that differ in their code alone."""
        return (
            *(self.method, self.params_label, self.dataset, self.fingerprint),
            *(self.split, self.seed, self.point, self.budget),
        )

    @property
    def table(self) -> str:
        """Name of the leaderboard it stands in: that of its dataset, or of its simulated twin."""
        return twin_name(self.dataset) if self.simulated else self.dataset

    @property
    def usual_audit(self) -> str:
        """The audit of a run of its budget."""
        return "quick" if self.budget == "quick" else "strict"

    @property
    def of_a_trial(self) -> bool:
        """Whether only trials of a search have trained it so far."""
        return str(self.run).startswith(TRIAL)

    @property
    def simulated(self) -> bool:
        """Whether it was trained on a simulated twin."""
        return self.data_source == DataSource.SIMULATED

    @property
    def title(self) -> str:
        """Method, dataset, split and seed, for messages."""
        fold = "" if self.split == OFFICIAL.name else f", {self.split}"
        return f"{self.method} on {self.dataset}{fold}, seed {self.seed}"


@dataclass(frozen=True, kw_only=True)
class PointRecord(Record):
    """One audited representation of a unit.

    Parameters
    ----------
    unit : str
        Key of its unit.
    number : int
        Its place among the points of the unit, from 0.
    audit : str
        Preset of the audit.
    values : mapping of str to float, optional
        Figures by column, where it is DONE.
    seconds, processor_seconds : float, optional
        Of its audit: wall time, and time of processor cores (None in older stores). The second has
        attempts that failed in it, of which the wall time is known alone.
    audit_version : int, optional
        None: of the first version, which did not record it.
    replicates : str, optional
        Bootstrap replicates as text; see fairbench.stats.bootstrap.
    """

    unit: Annotated[str, sa.String(64), "index"]
    number: Whole
    error: MaybeText = None
    traceback: MaybeText = None
    label: Text
    knobs: Annotated[Mapping[str, float], sa.JSON]
    audit: Short
    audit_config: Annotated[Mapping[str, Any], sa.JSON]
    values: Annotated[Mapping[str, Any] | None, sa.JSON] = None
    auditors: AuditorReadings = None
    seconds: Seconds = None
    processor_seconds: Seconds = None
    finished: Time = None
    audit_version: MaybeWhole = None
    replicates: MaybeText = None

    @property
    def version(self) -> int:
        """Version of the audit."""
        return self.audit_version or 1

    @property
    def figures(self) -> Mapping[str, Any]:
        """Figures by column; none unless it is DONE."""
        return self.values or {}

    @property
    def chosen_auditor(self) -> AuditorReading | None:
        """The strict auditor, where one was recorded."""
        return next((reading for reading in self.auditors or () if reading.chosen), None)

    def belongs_to(self, unit: UnitRecord | None) -> bool:
        """Whether it is one of the points that a unit's model was read at."""
        return unit is not None and any(point.label == self.label for point in unit.points)


@dataclass(frozen=True, kw_only=True)
class ReferenceRecord(Record):
    """What the curves of one dataset, seed and audit are normalised by.

    Its fields are as those of points; ``values`` are figures by name.
    """

    error: MaybeText = None
    traceback: MaybeText = None
    dataset: Annotated[str, sa.String(128)]
    fingerprint: Annotated[str, sa.String(64), "index"]
    protocol: Whole
    seed: Whole
    audit: Short
    values: Annotated[Mapping[str, float] | None, sa.JSON] = None
    seconds: Seconds = None
    finished: Time = None
    audit_version: MaybeWhole = None
    replicates: MaybeText = None

    @property
    def version(self) -> int:
        """Version of the audit."""
        return self.audit_version or 1

    @property
    def figures(self) -> Mapping[str, float]:
        """Figures by name; none unless it is DONE."""
        return self.values or {}


TRIAL = "trial-"
"""Start of a unit's ``run`` where only trials of a search have trained it.

Leaderboards leave such units out: a table of all trials would be a table to choose from by test
figures. A run that needs one of them makes it its own.
"""

TABLES: Mapping[str, type[Record]] = {
    "units": UnitRecord,
    "points": PointRecord,
    "references": ReferenceRecord,
}
"""Records that are exported and merged, by the name of their table."""


def make_table(name: str, kind: type, metadata: sa.MetaData) -> sa.Table:
    """Make the database table of a kind of record, a column per field."""
    columns = []
    for field_name, hint in get_type_hints(kind, include_extras=True).items():
        column_type, *marks = hint.__metadata__
        optional = type(None) in getattr(hint.__origin__, "__args__", ())
        columns.append(
            sa.Column(
                field_name,
                column_type,
                primary_key="key" in marks,
                nullable=optional,
                index="index" in marks or None,
            )
        )
    return sa.Table(name, metadata, *columns)


R = TypeVar("R", bound="Record | RunRecord")


def _nested_fields(kind: type) -> dict[str, type]:
    """Fields that hold a sequence of small records, and their kinds."""
    hints = get_type_hints(kind, include_extras=True)
    marks = ((name, mark) for name, hint in hints.items() for mark in hint.__metadata__[1:])
    return {name: mark for name, mark in marks if isinstance(mark, type)}


_NESTED: Mapping[type, Mapping[str, type]] = {
    kind: _nested_fields(kind) for kind in (*TABLES.values(), RunRecord)
}


def to_row(record: Record | RunRecord) -> dict[str, Any]:
    """Return a record as plain values, as databases and exports hold it."""
    row = dict(vars(record))
    for name in _NESTED[type(record)]:
        if row[name] is not None:
            row[name] = [dataclasses.asdict(part) for part in row[name]]
    if isinstance(record, Record):
        row["status"] = record.status.value
    return row


def from_row(kind: type[R], row: Mapping[str, Any]) -> R:
    """Return plain values as a record; ValueError where they are not of its kind."""
    values = dict(row)
    try:
        for name, part in _NESTED[kind].items():
            if values.get(name) is not None:
                values[name] = tuple(part(**fields) for fields in values[name])
        if "status" in values:
            values["status"] = Status(values["status"])
        return kind(**values)
    except TypeError as error:
        raise ValueError(str(error)) from error
