"""The text of a new dataset card: commented, so that a person can edit it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairbench.data.card import MissingPolicy
from fairbench.data.column_values import ColumnKind, Decimal, parse, texts

if TYPE_CHECKING:
    import pandas as pd

_COMMENT_AT = 27
_LONGEST_VALUE = 15
_LONGEST_LIST = 36


@dataclass(frozen=True)
class LabelText:
    """A task label: its column, and the value or the limit of class 1."""

    column: str
    positive: str | None = None
    above: str | None = None


@dataclass(frozen=True)
class CardText:
    """Contents of a new dataset card."""

    table: Path
    separator: str
    decimal: Decimal
    header: bool
    name: str | None
    sensitive: Mapping[str, tuple[str, ...]]
    labels: tuple[LabelText, ...]
    features: Mapping[str, ColumnKind]
    drop: Mapping[str, str]
    person: str | None
    test: tuple[str, str] | None
    missing: MissingPolicy
    onehot: bool


def card_text(card: CardText, frame: pd.DataFrame, path: Path) -> str:
    """Return the text of a card at ``path`` for the table in ``frame``."""
    table = card.table.expanduser().resolve()
    file, note = os.path.relpath(table, path.resolve().parent), "relative to this card"
    if file.count("..") > 1:
        file, note = str(table), ""
    lines = [
        f"# Dataset card of {card.table.name}. docs/own-data.md explains every key.",
        f"# After a change: fairbench data check {path.name}",
        "",
    ]
    if card.name:
        lines.append(_line("", "name", quoted(card.name), "in leaderboards"))
    lines.append(_line("", "file", quoted(file), note))
    if card.separator != ",":
        lines.append(_line("", "separator", json.dumps(card.separator)))
    if card.decimal != ".":
        lines.append(_line("", "decimal", json.dumps(card.decimal), "as in 19,8"))
    if not card.header:
        lines.append(_line("", "header", "false", "columns are called column-1, column-2, ..."))
    lines += ["", "# S, the sensitive attribute; several columns make intersections. Groups too"]
    lines += ["# small are merged by:  groups: {VALUE: new name, OTHER VALUE: new name}"]
    lines += ["sensitive:"]
    for column, bins in card.sensitive.items():
        kind = ColumnKind.NUMBER if bins else ColumnKind.CATEGORY
        lines.append(
            _line("  - ", "column", quoted(column), _values(frame[column], kind, card.decimal))
        )
        if bins:
            lines.append(_line("    ", "bins", f"[{', '.join(bins)}]", "cuts between groups"))
    lines += ["", "# Y, the task labels, the main one first; encoders never see them.", "labels:"]
    for label in card.labels:
        kind = ColumnKind.CATEGORY if label.above is None else ColumnKind.NUMBER
        comment = _values(frame[label.column], kind, card.decimal)
        lines.append(_line("  - ", "column", quoted(label.column), comment))
        if label.positive is not None:
            lines.append(_line("    ", "positive", quoted(label.positive), "class 1"))
        if label.above is not None:
            lines.append(_line("    ", "above", label.above, "numbers above it are class 1"))
    lines += ["", "# X: what encoders see; each column a number or a category.", "features:"]
    for column, kind in card.features.items():
        comment = _values(frame[column], kind, card.decimal)
        lines.append(_line("  ", quoted(column), kind.value, comment))
    if card.drop:
        lines += ["", "# Neither X, S nor Y.", "drop:"]
        lines += [_item(quoted(column), why) for column, why in card.drop.items()]
    lines.append("")
    if card.person:
        comment = _values(frame[card.person], ColumnKind.CATEGORY, card.decimal).split(":")[0]
        lines.append(_line("", "person", quoted(card.person), f"{comment}: whose row it is"))
    if card.test:
        column, value = card.test
        text = f"{{column: {quoted(column)}, value: {quoted(value)}}}"
        lines.append(_line("", "test", text, "the official test rows"))
    encoding = "onehot" if card.onehot else "integer"
    lines.append(_line("", "encoding", encoding, "of categories: integer or onehot"))
    policies = "error, drop (such rows), category or category-or-drop"
    lines.append(_line("", "missing", card.missing.value, policies))
    lines.append(_line("", "citation", ""))
    lines.append(_line("", "licence", ""))
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A YAML scalar: plain where that is safe, else in double quotes."""
    plain = re.fullmatch(r"[\w./-]+( [\w./-]+)*", text) and text[0] not in "-./0123456789"
    if plain:
        return text
    # Escaped, what YAML does not allow in a file can stand in quotes: controls, marks of order.
    # Characters one by one: YAML does not read the pairs of surrogates that JSON has for others.
    shown = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else _escaped(one) for one in shown)


def _escaped(character: str) -> str:
    number = ord(character)
    return f"\\U{number:08x}" if number > 0xFFFF else f"\\u{number:04x}"


def _line(indent: str, key: str, value: str, comment: str = "") -> str:
    text = f"{indent}{key}: {value}".rstrip()
    return f"{text:{_COMMENT_AT}} # {comment}" if comment else text


def _item(value: str, comment: str) -> str:
    text = f"  - {value}"
    return f"{text:{_COMMENT_AT}} # {comment}" if comment else text


def _values(column: pd.Series, kind: ColumnKind, decimal: Decimal) -> str:
    """``3 values: a 60%, b 30%, c 10%``, or the range of numbers; always on one line."""
    held = column.dropna()
    missing = f", {len(column) - len(held):,} missing" if len(held) < len(column) else ""
    if kind is ColumnKind.NUMBER:
        return f"{_range(held, decimal)}{missing}"
    shares = texts(held).value_counts(normalize=True)
    shown = ""
    for value, share in shares.items():
        one = f"{_short(str(value))} {share:.0%}"
        if len(shown) + len(one) > _LONGEST_LIST:
            shown += ", ..."
            break
        shown += f", {one}" if shown else one
    return f"{len(shares):,} values{missing}: {shown}"


def _range(held: pd.Series, decimal: Decimal) -> str:
    parsed = parse(held, decimal)
    return f"{np.nanmin(parsed):g} to {np.nanmax(parsed):g}"


def _short(text: str) -> str:
    printable = "".join(mark if mark.isprintable() else " " for mark in text)
    return " ".join(printable.split())[:_LONGEST_VALUE]
