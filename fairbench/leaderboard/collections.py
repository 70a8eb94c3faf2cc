"""Collections by name, or of a user's own from a YAML file.

collection: my-tables-v1
extends: tabular-v1          # optional: its tables, and those below
tables:
  - dataset: my-table
    weight: 1                # optional
    unseen: my-table-unseen  # optional: its variant for unseen tasks
    source: my-survey        # optional: the same for all tables that describe the same people
"""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from fairbench.api.collection import Collection, CollectionTable
from fairbench.errors import ConfigError, UnknownNameError, nearest, say_where, say_why
from fairbench.files.paths import TWIN_ENDING
from fairbench.files.yaml_mapping import read_yaml
from fairbench.registry import DISTRIBUTION, NAME, Registry, distribution_of


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")

    dataset: str = Field(min_length=1)
    weight: float = Field(1.0, ge=0.001, le=100, allow_inf_nan=False)
    unseen: str | None = None
    source: str | None = Field(None, min_length=1)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    collection: str
    extends: str | None = None
    summary: str = ""
    tables: list[_Table] = Field(default_factory=list)

    @field_validator("collection")
    @classmethod
    def _named(cls, value: str) -> str:
        if not NAME.fullmatch(value):
            raise ValueError("names are lower-case words joined by single hyphens")
        return value


def find_collection(name: str | None, registry: Registry) -> Collection:
    """Return a collection by name, or from a file; None: the newest of fairbench's, by name.

    Raises ConfigError or UnknownNameError: there is none, or the file is not one.
    """
    known = registry.collections
    if name is None:
        if not known:
            raise ConfigError("No plugin registers a collection.", "Name a file of your own.")
        own = [n for n, source in known.sources.items() if distribution_of(source) == DISTRIBUTION]
        return known[max(own or known, key=_edition)]
    if name in known:
        return known[name]
    path = Path(name)
    if path.suffix not in (".yaml", ".yml") and not path.exists():
        raise UnknownNameError("collection", name, known)
    return _read(path, registry)


def _edition(name: str) -> tuple[Any, ...]:
    """What orders names: numbers in them count as numbers."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))


def check_tables(collection: Collection, measured: Set[str], registry: Registry) -> None:
    """Raise ConfigError for a table that is neither registered nor measured, or simulated."""
    for table in collection.tables:
        for name in (table.dataset, table.unseen):
            if name is not None and name in measured and name.endswith(TWIN_ENDING):
                raise ConfigError(
                    f"The collection {collection.name} names {name!r}, which has simulated data.",
                    "Simulated data never counts across tables: leave it out, or get the real data "
                    "(fairbench data prepare).",
                )
            if name is not None and name not in registry.datasets and name not in measured:
                known = {*registry.datasets.classes, *measured}
                raise ConfigError(
                    f"The collection {collection.name} names {name!r}, which is neither registered "
                    "nor measured here.",
                    f"{nearest(name, known)} Of a table of your own give the path of its card, or "
                    "run it first.",
                )


def _resolve(text: str, registry: Registry) -> str:
    """Return the name of a table: of an alias, or of a card, the dataset's; others as they are."""
    if text in registry.datasets or Path(text).suffix in (".yaml", ".yml"):
        return registry.dataset(text).name
    return text


def _read(path: Path, registry: Registry) -> Collection:
    hint = "docs/across.md shows how such a file looks."
    content = read_yaml(path, "--collection")
    try:
        given = _File.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{path}: {say_where(first)}: {say_why(first)}.", hint) from None
    if given.collection in registry.collections:
        raise ConfigError(
            f"{path}: the name {given.collection} belongs to a registered collection.",
            f"Choose another: my-{given.collection}",
        )
    tables = [
        CollectionTable(
            _resolve(one.dataset, registry),
            one.weight,
            None if one.unseen is None else _resolve(one.unseen, registry),
            one.source,
        )
        for one in given.tables
    ]
    if given.extends is not None:
        if given.extends not in registry.collections:
            raise UnknownNameError("collection", given.extends, registry.collections)
        tables = [*registry.collections[given.extends].tables, *tables]
    names = [table.dataset for table in tables]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"{path}: the dataset {twice} stands twice.", hint)
    if not tables:
        raise ConfigError(f"{path} has no tables.", hint)
    return Collection(given.collection, given.summary, tuple(tables))
