"""Read CSV and Parquet tables into columns of numbers, truth values or text.

Cells of a CSV file stay text until the kind of their column is known, so that messages can quote a
bad cell. Messages count rows from 1, without the header line.
"""

from __future__ import annotations

import codecs
import itertools
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbench.config import split_names
from fairbench.data.column_values import texts
from fairbench.data.csv_files import MISSING, csv_frames, names_in, stripped
from fairbench.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 65_536
"""Rows of a table that are read at a time, where it is read in parts."""


def read_table(
    path: Path,
    *,
    separator: str = ",",
    header: bool = True,
    columns: Sequence[str] = (),
    single: bool = False,
    blanks: bool = False,
    unused: Callable[[str], bool] = lambda name: False,
) -> pd.DataFrame:
    """Read a whole table: Parquet by its first four bytes, else CSV.

    ``separator``: one character between the fields of a CSV file. ``header``: whether the first
    line of a CSV file holds the columns' names. ``columns``: names to use instead, one per column.
    ``single``: whether a CSV file may have only one column; in a dataset that means a wrong
    separator. ``blanks``: whether texts of Parquet keep blanks around them. ``unused``: whether
    nobody reads the values of a column, by its name: then a column of Parquet may hold what no
    table can, such as lists; it is returned without values.
    """
    import pandas as pd

    if is_parquet(path):
        frame = _read_parquet(path, columns, blanks, unused)
    else:
        frame = _read_csv(path, separator, header, single)
    if columns:
        if len(columns) != len(frame.columns):
            raise DataError(
                f"{path} has {len(frame.columns)} columns, and `columns:` names {len(columns)}.",
                "Give every column a name, in order.",
            )
        frame.columns = pd.Index(columns)
    more = ", or, in a card, name all columns with `columns:`"
    _check_names(list(frame.columns), path, f"Rename them in the file{more}.")
    if not len(frame):
        raise _without_rows(path)
    return frame


def respelt(names: Iterable[str], wanted: Iterable[str]) -> dict[str, str]:
    """Return names that are wanted in another spelling, each with the wanted one.

    macOS writes an accent as a character of its own where keyboards give one character for both,
    and names of Parquet may have blanks around them, which those of CSV lose.
    """
    names, wanted = set(names), set(wanted)
    by_form = {_form(name): name for name in names - wanted}
    forms = {name: _form(name) for name in wanted - names}
    return {by_form[form]: name for name, form in forms.items() if form in by_form}


def _form(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip()


def rejoined(names: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Return names that were split at commas, those of ``known`` with commas of their own whole."""
    whole = {split_names(name): name for name in known if "," in name}
    found, rest = list[str](), tuple(names)
    while rest:
        ends = range(1, 1 if rest[0] in known else len(rest) + 1)
        end = max((end for end in ends if rest[:end] in whole), default=1)
        found.append(whole.get(rest[:end], rest[0]))
        rest = rest[end:]
    return tuple(found)


class TableStream:
    """A table read a part at a time, so that it may be larger than memory.

    ``path``: CSV with a line of names, or Parquet, as for :func:`read_table`. ``separator``: one
    character between the fields of a CSV file. ``rows``: rows per part. ``wanted``: columns that
    will be asked for, in the spelling that ``names`` then has; see :func:`respelt`. Raises
    DataError: as :func:`read_table`, when the faulty place is read.
    """

    def __init__(
        self,
        path: Path,
        *,
        separator: str = ",",
        rows: int = CHUNK,
        wanted: Iterable[str] = (),
    ) -> None:
        self.path, self.rows = path, rows
        self._parquet = is_parquet(path)
        self._frames: Iterator[pd.DataFrame] = iter(())
        self.names: tuple[str, ...]
        """Columns, in the order of the file."""
        if self._parquet:
            with _opened_parquet(path) as file:
                self.names = tuple(file.schema_arrow.names)
        else:
            self._frames = csv_frames(path, separator, single=True, rows=rows)
            self._first = next(self._frames)
            self.names = tuple(names_in(stripped(self._first.iloc[:1])))
        _check_names(self.names, path, "Rename them in the file.")
        spelling = respelt(self.names, wanted)
        self._in_file = {spelling.get(name, name): name for name in self.names}
        self.names = tuple(self._in_file)

    def types(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return Arrow types of some columns: text for CSV, the types of the values for Parquet."""
        import pyarrow as pa

        if not self._parquet:
            return dict.fromkeys(columns, pa.string())
        with _opened_parquet(self.path) as file:
            types = {name: file.schema_arrow.field(self._in_file[name]).type for name in columns}
        return {
            name: kind.value_type if pa.types.is_dictionary(kind) else kind
            for name, kind in types.items()
        }

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield parts of some columns, once; the index counts the rows of the file from 0.

        Columns of CSV are categorical with text as categories, those of Parquet as pyarrow returns
        them, text stripped; missing values are NaN or None.
        """
        for frame, _ in self.parts(columns):
            yield frame

    def parts(
        self, columns: Sequence[str], keep: Sequence[str] = ()
    ) -> Iterator[tuple[pd.DataFrame, dict[str, Any]]]:
        """Yield what :meth:`frames` does, each with the Arrow columns of ``keep``, unchanged.

        In those no value becomes missing and no text is stripped (blanks right after a separator
        belong to no cell of CSV), and Parquet's NaN is not null.
        """
        import pandas as pd

        done = 0
        of_file = self._of_parquet if self._parquet else self._of_csv
        for frame, kept in of_file(columns, self.types(keep)):
            frame.index = pd.RangeIndex(done, done + len(frame))
            done += len(frame)
            if len(frame):
                yield frame, kept
        if not done:
            raise _without_rows(self.path)

    def _of_csv(
        self, columns: Sequence[str], types: Mapping[str, Any]
    ) -> Iterator[tuple[pd.DataFrame, dict[str, Any]]]:
        import pandas as pd
        import pyarrow as pa

        def cells(frame: pd.DataFrame, name: str) -> pd.Series:
            return frame.iloc[:, self.names.index(name)]

        for frame in itertools.chain([self._first.iloc[1:]], self._frames):
            coded = {name: _distinct(cells(frame, name)) for name in columns}
            kept = {
                name: pa.array(cells(frame, name), pa.large_string(), from_pandas=True).cast(kind)
                for name, kind in types.items()
            }
            yield pd.DataFrame(coded, index=frame.index), kept

    def _of_parquet(
        self, columns: Sequence[str], types: Mapping[str, Any]
    ) -> Iterator[tuple[pd.DataFrame, dict[str, Any]]]:
        import pyarrow as pa

        with _opened_parquet(self.path) as file:
            needed = [self._in_file[name] for name in dict.fromkeys([*columns, *types])]
            for batch in file.iter_batches(self.rows, columns=needed):
                cells = [_as_cells(batch.column(self._in_file[name])) for name in columns]
                # Whole numbers beside missing ones stay whole: as categories their digits count.
                frame = pa.Table.from_arrays(cells, names=list(columns)).to_pandas(
                    ignore_metadata=True, integer_object_nulls=True
                )
                kept = {
                    name: batch.column(self._in_file[name]).cast(kind)
                    for name, kind in types.items()
                }
                yield frame, kept


def is_parquet(path: Path) -> bool:
    """Return whether a file is Parquet, by its first bytes, or CSV; DataError if neither."""
    if path.is_fifo() or path.is_char_device():
        raise DataError(f"{path} is a pipe, which can be read only once.", "Give a file.")
    try:
        with path.open("rb") as stream:
            start = stream.read(1 << 16)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.", "Check the path.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    if not start:
        raise DataError(f"{path} is empty.", "It must be a CSV or a Parquet file with rows.")
    if start[:4] == b"PAR1":
        return True
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # as Excel's "Unicode text"
        raise DataError(
            f"{path} is text in UTF-16, not in UTF-8.",
            "Convert the file first, for instance: iconv -f utf-16 -t utf-8 OLD.csv > NEW.csv",
        )
    kind = next((kind for magic, kind in _OTHER_KINDS.items() if start.startswith(magic)), "")
    if kind or b"\0" in start:
        raise DataError(
            f"{path} is neither a CSV nor a Parquet file{kind and f': it looks like {kind}'}.",
            "Unpack it, or export the table as CSV (UTF-8) or Parquet.",
        )
    if path.suffix.lower() in _NOT_OF_TEXT:
        raise DataError(
            f"{path} is named {path.suffix} and holds text: it looks like a CSV file.",
            f"Rename it, if it is one: {path.with_suffix('.csv').name}",
        )
    return False


_NOT_OF_TEXT = (".parquet", ".pq", ".gz", ".zip", ".xlsx")

_OTHER_KINDS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\x1f\x8b": "a gzip archive",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"\x93NUMPY": "a NumPy array",
    b"SQLite format 3": "an SQLite database",
    b"ARROW1": "an Arrow file",
}
"""Kinds of other files, by their first bytes."""


def _without_rows(path: Path) -> DataError:
    return DataError(f"{path} has column names and no rows.", "Is it the right file?")


@contextmanager
def _opened_parquet(path: Path) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        text = str(error).splitlines()[0]
        raise DataError(f"{path} is a damaged Parquet file: {text}", "Write it again.") from None


_INDEX = re.compile(r"__index_level_\d+__")


def has_index(path: Path) -> bool:
    """Whether a Parquet file has an index of rows without a name: it is left out of tables."""
    with _opened_parquet(path) as file:
        return any(map(_INDEX.fullmatch, file.schema_arrow.names))


def _read_parquet(
    path: Path, columns: Sequence[str], blanks: bool, unused: Callable[[str], bool]
) -> pd.DataFrame:
    import pyarrow as pa

    with _opened_parquet(path) as file:
        # Names that pandas gives to an index without one, which is no column to pandas either.
        places = [i for i, f in enumerate(file.schema_arrow) if not _INDEX.fullmatch(f.name)]
        fields = [file.schema_arrow.field(i) for i in places]
        names = [field.name for field in fields]
        called = columns if len(columns) == len(names) else names
        faults = [_fault(field, path) for field in fields]
        for name, fault in zip(called, faults, strict=True):
            if fault and not unused(name):
                raise fault
        held = file.read()
    cells = [
        pa.nulls(len(held)) if fault else _as_cells(held.column(i), blanks=blanks)
        for i, fault in zip(places, faults, strict=True)
    ]
    # Whole numbers beside missing ones stay whole.
    frame: pd.DataFrame = pa.Table.from_arrays(cells, names=names).to_pandas(
        ignore_metadata=True, integer_object_nulls=True
    )
    for place in range(len(frame.columns)):
        column = frame.iloc[:, place]
        if column.dtype.kind not in "biuf":
            frame.isetitem(place, texts(column).to_numpy())
    return frame


def _fault(field: Any, path: Path) -> DataError | None:
    """Return why an Arrow field holds no values of a table; None: it does."""
    import pyarrow as pa

    out = "leave it out (drop: [...] in a card, --drop of data new)"
    if pa.types.is_nested(field.type):
        return DataError(
            f"{path}: the column {field.name!r} holds {field.type}, not one value per row.",
            f"Write the file with a column for each value, or {out}.",
        )
    if pa.types.is_duration(field.type):
        return DataError(
            f"{path}: the column {field.name!r} holds durations ({field.type}).",
            f"Write them as a number, as in frame[column].dt.total_seconds() / 86400, or {out}.",
        )
    return None


def _as_cells(column: Any, *, blanks: bool = False) -> Any:
    """Treat text of an Arrow column as in CSV: without blanks around it, and with marks missing.

    ``blanks``: whether texts keep those.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = pa.types.is_dictionary(column.type)
    kind = column.type.value_type if coded else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    given = column.cast(kind) if coded else column
    text = pc.utf8_trim_whitespace(given)
    marked = pc.is_in(text, value_set=pa.array(MISSING, kind), skip_nulls=True)
    text = pc.if_else(marked, pa.scalar(None, kind), given if blanks else text)
    return text.dictionary_encode() if coded else text


def _read_csv(path: Path, separator: str, header: bool, single: bool) -> pd.DataFrame:
    import pandas as pd

    frame = stripped(next(csv_frames(path, separator, single=single)))
    names = names_in(frame) if header else [f"column-{i + 1}" for i in range(len(frame.columns))]
    if header:
        frame = frame.iloc[1:].reset_index(drop=True)
    frame.columns = pd.Index(names)
    held: pd.DataFrame = frame.mask(frame.isin(MISSING))
    return held


def _distinct(column: pd.Series) -> pd.Categorical:
    """Code cells by their distinct, stripped texts; missing cells have no code.

    A column mostly repeats a few texts: later steps then process each of them once.
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = pa.array(column, pa.large_string(), from_pandas=True)
    encoded = (pa.chunked_array([cells]) if isinstance(cells, pa.Array) else cells).combine_chunks()
    encoded = encoded.dictionary_encode()
    stripped = pc.utf8_trim_whitespace(encoded.dictionary).to_pandas().to_numpy(object)
    held: pd.Index[Any] = pd.Index(
        np.where(np.isin(stripped, MISSING), None, stripped), dtype=object
    )
    of_text, distinct = pd.factorize(held)
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    # One more place, at the end, for missing cells.
    return pd.Categorical.from_codes(
        np.append(of_text, -1)[codes], categories=pd.Index(distinct, dtype=object)
    )


def _check_names(columns: Sequence[object], path: Path, hint: str) -> None:
    names = [str(name) for name in columns]
    for name in names:
        if names.count(name) > 1:
            places = ", ".join(str(i + 1) for i, other in enumerate(names) if other == name)
            raise DataError(
                f"{path} has {names.count(name)} columns called {name!r}: numbers {places}.",
                hint,
            )
