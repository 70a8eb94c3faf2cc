"""Shared by the loaders of text tables: fields with their line numbers, and groups of s.

A loader asks for a column as numbers or as categories; the first cell that cannot be read ends in
one DataError with file, line and column.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fairbench.api import Ints
from fairbench.errors import DataError

T = TypeVar("T")

DAMAGED_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError)
"""The errors of zipfile for a damaged directory or stream."""


@dataclass(frozen=True)
class TextTable:
    """The fields of a text file, unchanged."""

    path: Path  # the file, for errors
    hint: str  # what to do about a malformed file
    columns: tuple[str, ...]  # their names; of two with the same name the first is read
    rows: list[Sequence[str]]  # fields, as many a row as there are columns
    lines: list[int]  # line of the file on which each row ends, from 1

    def __post_init__(self) -> None:
        for line, fields in zip(self.lines, self.rows, strict=True):
            if len(fields) != len(self.columns):
                raise DataError(
                    f"{self.path}, line {line}: {len(fields)} fields instead of "
                    f"{len(self.columns)}.",
                    self.hint,
                )
        if not self.rows:
            raise DataError(f"{self.path} has no rows.", self.hint)

    def require(self, columns: Iterable[str]) -> None:
        """Raise DataError unless the file has all these columns."""
        missing = [name for name in columns if name not in self.columns]
        if missing:
            raise DataError(
                f"{self.path}, line 1: the column {missing[0]!r} is missing.", self.hint
            )

    def text(self, column: str) -> list[str]:
        """Return the cells of a column, unchanged."""
        place = self.columns.index(column)
        return [fields[place] for fields in self.rows]

    def integers(self, column: str, *, least: int | None = None) -> Ints:
        """Return the cells of a column as whole numbers of at least ``least``, ``(n,)``."""
        numbers = np.empty(len(self.rows), np.int64)
        for row, cell in enumerate(self.text(column)):
            try:
                numbers[row] = int(cell)
            except (ValueError, OverflowError):
                raise self.error(row, column, "not a whole number") from None
            if least is not None and numbers[row] < least:
                raise self.error(row, column, f"below {least}")
        return numbers

    def mapped(self, column: str, values: Mapping[str, T]) -> list[T]:
        """Return the meaning of each cell of a column; the mapping has all valid cells."""
        cells = self.text(column)
        for row, cell in enumerate(cells):
            if cell not in values:
                raise self.error(row, column, f"none of {', '.join(values)}")
        return [values[cell] for cell in cells]

    def where(self, keep: npt.NDArray[np.bool_]) -> TextTable:
        """Return the table of the rows where ``keep``, ``(n,)``, is true; DataError if none is."""
        chosen = np.flatnonzero(keep)
        if not len(chosen):
            raise DataError(f"{self.path}: the filters leave none of its rows.", self.hint)
        return TextTable(
            self.path,
            self.hint,
            self.columns,
            [self.rows[i] for i in chosen],
            [self.lines[i] for i in chosen],
        )

    def error(self, row: int, column: str, wrong: str) -> DataError:
        """Make the error of one cell; ``wrong`` ends its sentence."""
        cell = self.rows[row][self.columns.index(column)]
        return DataError(
            f"{self.path}, line {self.lines[row]}: {column} is {cell[:40]!r}, {wrong}.", self.hint
        )


def read_ascii(path: Path, hint: str) -> str:
    """Read a file of plain text; DataError if it cannot be opened or holds anything else."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", hint) from error
    try:
        text = raw.decode("ascii")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {line}: the byte 0x{raw[error.start]:02x} is not plain text.", hint
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{path}, line {line}: a zero byte; this is not a text file.", hint)
    return text


def words(text: str) -> tuple[str, ...]:
    """Return the names in a text, apart by blanks: long lists of columns are easier to read so."""
    return tuple(text.split())


def groups_of(*attributes: Iterable[str]) -> tuple[Ints, tuple[str, ...]]:
    """Return codes of s ``(n,)`` and the groups' names; several attributes give intersections."""
    names = [" ".join(values) for values in zip(*attributes, strict=True)]
    groups, s = np.unique(np.array(names), return_inverse=True)
    return s.astype(np.int64), tuple(str(group) for group in groups)
