"""What is registered: plugin classes by name and alias, collections and boards."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from fairbench.api.collection import Collection
from fairbench.api.dataset import Dataset
from fairbench.api.method import Method
from fairbench.api.metric import Metric
from fairbench.api.published import BoardFile
from fairbench.errors import ConfigError, PluginError, UnknownNameError
from fairbench.files.paths import SHIFT_MARK, TAKEN_ENDINGS
from fairbench.metrics.columns import RESERVED
from fairbench.registry.columns import declared_columns

T = TypeVar("T")
N = TypeVar("N", Collection, BoardFile)
DISTRIBUTION = "fairbench-frl"
"""Name of the distribution that the built-in plugins come from."""

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""Names of plugin classes, collections and boards."""


@dataclass(frozen=True)
class BrokenPlugin:
    """A plugin that could not be loaded, and was left out."""

    source: str
    """Entry point and distribution."""
    error: str
    """Type, message and place of the exception."""


def taken_name(kind: str, name: str) -> str | None:
    """Say why a name cannot be that of a plugin of a kind; None: it can."""
    if kind == "dataset" and name.endswith(TAKEN_ENDINGS):
        return f"files of other tables end in {' or '.join(TAKEN_ENDINGS)}"
    if kind == "dataset" and SHIFT_MARK in name:
        return f"names of shifts have {SHIFT_MARK} in them"
    if kind == "method" and name == "all":
        return "'all' stands for all methods"
    return None


@dataclass
class Catalogue(Generic[T]):
    """All classes of one kind (``method``, ``dataset`` or ``metric``), by name."""

    kind: str
    classes: dict[str, type[T]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    """Sources of the plugins that could not be loaded: any of them may have an unknown name."""
    _aliases: dict[str, str] = field(default_factory=dict)

    def add(self, cls: type[T], source: str) -> None:
        """Register a class; PluginError for a bad name or one that is taken."""
        name: str = getattr(cls, "name", "")
        aliases: tuple[str, ...] = getattr(cls, "aliases", ())
        for text in (name, *aliases):
            if not isinstance(text, str) or not NAME.fullmatch(text):
                raise PluginError(
                    f"{cls.__module__}.{cls.__qualname__} has the {self.kind} name {text!r}, which "
                    "is not allowed: use lower-case words joined by hyphens, like 'my-method'."
                )
            if taken := taken_name(self.kind, text):
                raise PluginError(
                    f"{cls.__module__}.{cls.__qualname__} has the {self.kind} name {text!r}: "
                    f"{taken}.",
                    "Choose another name.",
                )
            if text in self._aliases:
                owner = self._aliases[text]
                raise PluginError(
                    f"Two plugins register the {self.kind} name {text!r}: "
                    f"{self.sources[owner]} and {source}.",
                    "Uninstall one of them or rename one of the two.",
                )
        self.classes[name], self.sources[name] = cls, source
        self._aliases.update(dict.fromkeys((name, *aliases), name))

    def resolve(self, name: str) -> str:
        """Turn a name or alias into the registered name; UnknownNameError names the nearest."""
        try:
            return self._aliases[name]
        except KeyError:
            command = f"fairbench list {self.kind}s"
            raise UnknownNameError(
                self.kind, name, self._aliases, command=command, left_out=self.left_out
            ) from None

    def __contains__(self, name: str) -> bool:
        return name in self._aliases

    def __getitem__(self, name: str) -> type[T]:
        return self.classes[self.resolve(name)]


class NamedValues(Mapping[str, N]):
    """All collections, or all boards, by name."""

    def __init__(self, kind: type[N]) -> None:
        self.kind: type[N] = kind
        self.sources: dict[str, str] = {}
        self._values: dict[str, N] = {}

    def add(self, one: object, source: str) -> None:
        """Register a value; PluginError where it is of another kind, or its name bad or taken."""
        what = self.kind.__name__
        if not isinstance(one, self.kind) or not NAME.fullmatch(one.name):
            raise PluginError(
                f"{one!r} is registered as a {what}. It is none, or has a bad name.",
                f"Return instances of fairbench.api.{what}, with lower-case names.",
            )
        if one.name in self:
            raise PluginError(
                f"Two plugins register the {what} {one.name!r}: {self.sources[one.name]} and "
                f"{source}.",
                "Uninstall one of them or rename one of the two.",
            )
        self._values[one.name], self.sources[one.name] = one, source

    def __getitem__(self, name: str) -> N:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass
class Registry:
    """All plugins that could be loaded, and those that could not."""

    methods: Catalogue[Method] = field(default_factory=lambda: Catalogue("method"))
    datasets: Catalogue[Dataset] = field(default_factory=lambda: Catalogue("dataset"))
    metrics: Catalogue[Metric] = field(default_factory=lambda: Catalogue("metric"))
    collections: NamedValues[Collection] = field(default_factory=lambda: NamedValues(Collection))
    boards: NamedValues[BoardFile] = field(default_factory=lambda: NamedValues(BoardFile))
    broken: list[BrokenPlugin] = field(default_factory=list)

    @property
    def baselines(self) -> list[str]:
        """Methods that join every run of their track: no other package can add to a user's runs."""
        return [name for name in self._own_methods if self.methods.classes[name].baseline]

    @property
    def references(self) -> list[str]:
        """Methods that others are tested against: nobody else can choose an easy one."""
        return [name for name in self._own_methods if self.methods.classes[name].tested_against]

    @property
    def _own_methods(self) -> list[str]:
        sources = self.methods.sources
        return [name for name in sources if distribution_of(sources[name]) == DISTRIBUTION]

    def dataset(self, name: str) -> type[Dataset]:
        """A dataset by name or alias, or a user's own by the path of its dataset card."""
        from fairbench.data.card import is_card
        from fairbench.data.card_dataset import dataset_from_card

        if not is_card(name):
            card = f"{name}.yaml"
            # Unlike Path.is_file this is false for names that can be no file's.
            if name not in self.datasets and os.path.isfile(card):
                raise ConfigError(
                    f"Unknown dataset {name!r}.",
                    f"If you mean the dataset card in this folder, name its file: {card}",
                )
            return self.datasets[name]
        dataset = dataset_from_card(Path(name))
        if dataset.name in self.datasets:
            raise ConfigError(
                f"{name} has the name {dataset.name!r}, which belongs to a registered dataset.",
                f"Write another into the card: name: my-{dataset.name}",
            )
        return dataset


def distribution_of(source: str | None) -> str | None:
    """Return the distribution of a source: of ``NAME (DISTRIBUTION)``."""
    return None if source is None else source.rpartition("(")[2].rstrip(")")


def column_owners(metrics: Catalogue[Metric]) -> dict[str, str]:
    """Columns that are taken, and their owners."""
    owners = {
        column: f"metric {metric.name}"
        for metric in metrics.classes.values()
        for column in declared_columns(metric).names
    }
    return owners | dict.fromkeys(RESERVED, "leaderboard")
