"""Turn raw rows into X as a dataset was prepared: codes, then scales.

Categories and scales are those of the training table, so that new rows are treated as its rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fairbench.api import Feature, Floats
from fairbench.data.column_values import Decimal, hint_in_new_rows, numbers, texts
from fairbench.data.missing_marks import unmarked
from fairbench.data.unknown import (
    Replaced,
    are_most,
    find_respelt,
    say_few,
    say_lost,
    say_respelt,
)
from fairbench.data.unknown import Unknown as Unknown
from fairbench.errors import DataError, UnknownValueError, nearest

if TYPE_CHECKING:
    import pandas as pd

NO_VALUE = "missing"
"""The category of missing values, where a dataset has one, as a card may declare."""


def mean_and_scale(
    columns: npt.NDArray[Any], names: Sequence[str]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Mean and standard deviation ``(d,)`` of columns ``(n, d)``; the latter is 1 of constants.

    Raises DataError where squares of a column's values overflow or vanish.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        mean, scale = columns.mean(axis=0), columns.std(axis=0)
    # By its range: the standard deviation of a constant may not round to zero.
    scale[columns.max(axis=0) == columns.min(axis=0)] = 1.0
    bad = np.flatnonzero(~np.isfinite(scale) | (scale == 0))
    if len(bad):
        raise DataError(
            f"The values of {names[bad[0]]} are too large, or too close, to be scaled.",
            "Give it in another unit, or take its logarithm.",
        )
    return mean, scale


@dataclass(frozen=True)
class Preprocessing:
    """A fitted map of raw columns to X."""

    features: tuple[Feature, ...]  # one per column of x, those of a source side by side
    # mean, scale: (d,), of the training set; a column is (code - mean) / scale
    mean: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]
    # The most common category in the training set, by source of categories
    common: Mapping[str, str]
    # Sources whose missing values are the category ``missing``; elsewhere a category of that name
    # is like any other
    missing: tuple[str, ...] = ()
    decimal: Decimal = "."  # sign before the decimals of numbers that are text
    marks: tuple[str, ...] = ()  # cells that count as missing, besides empty ones

    @property
    def sources(self) -> tuple[str, ...]:
        """Columns of the raw table that X is made of."""
        return tuple(dict.fromkeys(feature.source for feature in self.features))

    def apply(
        self, frame: pd.DataFrame, *, where: str, unknown: Unknown = Unknown.REFUSE
    ) -> tuple[Floats, dict[str, Replaced]]:
        """Turn rows of a raw table into x, and tell by column which values were replaced.

        ``frame``: with all ``sources`` among its columns; the index counts rows from 0. ``where``:
        the file, for messages. ``unknown``: treatment of values that are not in the training table.
        """
        self.check_columns([str(name) for name in frame.columns], where)
        x = np.empty((len(frame), len(self.features)), np.float32)
        replaced: dict[str, Replaced] = {}
        refused: dict[str, UnknownValueError] = {}
        start = 0
        for source in self.sources:
            of_source = [f for f in self.features if f.source == source]
            columns = slice(start, start + len(of_source))
            column = unmarked(frame[source], self.marks)
            try:
                codes, unseen = self._values(column, of_source, columns.start, where, unknown)
            except UnknownValueError as error:
                refused[source] = error
            else:
                with np.errstate(over="ignore"):  # beyond float32 is not finite: refused later
                    x[:, columns] = (codes - self.mean[columns]) / self.scale[columns]
                if unseen.count:
                    replaced[source] = unseen
            start = columns.stop
        if refused:
            raise _of_all_columns(refused)
        return x, replaced

    def check_columns(self, names: Sequence[str], where: str) -> None:
        """Raise DataError unless all ``sources`` are among the names of a table's columns."""
        missing = [source for source in self.sources if source not in names]
        if missing:
            error = absent_columns(missing, names, where, "the encoder takes")
            if len(missing) == len(self.sources):
                error.hint = "The first line must hold the columns' names. Is the separator right?"
            raise error

    def _values(
        self,
        column: pd.Series,
        features: Sequence[Feature],
        place: int,
        where: str,
        unknown: Unknown,
    ) -> tuple[npt.NDArray[np.float64], Replaced]:
        """Return the unscaled columns of x that one raw column becomes, and what was replaced.

        ``features``: those of the raw column; ``place``: of the first of them in x.
        """
        first = features[0]
        if not first.categories:
            return self._numbers(column, place, where, unknown)
        codes, unseen = self._codes(column, first, where, unknown)
        if len(features) > 1 or first.name != first.source:
            codes = (codes == np.arange(len(features))).astype(np.float64)
        return codes, unseen

    def _codes(
        self, column: pd.Series, feature: Feature, where: str, unknown: Unknown
    ) -> tuple[npt.NDArray[np.float64], Replaced]:
        """Return codes of the categories ``(n, 1)``, and which values were replaced."""
        codes = self._known(column, feature.categories)
        if feature.source in self.missing and NO_VALUE in feature.categories:
            codes[column.isna().to_numpy()] = feature.categories.index(NO_VALUE)
        bad = np.flatnonzero(codes < 0)
        unseen = column.iloc[bad]
        held = [str(value) for value in texts(unseen).dropna().unique()] if len(bad) else []
        respelt = find_respelt(held, feature.categories) if held else {}
        if len(bad) and unknown is Unknown.REFUSE:
            raise self._unseen(unseen, feature, where, respelt, rows=len(column))
        codes[bad] = feature.categories.index(self.common[feature.source])
        replaced = Replaced(
            len(bad),
            missing=int(unseen.isna().sum()),
            example=held[0] if held else "",
            respelt=respelt,
        )
        return codes[:, None].astype(np.float64), replaced

    def _unseen(
        self,
        unseen: pd.Series,
        feature: Feature,
        where: str,
        respelt: Mapping[str, str],
        *,
        rows: int,
    ) -> UnknownValueError:
        """Return the error of unknown values of a column that has so many rows in all."""
        without = unseen.isna()
        absent, count = bool(without.all()), len(unseen)
        held = unseen[~without]
        first = unseen if absent else held  # a value says more of what is wrong
        what = "has no value" if absent else f"is {str(held.iloc[0])!r}"
        several = "row" if len(first) == 1 else "rows"
        besides = f", and {without.sum():,} without a value" if not absent and without.any() else ""
        substitute = self.substitute(feature.source)
        correction = ""
        hint = f"Correct it, or replace such values by {substitute}, with --unknown common."
        # Who is told of --unknown common takes it: not where it would empty the column.
        if respelt:
            hint = correction = say_respelt(respelt)
        elif are_most(count, rows):
            correction = (
                "Fill it in."
                if absent
                else "Is the column coded in another way? Write it as the training rows have it."
            )
            hint = f"{correction} With --unknown common all these rows become {substitute}."
        return UnknownValueError(
            f"{where}, row {first.index[0] + 1}: {feature.source} {what} ({len(first):,} such "
            f"{several} here{besides}); the encoder knows {say_few(feature.categories)}.",
            hint,
            correction=correction,
        )

    @staticmethod
    def _known(column: pd.Series, categories: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the places of values among the categories ``(n,)``; -1 where not among them."""
        import pandas as pd

        if isinstance(column.dtype, pd.CategoricalDtype):
            distinct = column.cat.categories.to_series().reset_index(drop=True)
            places = Preprocessing._known(distinct, categories)
            # One more place, at the end, for missing values.
            codes: npt.NDArray[np.int64] = np.append(places, -1)[column.cat.codes.to_numpy()]
            return codes
        known = pd.Index(categories)
        as_text = texts(column)
        places = known.get_indexer(pd.Index(as_text)).astype(np.int64)
        if column.dtype.kind not in "biufM":
            # Integers, in a file that pandas wrote with missing values beside them.
            unknown = np.flatnonzero((places < 0) & column.notna().to_numpy())
            integers = as_text.iloc[unknown].astype(str).str.extract(r"^(-?\d+)\.0$", expand=False)
            places[unknown] = known.get_indexer(pd.Index(integers))
        if column.dtype.kind in "iu" and (places < 0).any():
            # A categorical column of 1.0, as pandas has it beside missing values, has that text.
            decimals = known.get_indexer(pd.Index(column.astype("float64").astype(str)))
            places = np.maximum(places, np.where(column.isna(), -1, decimals))
        if column.dtype.kind == "f":
            # texts() writes 1.0 as "1" where all of a column are whole. Whether all are may differ
            # between the training table and part of another one.
            plain = column.astype(str)
            whole = (column == column.round()) & (column.abs() < 2**53)
            integers = column.where(whole, 0.0).astype("int64").astype(str)
            for written in (plain, integers.where(whole, plain)):
                places = np.maximum(places, known.get_indexer(pd.Index(written)))
        if column.dtype.kind == "M":
            # Likewise texts() leaves out the hours where all of a column are midnight, and the
            # decimals of seconds where all are whole.
            moments = pd.to_datetime(known, format="ISO8601", errors="coerce", utc=True)
            place_of = {moment: place for place, moment in enumerate(moments) if moment == moment}
            here = pd.to_datetime(column, utc=True).map(place_of).fillna(-1)
            places = np.maximum(places, here.to_numpy(np.int64))
        return places

    def _numbers(
        self, column: pd.Series, place: int, where: str, unknown: Unknown
    ) -> tuple[npt.NDArray[np.float64], Replaced]:
        missing = column.isna().to_numpy()
        if missing.any() and unknown is Unknown.REFUSE:
            first = column.index[int(missing.argmax())]
            raise UnknownValueError(
                f"{where}, row {first + 1}: {column.name} has no value.",
                "Fill it in, or replace such values by the mean with --unknown common.",
            )
        values = np.full(len(column), self.mean[place])
        values[~missing] = numbers(
            column[~missing],
            where,
            hint=lambda value: hint_in_new_rows(value, self.decimal),
            decimal=self.decimal,
        )
        count = int(missing.sum())
        return values[:, None], Replaced(count, missing=count)

    def substitute(self, source: str) -> str:
        """Describe the replacement of unknown values of a column."""
        if source in self.common:
            return f"the most common, {self.common[source]!r}"
        (place,) = (i for i, feature in enumerate(self.features) if feature.source == source)
        return f"the mean, {self.mean[place]:.6g}"

    def warnings_of(self, replaced: Mapping[str, Replaced], rows: int) -> list[str]:
        """Return a warning for each column that replacing has emptied or changed.

        ``replaced``: of a whole table, which has so many rows.
        """
        known = {feature.source: feature.categories for feature in self.features}
        found = (
            say_lost(source, values, rows, self.substitute(source), known[source])
            for source, values in replaced.items()
        )
        return [warning for warning in found if warning is not None]

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; see :meth:`from_json`."""
        return {
            "features": [
                {"name": f.name, "source": f.source, "categories": list(f.categories)}
                for f in self.features
            ],
            "mean": self.mean.tolist(),
            "scale": self.scale.tolist(),
            "common": dict(self.common),
            "missing": list(self.missing),
            # Only where it is not the default: fingerprints of other tables stay what they were.
            **({} if self.decimal == "." else {"decimal": self.decimal}),
            **({"marks": list(self.marks)} if self.marks else {}),
        }

    def digest(self) -> str:
        """Return the sha256 of all that maps raw rows to x.

        Of 9 digits of each mean and scale: the last ones depend on the processor.
        """
        rounded = {key: [f"{x:.9g}" for x in getattr(self, key)] for key in ("mean", "scale")}
        text = json.dumps({**self.to_json(), **rounded}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Preprocessing:
        """Restore from :meth:`to_json`; KeyError, TypeError or ValueError if damaged."""
        features = tuple(
            Feature(f["name"], f["source"], tuple(f["categories"])) for f in data["features"]
        )
        # Earlier files lack the list: every category of that name meant missing values.
        named = {f.source: None for f in features if NO_VALUE in f.categories}
        missing = tuple(data.get("missing", named))
        mean, scale = (np.array(data[key], np.float64) for key in ("mean", "scale"))
        if not mean.shape == scale.shape == (len(features),):
            raise ValueError(f"{mean.shape} means and {scale.shape} scales for {len(features)}")
        decimal, marks = data.get("decimal", "."), tuple(data.get("marks", ()))
        return cls(features, mean, scale, data["common"], missing, decimal, marks)


def absent_columns(
    absent: Sequence[str], names: Sequence[str], where: str, wanted: str
) -> DataError:
    """Return the error of columns that a table lacks, all of them at once.

    ``names``: those it has. ``where``: the table. ``wanted``: who wants them, as ``--keep names``.
    """
    if len(absent) == 1:
        return DataError(
            f"{where} has no column {absent[0]!r}, which {wanted}.", nearest(absent[0], names)
        )
    listed = f"{', '.join(map(repr, absent[:-1]))} and {absent[-1]!r}"
    return DataError(
        f"{where} has no columns {listed}, which {wanted}.",
        nearest("", names),  # for so many all that there are
    )


def _of_all_columns(refused: Mapping[str, UnknownValueError]) -> UnknownValueError:
    """Return the error of the first column, with the names of the others: at least one."""
    (_, first), *others = refused.items()
    if not others:
        return first
    names = ", ".join(name for name, _ in others)
    return UnknownValueError(
        f"{first.message} Other columns with unknown or missing values: {names}.",
        first.hint,
        correction=first.correction,
    )


def most_common_categories(frame: pd.DataFrame, features: Sequence[Feature]) -> dict[str, str]:
    """Return the most common category of each source of categories."""
    sources = dict.fromkeys(f.source for f in features if f.categories)
    return {source: str(frame[source].astype(str).mode().iloc[0]) for source in sources}
