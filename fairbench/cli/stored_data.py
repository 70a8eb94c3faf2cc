"""Finding the data again that the models of a store were trained on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairbench.api.dataset import Dataset
from fairbench.data.card import is_card
from fairbench.data.prepare import Prepared, load_dataset, load_twin
from fairbench.errors import ConfigError, DataError
from fairbench.registry import Registry
from fairbench.store.database import Row, Store
from fairbench.versions import PROTOCOL_VERSION


def data_of(
    unit: Row, store: Store, registry: Registry, *, asked: Sequence[str] = (), root: Path | None
) -> Prepared:
    """The very data that a unit was trained on.

    Raises
    ------
    FairbenchError
        They are not to be had, or have changed since.
    """
    configs = {run["id"]: run["config"] for run in store.runs()}
    config = configs.get(unit["run"] or "", {})
    dataset = Cards(registry, asked).find(unit["dataset"], config)
    data = load_from(dataset, unit["data_source"], root or root_of(config))
    if data.fingerprint != unit["fingerprint"] or unit["protocol"] != PROTOCOL_VERSION:
        raise DataError(
            f"The data of {unit['dataset']} are not those that its models were trained on "
            f"(fingerprint {unit['fingerprint'][:12]}, now {data.fingerprint[:12]}).",
            "Give the old files with --data-root DIR, or train again with fairbench run.",
        )
    return data


def load_from(dataset: type[Dataset], source: str, root: Path | None) -> Prepared:
    """A dataset from where its records say: twins stay twins, and real data are never replaced."""
    if source == "simulated":
        return load_twin(dataset)
    return load_dataset(dataset, root=root, require_real=source == "real")


def root_of(config: Mapping[str, Any]) -> Path | None:
    """The data root that a run had, if it is still there."""
    text = config.get("data_root")
    return Path(text) if text and Path(text).is_dir() else None


class Cards:
    """Datasets by name; own tables by the cards given now, else by those of the run at hand."""

    def __init__(self, registry: Registry, asked: Sequence[str]) -> None:
        self.registry = registry
        self.given = {d.name: d for d in (registry.dataset(t) for t in asked if is_card(t))}

    def find(self, name: str, config: Mapping[str, Any]) -> type[Dataset]:
        if name in self.given:
            return self.given[name]
        if name in self.registry.datasets:
            return self.registry.datasets[name]
        for path in self._cards(config):
            dataset = self.registry.dataset(path)
            if dataset.name == name:
                return dataset
        raise ConfigError(
            "no dataset has that name, and no card was found for it.",
            "Name the card: --dataset CARD.yaml",
        )

    def _cards(self, config: Mapping[str, Any]) -> Iterator[str]:
        for text in config.get("datasets") or ():
            if is_card(text) and Path(text).is_file():
                yield text
