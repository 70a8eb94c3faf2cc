"""Tables whose columns are declared: each is checked cell by cell, and described on its page.

A table names the columns that it reads, what its codes mean, which columns are X, what S and the
labels are made of. The rest is the same for all: reading, checking, leaving what S is made of out
of X, and the variant for unseen tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fairbench.api import Ints
from fairbench.api.dataset import Dataset, Table
from fairbench.errors import DataError
from fairbench_datasets.reading import groups_of, words

Values = npt.NDArray[Any]
"""A column as it is in the file, ``(n,)``."""

_FAIRGROUND = (
    "https://raw.githubusercontent.com/reliable-ai/fairground-dataset-cache/"
    "0cc2074d4caa5b98d7a24f6c8f2d880b9f49eb59/fairground_cache/"
)


@dataclass(frozen=True)
class Number:
    """A column of numbers, and the range that they must lie in."""

    low: float
    high: float
    meaning: str = ""
    whole: bool = True  # whether fractions are errors

    def checked(self, values: Values) -> tuple[Values, npt.NDArray[np.bool_], str]:
        """Return the values as numbers, which of them are good, and what the others are not."""
        kind = "whole number" if self.whole else "number"
        try:
            numbers = values.astype(np.float64)
        except (ValueError, TypeError):  # text among them
            numbers = np.array([_number(value) for value in values])
        good = (numbers >= self.low) & (numbers <= self.high)
        if self.whole:
            good &= numbers == np.floor(numbers)
        wrong = f"not a {kind} from {self.low:g} to {self.high:g}"
        return numbers, good, wrong

    def coded(self, values: Values) -> Values:
        """Return the column as it stands in X: numbers."""
        numbers = self.checked(values)[0]
        return numbers.astype(np.int64) if self.whole else numbers


@dataclass(frozen=True)
class Category:
    """A column of codes: what each means, in the order that integer codes keep.

    Codes of equal meaning are one category.
    """

    codes: Mapping[Any, str]
    meaning: str = ""

    def checked(self, values: Values) -> tuple[Values, npt.NDArray[np.bool_], str]:
        """Return the values, which of them are good, and what the others are not."""
        places, found = _distinct(values)
        known = np.array([value in self.codes for value in found] + [False])  # -1: missing
        return values, known[places], "a code without a meaning"

    def names(self, values: Values) -> Values:
        """Return the meaning of each code."""
        places, found = _distinct(values)
        return np.array([self.codes[value] for value in found])[places]

    def coded(self, values: Values) -> Values:
        """Return the column as it stands in X: meanings with their place in front.

        The place, ``01``, ``02`` and so on, makes the sorted names keep the order of the codes.
        """
        places = {name: i for i, name in enumerate(dict.fromkeys(self.codes.values()), start=1)}
        where, found = _distinct(self.names(values))
        return np.array([f"{places[name]:02} {name}" for name in found])[where]


@dataclass(frozen=True)
class ByMeaning:
    """An attribute of S: the meanings of a category, or a coarser grouping of them."""

    column: str
    groups: Mapping[str, str] | None = None  # group by meaning; None: each is one of its own

    def of(self, values: Values, column: Number | Category) -> Values:
        """Return the group of each row."""
        assert isinstance(column, Category)
        names = column.names(values)
        if self.groups is None:
            return names
        where, found = _distinct(names)
        return np.array([self.groups[name] for name in found])[where]


@dataclass(frozen=True)
class ByCut:
    """An attribute of S: numbers below a cut, and the others."""

    column: str
    cut: float
    below: str
    others: str

    def of(self, values: Values, column: Number | Category) -> Values:
        """Return the group of each row."""
        assert isinstance(column, Number)
        return np.where(column.coded(values) < self.cut, self.below, self.others)


@dataclass(frozen=True)
class Label:
    """A task label of two classes: 1 for some codes of a category, or numbers above a limit."""

    name: str
    column: str
    meaning: str
    codes: tuple[Any, ...] = ()
    above: float | None = None
    also: tuple[str, ...] = ()  # other columns that tell it, which leave X with its own

    def of(self, values: Values, column: Number | Category) -> Ints:
        """Return the class of each row."""
        if self.above is None:
            return np.isin(values, self.codes).astype(np.int64)
        return (column.coded(values) > self.above).astype(np.int64)


class DeclaredTable(Dataset):
    """A table of declared columns. Required besides a dataset's: all without a default.

    Attributes
    ----------
    columns : mapping of str to Number or Category
        All columns that are read.
    features : tuple of str
        X, from which the columns that S is made of are left out.
    attributes : mapping of str to ByMeaning or ByCut
        What ``sensitive`` can name.
    labels : tuple of Label
        Tasks, the main one first.
    unseen : tuple of Label
        Tasks that the variant for unseen tasks asks for. Their columns are left out of its X, and
        so are other columns that would tell them.
    domains : tuple of str
        Attributes by which rows can be split into domains.
    is_unseen : bool
        Whether this is the variant for unseen tasks.
    """

    columns: ClassVar[Mapping[str, Number | Category]]
    features: ClassVar[tuple[str, ...]]
    attributes: ClassVar[Mapping[str, ByMeaning | ByCut]]
    labels: ClassVar[tuple[Label, ...]]
    unseen: ClassVar[tuple[Label, ...]] = ()
    domains: ClassVar[tuple[str, ...]] = ()
    is_unseen: ClassVar[bool] = False

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        cls.tasks = tuple(label.name for label in getattr(cls, "labels", ()))
        cls.unseen_tasks = tuple(label.name for label in cls.unseen) if cls.is_unseen else ()

    def load(self, folder: Path) -> Table:
        """Read, check, and put together X, S and Y."""
        import pandas as pd

        path = folder / self.files[0].name
        raw = self.kept(self.read(path))
        for name, column in self.columns.items():
            _check(raw[name], name, column, path, self.get_again())

        def grouped(attribute: str) -> Values:
            source = self.attributes[attribute]
            return source.of(raw[source.column], self.columns[source.column])

        def labelled(labels: tuple[Label, ...]) -> dict[str, Ints]:
            return {one.name: one.of(raw[one.column], self.columns[one.column]) for one in labels}

        s, groups = groups_of(*(grouped(name) for name in self.sensitive))
        x = {name: self.columns[name].coded(raw[name]) for name in self.x_columns()}
        return Table(
            x=pd.DataFrame(x),
            s=s,
            groups=groups,
            y=labelled(self.labels),
            transfer=labelled(self.unseen) if self.is_unseen else {},
            domains={name: grouped(name) for name in self.domains},
        )

    def read(self, path: Path) -> Mapping[str, Values]:
        """Read the declared columns of the file."""
        return read_parquet(path, tuple(self.columns), self.get_again())

    def kept(self, raw: Mapping[str, Values]) -> Mapping[str, Values]:
        """Return the rows that are used: all of them, unless a table says otherwise."""
        return raw

    @classmethod
    def x_columns(cls) -> tuple[str, ...]:
        """Names of the columns of X."""
        left_out = {cls.attributes[name].column for name in cls.sensitive}
        if cls.is_unseen:
            left_out |= {name for one in cls.unseen for name in (one.column, *one.also)}
        return tuple(name for name in cls.features if name not in left_out)

    @classmethod
    def get_again(cls) -> str:
        """Say what to do about a malformed file."""
        return f"Get the original file again: {(*cls.files[0].urls, cls.url)[0]}"


def plain(codes: str) -> dict[str, str]:
    """Return codes, apart by blanks, that say themselves what they mean."""
    return {code: code for code in words(codes)}


def fairground(name: str) -> tuple[str, ...]:
    """Return where a file of the FairGround project's cache of datasets can be downloaded."""
    return (_FAIRGROUND + name,)


def read_parquet(path: Path, columns: tuple[str, ...], hint: str) -> dict[str, Values]:
    """Read columns of a Parquet file, ``(n,)`` each; DataError if it is broken or lacks one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as stream:
            file = pq.ParquetFile(stream)
            for name in columns:
                count = file.schema_arrow.names.count(name)
                if count != 1:
                    wrong = "occurs twice" if count else "is missing"
                    raise DataError(f"{path}: the column {name!r} {wrong}.", hint)
            table = file.read(columns=list(columns))
    # A broken file shows as any of these, text that is not UTF-8 as a ValueError.
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or ["empty"])[0]
        raise DataError(f"{path} cannot be read as Parquet: {reason}", hint) from error
    if not table.num_rows:
        raise DataError(f"{path} has no rows.", hint)
    return {name: table.column(name).to_numpy() for name in columns}


def _check(values: Values, name: str, column: Number | Category, path: Path, hint: str) -> None:
    _, good, wrong = column.checked(values)
    if good.all():
        return
    row = int(np.argmin(good))
    value = values[row]
    missing = value is None or value != value
    shown = f"{value:g}" if isinstance(value, (int, float, np.number)) else repr(str(value)[:40])
    fault = "missing" if missing else f"{shown}, {wrong}"
    raise DataError(f"{path}, row {row + 1}: {name} is {fault}.", hint)


def _distinct(values: Values) -> tuple[Ints, list[Any]]:
    """Return the place of each value among the distinct ones, -1 where it is missing, and these."""
    import pandas as pd

    places, found = pd.factorize(values)
    return places, found.tolist()


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
