"""Encoding new rows with a kept encoder, part by part: a table may be larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairbench.api import Coding, Floats
from fairbench.api.method import Representation
from fairbench.data.preprocessing import Preprocessing
from fairbench.data.tables import CHUNK, TableStream
from fairbench.data.unknown import Unknown
from fairbench.data.writing import TableWriter
from fairbench.errors import DataError, nearest

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Encoded:
    """What was done.

    Parameters
    ----------
    rows : int
    dimensions : int
        Columns of z.
    replaced : dict of str to int
        How many unknown values of a column were replaced, where any were.
    """

    rows: int = 0
    dimensions: int = 0
    replaced: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RowEncoder:
    """Raw rows to z, at one point of a fitted method that sees x alone.

    Parameters
    ----------
    representation : Representation
    preprocessing : Preprocessing
        How raw columns become x.
    coding : Coding
        A stochastic encoder draws anew for every row.
    unknown : Unknown
        What to do about values that no encoder has seen.
    random_state : int, optional
        Of a stochastic encoder; None: other draws each time.
    """

    representation: Representation
    preprocessing: Preprocessing
    coding: Coding
    unknown: Unknown = Unknown.REFUSE
    random_state: int | None = None

    def encode_file(
        self,
        source: Path,
        target: Path,
        *,
        keep: Sequence[str] = (),
        separator: str = ",",
        rows: int = CHUNK,
        told: Callable[[int], None] = lambda rows: None,
    ) -> Encoded:
        """Encode every row of a CSV or Parquet file into another one.

        Parameters
        ----------
        source : Path
        target : Path
            Written aside, and there when all is done; CSV or Parquet by its ending. Its columns
            are z0, z1, ..., and those of ``keep``, as they stand in the source: text of a CSV
            (blanks right after a separator belong to no cell), values of a Parquet file.
        keep : sequence of str
            Columns of the source to keep, such as ids.
        separator : str
            Between the fields of a CSV source.
        rows : int
            At a time.
        told : callable
            Called with the number of rows done so far.

        Raises
        ------
        DataError
            A file cannot be read or written, or a row not encoded; its number is told.
        """
        writer = TableWriter(target)
        stream = TableStream(source, separator=separator, rows=rows)
        if target.exists() and target.samefile(source):
            raise DataError(f"{target} is the input itself.", "Name another --output.")
        for name in keep:
            if name not in stream.names:
                raise DataError(
                    f"{source} has no column {name!r}, which --keep names.",
                    nearest(name, stream.names),
                )
        self.preprocessing.check_columns(stream.names, str(source))
        generator = None
        if self.coding is Coding.STOCHASTIC:
            generator = np.random.default_rng(self.random_state)
        done = Encoded()
        with writer:
            for frame, kept in stream.parts(self.preprocessing.sources, keep):
                x, replaced = self.preprocessing.apply(
                    frame, where=str(source), unknown=self.unknown
                )
                z = self._encode(x, generator, source, done.rows)
                writer.write(_columns(z, kept))
                for name, count in replaced.items():
                    done.replaced[name] = done.replaced.get(name, 0) + count
                done.rows += len(z)
                done.dimensions = z.shape[1]
                told(done.rows)
        return done

    def _encode(
        self, x: Floats, generator: np.random.Generator | None, source: Path, before: int
    ) -> Floats:
        z = np.asarray(self.representation.encode(x, generator=generator))
        bad = ~np.isfinite(z).all(axis=1)
        if bad.any():
            raise DataError(
                f"{source}, row {before + int(bad.argmax()) + 1}: its z is not finite.",
                "A number in this row is probably far out of the range of those that the encoder "
                "was fitted on.",
            )
        return z


def _columns(z: Floats, kept: Mapping[str, pa.Array]) -> pa.Table:
    import pyarrow as pa

    found = {f"z{i}": pa.array(np.ascontiguousarray(z[:, i])) for i in range(z.shape[1])}
    for name, column in kept.items():
        if name in found:
            raise DataError(
                f"--keep {name}: z has a column of that name.", "Rename it in the input."
            )
        found[name] = column
    return pa.table(found)
