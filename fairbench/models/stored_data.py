"""Finding the data again that stored models were trained on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from fairbench.api import DataSource
from fairbench.api.dataset import Dataset
from fairbench.data.card import is_card
from fairbench.data.loading import load_dataset, load_twin
from fairbench.data.prepared import Prepared
from fairbench.data.shift import is_shifted, shifted
from fairbench.data.splits import Split
from fairbench.errors import ConfigError, DataError, FairbenchError
from fairbench.models.results import StoredResults
from fairbench.registry import Registry
from fairbench.store.records import UnitRecord
from fairbench.versions import PROTOCOL_VERSION

_A_CARD = "CARD.yaml"


def load_training_data(unit: UnitRecord, results: StoredResults) -> Prepared:
    """Load the data that a unit was trained on.

    Raises
    ------
    FairbenchError
        They are not available, or have changed since.
    """
    config = results.configuration_of(unit)
    location = results.location
    dataset = Cards(results.registry, location.cards).find(unit.dataset, config)
    return load_as_trained(dataset, unit, location.data_root or root_of(config))


def load_as_trained(dataset: type[Dataset], unit: UnitRecord, root: Path | None) -> Prepared:
    """Load a dataset in the split of a unit, from what its records name: the twin or real files.

    Raises
    ------
    FairbenchError
        They are not available, or not what the unit was trained on.
    """
    split, real = Split.parse(unit.split), unit.data_source == DataSource.REAL
    if unit.simulated:
        data = load_twin(dataset, split=split)
    else:
        data = load_dataset(dataset, root=root, require_real=real, split=split)
    if data.fingerprint != unit.fingerprint or unit.protocol != PROTOCOL_VERSION:
        hint = "Give the old files with --data-root DIR, or train again with fairbench run."
        if unit.simulated:
            hint = "Train again with fairbench run."
        elif dataset.home is not None:  # beside its card: no other folder is looked at
            hint = "Undo what changed in the table or its card, or train again with fairbench run."
        raise DataError(
            f"The data of {unit.dataset} are not those that its models were trained on "
            f"(fingerprint {unit.fingerprint[:12]}, now {data.fingerprint[:12]}).",
            hint,
        )
    return data


class Source(NamedTuple):
    """What ``--dataset`` and ``--shift`` of ``fairbench run`` take for some data.

    ``known``: whether that is certain; else ``dataset`` is only the name in the records: that of a
    card whose file is unknown, or of a shift.
    """

    dataset: str
    shift: str | None = None
    known: bool = True

    @property
    def options(self) -> list[str]:
        """The options; with the placeholder CARD.yaml where it is unknown."""
        dataset = self.dataset if self.known else _A_CARD
        return ["--dataset", dataset, *(["--shift", self.shift] if self.shift else [])]

    @property
    def note(self) -> str:
        """What the placeholder stands for; empty where there is none."""
        return "" if self.known else f"{_A_CARD}: the dataset card of {self.dataset}"


def find_source(unit: UnitRecord, results: StoredResults) -> Source:
    """Find what a unit's data are called in commands; see :func:`source_of`."""
    config = results.configuration_of(unit)
    return source_of(unit, config, results.registry, results.location.cards)


def source_of(
    unit: UnitRecord, config: Mapping[str, Any], registry: Registry, cards: Sequence[str] = ()
) -> Source:
    """Return what a unit's data are called in commands.

    ``config``: configuration of the run that trained it, empty where unknown. ``cards``: dataset
    cards given now.
    """
    named = config.get("datasets", ())
    if is_shifted(unit.dataset):
        shift = str(config.get("shift") or "")
        for text in named if shift else ():
            if _shifted_name(text, shift, registry) == unit.dataset:
                return Source(text, shift)
    if (card := _card_of(unit, config, registry, cards)) is not None:
        return Source(card)
    return Source(unit.dataset, known=unit.dataset in registry.datasets or unit.dataset in named)


def _card_of(
    unit: UnitRecord, config: Mapping[str, Any], registry: Registry, cards: Sequence[str]
) -> str | None:
    if unit.dataset in registry.datasets:
        return None
    texts = [text for text in (*cards, *config.get("datasets", ())) if is_card(text)]
    return next((card for card in texts if _dataset_name(card, registry) == unit.dataset), None)


def _shifted_name(text: str, shift: str, registry: Registry) -> str | None:
    try:
        return shifted(registry.dataset(text), shift).name
    except FairbenchError:
        return None


def _dataset_name(card: str, registry: Registry) -> str:
    """The dataset of a card; of one that cannot be read, what its file's name suggests."""
    try:
        return registry.dataset(card).name
    except FairbenchError:
        return Path(card).stem


def root_of(config: Mapping[str, Any]) -> Path | None:
    """Return the data root of a run, if it still exists."""
    text = config.get("data_root")
    return Path(text) if text and Path(text).is_dir() else None


class Cards:
    """Datasets by name; a user's own by the dataset cards given now, else by those of a run."""

    def __init__(self, registry: Registry, names: Sequence[str]) -> None:
        self.registry = registry
        self.given = {d.name: d for d in (registry.dataset(t) for t in names if is_card(t))}

    def find(self, name: str, config: Mapping[str, Any]) -> type[Dataset]:
        """Find a dataset, for records of a run with this configuration; ConfigError if unknown."""
        if name in self.given:
            return self.given[name]
        if is_shifted(name) and (found := self._shifted(name, config)) is not None:
            return found
        if name in self.registry.datasets:
            return self.registry.datasets[name]
        faults: list[FairbenchError] = []
        for path in self._run_cards(config):
            try:
                dataset = self.registry.dataset(path)
            except FairbenchError as error:  # perhaps the card of another dataset of the run
                faults.append(error)
                continue
            if dataset.name == name:
                return dataset
        if faults:
            raise faults[0]
        raise ConfigError(
            f"No dataset is named {name!r}, and no dataset card was found for it.",
            "Name the card: --dataset CARD.yaml",
        )

    def _shifted(self, name: str, config: Mapping[str, Any]) -> type[Dataset] | None:
        """The dataset of a run's shift."""
        for text in config.get("datasets") or ():
            if is_card(text) and not Path(text).is_file():
                continue
            with suppress(FairbenchError):  # of another dataset of the run
                dataset = shifted(self.registry.dataset(text), str(config.get("shift") or ""))
                if dataset.name == name:
                    return dataset
        return None

    def _run_cards(self, config: Mapping[str, Any]) -> Iterator[str]:
        for text in config.get("datasets") or ():
            if is_card(text) and Path(text).is_file():
                yield text
