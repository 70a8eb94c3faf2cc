"""Rows of a CSV file in chunks, checked as they come: every message names the line.

The csv module reads, not pandas: pandas takes a row that was cut short for one whose last fields
are empty, and in this release empty fields are nothing unusual.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from fairbench.api import Ints
from fairbench.errors import DataError
from fairbench_datasets.heritage.source import AGAIN, open_text

CHUNK = 2_000
"""Rows in memory at a time: few enough to stay in the processor's cache, where reading is twice as
fast as with 50,000."""


@dataclass(frozen=True)
class Chunk:
    """Some consecutive rows."""

    where: str  # the file, for messages
    line: int  # number of the line of the first row; the header is line 1
    columns: Mapping[str, Sequence[str]]  # the fields of each column

    def read(self, column: str, value: Callable[[str], int]) -> Ints:
        """Turn a column into numbers.

        ``column``: its name. ``value``: number of a field; raises ValueError with what the field
        ought to be. Returns ``(rows,)``. Raises DataError: ``value`` refused a field; its line is
        named.
        """
        fields = self.columns[column]
        values: dict[str, int] = {}
        for field in dict.fromkeys(fields):  # each different field once, the first line first
            try:
                values[field] = value(field)
            except ValueError as error:
                line = self.line + fields.index(field)
                raise DataError(
                    f"{self.where}, line {line}: {column} is {field[:40]!r}, not {error}.", AGAIN
                ) from error
        return np.fromiter(map(values.__getitem__, fields), np.int64, len(fields))


def read_chunks(source: Path, name: str, columns: Sequence[str]) -> Iterator[Chunk]:
    """Read some columns of one file of the release, chunk by chunk.

    ``source``: folder or zip. ``name``: the file. ``columns``: those to read; others may be there
    too, in any order. Raises DataError: the file is no text or no CSV, lacks a column, has no rows,
    or has a row with too few or too many fields.
    """
    with open_text(source, name) as (where, stream):
        reader = csv.reader(stream, strict=True)
        line = 1
        try:
            header = next(reader, [])
            _check_header(header, columns, where)
            line = 2
            while rows := list(islice(reader, CHUNK)):
                _check_rows(rows, len(header), where, line)
                if reader.line_num != line + len(rows) - 1:
                    raise csv.Error("a quoted field goes over the end of its line")
                fields = dict(zip(header, zip(*rows, strict=True), strict=True))
                yield Chunk(where, line, {column: fields[column] for column in columns})
                line += len(rows)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{where} is not a text file (after line {line - 1}).", AGAIN
            ) from error
        except csv.Error as error:
            raise DataError(
                f"{where} is not a CSV file: {error} (line {reader.line_num}).", AGAIN
            ) from error
        if line == 2:
            raise DataError(f"{where} holds a header and no rows.", AGAIN)


def _check_header(header: list[str], columns: Sequence[str], where: str) -> None:
    missing = [column for column in columns if column not in header]
    if missing:
        columns_there = ", ".join(repr(field[:30]) for field in header[:15]) or "nothing"
        raise DataError(
            f"{where}, line 1: the column {missing[0]!r} is missing; it has {columns_there}.", AGAIN
        )
    twice = [column for column in columns if header.count(column) > 1]
    if twice:
        raise DataError(f"{where}, line 1: the column {twice[0]!r} is there twice.", AGAIN)


def _check_rows(rows: list[list[str]], width: int, where: str, line: int) -> None:
    for i, row in enumerate(rows):
        if len(row) != width:
            raise DataError(
                f"{where}, line {line + i}: {len(row)} fields instead of {width}.", AGAIN
            )
