"""A collection of tables: those that a verdict across datasets is made of, and their weights."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CollectionTable:
    """One table of a collection.

    Parameters
    ----------
    dataset : str
        Name of the dataset.
    weight : float
        What it counts; variants of one table share the weight of one.
    unseen : str, optional
        Name of its variant for unseen tasks, where the transfer score is measured.
    source : str, optional
        Whose people it describes: tables of one source are one replicate in intervals and tests.
        None: no other table has its people.
    """

    dataset: str
    weight: float = 1.0
    unseen: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class Collection:
    """A named list of tables. It never changes: another list gets another name.

    Parameters
    ----------
    name : str
        Lower-case words joined by hyphens, with a version at the end: ``tabular-v1``.
    summary : str
        One line.
    tables : tuple of CollectionTable
        No dataset stands twice.
    """

    name: str
    summary: str
    tables: tuple[CollectionTable, ...]
