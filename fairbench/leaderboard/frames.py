"""Tables as pandas frames, with types that say what a column holds."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fairbench.errors import DataError
from fairbench.metrics.columns import VACUOUS
from fairbench.metrics.earlier_names import present_name
from fairbench.metrics.rows import columns_of_type

if TYPE_CHECKING:
    import pandas as pd

TEXT = columns_of_type(str)
"""Columns of words."""

WHOLE = columns_of_type(int) | {"distinct_codes"}
"""Columns of whole numbers."""

WITHOUT_NUMBER = ("", VACUOUS)
"""What a column of numbers says where it has none."""

YES_OR_NO = columns_of_type(bool)
"""Columns of True and False; all other columns hold numbers."""


def to_frame(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Make a frame of rows; numbers rounded to 6 significant digits.

    Columns stand in the order in which they first appear.
    """
    import pandas as pd

    columns = list(dict.fromkeys(column for row in rows for column in row))
    rounded = [{column: _round(value) for column, value in row.items()} for row in rows]
    frame = pd.DataFrame(rounded, columns=columns)
    return frame.astype({column: "Int64" for column in columns if column in WHOLE})


def to_csv(frame: pd.DataFrame) -> str:
    """Return a frame as CSV in which no text is a formula to a spreadsheet.

    Cells and headings that begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, and
    go on, get an apostrophe in front; :func:`load_leaderboard` takes it away. Texts that begin
    with apostrophes and then such a mark get one more, so that all come back as they were.
    """
    import pandas as pd

    guarded, returns = frame.copy(deep=False), False
    for name, column in frame.items():
        cells = [_guard(cell) if isinstance(cell, str) else cell for cell in column]
        returns |= any(isinstance(cell, str) and "\r" in cell for cell in cells)
        if any(cell is not old for cell, old in zip(cells, column, strict=True)):
            guarded[name] = pd.Series(cells, index=frame.index, dtype="object")
    guarded.columns = pd.Index([_guard(str(name)) for name in frame.columns])
    # A carriage return ends a line to readers, but is not quoted for it.
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    return str(guarded.to_csv(index=False, lineterminator="\n", quoting=quoting))


_FORMULA = re.compile(r"'*[=+\-@\t\r].", re.DOTALL)
"""Start of a text that a spreadsheet may run, or that has been guarded."""


def _guard(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text


def _unguard(text: str) -> str:
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def _round(value: object) -> object:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def load_leaderboard(path: str | Path) -> pd.DataFrame:
    """Read the CSV file of a leaderboard, or of its points, as a typed frame.

    Parameters
    ----------
    path : str or Path
        ``<dataset>.csv`` or ``<dataset>-points.csv`` as fairbench writes them.

    Returns
    -------
    DataFrame
        Words as ``string``, whole numbers as ``Int64``, yes and no as ``boolean``, all else as
        ``Float64``; an empty cell is ``<NA>`` in every one of them, and so is the word ``vacuous``
        of certificates.

    Raises
    ------
    DataError
        There is no such file, or it is not one of these tables.

    Examples
    --------
    >>> import fairbench
    >>> board = fairbench.load_leaderboard("leaderboards/adults-gender-5.csv")
    >>> board.query("complete").sort_values("aufdc")[["method", "aufdc"]]  # doctest: +SKIP
    """
    import pandas as pd

    hint = "fairbench leaderboard writes these tables."
    try:
        raw = pd.read_csv(path, dtype="string", keep_default_na=False, na_values=[""])
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", hint) from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a CSV: {error}.".replace("..", "."), hint) from None
    for needed in ("method", "track"):
        if needed not in raw.columns:
            raise DataError(f"{path} is not a leaderboard: it has no column {needed!r}.", hint)
    raw = raw.rename(columns=_unguard)
    renamed = {name: present_name(name) for name in raw.columns}
    if any(old != new for old, new in renamed.items()):
        warnings.warn(
            f"{path} has the column names of fairbench 0.1; they are read as the present ones. "
            "Version 0.3 will not read them: fairbench leaderboard writes the file anew.",
            FutureWarning,
            stacklevel=2,
        )
        raw = raw.rename(columns=renamed)
        if "ranked_by" in raw:
            raw["ranked_by"] = raw["ranked_by"].map(present_name, na_action="ignore")
    frame = pd.DataFrame()
    for name in raw.columns:
        try:
            frame[name] = _typed(raw[name], name)
        except (ValueError, TypeError):
            kind = "True or False" if name in YES_OR_NO else "a number"
            bad = f"{path}: the column {name!r} holds what is not {kind}."
            raise DataError(bad, hint) from None
    return frame


def _typed(column: pd.Series, name: str) -> pd.Series:
    import pandas as pd

    if name in TEXT:
        return column.map(_unguard, na_action="ignore").astype("string")
    if name in YES_OR_NO:
        known = column.str.lower().map({"true": True, "false": False})  # spreadsheets write TRUE
        if (known.isna() & column.notna()).any():
            raise ValueError(name)
        return known.astype("boolean")
    numbers = pd.to_numeric(column.mask(column.isin(WITHOUT_NUMBER))).astype("Float64")
    return numbers.astype("Int64") if name in WHOLE else numbers
