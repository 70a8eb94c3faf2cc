"""The interface of datasets: a raw table or images, and where their files are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from fairbench.api.types import Architecture, Ints, Role

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class DataFile:
    """One file of a dataset.

    Parameters
    ----------
    name : str
        File name on disk.
    urls : tuple of str
        Where it can be downloaded, best first; the rest are mirrors.
    sha256 : str, optional
        Of the whole file, hexadecimal. None: not known; such a file is never downloaded, and
        ``load`` must check its format.
    size : int, optional
        Bytes; None: not known.
    """

    name: str
    urls: tuple[str, ...] = ()
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class Table:
    """A dataset as loaded: raw columns, not yet split, coded or scaled.

    Parameters
    ----------
    x : DataFrame, shape (n, columns)
        Features; numbers as numbers, categories as strings.
    s : ndarray of int64, shape (n,)
        Sensitive attribute, codes into ``groups``.
    groups : tuple of str
        Name of each code of s.
    y : mapping of str to ndarray of int64, shape (n,)
        Task labels by task name, the main task first; classes are 0, 1, ...
    is_test : ndarray of bool, shape (n,), optional
        The official test rows, where there are any.
    onehot : bool
        Categories become one-hot columns instead of integer codes.
    notes : tuple of str
        Warnings that a run shows.
    missing : tuple of str
        Columns of x whose missing values became the category ``missing``; those of new rows do too.
    transfer : mapping of str to ndarray of int64, shape (n,)
        Labels of unseen tasks, as in ``y``: what z is worth for tasks that nobody has named. Their
        columns are not in x.
    domains : mapping of str to ndarray of str, shape (n,)
        Columns by whose values rows can be split, to train in one domain and read in another.
    target : ndarray of bool, shape (n,), optional
        Rows of another domain: no method, auditor or classifier of the others is fitted on them.
    decimal : str
        Sign before the decimals of numbers in the file, ``.`` or ``,``; new rows have it too.
    person : ndarray of int64, shape (n,), optional
        Number of the person of each row, from 0, where people have several rows: all rows of a
        person get one role, and one of them is validated or tested. None: each row is a person.
    missing_values : tuple of str
        Cells of new rows that count as missing, besides empty ones, as they did in the file.
    """

    x: pd.DataFrame
    s: Ints
    groups: tuple[str, ...]
    y: Mapping[str, Ints]
    is_test: npt.NDArray[np.bool_] | None = None
    onehot: bool = False
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    transfer: Mapping[str, Ints] = field(default_factory=dict)
    domains: Mapping[str, npt.NDArray[np.str_]] = field(default_factory=dict)
    target: npt.NDArray[np.bool_] | None = None
    decimal: Literal[".", ","] = "."
    missing_values: tuple[str, ...] = ()
    person: Ints | None = None


@dataclass(frozen=True)
class Images:
    """Binary images as loaded: packed, and already assigned to the four roles.

    Parameters
    ----------
    pixels : mapping of Role to ndarray of uint8, shape (n, ceil(pixels / 8))
        ``numpy.packbits`` over each flattened image; no image is in two roles.
    s : mapping of Role to ndarray of int64, shape (n,)
        Sensitive attribute, codes into ``groups``.
    groups : tuple of str
        Name of each code of s.
    y : mapping of Role to mapping of str to ndarray of int64, shape (n,)
        Task labels by task name, the main task first.
    source : str
        A :class:`DataSource`: ``rendered`` where the images are drawn here.
    """

    pixels: Mapping[Role, npt.NDArray[np.uint8]]
    s: Mapping[Role, Ints]
    groups: tuple[str, ...]
    y: Mapping[Role, Mapping[str, Ints]]
    source: str


class Dataset(ABC):
    """A table with a sensitive attribute. Required: ``name``, ``summary``, ``load``.

    Attributes
    ----------
    name, aliases, summary : as for methods
    citation, licence, url : str
        Reference, terms of use, and page of the dataset.
    folder : str
        Folder below the data root and the cache in which its files are looked for.
    files : tuple of DataFile
        All are needed; they are checked before ``load`` is called.
    archive : str or None
        Name of a file that may replace all ``files``; ``load`` reads it itself.
    optional : bool
        Without its files the dataset is made by ``load``, which then gets an empty folder.
    home : Path or None
        Folder of a user's own table: neither data root nor cache is searched.
    rows : int or None
        Rows of the table, if known beforehand; for ``fairbench data list``.
    sensitive : tuple of str
        The columns that s is made of; for ``fairbench data list``.
    tasks : tuple of str
        Names of the tasks, the main one first; for pages.
    unseen_tasks : tuple of str
        Names of the unseen tasks; for pages.
    demonstration : str
        Why rows on this dataset are shown but never ranked, such as too few rows for auditors;
        empty: they are ranked.
    iterations : int or None
        Training steps of the full budget; None: 100 epochs at batch 128, clipped to 5K .. 27K.
    audit_rows : int or None
        Most rows of each role of the audit: auditors of large tables need no more. None: all rows
        that the split gives them.
    architecture : Architecture
        Encoder and decoder sizes for neural methods.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    citation: ClassVar[str] = ""
    licence: ClassVar[str] = ""
    url: ClassVar[str] = ""
    folder: ClassVar[str] = ""
    files: ClassVar[tuple[DataFile, ...]] = ()
    archive: ClassVar[str | None] = None
    optional: ClassVar[bool] = False
    home: ClassVar[Path | None] = None
    rows: ClassVar[int | None] = None
    sensitive: ClassVar[tuple[str, ...]] = ()
    tasks: ClassVar[tuple[str, ...]] = ()
    unseen_tasks: ClassVar[tuple[str, ...]] = ()
    demonstration: ClassVar[str] = ""
    iterations: ClassVar[int | None] = None
    audit_rows: ClassVar[int | None] = None
    architecture: ClassVar[Architecture] = Architecture()

    @abstractmethod
    def load(self, folder: Path) -> Table | Images:
        """Read the data from the folder that holds ``files``, or ``archive`` in their place.

        Raises
        ------
        DataError
            The files are malformed.
        """

    def simulate(self) -> Table | None:
        """The embedded simulated twin, used where there are no files; None: there is none."""
        return None
