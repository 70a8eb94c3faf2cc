"""Distribution shift: train in one domain of a table, and audit in the others.

``--shift COLUMN`` makes a dataset of another: rows of one value of the column are the source, all
others the target. Models, auditors and classifiers are fitted on rows of the source; those of the
target are only encoded and audited.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fairbench.api.dataset import Dataset, Table
from fairbench.errors import ConfigError
from fairbench.files.paths import MAX_NAME_LENGTH, SHIFT_MARK


@functools.cache
def shifted(dataset: type[Dataset], shift: str) -> type[Dataset]:
    """Make the dataset of a shift.

    ``shift`` is a column of :attr:`fairbench.api.dataset.Table.domains`, whose commonest value is
    the source, or ``COLUMN=VALUE``, with the source's value. Loading raises ConfigError where the
    table has no such column or value.
    """
    column, _, source = (part.strip() for part in shift.partition("="))
    ending = f"-from-{_slug_of_value(source)}" if source else ""

    def load(self: Dataset, folder: Path) -> Table:
        loaded = dataset.load(self, folder)
        if not isinstance(loaded, Table):
            raise ConfigError(f"{dataset.name} has images: rows of them have no domains.")
        return split_domains(loaded, column, source or None, dataset.name)

    def simulate(self: Dataset) -> Table | None:
        twin = dataset.simulate(self)
        return twin and split_domains(twin, column, source or None, dataset.name)

    name = f"{dataset.name}{SHIFT_MARK}{_slug_of_column(column)}{ending}"
    if len(name) > MAX_NAME_LENGTH:
        raise ConfigError(
            f"The name of this shift, {name}, has more than {MAX_NAME_LENGTH} characters.",
            "Give the table a shorter name in its card, or the column one in the table.",
        )
    members: dict[str, str | tuple[str, ...] | Callable[..., object]] = {
        "__module__": dataset.__module__,
        "__doc__": f"{dataset.name}, trained in one domain of {column} and audited in the others.",
        "name": name,
        "aliases": (),
        "summary": f"{dataset.summary}; shift of {shift}",
        "load": load,
        "simulate": simulate,
    }
    return type(f"{dataset.__name__}Shift", (dataset,), members)


def is_shifted(name: str) -> bool:
    """Return whether a dataset's name is that of a shift."""
    return SHIFT_MARK in name


def split_domains(table: Table, column: str, source: str | None, name: str) -> Table:
    """Mark the rows of all domains but one as the target; None: the commonest is the source."""
    if column not in table.domains:
        known = ", ".join(sorted(table.domains))
        raise ConfigError(
            f"{name} has no column {column!r} to split its rows by.",
            f"It has: {known}." if known else "It has none; a card can name some: domains.",
        )
    values = table.domains[column]
    counts = Counter(values.tolist())
    chosen = source if source is not None else counts.most_common(1)[0][0]
    if chosen not in counts:
        raise ConfigError(
            f"{column} of {name} has no value {chosen!r}.", f"It has: {', '.join(sorted(counts))}."
        )
    if len(counts) == 1:
        raise ConfigError(f"All rows of {name} have the same {column}: {chosen!r}.")
    target = values != chosen
    others = ", ".join(sorted(value for value in counts if value != chosen))
    note = (
        f"trained where {column} is {chosen!r} ({counts[chosen]:,} rows), audited where it is "
        f"{others} ({int(target.sum()):,} rows)"
    )
    return replace(table, target=target, notes=(*table.notes, note))


def _slug_of_column(text: str) -> str:
    """Make a slug of a column's name; names of other letters get a few digits of a hash."""
    if re.fullmatch("[a-zA-Z0-9]+([ _.-][a-zA-Z0-9]+)*", text):
        return _slug(text)
    return _with_hash(text)


def _slug_of_value(text: str) -> str:
    """A slug that no other value has: with a few digits of a hash where characters are lost."""
    slug = _slug(text)
    return slug if slug == "-".join(text.lower().split()) else _with_hash(text)


def _with_hash(text: str) -> str:
    return f"{_slug(text)}-{hashlib.sha256(text.encode()).hexdigest()[:4]}"


def _slug(text: str) -> str:
    return "-".join(re.findall("[a-z0-9]+", text.lower())) or "value"
