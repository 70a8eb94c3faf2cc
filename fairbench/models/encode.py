"""Encoding new rows with a stored encoder, in parts: a table may be larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairbench.api import Coding, Floats, Point, Track
from fairbench.api.method import Representation
from fairbench.data.csv_files import sniff
from fairbench.data.preprocessing import Preprocessing, absent_columns
from fairbench.data.tables import CHUNK, TableStream, is_parquet, rejoined
from fairbench.data.unknown import Replaced, Unknown
from fairbench.data.used_columns import UsedColumns
from fairbench.data.writing import TableWriter, keep_other_tables
from fairbench.errors import ConfigError, DataError
from fairbench.models.certified_codes import CertifiedCodes
from fairbench.models.lookup import StoredModel
from fairbench.runs.encoding import as_audited

if TYPE_CHECKING:
    import pyarrow as pa


def parse_separator(text: str) -> str:
    """Parse the value of ``--separator``: one character, ``\\t`` for a tab; else ConfigError."""
    separator = text.replace("\\t", "\t")
    if len(separator) != 1:
        raise ConfigError(
            f"--separator {text!r} is not one character.",
            "Leave it out, and it is detected; a tab is written \\t.",
        )
    return separator


def detect_separator(source: Path) -> str:
    """Detect what stands between the fields of a CSV file; a Parquet file needs none."""
    return "," if is_parquet(source) else sniff(source)[0]


FAR = 10.0
"""Standard deviations from the mean of the training beyond which a number is noted."""


@dataclass
class EncodingSummary:
    """Rows encoded and columns of z; by column which unknown values were replaced, and how many
    numbers are far from those of the training (:data:`FAR` standard deviations from their mean).

    ``other_codes``: rows whose code the certificate does not count.
    """

    rows: int = 0
    dimensions: int = 0
    other_codes: int = 0
    replaced: dict[str, Replaced] = field(default_factory=dict)
    far: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RowEncoder:
    """Raw rows to z, at one point of a fitted method that sees x alone.

    Parameters
    ----------
    preprocessing : Preprocessing
        How raw columns become x.
    coding : Coding
        A stochastic encoder draws anew for every row.
    unknown : Unknown
        What to do about values that the encoder was not trained on.
    random_state : int, optional
        Of a stochastic encoder; None: other draws each time.
    point : Point, optional
        The setting of the knobs; None for a method without.
    """

    representation: Representation
    preprocessing: Preprocessing
    coding: Coding
    unknown: Unknown = Unknown.REFUSE
    random_state: int | None = None
    point: Point | None = None

    @property
    def used(self) -> UsedColumns:
        """The columns of the raw table that it reads; a file may lack the others."""
        return UsedColumns.of(self.preprocessing, self.representation.input_columns())

    def encode_file(
        self,
        source: Path,
        target: Path,
        *,
        keep: Sequence[str] = (),
        separator: str = ",",
        rows: int = CHUNK,
        codes: CertifiedCodes | None = None,
        report: Callable[[int], None] = lambda rows: None,
    ) -> EncodingSummary:
        """Encode every row of a CSV or Parquet file into another one.

        Parameters
        ----------
        target : Path
            CSV or Parquet by its ending; written to a temporary name and renamed at the end. Its
            columns are z0, z1, ..., and those of ``keep``, as they stand in the source: text of a
            CSV (blanks right after a separator belong to no cell), values of a Parquet file.
        keep : sequence of str
            Columns of the source to keep, such as ids.
        separator : str
            Between the fields of a CSV source.
        rows : int
            At a time.
        codes : CertifiedCodes, optional
            Codes of the certificate, from which others are told.
        report : callable
            Called with the number of rows encoded so far.

        Raises
        ------
        DataError
            A file cannot be read or written, or a row cannot be encoded.
        """
        writer = TableWriter(target)
        used = self.used
        wanted = [*used.preprocessing.sources, *keep]
        stream = TableStream(source, separator=separator, rows=rows, wanted=wanted)
        if target.exists() and target.samefile(source):
            raise DataError(f"{target} is the input itself.", "Name another --output.")
        keep_other_tables(target, "z0")
        keep = rejoined(keep, stream.names)
        if absent := [name for name in keep if name not in stream.names]:
            raise absent_columns(absent, stream.names, str(source), "--keep names")
        used.preprocessing.check_columns(stream.names, str(source))
        generator = None
        if self.coding is Coding.STOCHASTIC:
            generator = np.random.default_rng(self.random_state)
        summary = EncodingSummary()
        with writer:
            for frame, kept in stream.parts(used.preprocessing.sources, keep):
                x, replaced = used.apply(frame, where=str(source), unknown=self.unknown)
                z = self._encode(x, generator, source, summary.rows)
                writer.write(_columns(z, kept))
                for name, values in replaced.items():
                    before = summary.replaced.get(name, Replaced(0))
                    summary.replaced[name] = before + values
                for name, count in used.far(x, FAR).items():
                    summary.far[name] = summary.far.get(name, 0) + count
                if codes is not None:
                    summary.other_codes += codes.count_others(z)
                summary.rows += len(z)
                summary.dimensions = z.shape[1]
                report(summary.rows)
        return summary

    def _encode(
        self, x: Floats, generator: np.random.Generator | None, source: Path, before: int
    ) -> Floats:
        z = as_audited(np.asarray(self.representation.encode(x, generator=generator)))
        bad = ~np.isfinite(z).all(axis=1)
        if bad.any():
            raise DataError(
                f"{source}, row {before + int(bad.argmax()) + 1}: its z is not finite.",
                "A number in this row is probably far outside the range of the training rows.",
            )
        return z


def make_row_encoder(
    model: StoredModel,
    point: str | None,
    *,
    unknown: Unknown = Unknown.REFUSE,
    random_state: int | None = None,
) -> RowEncoder:
    """Make an encoder of raw rows from a stored model, read at a point.

    Raises
    ------
    FairbenchError
        There is no encoder, it cannot take the rows of a table alone, or the point does not exist.
    """
    encoder = model.encoder
    name = encoder.method.name
    if encoder.preprocessing is None:
        raise ConfigError(
            f"{encoder.info.name} is made of images: {name} cannot encode rows of a table there.",
            "From Python: fairbench.store.encoders.read(...).at(point).encode(x), x being 0 and 1.",
        )
    if encoder.method.track is Track.AWARE:
        raise ConfigError(
            f"{name} is of the aware track: its encoder takes the sensitive attribute of every new "
            "row too, which this command does not read.",
            "Choose a method of the blind track: fairbench recommend --max-leakage NATS",
        )
    if random_state is not None and encoder.method.coding is not Coding.STOCHASTIC:
        raise ConfigError(
            f"--random-state: {name} draws nothing at random.", "Leave --random-state out."
        )
    setting = model.resolve_point(point)
    return RowEncoder(
        encoder.at(setting),
        encoder.preprocessing,
        encoder.method.coding,
        unknown,
        random_state,
        setting,
    )


def _columns(z: Floats, kept: Mapping[str, pa.Array]) -> pa.Table:
    import pyarrow as pa

    columns = {f"z{i}": pa.array(np.ascontiguousarray(z[:, i])) for i in range(z.shape[1])}
    for name, column in kept.items():
        if name in columns:
            raise DataError(
                f"--keep {name}: z has a column of that name.", "Rename it in the input."
            )
        columns[name] = column
    return pa.table(columns)
