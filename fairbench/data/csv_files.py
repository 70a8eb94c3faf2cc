"""CSV files: their separator and header line, and their cells as text, a part at a time."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbench.data.column_values import is_number
from fairbench.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null")
"""Cells of a CSV file that hold no value."""

SEPARATORS = (",", ";", "\t", "|", " ")
"""Those that are tried, in this order, where nobody says which it is."""

_SNIFFED_LINES = 50


def sniff(path: Path) -> tuple[str, bool]:
    """Guess separator and header line of a CSV file from its first lines."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            lines = [line for _, line in zip(range(_SNIFFED_LINES), stream, strict=False)]
    except OSError:
        return ",", True  # reading the table says what is wrong
    best, rows = ",", list[list[str]]()
    for separator in SEPARATORS:
        reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
        try:
            found = [row for row in reader if row]
        except csv.Error:
            continue  # such as a field beyond any length: it does not fit
        widths = {len(row) for row in found}
        if len(widths) == 1 and len(found[0]) > (len(rows[0]) if rows else 1):
            best, rows = separator, found
    header = not rows or not any(is_number(field) for field in rows[0])
    return best, header


def csv_frames(
    path: Path, separator: str, *, single: bool, rows: int | None = None
) -> Iterator[pd.DataFrame]:
    """Cells of a CSV file as text, at most ``rows`` lines at a time; the first may be names."""
    import pandas as pd

    try:
        with pd.read_csv(
            path,
            sep=separator,
            header=None,
            dtype=str,
            keep_default_na=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
            compression=None,
            low_memory=False,
            iterator=True,
        ) as reader:
            while len(frame := _next(reader, rows)):
                if len(frame.columns) == 1 and not single:
                    raise DataError(
                        f"{path} has one column only when its fields are separated by "
                        f"{separator!r}.",
                        'Name another separator in the card, as in separator: ";"',
                    )
                yield frame
                if rows is None:
                    return
    except UnicodeDecodeError:
        raise DataError(
            f"{path}, line {_first_line_not_utf8(path)}: not text in UTF-8.",
            "Convert the file first, for instance: iconv -f latin1 -t utf-8 OLD.csv > NEW.csv",
        ) from None
    except pd.errors.EmptyDataError:
        raise DataError(f"{path} holds nothing but empty lines.", "Is it the right file?") from None
    except pd.errors.ParserError as error:
        raise DataError(f"{path}{_parser_says(str(error))}.", "Is the separator right?") from None


def _next(reader: Any, rows: int | None) -> pd.DataFrame:
    import pandas as pd

    try:
        frame: pd.DataFrame = reader.read(rows)
    except StopIteration:
        return pd.DataFrame()
    return frame


def stripped(frame: pd.DataFrame) -> pd.DataFrame:
    # A row of too few fields is filled up with NaN by pandas.
    found: pd.DataFrame = frame.apply(lambda column: column.str.strip())
    return found


def names_in(frame: pd.DataFrame) -> list[str]:
    """Names of the columns, from the first row."""
    given = [text if isinstance(text, str) else "" for text in frame.iloc[0]]
    return [text or f"column-{i + 1}" for i, text in enumerate(given)]


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
