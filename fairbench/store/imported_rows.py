"""What a record from outside may hold, by its kind: every field has a form of `field_forms`.

One model per kind of record. A field that a kind of record gains has to be let in here: a test
compares the fields with those of :mod:`fairbench.store.records`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fairbench.api import Track
from fairbench.errors import say_why
from fairbench.stats.bootstrap import from_text
from fairbench.store.field_forms import (
    MAX_ITEMS,
    Budget,
    Code,
    Column,
    Cost,
    DatasetName,
    Digest,
    EncoderFile,
    Figures,
    Json,
    Knobs,
    Label,
    Line,
    Message,
    MethodName,
    Number,
    PointFigures,
    Preset,
    Replicates,
    Representations,
    RunId,
    SplitName,
    Time,
    Whole,
)
from fairbench.store.status import Status

_LEAST_SCALE = 1e-30
"""Least size of what figures are divided by, but for 0: squares of the ratios are finite."""


class _Line(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _ReadPoint(_Line):
    label: Line
    knobs: Knobs


class _Reading(_Line):
    auditor: Line
    view: Line
    mutual_information_validation: Number
    mutual_information: Number
    chosen: bool


class _RecordLine(_Line):
    key: Digest
    status: Annotated[Status, Field(strict=False)]
    error: Message | None
    traceback: Message | None
    finished: Time | None
    origin: Line | None

    @model_validator(mode="after")
    def _has_ended(self) -> Self:
        if not self.status.ended:
            raise ValueError(f"status: {self.status.value} is no result")
        return self

    @property
    def done(self) -> bool:
        """Whether it counts as a result."""
        return self.status is Status.DONE

    def need(self, *names: str) -> None:
        """Raise ValueError where a result lacks a field."""
        for name in names:
            if self.done and getattr(self, name) is None:
                raise ValueError(f"{name} is empty, in a record that is DONE")

    def need_figures(self, values: dict[str, float | None] | None, names: Iterable[str]) -> None:
        """Raise ValueError where a result lacks a figure that leaderboards are made of."""
        for name in names:
            if self.done and (values or {}).get(name) is None:
                raise ValueError(f"values has no {name}, in a record that is DONE")


def need_replicates(text: str | None, names: Iterable[str]) -> None:
    """Raise ValueError where replicates lack a figure that intervals of areas are made of."""
    known = from_text(text)
    if known and (lacking := [name for name in names if name not in known]):
        raise ValueError(f"replicates has no {lacking[0]}")
    if len({len(values) for values in known.values()}) > 1:
        raise ValueError("replicates of one record are of different numbers of resamples")


class UnitLine(_RecordLine):
    """A unit of an export."""

    run: RunId | None
    method: MethodName
    dataset: DatasetName
    seed: Whole
    point: Line | None
    track: Annotated[Track, Field(strict=False)]
    tags: Annotated[list[Line], Field(max_length=20)]
    params: Json
    params_label: Line
    plugin: Line
    budget: Budget
    iterations: Whole
    curve_points: Whole | None
    data_source: Literal["real", "rendered", "simulated"]
    fingerprint: Digest
    protocol: Whole
    code: Code
    packing: Annotated[list[Digest], Field(max_length=MAX_ITEMS)] | None
    read_points: Annotated[list[_ReadPoint], Field(max_length=MAX_ITEMS)] | None
    costs: Annotated[dict[Column, Cost], Field(max_length=200)] | None
    hardware: Json | None
    versions: Annotated[dict[Column, Line], Field(max_length=200)] | None
    artefact: Representations | None
    encoder: EncoderFile | None
    split: SplitName
    label: Label | None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        self.need("read_points", "costs", "finished")
        if self.packing and (self.key not in self.packing or _repeats(self.packing)):
            raise ValueError("packing names a unit twice, or not this one")
        if self.read_points and _repeats([point.label for point in self.read_points]):
            raise ValueError("read_points has a label twice")
        if self.hardware is not None:
            for name in ("device", "processor"):
                if not isinstance(self.hardware.get(name), str):
                    raise ValueError(f"hardware has no {name}")
            if not isinstance(self.hardware.get("accelerator", ""), str):
                raise ValueError("hardware has an accelerator that is no text")
        return self


class PointLine(_RecordLine):
    """A point of an export."""

    unit: Digest
    number: Whole
    label: Line
    knobs: Knobs
    audit: Preset
    audit_config: Json
    values: PointFigures | None
    auditors: Annotated[list[_Reading], Field(max_length=1000)] | None
    seconds: Cost | None
    processor_seconds: Cost | None
    audit_version: Whole | None
    replicates: Replicates | None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        self.need("values", "finished")
        names = ("distortion", "mutual_information")
        validation = [f"{name}_validation" for name in names]
        self.need_figures(self.values, (*names, *validation, "accuracy_s"))
        need_replicates(self.replicates, names)
        return self


class ReferenceLine(_RecordLine):
    """A reference of an export."""

    dataset: DatasetName
    fingerprint: Digest
    protocol: Whole
    seed: Whole
    audit: Preset
    values: Figures | None
    seconds: Cost | None
    audit_version: Whole | None
    replicates: Replicates | None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        self.need("values", "finished")
        names = ("mutual_information_max", "distortion_max")
        self.need_figures(self.values, names)
        self.need_figures(self.values, [f"{name}_validation" for name in names])
        need_replicates(self.replicates, names)
        for name in names:
            if self.done and 0 < abs((self.values or {}).get(name) or 0.0) < _LEAST_SCALE:
                raise ValueError(f"values.{name} is too small to divide by")
        return self


FORMS: dict[str, type[_RecordLine]] = {
    "units": UnitLine,
    "points": PointLine,
    "references": ReferenceLine,
}
"""The form of its rows, by the name of a table."""


def checked_row(table: str, row: dict[str, Any], *, own: bool = False) -> dict[str, Any]:
    """Return the row of a table as it may be stored; ValueError names the field that is wrong.

    ``own``: whether it is of one's own backup.
    """
    try:
        line = FORMS[table].model_validate(row, context={"own": own})
    except ValidationError as error:
        raise ValueError(_in_words(error)) from None
    # Of all else nothing was changed.
    changed = {"finished": line.finished, "error": line.error, "traceback": line.traceback}
    return row | changed


def _repeats(texts: Sequence[str]) -> bool:
    return len(set(texts)) < len(texts)


def _in_words(error: ValidationError) -> str:
    """The first thing that is wrong with a row: the field and why, in one line."""
    first = error.errors(include_url=False)[0]
    place = ".".join(ascii(part).strip("'") for part in first["loc"])
    why = say_why(first)
    why = why[:1].lower() + why[1:]
    if first["type"] == "string_pattern_mismatch":
        form = str(first.get("ctx", {}).get("pattern", "")).removeprefix(r"\A").removesuffix(r"\z")
        why = f"it is not of the form {form}"
    shown = ascii(first["input"]) if isinstance(first["input"], str | int | float) else ""
    value = f" ({shown[:60]}{'...' if len(shown) > 60 else ''})" if shown else ""
    return f"{place}{': ' if place else ''}{why}{value}"[:400]
