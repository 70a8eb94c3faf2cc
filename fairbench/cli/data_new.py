"""``fairbench data new``: writes the card of an own table, by options or by asking."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairbench.api import Shots, Track
from fairbench.cli.card_text import CardText, LabelText, card_text
from fairbench.cli.console import out, show_columns
from fairbench.cli.data import check_command
from fairbench.config import split_names
from fairbench.data.card import slug
from fairbench.data.card_table import many_numbers
from fairbench.data.checks import is_id
from fairbench.data.column_values import ColumnKind, guess_kind, is_number, numbers, texts
from fairbench.data.csv_files import sniff
from fairbench.data.tables import read_table
from fairbench.errors import ConfigError, DataError, FairbenchError, nearest
from fairbench.files import write_atomically
from fairbench.registry import Registry

if TYPE_CHECKING:
    import pandas as pd

LIKELY_SENSITIVE = ("sex", "gender", "race", "ethnicity", "religion", "age", "nationality")
"""Names that are proposed for S, best first, when somebody is asked."""

LIKELY_LABELS = ("label", "target", "class", "outcome", "income", "y", "default", "two_year_recid")
"""Names that are proposed for Y; else the last column is."""

_MOST_NAMES = 60


@dataclass(frozen=True)
class Wanted:
    """What the command line says of the card; None where somebody is to be asked.

    Parameters
    ----------
    sensitive : tuple of str, optional
    bins : tuple of str
        ``column:cut,cut``.
    labels : tuple of str, optional
        ``column``, ``column:value`` or ``column:>number``.
    drop : tuple of str, optional
    categories : tuple of str
        Columns of numbers that are codes.
    test : str, optional
        ``column:value``.
    onehot : bool
    name : str, optional
    """

    sensitive: tuple[str, ...] | None
    bins: tuple[str, ...]
    labels: tuple[str, ...] | None
    drop: tuple[str, ...] | None
    categories: tuple[str, ...]
    test: str | None
    onehot: bool
    name: str | None


def new_command(
    registry: Registry, table: Path, wanted: Wanted, *, output: Path | None, force: bool
) -> None:
    """Write a card, check it, and print the next command.

    Raises
    ------
    ConfigError
        The card is there already, an option names no column, or one is missing and nobody can be
        asked.
    DataError
        The table cannot be read; or the card, once written, does not pass its check.
    """
    card = output or Path(f"{slug(table.stem)}.yaml")
    if card.suffix not in (".yaml", ".yml"):
        raise ConfigError(f"--output {card} does not end in .yaml.", "Cards are .yaml files.")
    if card.exists() and not force:
        raise ConfigError(f"{card} is there already.", "--force overwrites it; or give --output.")
    separator, header = sniff(table)
    frame = read_table(table, separator=separator, header=header)
    if wanted.sensitive is None or wanted.labels is None:
        wanted = _asked(frame, wanted, table)
    if wanted.name is None and slug(card.stem) in registry.datasets:
        wanted = replace(wanted, name=f"my-{slug(card.stem)}")
    settled = _settled(frame, wanted, table, separator, header)
    try:
        write_atomically(card, card_text(settled, frame, card).encode())
    except OSError as error:
        raise ConfigError(f"{card} cannot be written: {error.strerror}.") from None
    out.print(f"Written: {card}, to be read and edited.", markup=False)
    for column, why in settled.drop.items():
        if why:
            out.print(f"Left out of X: {column} ({why})", markup=False)
    out.print()
    path = str(card) if "." in str(card) else f"./{card}"
    try:
        check_command(registry, path, None)
    except FairbenchError as error:
        again = f"The card is written; edit it, then: fairbench data check {shlex.quote(path)}"
        raise DataError(error.message, f"{error.hint}\n{again}") from None
    words = ["fairbench", "run", "--methods", _a_method(registry), "--dataset", path]
    out.print(f"\nNext:\n  fairbench data describe {shlex.quote(path)}", markup=False)
    out.print(f"  {shlex.join([*words, '--budget', 'quick'])}", markup=False)


def _a_method(registry: Registry) -> str:
    """A method to try first: one whose single model gives a whole curve, where there is one."""
    found = [
        (cls.shots is not Shots.SINGLE, place, name)
        for place, (name, cls) in enumerate(registry.methods.classes.items())
        if not cls.baseline and cls.track is Track.BLIND
    ]
    return min(found)[2] if found else "METHOD"


def _settled(
    frame: pd.DataFrame, wanted: Wanted, table: Path, separator: str, header: bool
) -> CardText:
    """All that the card is to say; ConfigError where an option does not fit the table."""
    bins = {}
    for text in wanted.bins:
        column, cuts = _split("--bins", text, frame)
        bins[column] = split_names(cuts)
        if not bins[column] or not all(is_number(cut) for cut in bins[column]):
            raise ConfigError(f"--bins {text!r} gives no numbers.", "As in --bins age:25,45")
    sensitive = wanted.sensitive or ()
    for column in sensitive:
        _known("--sensitive", column, frame)
        if many_numbers(frame[column]) and column not in bins:
            raise ConfigError(
                f"The sensitive column {column!r} holds {frame[column].nunique():,} numbers.",
                f"Say where to cut it: --bins {column}:{_cuts(frame[column])}",
            )
    labels = tuple(_label(text, frame) for text in wanted.labels or ())
    test = _split("--test", wanted.test, frame) if wanted.test else None
    taken = {*sensitive, *(label.column for label in labels), *((test[0],) if test else ())}
    drop = dict.fromkeys(wanted.drop or (), "")
    for option, columns in (("--drop", drop), ("--category", wanted.categories)):
        for column in columns:
            _known(option, column, frame)
    drop |= {c: why for c, why in _useless(frame).items() if c not in taken and not drop.get(c)}
    features = {
        str(name): ColumnKind.CATEGORY if name in wanted.categories else guess_kind(frame[name])
        for name in frame.columns
        if name not in taken and name not in drop
    }
    return CardText(
        table=table,
        separator=separator,
        header=header,
        name=wanted.name,
        sensitive={column: bins.get(column, ()) for column in sensitive},
        labels=labels,
        features=features,
        drop=drop,
        test=test,
        onehot=wanted.onehot,
    )


def _known(option: str, column: str, frame: pd.DataFrame) -> None:
    if column not in frame.columns:
        raise ConfigError(
            f"{option}: the table has no column {column!r}.",
            nearest(column, (str(name) for name in frame.columns)),
        )


def _split(option: str, text: str, frame: pd.DataFrame) -> tuple[str, str]:
    """``column:value``, in two."""
    column, colon, value = text.partition(":")
    if not colon:
        raise ConfigError(f"{option} {text!r} is not COLUMN:VALUE.", "Put a colon between the two.")
    _known(option, column, frame)
    return column, value


def _label(text: str, frame: pd.DataFrame) -> LabelText:
    if text in frame.columns:
        column, value = text, ""
    elif ":" in text:
        column, value = _split("--label", text, frame)
    else:
        _known("--label", text, frame)
    found = frame[column]
    values = set(texts(found.dropna()))
    if not value:
        if many_numbers(found):
            raise ConfigError(
                f"The label {column!r} holds {found.nunique():,} numbers.",
                f"Say from where on it is class 1: --label '{column}:>{_middle(found)}'",
            )
        return LabelText(column)
    if value in values:
        return LabelText(column, positive=value)
    if value.startswith(">") and is_number(value[1:]):
        return LabelText(column, above=value[1:].strip())
    raise ConfigError(f"--label: no row of {column!r} is {value!r}.", nearest(value, values))


def _useless(frame: pd.DataFrame) -> dict[str, str]:
    """Columns that no encoder can learn from, and why."""
    import pandas as pd

    found = {}
    for name in frame.columns:
        held = frame[name].dropna()
        category = guess_kind(held) is ColumnKind.CATEGORY
        if held.nunique() < 2:
            found[str(name)] = "the same in every row" if len(held) else "no values"
        elif category and held.is_unique:
            found[str(name)] = "another value in every row"
        elif not category:
            parsed = pd.to_numeric(held, errors="coerce")
            if not parsed.isna().any() and is_id(parsed):
                found[str(name)] = "another whole number in every row"
    return found


def _cuts(column: pd.Series) -> str:
    """Two cuts that make three groups of about equal size."""
    held = numbers(column.dropna(), "the table")
    low, high = sorted(held)[len(held) // 3], sorted(held)[2 * len(held) // 3]
    return f"{low:g},{high:g}" if low < high else f"{high:g}"


def _middle(column: pd.Series) -> str:
    held = numbers(column.dropna(), "the table")
    return f"{sorted(held)[len(held) // 2]:g}"


def _asked(frame: pd.DataFrame, wanted: Wanted, table: Path) -> Wanted:
    """Ask for what the options leave open; ConfigError where nobody is there to answer."""
    if not sys.stdin.isatty():
        open_ = {"--sensitive": wanted.sensitive, "--label": wanted.labels}
        missing = " and ".join(option for option, value in open_.items() if value is None)
        raise ConfigError(
            f"{missing} missing, and nobody can be asked here.",
            f"As in: fairbench data new {table} --sensitive sex,race --label 'income:>50K'. "
            f"Columns: {', '.join(str(name) for name in frame.columns[:_MOST_NAMES])}",
        )
    _show_table(frame)
    if wanted.sensitive is None:
        wanted = _ask_sensitive(frame, wanted)
    if wanted.labels is None:
        wanted = _ask_labels(frame, wanted)
    if wanted.drop is None:
        useless = ",".join(_useless(frame))
        drop = _ask_columns("Columns to leave out of X, such as ids", useless, frame)
        wanted = replace(wanted, drop=drop)
    return wanted


def _show_table(frame: pd.DataFrame) -> None:
    rows = []
    for name in frame.columns:
        held = frame[name].dropna()
        example = ", ".join(str(value) for value in held.unique()[:3])
        rows.append([str(name), guess_kind(held).value, example[:40], f"{held.nunique():,}"])
    show_columns(["column", "looks like", "such as", "values"], rows, words=3)


def _ask_sensitive(frame: pd.DataFrame, wanted: Wanted) -> Wanted:
    guess = _likely(LIKELY_SENSITIVE, frame, "")
    question = "Sensitive attribute (several columns, a,b: their intersections)"
    columns = _ask_columns(question, guess, frame, needed=True)
    bins = list(wanted.bins)
    for column in columns:
        if many_numbers(frame[column]) and not any(b.startswith(f"{column}:") for b in bins):
            cuts = _ask(
                f"{column} holds numbers; cut it into groups at",
                _cuts(frame[column]),
                lambda text: bool(text) and all(is_number(cut) for cut in split_names(text)),
            )
            bins.append(f"{column}:{cuts}")
    return replace(wanted, sensitive=columns, bins=tuple(bins))


def _ask_labels(frame: pd.DataFrame, wanted: Wanted) -> Wanted:
    guess = _likely(LIKELY_LABELS, frame, str(frame.columns[-1]))
    question = "Task label (several columns, a,b: several tasks, the main one first)"
    labels = []
    for column in _ask_columns(question, guess, frame, needed=True):
        values = sorted(set(texts(frame[column].dropna())))
        if many_numbers(frame[column]):
            middle = _middle(frame[column])
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
    return replace(wanted, labels=tuple(labels))


def _likely(names: tuple[str, ...], frame: pd.DataFrame, otherwise: str) -> str:
    """The column whose name is on a list; the first on the list wins."""
    by_name = {str(column).lower(): str(column) for column in frame.columns}
    return next((by_name[name] for name in names if name in by_name), otherwise)


def _ask_columns(
    question: str, guess: str, frame: pd.DataFrame, *, needed: bool = False
) -> tuple[str, ...]:
    def valid(text: str) -> bool:
        unknown = [c for c in split_names(text) if c not in frame.columns]
        if unknown:
            hint = nearest(unknown[0], (str(name) for name in frame.columns))
            out.print(f"There is no column {unknown[0]!r}. {hint}", markup=False)
        return not unknown and (bool(split_names(text)) or not needed)

    return split_names(_ask(question, guess, valid))


def _ask(question: str, guess: str, valid: Callable[[str], bool]) -> str:
    """Ask until the answer is valid; enter takes the guess."""
    import typer

    while True:
        answer = str(typer.prompt(question, default=guess, show_default=bool(guess))).strip()
        if valid(answer):
            return answer
