"""Questions of ``fairbench data new`` on a terminal, and the answers that it proposes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer

from fairbench.cli.console import out, show_columns
from fairbench.config import split_names
from fairbench.data.card import MissingPolicy
from fairbench.data.card_table import many_numbers
from fairbench.data.column_values import (
    ColumnKind,
    Decimal,
    are_dates,
    find_notation,
    guess_kind,
    is_number,
    parse,
    texts,
)
from fairbench.data.tables import rejoined
from fairbench.errors import ConfigError, nearest

if TYPE_CHECKING:
    import pandas as pd

LIKELY_SENSITIVE = ("sex", "gender", "race", "ethnicity", "religion", "age", "nationality")
"""Names proposed for S on a terminal, best first."""

LIKELY_LABELS = ("label", "target", "class", "outcome", "income", "y", "default", "two_year_recid")
"""Names proposed for Y on a terminal; else the last column."""

_MAX_NAMES = 60


@dataclass(frozen=True)
class CardOptions:
    """Contents of a dataset card as the options give them; None where the user is asked."""

    sensitive: tuple[str, ...] | None
    bins: tuple[str, ...]
    labels: tuple[str, ...] | None
    drop: tuple[str, ...] | None
    categories: tuple[str, ...]
    person: str | None
    test: str | None
    missing: MissingPolicy
    onehot: bool
    name: str | None
    decimal: Decimal = "."  # as the table has it


def useless(frame: pd.DataFrame, decimal: Decimal, missing: MissingPolicy) -> dict[str, str]:
    """Return columns that no encoder can learn from as they are, and why."""
    reasons = {}
    for name in frame.columns:
        held = frame[name].dropna()
        category = guess_kind(held, decimal) is ColumnKind.CATEGORY
        gaps = missing.has_category and category and len(held) < len(frame)
        if held.nunique() + gaps < 2:
            reasons[str(name)] = "the same in every row" if len(held) else "no values"
        elif are_dates(held):
            reasons[str(name)] = "dates; or put a number of days in its place"
        # Numbers in another notation, such as 1,234.50, are refused later, not left out.
        elif category and held.is_unique and not find_notation(held, decimal):
            reasons[str(name)] = "another value in every row"
        elif not category and held.is_unique:
            # Not by the parsed numbers: beyond 2^53 they are rounded, and ids become equal.
            parsed = parse(held, decimal)
            if (parsed == np.round(parsed)).all():
                reasons[str(name)] = "another whole number in every row"
    return reasons


def propose_cuts(column: pd.Series, decimal: Decimal) -> str:
    """Return two cuts that make three groups of about equal size."""
    held = _numbers(column, decimal)
    low, high = held[len(held) // 3], held[2 * len(held) // 3]
    return f"{low:g},{high:g}" if low < high else f"{high:g}"


def propose_limit(column: pd.Series, decimal: Decimal) -> str:
    """Return the middle of a column of numbers."""
    held = _numbers(column, decimal)
    return f"{held[len(held) // 2]:g}"


def _numbers(column: pd.Series, decimal: Decimal) -> list[float]:
    """Return the numbers of a column, ascending, without marks of missing ones such as ``?``."""
    parsed = parse(column.dropna(), decimal)
    return sorted(parsed[np.isfinite(parsed)].tolist())


def ask_missing(frame: pd.DataFrame, options: CardOptions, table: Path) -> CardOptions:
    """Ask for what the options leave open; ConfigError where there is no terminal."""
    if not sys.stdin.isatty():
        open_ = {"--sensitive": options.sensitive, "--label": options.labels}
        missing = " and ".join(option for option, value in open_.items() if value is None)
        raise ConfigError(
            f"{missing} missing, and there is no terminal to ask on.",
            f"As in: fairbench data new {shlex.quote(str(table))} --sensitive sex,race "
            "--label 'income:>50K'. "
            f"Columns: {', '.join(str(name) for name in frame.columns[:_MAX_NAMES])}",
        )
    _show_table(frame, options.decimal)
    if options.sensitive is None:
        options = _ask_sensitive(frame, options)
    if options.labels is None:
        options = _ask_labels(frame, options)
    if options.drop is None:
        proposed = ",".join(
            name
            for name in useless(frame, options.decimal, options.missing)
            if not _has_a_use(name, options)
        )
        drop = _ask_columns("Columns to leave out of X, such as ids", proposed, frame)
        options = replace(options, drop=drop)
    return options


def _has_a_use(name: str, options: CardOptions) -> bool:
    """Return whether a column is sensitive, a label, or that of people or of the test rows."""
    with_value = (*(options.labels or ()), options.test or "")
    named = any(text == name or text.startswith(f"{name}:") for text in with_value)
    return named or name == options.person or name in (options.sensitive or ())


def _show_table(frame: pd.DataFrame, decimal: Decimal) -> None:
    rows = []
    for name in frame.columns:
        held = frame[name].dropna()
        example = ", ".join(str(value) for value in held.unique()[:3])
        rows.append(
            [str(name), guess_kind(held, decimal).value, example[:40], f"{held.nunique():,}"]
        )
    show_columns(["column", "looks like", "such as", "values"], rows, words=3)


def _ask_sensitive(frame: pd.DataFrame, options: CardOptions) -> CardOptions:
    guess = _likely(LIKELY_SENSITIVE, frame, "")
    question = "Sensitive attribute (several columns, a,b: their intersections)"
    columns = _ask_columns(question, guess, frame, needed=True)
    bins = list(options.bins)
    for column in columns:
        if many_numbers(frame[column], options.decimal) and not any(
            b.startswith(f"{column}:") for b in bins
        ):
            cuts = _ask(
                f"{column} holds numbers; cut it into groups at",
                propose_cuts(frame[column], options.decimal),
                lambda text: bool(text) and all(is_number(cut) for cut in split_names(text)),
            )
            bins.append(f"{column}:{cuts}")
    return replace(options, sensitive=columns, bins=tuple(bins))


def _ask_labels(frame: pd.DataFrame, options: CardOptions) -> CardOptions:
    guess = _likely(LIKELY_LABELS, frame, str(frame.columns[-1]))
    question = "Task label (several columns, a,b: several tasks, the main one first)"
    labels = []
    for column in _ask_columns(question, guess, frame, needed=True):
        values = sorted(set(texts(frame[column].dropna())))
        if many_numbers(frame[column], options.decimal):
            middle = propose_limit(frame[column], options.decimal)
            labels.append(f"{column}:>{_ask(f'{column} is class 1 above', middle, is_number)}")
        elif len(values) > 2:
            value = _ask(
                f"Value of {column} that is class 1 (empty: {len(values)} classes)",
                "",
                lambda text, known=values: not text or text in known,  # type: ignore[misc]
            )
            labels.append(f"{column}:{value}" if value else column)
        else:
            labels.append(column)
    return replace(options, labels=tuple(labels))


def _likely(names: tuple[str, ...], frame: pd.DataFrame, otherwise: str) -> str:
    """Return the column whose name is first on a list of names."""
    by_name = {str(column).lower(): str(column) for column in frame.columns}
    return next((by_name[name] for name in names if name in by_name), otherwise)


def _ask_columns(
    question: str, guess: str, frame: pd.DataFrame, *, needed: bool = False
) -> tuple[str, ...]:
    known = [str(name) for name in frame.columns]

    def valid(text: str) -> bool:
        unknown = [c for c in rejoined(split_names(text), known) if c not in known]
        if unknown:
            hint = nearest(unknown[0], known)
            out.print(f"There is no column {unknown[0]!r}. {hint}", markup=False)
        return not unknown and (bool(split_names(text)) or not needed)

    return rejoined(split_names(_ask(question, guess, valid)), known)


def _ask(question: str, guess: str, valid: Callable[[str], bool]) -> str:
    """Ask until the answer is valid; enter takes the guess."""
    while True:
        answer = str(typer.prompt(question, default=guess, show_default=bool(guess))).strip()
        if valid(answer):
            return answer
