"""Read arrays from npy, npz, CSV and Parquet files, whole or a part named after a colon.

Examples: ``z.npy``; ``arrays.npz``, if it holds one array, or ``arrays.npz:z``; ``people.csv``, all
columns, or ``people.csv:sex`` or ``people.csv:z*,age``, where ``*`` stands for any text.
"""

from __future__ import annotations

import fnmatch
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairbench.data.column_values import is_number
from fairbench.data.csv_files import index_column, sniff, why_unnamed
from fairbench.data.tables import has_index, is_parquet, read_table, rejoined
from fairbench.errors import DataError, nearest
from fairbench.files.unpacking import check_arrays

FORMATS = ("npy", "npz", "csv", "parquet", "pq")
"""Suffixes of the files that can be read."""

_SPEC = re.compile(rf"(.+?\.({'|'.join(FORMATS)}))(?::(.*))?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class ArraySource:
    """The file, and the part of it, that holds an array."""

    name: str  # name of the array in messages: ``z``, ``s``, ...
    path: Path
    part: str | None  # text after the colon

    @property
    def format(self) -> str:
        """One of FORMATS."""
        return self.path.suffix.lower().removeprefix(".")


def parse_source(name: str, text: str) -> ArraySource:
    """Parse the value of ``--name``; DataError for a missing file, or one of another kind."""
    match = _SPEC.fullmatch(text)
    path = Path(match[1] if match else text)
    if not match and not path.exists():
        raise DataError(f"--{name}: there is no file {text}.{_neighbours(path)}")
    if not match and path.is_dir():
        raise DataError(f"--{name}: {text} is a folder: name a file in it.")
    if not match:
        raise DataError(
            f"--{name} {text}: a file of this kind cannot be read: save the array as npy, npz, CSV "
            "or Parquet."
        )
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"--{name}: the file {path} {what}.{_neighbours(path)}")
    return ArraySource(name, path, match[3] or None)


def read_sources(sources: dict[str, ArraySource]) -> dict[str, Any]:
    """Read arrays and frames by name; each file of a table is read once.

    Raises DataError: a file cannot be read, lacks a column or an array, or z and s share a column.
    """
    tables: dict[tuple[Path, bool], Any] = {}
    arrays: dict[str, Any] = {}
    for name, source in sources.items():
        if source.format in ("npy", "npz"):
            arrays[name] = _array(source)
            continue
        key = source.path.resolve(), _is_audited(source)
        if key not in tables:
            tables[key] = _table(source)
        arrays[name] = _columns(source, tables[key])
    _check_disjoint(sources, arrays)
    return arrays


def _is_audited(source: ArraySource) -> bool:
    """Whether it is z, all of which is audited: blanks around numbers too."""
    return source.name == "z"


def _array(source: ArraySource) -> np.ndarray:
    if source.format == "npy" and source.part:
        raise DataError(
            f"--{source.name} {source.path}:{source.part}: an npy file holds one array, which has "
            f"no name: give {source.path}."
        )
    try:
        with source.path.open("rb") as stream:
            check_arrays(stream)
        loaded = np.load(source.path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded as archive:
            return np.asarray(archive[_member(source, archive.files)])
    except OSError as error:
        reason = f": {error.strerror}" if error.strerror else ": it is empty or truncated"
        raise DataError(f"--{source.name}: {source.path} cannot be read{reason}.") from None
    except (ValueError, EOFError, zipfile.BadZipFile, NotImplementedError) as error:
        if "pickle" in str(error).lower():
            raise DataError(
                f"--{source.name}: {source.path} holds pickled objects or is not a {source.format} "
                "file: save plain values, as in np.save(file, array.astype(str)) for names."
            ) from None
        promise = str(error) if "bytes" in str(error) else "save it again"
        raise DataError(
            f"--{source.name}: {source.path} is damaged or no {source.format} file: {promise}."
        ) from None


def _member(source: ArraySource, names: list[str]) -> str:
    if source.part:
        if source.part not in names:
            raise DataError(
                f"--{source.name}: {source.path} holds no array {source.part!r}. "
                f"{nearest(source.part, names)}"
            )
        return source.part
    if not names:
        raise DataError(f"--{source.name}: {source.path} holds no array: save it again.")
    if len(names) != 1:
        raise DataError(
            f"--{source.name}: {source.path} holds {len(names)} arrays: name one, as in "
            f"{source.path}:{names[0]}. {nearest('', names)}"
        )
    return names[0]


def _table(source: ArraySource) -> Any:
    try:
        separator, header = _csv_shape(source) if source.format == "csv" else (",", True)
        return read_table(
            source.path, separator=separator, header=header, single=True, blanks=_is_audited(source)
        )
    except DataError as error:
        raise DataError(f"--{source.name}: {error.message}", error.hint) from None


def _csv_shape(source: ArraySource) -> tuple[str, bool]:
    """Return the separator, and whether the first line has names."""
    path = source.path
    separator, header = sniff(path, _parts(source))
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as stream:
            first = stream.readline().split()
    except OSError:
        return separator, header  # reading the table raises the error
    if separator == " " and not all(is_number(field) for field in first):
        return ",", not any(is_number(field) for field in first)  # names like "Asian Pacific"
    return separator, header


def _parts(source: ArraySource) -> list[str]:
    """Return the names or patterns of columns that are asked for."""
    return [part.strip() for part in source.part.split(",")] if source.part else []


def _columns(source: ArraySource, table: Any) -> Any:
    if source.part is None:
        if (index := index_column(table)) and len(table.columns) > 1:
            raise DataError(
                f"--{source.name}: the first column of {source.path} has no name and holds whole "
                "numbers: it looks like an index of rows. Write the file without it (pandas: "
                f"index=False), or name the columns, as in {source.path}:{table.columns[1]}. Name "
                f"it {index} if it is meant."
            )
        if _is_audited(source) and is_parquet(source.path) and has_index(source.path):
            raise DataError(
                f"--{source.name}: {source.path} holds an index of rows beside its columns, and "
                "whoever has the file has it too. Write the file without it (pandas: index=False), "
                f"or name the columns that are given away, as in {source.path}:{table.columns[0]}."
            )
        return table
    known = [str(name) for name in table.columns]
    chosen: list[str] = []
    for pattern in rejoined(_parts(source), known):
        matching = [pattern] if pattern in known else fnmatch.filter(known, pattern)
        if not matching:
            raise DataError(
                f"--{source.name}: {source.path} has no column {pattern!r}. "
                f"{why_unnamed(known)}{nearest(pattern, known)}"
            )
        chosen += matching
    return table[list(dict.fromkeys(chosen))]


def _check_disjoint(sources: dict[str, ArraySource], arrays: dict[str, Any]) -> None:
    """Raise DataError where s is a part of z: the audit would find it and be meaningless."""
    if "s" not in sources:
        return
    z, s = sources["z"], sources["s"]
    if z.path.resolve() != s.path.resolve():
        return
    if z.format not in ("npy", "npz"):
        both = [str(c) for c in arrays["z"].columns if c in set(arrays["s"].columns)]
        if both:
            raise DataError(
                f"The column {both[0]!r} of {z.path} is in z and in s: name z's columns, as in "
                f"--z {z.path}:z1,z2 or --z '{z.path}:z[0-9]*'."
            )
    elif z.part == s.part:
        raise DataError(f"z and s are the same array of {z.path}: name another for one of them.")


def _neighbours(path: Path) -> str:
    """Return a hint: a file of a similar name in the folder, if any."""
    folder = path.parent
    names = [p.name for p in folder.iterdir() if p.is_file()] if folder.is_dir() else []
    hint = nearest(path.name, names)
    return f" {hint}" if hint.startswith("Did") else f" Check the path (folder {folder})."
