"""Queries: which stored model a user means, and where its results and data are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairbench.config import DEFAULT_RESULTS
from fairbench.data.card import is_card
from fairbench.store.database import Store
from fairbench.store.secrets import redact_url


@dataclass(frozen=True)
class ModelQuery:
    """A description of one stored model; every field but ``method`` or ``unit`` may be left out.

    A simulated twin has ``-simulated`` behind its dataset's name; a user's own table is named by
    its dataset card. ``point`` is a label, ``beta=0.3``; ``unit`` the start of the unit's key.
    """

    method: str | None = None
    dataset: str | None = None
    seed: int | None = None
    point: str | None = None
    unit: str | None = None


@dataclass(frozen=True)
class ResultsLocation:
    """Where results and data are, as named by a user; what is left out has a default."""

    results: Path | None = None
    store: str | None = None
    data_root: Path | None = None
    cards: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The results folder."""
        return self.results or DEFAULT_RESULTS

    @property
    def options(self) -> list[str]:
        """Options of a command that is to read the same results, without passwords."""
        options = [] if self.results is None else ["--results", str(self.results)]
        return options + ([] if self.store is None else ["--store", redact_url(self.store)])

    @property
    def has_results(self) -> bool:
        """Whether a user named results, or some are in the default folder."""
        return bool(self.results or self.store) or Store.is_in(self.folder)

    def open_store(self) -> Store:
        """Open the store that is there; StoreError where there is none."""
        if self.store:
            return Store.open_existing(self.store)
        return Store.in_folder(self.folder, create=False)


def dataset_cards(dataset: str | None) -> tuple[str, ...]:
    """Return the dataset card that an option names, if it names one."""
    return (dataset,) if dataset is not None and is_card(dataset) else ()
