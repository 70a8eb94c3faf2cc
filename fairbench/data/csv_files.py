"""Read CSV files: guess separator and header line, and yield cells as text, in parts."""

from __future__ import annotations

import csv
import itertools
import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from fairbench.data.column_values import is_number
from fairbench.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null")
"""Cells of a CSV file that count as missing values."""

SEPARATORS = (",", ";", "\t", "|", " ")
"""Separators that are tried, in this order, where none is declared."""

_SNIFFED_ROWS = 50
_MIN_NUMBERED = 3
"""Columns from which on a first line 0,1,2,... may be the names that pandas gives to columns."""


def sniff(path: Path, named: Collection[str] = ()) -> tuple[str, bool]:
    """Guess separator and header line of a CSV file from its first rows.

    A quoted cell may go over several lines. ``named``: names that columns were called by: a first
    line with one of them is the header.
    """
    try:
        best, rows = _best_fit(path)
    except OSError:
        return ",", True  # reading the table raises the error
    header = not rows or any(cell in named for cell in rows[0]) or _holds_names(rows[0], rows[1:])
    return best or ",", header


def _best_fit(path: Path) -> tuple[str, list[list[str]]]:
    """Return the separator by which the first rows have most fields, all as many, and these rows.

    The separator is empty where each makes rows of one field, which are returned, or rows that
    differ, of which none are.
    """
    best, rows = "", list[list[str]]()
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        for separator in SEPARATORS:
            stream.seek(0)
            parsed = _first_rows(stream, separator)
            widths = {len(row) for row in parsed}
            if len(widths) == 1 and len(parsed[0]) > (len(rows[0]) if rows else 0):
                best, rows = separator if len(parsed[0]) > 1 else "", parsed
    return best, rows


def _first_rows(stream: TextIO, separator: str) -> list[list[str]]:
    """Return the first rows; none where a field is too long, so that the separator does not fit."""
    rows = csv.reader(stream, delimiter=separator, skipinitialspace=True)
    try:
        return list(itertools.islice((row for row in rows if row), _SNIFFED_ROWS))
    except csv.Error:
        return []


def _holds_names(first: list[str], rest: list[list[str]]) -> bool:
    """Whether a first row holds names: no number, or a word above numbers.

    Or all its words are new: none is a value of its column, one of which repeats a few values, and
    no number lies among those of its column. Where all cells are numbers, names are 0,1,2,... above
    numbers that are not all whole.
    """
    if not any(is_number(cell) for cell in first):
        return True
    columns = zip(first, zip(*rest, strict=True), strict=True)
    filled = (
        [(name, [c for c in cells if c not in MISSING]) for name, cells in columns] if rest else []
    )
    words = [(name, cells) for name, cells in filled if _is_word(name)]
    if len(set(first)) == len(first) and words:
        if any(cells and all(map(is_number, cells)) for _, cells in words):
            return True
        if _are_new(words) and not any(_is_among(name, cells) for name, cells in filled):
            return True
    if len(first) < _MIN_NUMBERED or first != [str(i) for i in range(len(first))]:
        return False
    return not all(float(c).is_integer() for _, cells in filled for c in cells if is_number(c))


def _are_new(words: list[tuple[str, list[str]]]) -> bool:
    """Whether no word is a value of its column, though one of the columns repeats a few values."""
    repeats = any(2 * len(set(cells)) <= len(cells) for _, cells in words if cells)
    return repeats and not any(name in cells for name, cells in words)


def _is_among(cell: str, cells: list[str]) -> bool:
    """Whether a cell is a number, and not beyond the numbers of its column."""
    if not is_number(cell):
        return False
    numbers = [float(other) for other in cells if is_number(other)]
    return bool(numbers) and min(numbers) <= float(cell) <= max(numbers)


def _is_word(cell: str) -> bool:
    """Whether a cell is a name rather than a mark for a missing number, such as ? or n/a."""
    return cell not in MISSING and sum(map(str.isalpha, cell)) > 2


def csv_frames(
    path: Path, separator: str, *, single: bool, rows: int | None = None
) -> Iterator[pd.DataFrame]:
    """Yield cells of a CSV file as text, up to ``rows`` lines at a time; the first may be names."""
    import pandas as pd

    _check_first_line(path)
    try:
        with (
            pd.read_csv(
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
            ) as reader,
            suppress(StopIteration),
        ):
            while len(frame := reader.read(rows)):
                if len(frame.columns) == 1 and not single:
                    raise _of_one_column(path, separator)
                yield frame
                if rows is None:
                    return
    except UnicodeDecodeError:
        raise DataError(
            f"{path}, line {_first_line_not_utf8(path)}: not text in UTF-8.",
            "Convert the file first, for instance: iconv -f cp1252 -t utf-8 OLD.csv > NEW.csv",
        ) from None
    except pd.errors.EmptyDataError:
        raise DataError(f"{path} has only empty lines.", "Is it the right file?") from None
    except pd.errors.ParserError as error:
        # First: with a decimal comma, rows of ; may have one comma more than the line of names.
        hint = _say_separator(path, separator)
        if not hint and _lacks_a_name(path, [separator]):
            raise _without_first_name(path) from None
        hint = hint or (
            f"Is the separator {separator!r} right? A field that contains it must stand in quotes."
        )
        raise DataError(f"{path}{_parser_error(str(error))}.", hint) from None


def _check_first_line(path: Path) -> None:
    """Raise DataError for a first line that only names the separator, whatever that is."""
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        first = stream.readline(8).rstrip("\n")
    if re.fullmatch('"?sep=.{0,2}', first):
        raise DataError(
            f"The first line of {path} is {first!r}, as Excel writes it, and no line of names.",
            "Delete this line.",
        )


def _of_one_column(path: Path, separator: str) -> DataError:
    """Return the error for a dataset that seems to have one column."""
    if _lacks_a_name(path, SEPARATORS):
        return _without_first_name(path)
    other = '","' if separator == ";" else '";"'
    return DataError(
        f"{path} has only one column if its fields are separated by {separator!r}.",
        _say_separator(path, separator)
        or "S, Y and X need columns of their own. If another character separates the fields, a "
        f"card can name it, as in separator: {other}",
    )


def _say_separator(path: Path, given: str) -> str:
    """Say which separator seems to be right, in place of that given; empty: none is known."""
    found, _ = _best_fit(path)
    if found in ("", given):
        return ""
    written = json.dumps(found)
    return f"The fields seem to be separated by {found!r}. In a card, write: separator: {written}"


def _without_first_name(path: Path) -> DataError:
    return DataError(
        f"The first line of {path} has one name fewer than the other lines have fields.",
        "Name the first column too, or leave it out (R: write.table(..., row.names=FALSE)).",
    )


def _lacks_a_name(path: Path, separators: Sequence[str]) -> bool:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        for separator in separators:
            stream.seek(0)
            first, *rest = _first_rows(stream, separator) or [[]]
            # A last field that is always empty follows a separator too many.
            if (
                first
                and {len(row) for row in rest} == {len(first) + 1}
                and any(row[-1] for row in rest)
            ):
                return True
    return False


def stripped(frame: pd.DataFrame) -> pd.DataFrame:
    """Strip all cells; rows with too few fields keep the NaN that pandas adds."""
    cells: pd.DataFrame = frame.apply(lambda column: column.str.strip())
    return cells


def names_in(frame: pd.DataFrame) -> list[str]:
    """Return the names of the columns, from the first row."""
    names = [text if isinstance(text, str) else "" for text in frame.iloc[0]]
    return [text or f"column-{i + 1}" for i, text in enumerate(names)]


def why_unnamed(names: Sequence[str]) -> str:
    """Say why the columns have no names of the file, in a sentence and a blank; empty: they do."""
    if list(names) != [f"column-{i + 1}" for i in range(len(names))]:
        return ""
    return "The first line was taken for a row, not for names, since it holds a number. "


def index_column(frame: pd.DataFrame) -> str | None:
    """Return the name given to a first column without one, if it holds whole numbers.

    So pandas writes the index of a frame: it numbers the rows, and is no column to learn from.
    """
    names = [str(name) for name in frame.columns]
    made_up = [f"column-{i + 1}" for i in range(len(names))]
    if names[0] != made_up[0] or names == made_up:
        return None
    cells = frame.iloc[:, 0].dropna().astype(str)
    return names[0] if len(cells) and cells.str.fullmatch(r"-?\d+").all() else None


def _parser_error(text: str) -> str:
    match = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", text)
    if match:
        return f", line {match[2]}: {match[3]} fields instead of {match[1]}"
    return f" is not a CSV file: {text.removeprefix('Error tokenizing data. C error: ')}"


def _first_line_not_utf8(path: Path) -> int:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 0
