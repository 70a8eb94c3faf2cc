"""Reading one's own table: CSV or Parquet, into columns of numbers, truth values or text.

Cells of a CSV file stay text until somebody says what their column holds, so that a bad cell can be
quoted as it stands in the file. Rows are told by number from 1, the header line not counted.
"""

from __future__ import annotations

import csv
import enum
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fairbench.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null")
"""Cells of a CSV file that hold no value."""

SEPARATORS = (",", ";", "\t", "|", " ")
"""Those that are tried, in this order, where nobody says which it is."""

_SNIFFED_LINES = 50


class Kind(enum.StrEnum):
    """What a column of X holds."""

    NUMBER = "number"
    """Numbers, used as they are."""
    CATEGORY = "category"
    """Anything else: each distinct value is a category."""


def read_table(
    path: Path,
    *,
    separator: str = ",",
    header: bool = True,
    columns: Sequence[str] = (),
    single: bool = False,
) -> pd.DataFrame:
    """Read a whole table; Parquet is known by its first four bytes, all else is taken for CSV.

    Parameters
    ----------
    path : Path
        The file.
    separator : str
        One character between the fields of a CSV file.
    header : bool
        Whether the first line of a CSV file holds the columns' names.
    columns : sequence of str
        Names to use instead, one a column.
    single : bool
        Whether a CSV file may have one column only; as a table of people that is a wrong separator.

    Returns
    -------
    DataFrame
        Numbers and truth values as such, all else as text; missing values are NaN.

    Raises
    ------
    DataError
        There is no such file, it cannot be read, it holds no rows, or a name stands twice.
    """
    import pandas as pd

    try:
        with path.open("rb") as stream:
            start = stream.read(1 << 16)
    except FileNotFoundError:
        raise DataError(
            f"There is no file {path}.",
            "`file:` of a card is a path relative to the folder of the card.",
        ) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    if not start:
        raise DataError(f"{path} is empty.", "It must be a CSV or a Parquet file with rows.")
    if start[:4] == b"PAR1":
        frame = _read_parquet(path)
    elif b"\0" in start or path.suffix in (".parquet", ".pq", ".gz", ".zip", ".xlsx"):
        raise DataError(
            f"{path} is neither a CSV nor a Parquet file.",
            "Unpack it, or export the table as CSV (UTF-8) or Parquet.",
        )
    else:
        frame = _read_csv(path, separator, header, single)
    if columns:
        if len(columns) != len(frame.columns):
            raise DataError(
                f"{path} has {len(frame.columns)} columns, and `columns:` names {len(columns)}.",
                "Give every column a name, in order.",
            )
        frame.columns = pd.Index(columns)
    _check_names(frame, path)
    if not len(frame):
        raise DataError(f"{path} has column names and no rows.", "Is it the right file?")
    return frame


def _read_parquet(path: Path) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            frame: pd.DataFrame = file.read().to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError) as error:
        text = str(error).splitlines()[0]
        raise DataError(f"{path} is a damaged Parquet file: {text}", "Write it anew.") from None
    for place in range(len(frame.columns)):
        column = frame.iloc[:, place]
        if column.dtype.kind not in "biuf":
            frame.isetitem(place, texts(column).to_numpy())
    return frame


def _read_csv(path: Path, separator: str, header: bool, single: bool) -> pd.DataFrame:
    import pandas as pd

    try:
        frame = pd.read_csv(
            path,
            sep=separator,
            header=None,
            dtype=str,
            keep_default_na=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
            compression=None,
            low_memory=False,
        )
    except UnicodeDecodeError:
        raise DataError(
            f"{path}, line {_first_line_not_utf8(path)}: not text in UTF-8.",
            "Convert the file first, for instance: iconv -f latin1 -t utf-8 OLD.csv > NEW.csv",
        ) from None
    except pd.errors.EmptyDataError:
        raise DataError(f"{path} holds nothing but empty lines.", "Is it the right file?") from None
    except pd.errors.ParserError as error:
        raise DataError(f"{path}{_parser_says(str(error))}.", "Is `separator:` right?") from None
    if len(frame.columns) == 1 and not single:
        raise DataError(
            f"{path} has one column only when its fields are separated by {separator!r}.",
            'Name another separator in the card, as in separator: ";"',
        )
    # A row of too few fields is filled up with NaN by pandas.
    frame = frame.apply(lambda column: column.str.strip())
    names = [f"column-{i + 1}" for i in range(len(frame.columns))]
    if header:
        given = [text if isinstance(text, str) else "" for text in frame.iloc[0]]
        names = [text or name for text, name in zip(given, names, strict=True)]
        frame = frame.iloc[1:].reset_index(drop=True)
    frame.columns = pd.Index(names)
    held: pd.DataFrame = frame.mask(frame.isin(MISSING))
    return held


def _parser_says(text: str) -> str:
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", text)
    if found:
        return f", line {found[2]}: {found[3]} fields instead of {found[1]}"
    return f" is not a CSV file: {text.removeprefix('Error tokenizing data. C error: ')}"


def _first_line_not_utf8(path: Path) -> int:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 0


def _check_names(frame: pd.DataFrame, path: Path) -> None:
    names = [str(name) for name in frame.columns]
    for name in names:
        if names.count(name) > 1:
            places = ", ".join(str(i + 1) for i, other in enumerate(names) if other == name)
            raise DataError(
                f"{path} has {names.count(name)} columns called {name!r}: numbers {places}.",
                "Rename them in the file, or name all columns in the card with `columns:`.",
            )


def sniff(path: Path) -> tuple[str, bool]:
    """Guess separator and header line of a CSV file from its first lines."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            lines = [line for _, line in zip(range(_SNIFFED_LINES), stream, strict=False)]
    except OSError:
        return ",", True  # reading the table says what is wrong
    best, rows = ",", list[list[str]]()
    for separator in SEPARATORS:
        found = [
            row for row in csv.reader(lines, delimiter=separator, skipinitialspace=True) if row
        ]
        widths = {len(row) for row in found}
        if len(widths) == 1 and len(found[0]) > (len(rows[0]) if rows else 1):
            best, rows = separator, found
    header = not rows or not any(is_number(field) for field in rows[0])
    return best, header


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def guess_kind(column: pd.Series) -> Kind:
    """A number where most values are numbers; so a stray word is told, and not made a category."""
    if column.dtype.kind in "iuf":
        return Kind.NUMBER
    held = column.dropna()
    if column.dtype.kind == "b" or not len(held):
        return Kind.CATEGORY
    return Kind.NUMBER if np.isfinite(_parsed(held)).mean() > 0.5 else Kind.CATEGORY


def texts(column: pd.Series) -> pd.Series:
    """Values as text; whole numbers without a decimal point, missing values stay NaN."""
    held = column.dropna()
    if column.dtype.kind == "f" and (held == held.round()).all() and (held.abs() < 2**53).all():
        held = held.astype("int64")
    return held.astype(str).astype(object).reindex(column.index)


def numbers(column: pd.Series, where: str) -> npt.NDArray[np.float64]:
    """Values as numbers ``(n,)``; DataError quotes the first that is none.

    Parameters
    ----------
    column : Series
        Without missing values; its index counts the rows of the file from 0.
    where : str
        The file, for the message.
    """
    parsed = _parsed(column)
    bad = np.flatnonzero(~np.isfinite(parsed))
    if len(bad):
        more = f" ({len(bad)} such rows)" if len(bad) > 1 else ""
        raise DataError(
            f"{where}, row {column.index[bad[0]] + 1}: the column {str(column.name)!r} of numbers "
            f"holds {str(column.iloc[bad[0]])!r}, which is no finite number{more}.",
            "Correct the table; or say under `features` of the card that the column is no number: "
            f"{column.name}: category",
        )
    return parsed


def _parsed(column: pd.Series) -> npt.NDArray[np.float64]:
    import pandas as pd

    return np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
