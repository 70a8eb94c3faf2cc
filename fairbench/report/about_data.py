"""What a dataset's rows are made of, in words: table, sensitive columns, labels, missing values."""

from __future__ import annotations

from fairbench.api.dataset import Dataset
from fairbench.data.card import LabelColumn, MissingPolicy, SensitiveColumn
from fairbench.data.card_dataset import CardDataset

_POLICIES = {
    MissingPolicy.ERROR: "none: a table with any is refused",
    MissingPolicy.DROP: "rows with any are left out",
    MissingPolicy.CATEGORY: "a category of their own, in categories of X and in S",
    MissingPolicy.CATEGORY_OR_DROP: "a category of their own, in categories of X and in S; rows "
    "with others are left out",
}


def describe_data(dataset: type[Dataset]) -> list[tuple[str, str]]:
    """Return names and descriptions, of a user's own table by its dataset card."""
    if not issubclass(dataset, CardDataset):
        return [
            ("sensitive columns", ", ".join(dataset.sensitive)),
            ("labels", ", ".join(dataset.tasks)),
            ("labels of unseen tasks", ", ".join(dataset.unseen_tasks)),
        ]
    card = dataset.card
    return [
        ("table", card.file.name),
        ("sensitive columns", ", ".join(map(_sensitive, card.sensitive))),
        ("labels", ", ".join(map(_label, card.labels))),
        ("labels of unseen tasks", ", ".join(map(_label, card.unseen))),
        ("missing values", _POLICIES[card.missing]),
        *([("person", f"{card.person}: people may have several rows")] if card.person else []),
    ]


def column_of_s(dataset: type[Dataset] | None) -> str | None:
    """Return the column of new rows that holds the groups of s; None where there is no such one.

    Groups of built-in datasets are made of columns: their names are not those of a file.
    """
    if dataset is None or not issubclass(dataset, CardDataset) or len(dataset.sensitive) != 1:
        return None
    (part,) = dataset.card.sensitive
    return None if part.bins or part.groups else part.column


def _sensitive(part: SensitiveColumn) -> str:
    if part.bins:
        return f"{part.column} (cut at {', '.join(f'{cut:g}' for cut in part.bins)})"
    merged = ", ".join(f"{value} = {group}" for value, group in part.groups.items())
    return f"{part.column} ({merged})" if merged else part.column


def _label(label: LabelColumn) -> str:
    if label.above is not None:
        return f"{label.column} (class 1: above {label.above:g})"
    if label.positive:
        return f"{label.column} (class 1: {', '.join(label.positive)})"
    return label.column
