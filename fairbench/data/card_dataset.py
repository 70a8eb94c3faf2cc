"""Make a dataset of a dataset card."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import ValidationError

from fairbench.api import Architecture
from fairbench.api.dataset import Dataset, Table
from fairbench.data.card import Card, CardPart, LabelColumn, OfficialTest, SensitiveColumn, slug
from fairbench.data.tables import read_table, respelt
from fairbench.errors import (
    ConfigError,
    DataError,
    UnknownNameError,
    nearest,
    say_where,
    say_why_and_what,
)
from fairbench.files.yaml_mapping import read_yaml


class CardDataset(Dataset):
    """Base class of the datasets made of cards."""

    card: ClassVar[Card]

    def load(self, folder: Path) -> Table:
        from fairbench.data.card_table import table_of

        card = self.card
        path = folder / card.file.name
        frame = read_table(
            path,
            separator=card.separator,
            header=card.header,
            columns=card.columns,
            unused=card.leaves_out,
        )
        frame = frame.rename(columns=respelt(frame.columns, (name for _, name in card.used())))
        return table_of(card, frame, str(path))


def dataset_from_card(path: Path) -> type[Dataset]:
    """Make a dataset of a card; the table itself is read when the dataset is loaded.

    Raises ConfigError, UnknownNameError, DataError: the card cannot be read, has unknown keys, or
    contradicts itself.
    """
    card = read_card(path)
    members = {
        "card": card,
        "name": card.name,
        "summary": f"own table, by {path}",
        "citation": card.citation,
        "licence": card.licence,
        "home": card.file.parent,
        "sensitive": tuple(part.column for part in card.sensitive),
        "iterations": card.iterations,
        "audit_rows": card.audit_rows,
        "architecture": Architecture(hidden=card.hidden, latent=card.latent),
    }
    return type("CardDataset", (CardDataset,), members)


def read_card(path: Path) -> Card:
    """Read and validate a card; see :func:`dataset_from_card`."""
    if path.suffix not in (".yaml", ".yml"):
        raise ConfigError(
            f"{path} is not a dataset card: cards are .yaml files.",
            f"Write one for a table with: fairbench data new {shlex.quote(str(path))}",
        )
    try:
        values = dict(read_yaml(path, "card", as_text=True))
    except ConfigError as error:
        hint = (
            'Quote values that begin with > or contain a colon, as in positive: ">50K". A key with '
            "its value beside it, as in features: all, takes no lines below it."
        )
        raise DataError(error.message, error.hint or hint) from None
    values["name"] = values.get("name") or slug(path.stem)
    if values.get("file"):
        values["file"] = (path.resolve().parent / Path(str(values["file"])).expanduser()).resolve()
    try:
        card = Card(**values)
    except ValidationError as error:
        raise _explained(error, path) from None
    _check_uses(card, path)
    return card


_PARTS: Mapping[str, type[CardPart]] = {
    "sensitive": SensitiveColumn,
    "labels": LabelColumn,
    "unseen": LabelColumn,
    "domains": SensitiveColumn,
    "test": OfficialTest,
}


def _explained(error: ValidationError, path: Path) -> Exception:
    # A misspelt key is also a missing one; the former is the better message.
    unknown = [one["loc"] for one in error.errors() if one["type"] == "extra_forbidden"]
    if len(unknown) == 1:
        return UnknownNameError(f"key of {path}", str(unknown[0][-1]), _keys_at(unknown[0]))
    if unknown:
        named = "; ".join(f"{at[-1]!r}: {nearest(str(at[-1]), _keys_at(at))}" for at in unknown)
        return DataError(f"{path} has {len(unknown)} unknown keys.", named)
    first = error.errors()[0]
    where = say_where(first)
    if first["type"] == "missing":
        return DataError(
            f"{path} has no key `{where}`.",
            "fairbench data new TABLE writes a whole card; docs/own-data.md explains the keys.",
        )
    return DataError(f"{path}: {where}: {say_why_and_what(first)}.", "Edit the card.")


def _keys_at(place: tuple[int | str, ...]) -> Iterable[str]:
    """Return the keys that a card may have beside one of its keys."""
    part = _PARTS.get(str(place[0]), Card) if len(place) > 1 else Card
    return part.model_fields


def _check_uses(card: Card, path: Path) -> None:
    """Raise DataError for a column in two of X, S and Y; S may be in X where allowed."""
    uses: dict[str, set[str]] = {}
    for key, column in card.used():
        uses.setdefault(key, set()).add(column)
    for key, other in _APART:
        both = uses.get(key, set()) & uses.get(other, set())
        hint = f"Remove it from `{key}` or from `{other}`."
        if (key, other) == ("features", "sensitive"):
            both -= set(card.allowed_copies)
            hint += " If s is meant to be in X: allowed_copies: [" + ", ".join(sorted(both)) + "]"
        if both:
            raise DataError(
                f"{path} names the column {min(both)!r} under `{key}` and under `{other}`.", hint
            )


_APART = (
    ("features", "sensitive"),
    ("features", "labels"),
    ("features", "unseen"),
    ("features", "domains"),
    ("features", "test"),
    ("features", "person"),
    ("features", "drop"),
    ("sensitive", "labels"),
    ("sensitive", "domains"),
    ("sensitive", "test"),
    ("labels", "test"),
    ("sensitive", "unseen"),
    ("labels", "unseen"),
    ("unseen", "test"),
    ("person", "sensitive"),
    ("person", "labels"),
    ("person", "unseen"),
    ("person", "test"),
    ("person", "drop"),
)
"""Keys that must not share a column."""
