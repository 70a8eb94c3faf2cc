"""The values of one column: numbers or categories, as numbers or as text."""

from __future__ import annotations

import enum
import json
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from fairbench.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


class ColumnKind(enum.StrEnum):
    """Kind of a column of X."""

    NUMBER = "number"
    """Numbers, used as they are."""
    CATEGORY = "category"
    """Anything else: each distinct value is a category."""


Decimal = Literal[".", ","]
"""Sign before the decimals of numbers that are written as text."""


class Notation(enum.StrEnum):
    """Ways to write numbers that :func:`numbers` does not read."""

    COMMA = "a decimal comma"
    """``19,8``, where the decimal sign is a point."""
    GROUPED = "thousands separators"
    """``1,234`` or ``1.234,5`` or ``1 234``."""
    WITH_SIGN = "a sign of currency or per cent"
    """``$31,987`` or ``9.7%``."""


_MAX_SHOWN = 4
"""Further values that an error quotes."""

_COMMA = r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?"
_GROUPED = r"[+-]?[1-9]\d{0,2}(?:[,.' \u00a0\u202f]\d{3})+(?:[,.]\d+)?"
_SIGN = r"[$\u20ac\u00a3\u00a5]"
_AMOUNT = r"\d[\d.,' ]*"
_WITH_SIGN = (
    rf"[+-]?{_SIGN}\s?[+-]?{_AMOUNT}|\({_SIGN}\s?{_AMOUNT}\)"
    rf"|[+-]?{_AMOUNT}(?:%|{_SIGN})"
)
_GROUPED_BY_POINTS = r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+"
_THOUSANDS, _BELOW_THOUSAND = r"[+-]?[1-9]\d{0,2}\.\d{3}", r"[+-]?\d{1,3}"
_MONTH = (
    r"(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DATE = re.compile(
    r"(?:\d{4}-\d\d?-\d\d?|\d{4}/\d\d?/\d\d?|\d\d?([./-])\d\d?\1\d{2,4}"
    rf"|{_MONTH} \d\d?,? \d{{4}}|\d\d?[ -]{_MONTH},?[ -]\d{{2,4}})"
    r"(?:,?[T ]\d\d?:\d\d.*)?"
)

NEARLY_ALL = 0.9
"""Share of the distinct values from which text is taken for what most of it looks like."""


def is_number(text: str) -> bool:
    """Return whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def guess_kind(column: pd.Series, decimal: Decimal = ".") -> ColumnKind:
    """Guess a column's kind: numbers where most values are, so that a stray word is an error."""
    import pandas as pd

    if column.dtype.kind in "iuf":
        return ColumnKind.NUMBER
    held = column.dropna()
    # pandas would take periods for numbers: how many there are since 1970.
    if column.dtype.kind == "b" or isinstance(column.dtype, pd.PeriodDtype) or not len(held):
        return ColumnKind.CATEGORY
    share = np.isfinite(parse(held, decimal)).mean()
    return ColumnKind.NUMBER if share > 0.5 else ColumnKind.CATEGORY


def find_notation(column: pd.Series, decimal: Decimal = ".") -> tuple[Notation, str] | None:
    """Return how nearly all of a column's text writes numbers, and the first such text.

    None: it does not hold numbers, or :func:`numbers` reads all of them.
    """
    import pandas as pd

    if column.dtype.kind in "biuf":
        return None
    text = pd.Series(column.dropna().unique(), dtype=object).astype(str)
    plain = np.isfinite(parse(text, decimal))
    if plain.all():
        return None
    comma, grouped, signed = (
        text.str.fullmatch(pattern).to_numpy(bool) for pattern in (_COMMA, _GROUPED, _WITH_SIGN)
    )
    unread = (comma | grouped | signed) & ~plain
    if not unread.any() or (plain | comma | grouped | signed).mean() < NEARLY_ALL:
        return None
    if signed.any():
        return Notation.WITH_SIGN, str(text[signed.argmax()])
    # 1,234 alone may be either; 19,8 is no group of three, and 1.234,5 no plain decimal comma
    if decimal == "." and (comma & ~grouped).any() and not (grouped & ~comma & ~plain).any():
        notation = Notation.COMMA
    else:
        notation = Notation.GROUPED
    return notation, str(text[unread.argmax()])


def find_grouped_by_points(column: pd.Series, separator: str) -> str | None:
    """Return the first text of a column of numbers whose points may separate thousands.

    In ``6.438, 7.521, 976`` no point need be a decimal one, and no text says that it is not. None:
    one does, or there is neither a whole number below 1000, as other tables write them, nor a
    ``separator`` of fields as where the comma is the decimal sign.
    """
    import pandas as pd

    if column.dtype.kind in "biuf":
        return None
    text = pd.Series(column.dropna().unique(), dtype=object).astype(str)
    pointed = text.str.contains(".", regex=False).to_numpy(bool)
    if not pointed.any() or not (separator == ";" or (~pointed).any()):
        return None
    fits = text[pointed].str.fullmatch(_THOUSANDS).all()
    whole = text[~pointed].str.fullmatch(_BELOW_THOUSAND).all()
    return str(text[pointed].iloc[0]) if fits and whole else None


def are_dates(column: pd.Series) -> bool:
    """Return whether nearly all of a column's text looks like dates."""
    if column.dtype.kind in "biuf":
        return False
    distinct = column.dropna().unique()
    likely = len(distinct)
    for value in distinct:
        if _DATE.fullmatch(str(value)) is None:
            likely -= 1
            if likely / len(distinct) < NEARLY_ALL:  # of most columns, after a tenth of it
                return False
    return likely > 0


def are_codes(column: pd.Series, values: npt.NDArray[np.float64]) -> bool:
    """Return whether whole numbers are written as codes are: 01, which is another code than 1."""
    written = texts(column).astype(str)
    several = written.nunique() > len(np.unique(values)) or written.str.fullmatch(r"0\d+").any()
    return bool(several) and bool((values == values.round()).all())


def texts(column: pd.Series) -> pd.Series:
    """Return values as text; whole numbers without a decimal point, missing values stay NaN."""
    held = column.dropna()
    if column.dtype.kind == "f" and (held == held.round()).all() and (held.abs() < 2**53).all():
        held = held.astype("int64")
    return held.astype(str).astype(object).reindex(column.index)


def numbers(
    column: pd.Series,
    where: str,
    *,
    hint: str | Callable[[str], str] = "",
    decimal: Decimal = ".",
) -> npt.NDArray[np.float64]:
    """Return values as numbers ``(n,)``; DataError quotes the first that is not one.

    ``column``: without missing values; its index counts the rows of the file from 0. ``where``: the
    file, for the message. ``hint``: hint of the error, where there is no card, or what gives it for
    the value that is quoted. ``decimal``: the sign before the decimals, in text.
    """
    if column.dtype.kind in "mM":
        raise DataError(
            f"{where}: the column {str(column.name)!r} of numbers holds dates or durations.",
            (isinstance(hint, str) and hint) or "Write them as a number of days.",
        )
    parsed = parse(column, decimal)
    bad = np.flatnonzero(~np.isfinite(parsed))
    if len(bad):
        value, *others = dict.fromkeys(map(str, column.iloc[bad]))
        shown = ", ".join(map(repr, others[:_MAX_SHOWN])) + ", ..." * (len(others) > _MAX_SHOWN)
        more = f" ({len(bad)} such rows{f'; also {shown}' if others else ''})"
        raise DataError(
            f"{where}, row {column.index[bad[0]] + 1}: the column {str(column.name)!r} of numbers "
            f"holds {value!r}, which is not a finite number{more if len(bad) > 1 else ''}.",
            hint(value) if callable(hint) else hint or _hint(str(column.name), value, decimal),
        )
    return parsed


def hint_in_new_rows(value: str, decimal: Decimal) -> str:
    """Return what to do about a value of new rows that is no number, where the training has one."""
    sign = "a decimal point" if decimal == "." else "a decimal comma"
    plain = re.sub("[\u00a0\u202f]", " ", value)
    if re.fullmatch(_WITH_SIGN, plain):
        return (
            f"Write numbers alone, with {sign}: without signs such as \u20ac or %, and without "
            "thousands separators."
        )
    if re.fullmatch(_GROUPED, plain):
        return f"Write numbers without thousands separators, and with {sign}."
    if decimal == "." and re.fullmatch(_COMMA, plain):
        return (
            "This is a decimal comma, and the training rows have a decimal point: write "
            f"{plain.replace(',', '.')}."
        )
    return "Correct it, or leave the row out: the encoder takes a number here."


def hint_missing(value: str) -> str:
    """Return how a card says that a value stands for a missing number; empty if it has digits."""
    if any(map(str.isdigit, value)):
        return ""
    return (
        "If that means that the number is missing, write in the card: missing_values: "
        f"[{json.dumps(value, ensure_ascii=False)}]"
    )


def _hint(name: str, value: str, decimal: Decimal) -> str:
    if re.fullmatch(_GROUPED, value):
        return (
            "Write numbers without thousands separators."
            if decimal == "."
            else f'The card says decimal: ",", so {value} may have thousands separators: write '
            "numbers without them."
        )
    if decimal == "." and re.fullmatch(_COMMA, value):
        return 'If numbers have a decimal comma here, write in the card: decimal: ","'
    if value.lower() in ("true", "false"):
        return f"Declare the column a category under `features` of the card: {name}: category"
    if mark := hint_missing(value):
        return f"{mark}; or declare the column a category under `features`: {name}: category"
    if re.match(r"\s*[<>~\u2264\u2265]", value):  # below, or above, what could be measured
        return (
            "Write a number for it in the table, such as the limit; or, if it is not known, write "
            f"in the card: missing_values: [{json.dumps(value, ensure_ascii=False)}]"
        )
    return (
        "Correct the table; or declare the column a category under `features` of the card: "
        f"{name}: category"
    )


def parse(column: pd.Series, decimal: Decimal = ".") -> npt.NDArray[np.float64]:
    """Return values as numbers ``(n,)``, NaN where they are not.

    With a decimal comma a point is read as one too, but for ``1.234``, which may be 1234.
    """
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return _by_distinct(column.cat.codes, column.cat.categories.to_series(), decimal)
    if isinstance(column.dtype, pd.StringDtype) and 2 * column.nunique() < len(column):
        codes, distinct = pd.factorize(column)  # to read each text once is many times as fast
        return _by_distinct(codes, distinct.to_series(), decimal)
    if decimal == "," and column.dtype.kind not in "biuf":
        text = column.astype(str)
        column = text.mask(text.str.fullmatch(_GROUPED_BY_POINTS)).str.replace(",", ".")
    return np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)


def _by_distinct(
    codes: npt.ArrayLike, distinct: pd.Series, decimal: Decimal
) -> npt.NDArray[np.float64]:
    """Return the number of each code ``(n,)``: -1, a missing value, is the place at the end."""
    values: npt.NDArray[np.float64] = np.append(parse(distinct, decimal), np.nan)[np.asarray(codes)]
    return values
