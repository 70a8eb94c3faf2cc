"""What a field of a record from outside may hold: a form, a range and a size.

Of one's own backup what a store may well hold is let in: figures beyond the usual range, times of a
clock that was wrong, texts of any length and with any characters. Of strangers' rows it is refused.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from fairbench.data.splits import Split
from fairbench.errors import FairbenchError
from fairbench.files.paths import MAX_NAME_LENGTH, TAKEN_ENDINGS, is_file_name
from fairbench.metrics.columns import RESERVED
from fairbench.stats.bootstrap import from_text

CLOCK_SKEW = dt.timedelta(days=1)
"""How far the clock of another machine may be ahead of this one's."""

MAX_INTEGER = 2**31 - 1
"""Largest integer that all databases hold in a column."""

MAX_FIGURE, MAX_COST = 1e12, 1e30
"""Largest measured figure, and largest cost: squares of both are finite."""

MAX_ITEMS = 10_000
"""Most entries of a list."""

_DEPTH, _FIGURES, _LONGEST_MESSAGE, _LONGEST_TEXT = 6, 2000, 20_000, 2000


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


def _plain(value: Any, info: ValidationInfo) -> Any:
    """Check JSON of any form: finite numbers, short texts, not deep, not long."""
    _check_plain(value, _DEPTH, own=_is_own(info))
    return value


def _check_plain(value: Any, depth: int, *, own: bool) -> None:
    if isinstance(value, str):
        if not own:
            if len(value) > _LONGEST_TEXT:
                raise ValueError(f"a text in it has more than {_LONGEST_TEXT:,} characters")
            _check_printable(value)
    elif isinstance(value, bool) or value is None:
        pass
    elif isinstance(value, int | float):
        # Whole numbers may be larger than any that is not.
        finite = isinstance(value, int) or math.isfinite(value)
        if not finite or (not own and abs(value) > MAX_COST):
            raise ValueError("a number in it is not finite, or too large")
    elif not depth:
        raise ValueError(f"it is deeper than {_DEPTH} levels")
    elif isinstance(value, list | dict):
        if len(value) > MAX_ITEMS:
            raise ValueError(f"it has more than {MAX_ITEMS:,} entries")
        if isinstance(value, dict):
            for key in value:
                _check_plain(key, 1, own=own)
        for part in value.values() if isinstance(value, dict) else value:
            _check_plain(part, depth - 1, own=own)


def _quickly() -> WrapValidator:
    """Validator of figures that asks the slower ones only where a name is new or a figure odd.

    A board has thousands of records with the same names.
    """
    passed: set[str] = set()  # at most as many as one record may have

    def validate(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        if (
            type(value) is dict
            and passed.issuperset(value)
            and all(
                number is None or (type(number) is float and -MAX_FIGURE <= number <= MAX_FIGURE)
                for number in value.values()
            )
        ):
            return value
        checked = handler(value)
        if not _is_own(info) and len(passed | checked.keys()) <= _FIGURES:
            passed.update(checked)
        return checked

    return WrapValidator(validate)


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
Figures = Annotated[dict[Column, Number | None], Field(max_length=_FIGURES), _quickly()]
PointFigures = Annotated[dict[PointColumn, Number | None], Field(max_length=_FIGURES), _quickly()]
Knobs = Annotated[dict[Column, Number], Field(max_length=20)]
Preset = Annotated[str, StringConstraints(pattern=r"\A(strict|quick)\z")]
