"""What a record from outside may hold: every field has a form, a range and a size.

Of one's own backup what a store may well hold is let in: figures beyond the usual range, times of a
clock that was wrong, texts of any length and with any characters. Of strangers' rows it is refused.

One model per kind of record. A field that a kind of record gains has to be let in here: a test
compares the fields with those of :mod:`fairbench.store.records`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from fairbench.api import Track
from fairbench.data.splits import Split
from fairbench.errors import FairbenchError, say_why
from fairbench.files.paths import MAX_NAME_LENGTH, TAKEN_ENDINGS, is_file_name
from fairbench.metrics.columns import RESERVED
from fairbench.stats.bootstrap import from_text
from fairbench.store.status import Status

CLOCK_SKEW = dt.timedelta(days=1)
"""How far the clock of another machine may be ahead of this one's."""

MAX_INTEGER = 2**31 - 1
"""Largest integer that all databases hold in a column."""

MAX_FIGURE, MAX_COST = 1e12, 1e30
"""Largest measured figure, and largest cost: squares of both are finite."""

_LEAST_SCALE = 1e-30
"""Least size of what figures are divided by, but for 0: squares of the ratios are finite."""

_DEPTH, _ITEMS, _LONGEST_MESSAGE, _LONGEST_TEXT = 6, 10_000, 20_000, 2000


def _name(value: str) -> str:
    if not is_file_name(value):
        raise ValueError("a name has letters, digits, '-', '_' and '.' alone, no '.' or '-' first")
    return value


def _dataset(value: str) -> str:
    if value.endswith(TAKEN_ENDINGS):
        raise ValueError(f"names of datasets do not end in {' or '.join(TAKEN_ENDINGS)}")
    return _name(value)


def _is_own(info: ValidationInfo) -> bool:
    return info.context is not None and bool(info.context["own"])


def _of_strangers(check: Callable[[Any], None]) -> AfterValidator:
    """Validator for what only records of others must meet."""

    def validate(value: Any, info: ValidationInfo) -> Any:
        if not _is_own(info):
            check(value)
        return value

    return AfterValidator(validate)


def _check_printable(value: str) -> None:
    if not value.isprintable():
        raise ValueError("the text has control characters")


def _text(longest: int) -> AfterValidator:
    """Validator of printable text of at most so many characters."""

    def check(value: str) -> None:
        if len(value) > longest:
            raise ValueError(f"at most {longest:,} characters are allowed")
        _check_printable(value)

    return _of_strangers(check)


def _within(most: float) -> AfterValidator:
    """Validator of numbers that are of at most this size, with either sign."""

    def check(value: float) -> None:
        if abs(value) > most:
            raise ValueError(f"a number from -{most:g} to {most:g} is needed")

    return _of_strangers(check)


def _clean(value: Any) -> Any:
    """Messages of plugins, which may say anything: cut, and what cannot be printed is escaped."""
    if not isinstance(value, str):
        return value
    return "".join(
        mark if mark.isprintable() or mark in "\n\t" else mark.encode("unicode_escape").decode()
        for mark in value[:_LONGEST_MESSAGE]
    )


def _time(value: str, info: ValidationInfo) -> str:
    moment = dt.datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError("the time has no time zone")
    if not _is_own(info) and (moment.year < 2000 or moment > dt.datetime.now(dt.UTC) + CLOCK_SKEW):
        raise ValueError("the time is not between the year 2000 and now")
    try:
        # One form, as times are compared as text.
        return moment.astimezone(dt.UTC).isoformat(timespec="seconds")
    except OverflowError:
        raise ValueError("the time is beyond the years 1 to 9999") from None


def _split(value: str) -> str:
    try:
        return Split.parse(value).name
    except FairbenchError as error:
        raise ValueError(error.message) from None


def _replicates(value: str, info: ValidationInfo) -> str:
    try:
        known = from_text(value)
    except FairbenchError as error:
        raise ValueError("the replicates cannot be read") from error
    if not _is_own(info) and any(abs(numbers).max() > MAX_FIGURE for numbers in known.values()):
        raise ValueError("the replicates are not of a measured figure's size")
    return value


def _plain(value: Any, info: ValidationInfo, depth: int = _DEPTH) -> Any:
    """Check JSON of any form: finite numbers, short texts, not deep, not long."""
    if isinstance(value, str):
        if not _is_own(info):
            if len(value) > _LONGEST_TEXT:
                raise ValueError(f"a text in it has more than {_LONGEST_TEXT:,} characters")
            _check_printable(value)
    elif isinstance(value, bool) or value is None:
        return value
    elif isinstance(value, int | float):
        # Whole numbers may be larger than any that is not.
        finite = isinstance(value, int) or math.isfinite(value)
        if not finite or (not _is_own(info) and abs(value) > MAX_COST):
            raise ValueError("a number in it is not finite, or too large")
    elif not depth:
        raise ValueError(f"it is deeper than {_DEPTH} levels")
    elif isinstance(value, list | dict):
        if len(value) > _ITEMS:
            raise ValueError(f"it has more than {_ITEMS:,} entries")
        pairs: Iterable[tuple[Any, Any]] = (
            value.items() if isinstance(value, dict) else enumerate(value)
        )
        for key, part in pairs:
            _plain(key, info, 1)
            _plain(part, info, depth - 1)
    return value


def _column(value: str) -> str:
    if value in RESERVED:
        raise ValueError("a figure has the name of another column")
    return value


Digest = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{64}\z")]
Code = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{16}\z")]
Representations = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{64}\.npz\z")]
EncoderFile = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{64}\.safetensors\z")]
RunId = Annotated[str, StringConstraints(pattern=r"\A[A-Za-z0-9-]{1,64}\z")]
Column = Annotated[str, _text(200)]
MethodName = Annotated[str, StringConstraints(max_length=MAX_NAME_LENGTH), AfterValidator(_name)]
DatasetName = Annotated[
    str, StringConstraints(max_length=MAX_NAME_LENGTH), AfterValidator(_dataset)
]
Line = Annotated[str, _text(_LONGEST_TEXT)]
Label = Annotated[str, StringConstraints(min_length=1), _text(80)]
Message = Annotated[str, BeforeValidator(_clean)]
Budget = Annotated[str, StringConstraints(pattern=r"\A(full|quick|[1-9][0-9]{0,9})\z")]
Time = Annotated[str, StringConstraints(max_length=40), AfterValidator(_time)]
SplitName = Annotated[str, StringConstraints(max_length=32), AfterValidator(_split)]
Replicates = Annotated[str, AfterValidator(_replicates)]
Json = Annotated[dict[str, Any], AfterValidator(_plain)]
Whole = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
PointColumn = Annotated[Column, AfterValidator(_column)]
Number = Annotated[float, Field(allow_inf_nan=False), _within(MAX_FIGURE)]
Cost = Annotated[float, Field(allow_inf_nan=False), _within(MAX_COST)]
Figures = Annotated[dict[Column, Number | None], Field(max_length=2000)]
PointFigures = Annotated[dict[PointColumn, Number | None], Field(max_length=2000)]
Knobs = Annotated[dict[Column, Number], Field(max_length=20)]
Preset = Literal["strict", "quick"]


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
    packing: Annotated[list[Digest], Field(max_length=_ITEMS)] | None
    read_points: Annotated[list[_ReadPoint], Field(max_length=_ITEMS)] | None
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
