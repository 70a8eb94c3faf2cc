"""Numbers of a table that are texts or objects: all that they tell, their writing included.

Auditors see values. Where a text tells more than its value, as 0.50 beside 0.5, it can tell s.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fairbench.data.precision import LARGEST_WHOLE
from fairbench.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Pair = tuple[str, str]

_PARTS = (
    r"(?P<before>\s*)(?P<sign>[+-]?)(?P<whole>[0-9]*)(?P<point>\.?)(?P<decimals>[0-9]*)"
    r"(?:(?P<letter>[eE])(?P<plus>[+-]?)(?P<exponent>[0-9]+))?(?P<after>\s*)"
)
_KINDS = {str, np.str_, int, float, bool, Decimal}
"""Kinds of objects, beside the numbers of numpy, whose texts tell all that they are."""

_SURE_DIGITS = 15
"""Two numbers of as many digits are never the same in double precision."""


def written_numbers(column: pd.Series, values: Floats, name: str) -> np.ndarray:
    """Return the numbers of a column of texts or objects ``(n,)``: large whole ones as integers.

    ``values``: the same in double precision. Raises DataError: a number is written in two ways, or
    two in ways that no one rule gives; or two numbers are the same in every precision there is.
    """
    import pandas as pd

    if column.dtype == object:
        column = _of_one_kind(column, name)
    codes, written = pd.factorize(column.astype(str))
    texts: list[str] = written.to_numpy(dtype=object).tolist()
    if all(text == _shortest(text) for text in texts):  # as Python and pandas write
        return np.array(list(map(float, texts)))[codes]
    parts = pd.Series(texts, dtype=str).str.extract(f"^{_PARTS}$")
    others = parts["whole"].isna().to_numpy()
    if others.all() and set(texts) <= {"True", "False"}:
        return values
    pair, parts = _pair([~others], texts), parts.fillna("")
    found: np.ndarray = values
    if pair is None:
        values = np.array(list(map(float, texts)))  # what pandas reads is not always the nearest
        whole = _integers(texts, parts) if (np.abs(values) > LARGEST_WHOLE).any() else None
        found = values if whole is None else whole
        pair = _same(found, texts) or _unlike(texts, parts)
        pair = pair or _unlike_exponents(texts, values, parts)
        pair = pair or (_unlike_digits(texts, values, parts) if whole is None else None)
    if pair is not None:
        raise DataError(
            f"The column {str(column.name)!r} of {name} writes numbers in several ways, as "
            f"{pair[0]!r} and {pair[1]!r}. How a number is written can tell s, and auditors see "
            "its value alone: write the values again in one way, as in "
            "pandas.read_csv(FILE).to_csv(NEW, index=False)."
        )
    return found[codes]


def _of_one_kind(column: pd.Series, name: str) -> pd.Series:
    """Return objects whose kinds tell nothing that their texts do not.

    Raises DataError: several kinds, as single and double precision, whose texts may be alike.
    """
    kinds = set(map(type, column))
    for kind in kinds:
        if kind not in _KINDS and not _is_number_of_numpy(kind):
            raise DataError(
                f"The column {str(column.name)!r} of {name} holds objects of the kind "
                f"{kind.__name__}, which can tell more than a number: give numbers."
            )
    if len(kinds) == 1 or kinds == {int, float}:  # 1 and 1.0 have texts of their own
        return column
    names = sorted(kind.__name__ for kind in kinds)
    raise DataError(
        f"The column {str(column.name)!r} of {name} mixes kinds of numbers ({', '.join(names)}), "
        "which can tell s, and auditors see values alone: make them all of one kind, as in "
        "frame[column].astype(float)."
    )


def _is_number_of_numpy(kind: type) -> bool:
    """Whether it is one of at most double precision."""
    if not issubclass(kind, np.generic):
        return False
    dtype = np.dtype(kind)
    return dtype.kind in "biuf" and dtype.itemsize <= np.dtype(np.float64).itemsize


def _shortest(text: str) -> str | None:
    """Return the shortest text of a number; None: it is none."""
    try:
        return repr(float(text))
    except ValueError:
        return None


def _same(numbers: np.ndarray, texts: list[str]) -> Pair | None:
    """Return two texts of one number; each zero is a number of its own."""
    _, number, times = np.unique(numbers.view(np.int64), return_inverse=True, return_counts=True)
    if times.max() == 1:
        return None
    one, other = np.flatnonzero(number == times.argmax())[:2].tolist()
    return texts[one], texts[other]


def _integers(texts: list[str], parts: pd.DataFrame) -> np.ndarray | None:
    """Return whole numbers of up to 64 bits as such; None where some are others."""
    if (parts["point"] + parts["letter"] != "").any():
        return None
    for kind in (np.int64, np.uint64):
        try:
            return np.array([int(text) for text in texts], dtype=kind)
        except OverflowError:
            continue
    return None


def _unlike(texts: list[str], parts: pd.DataFrame) -> Pair | None:
    """Return two texts with parts that no one rule writes; None where one writes those of all."""
    scientific = (parts["letter"] != "").to_numpy()
    if (pair := _pair(_blanks(parts, texts), texts)) is not None:
        return pair
    for among in (scientific, ~scientific):
        own, places = parts[among], np.flatnonzero(among)
        if len(own):
            for rules in (_signs(own), _wholes(own), _decimals(own), _exponents(own)):
                if (pair := _pair(rules, [texts[place] for place in places])) is not None:
                    return pair
    return None


def _pair(rules: Sequence[Flags], texts: list[str]) -> Pair | None:
    """Return a text as the rule of most has it, and one as it has not; None: one rule has all."""
    most = max(rules, key=np.count_nonzero)
    if most.all():
        return None
    return (texts[most.argmax()], texts[most.argmin()]) if most.any() else (texts[0], texts[-1])


def _blanks(parts: pd.DataFrame, texts: list[str]) -> list[Flags]:
    """Blanks around numbers: the same everywhere, or on one side up to one length."""
    around = parts["before"] + "|" + parts["after"]
    padded = np.array([len(text) for text in texts]) == len(texts[0])
    return [
        np.asarray(around == around.iloc[0]),
        *(np.asarray(padded & (parts[side] == "")) for side in ("before", "after")),
    ]


def _signs(parts: pd.DataFrame) -> list[Flags]:
    plus = (parts["sign"] == "+").to_numpy()
    return [~plus, plus | (parts["sign"] == "-").to_numpy()]


def _wholes(parts: pd.DataFrame) -> list[Flags]:
    """Digits before the point: without leading zeros, without a zero before the point, padded."""
    whole = parts["whole"]
    zeros = whole.str.startswith("0")
    if (parts["letter"] != "").any():  # one digit, which is 0 of 0 alone, or of all
        zero = ((whole + parts["decimals"]).str.strip("0") == "").to_numpy()
        one = (whole.str.len() == 1).to_numpy()
        return [one & (~zeros.to_numpy() | zero), one & zeros.to_numpy()]
    return [
        np.asarray((whole != "") & (~zeros | (whole == "0"))),
        np.asarray(~zeros),
        np.asarray(whole.str.len() == len(whole.iloc[0])),
    ]


def _decimals(parts: pd.DataFrame) -> list[Flags]:
    """Digits after the point: as few as there can be, with .0 of whole numbers or not; as many."""
    decimals, point = parts["decimals"], parts["point"] == "."
    short = ~decimals.str.endswith("0")
    alike = decimals.str.len() == len(decimals.iloc[0])
    return [
        np.asarray(short & (point == (decimals != ""))),
        np.asarray(((decimals != "") & short) | (decimals == "0")),
        np.asarray(short & point),
        np.asarray(alike & (point == point.iloc[0])),
    ]


def _exponents(parts: pd.DataFrame) -> list[Flags]:
    """Exponents: of one letter, padded to one width, with or without a plus; none is -0."""
    if not (parts["letter"] != "").any():
        return [np.ones(len(parts), bool)]
    rules = []
    digits = parts["exponent"].str.lstrip("0")
    letter = (parts["letter"] == parts["letter"].iloc[0]) & (
        (digits != "") | (parts["plus"] != "-")
    )
    for width in (1, 2, 3):
        padded = letter & (parts["exponent"] == digits.str.rjust(width, "0"))
        rules += [
            np.asarray(padded & (parts["plus"] != "")),
            np.asarray(padded & (parts["plus"] != "+")),
        ]
    return rules


def _unlike_exponents(texts: list[str], values: Floats, parts: pd.DataFrame) -> Pair | None:
    """As :func:`_unlike`, of which numbers have exponents: by size, or where that is shorter."""
    scientific = (parts["letter"] != "").to_numpy()
    size = np.abs(values)
    plain = size[~scientific & (size > 0)]
    if not len(plain) or not scientific.any():
        return None
    others = size[scientific]
    if not ((others > plain.min()) & (others < plain.max())).any():
        return None
    numbers = [Decimal(text).normalize() for text in texts]
    shorter = np.array([len(f"{one:e}") < len(f"{one:f}") for one in numbers])
    return _pair([shorter == scientific], texts)


def _unlike_digits(texts: list[str], values: Floats, parts: pd.DataFrame) -> Pair | None:
    """As :func:`_unlike`, of numbers with more digits than make a difference.

    All have the fewest digits that tell the number, or are rounded to as many digits, or to as many
    decimals. Zeros at the end may be left out.
    """
    digits = (parts["whole"] + parts["decimals"]).str.lstrip("0")
    most = int(digits.str.len().max())
    if most <= _SURE_DIGITS:
        return None
    written, sizes = digits.str.rstrip("0").tolist(), np.abs(values).tolist()
    writers = [repr, f"{{:.{most - 1}e}}".format]
    if (parts["letter"] == "").all():
        writers.append(f"{{:.{parts['decimals'].str.len().max()}f}}".format)
    rules = [
        np.array([own == _digits(writer(size)) for own, size in zip(written, sizes, strict=True)])
        for writer in writers
    ]
    return _pair(rules, texts)


def _digits(text: str) -> str:
    """Return the digits of a positive number, without zeros at its ends."""
    return text.partition("e")[0].replace(".", "").strip("0")
