"""Write a table in parts, atomically: a reader sees the whole table or none."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from fairbench.data.tables import TableStream
from fairbench.errors import DataError
from fairbench.files import open_part

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".parquet", ".pq", ".csv")
"""Suffixes of files that can be written; the suffix determines the format."""


class TableWriter:
    """Writer that renames its temporary file at the end; a context manager, cleans up on errors.

    ``path``: with one of the suffixes ENDINGS. An existing file is replaced. Raises DataError: it
    has another suffix, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        if path.suffix.lower() not in ENDINGS:
            raise DataError(
                f"{path}: the suffix must name the format.",
                f"End it in {', '.join(ENDINGS[:-1])} (Parquet) or {ENDINGS[-1]}.",
            )
        if path.is_dir():
            raise DataError(f"{path} is a folder.", "Name a file.")
        self.path = path
        self._beside: Path | None = None
        self._stream: Any = None
        self._writer: Any = None

    def __enter__(self) -> Self:
        try:
            self._stream = open_part(self.path)
        except OSError as error:
            raise self._unwritable(error) from None
        self._beside = Path(self._stream.name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        import pyarrow as pa

        assert self._beside is not None
        try:
            if kind is None:
                if self._writer is not None:
                    self._writer.close()
                    self._writer = None
                self._stream.flush()
                os.fsync(self._stream.fileno())
                self._stream.close()
                self._beside.replace(self.path)
        except (OSError, pa.ArrowException) as error:
            raise self._unwritable(error) from None
        finally:
            # Close what is still open, whatever the errors: the file is removed.
            for part in (self._writer, self._stream):
                with suppress(OSError, pa.ArrowException):
                    if part is not None:
                        part.close()
            self._beside.unlink(missing_ok=True)

    def write(self, table: pa.Table) -> None:
        """Write rows; all parts have the columns and types of the first."""
        import pyarrow as pa

        try:
            if self._writer is None:
                self._writer = self._opened(table.schema)
            self._writer.write_table(table)
        except (OSError, pa.ArrowException) as error:
            raise self._unwritable(error) from None

    def _opened(self, schema: pa.Schema) -> Any:
        if self.path.suffix.lower() == ".csv":
            from pyarrow.csv import CSVWriter, WriteOptions

            return CSVWriter(self._stream, schema, write_options=WriteOptions())
        from pyarrow.parquet import ParquetWriter

        return ParquetWriter(self._stream, schema)

    def _unwritable(self, error: Exception) -> DataError:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        hint = "Leave columns of lists or records out of --keep: this format has none."
        if isinstance(error, OSError):
            reason, hint = error.strerror or reason, "Name another --output."
        return DataError(f"{self.path} cannot be written: {reason.rstrip('.')}.", hint)


def keep_other_tables(output: Path, first: str) -> None:
    """Raise DataError where a file is there that does not begin with a column of this name.

    ``first``: of what is written. An empty file may be replaced.
    """
    if not output.is_file() or not output.stat().st_size:
        return
    names: tuple[str, ...] = ()
    with suppress(DataError):  # then it is no table at all
        names = TableStream(output, rows=1).names
    if names[:1] != (first,):
        raise DataError(
            f"{output} is there already, and is no table that this command wrote: its first column "
            f"is not {first!r}. It is kept.",
            "Name another file to write.",
        )
