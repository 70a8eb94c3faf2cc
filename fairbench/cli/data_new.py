"""``fairbench data new``: write the dataset card of a table, by options or by asking."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairbench.api import Shots, Track
from fairbench.cli.card_text import CardText, LabelText, card_text
from fairbench.cli.console import out, show_columns
from fairbench.cli.data import check_data
from fairbench.cli.plugins import load_plugins
from fairbench.config import split_names
from fairbench.data.card import slug
from fairbench.data.card_table import many_numbers
from fairbench.data.checks import is_id
from fairbench.data.column_values import ColumnKind, guess_kind, is_number, numbers, texts
from fairbench.data.csv_files import sniff
from fairbench.data.tables import read_table
from fairbench.errors import ConfigError, DataError, FairbenchError, nearest
from fairbench.files import write_file
from fairbench.registry import Registry
from fairbench.training import NeuralMethod

if TYPE_CHECKING:
    import pandas as pd

LIKELY_SENSITIVE = ("sex", "gender", "race", "ethnicity", "religion", "age", "nationality")
"""Names proposed for S on a terminal, best first."""

LIKELY_LABELS = ("label", "target", "class", "outcome", "income", "y", "default", "two_year_recid")
"""Names proposed for Y on a terminal; else the last column."""

_MOST_NAMES = 60


@dataclass(frozen=True)
class CardOptions:
    """Contents of a dataset card as the options give them; None where the user is asked."""

    sensitive: tuple[str, ...] | None
    bins: tuple[str, ...]
    labels: tuple[str, ...] | None
    drop: tuple[str, ...] | None
    categories: tuple[str, ...]
    test: str | None
    onehot: bool
    name: str | None


def data_new_command(
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file.")],
    sensitive: Annotated[
        str | None,
        typer.Option(help="Columns of S, separated by commas: sex,race makes intersections."),
    ] = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN:CUTS",
            help="Cuts of a sensitive column of numbers, as in age:25,45. Repeatable.",
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN[:VALUE]",
            help="Task label; VALUE, or >NUMBER, is class 1. Repeatable, main task first.",
        ),
    ] = None,
    drop: Annotated[str | None, typer.Option(help="Columns to leave out, such as ids.")] = None,
    category: Annotated[
        str | None, typer.Option(help="Columns whose numbers are codes, such as zip codes.")
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="COLUMN:VALUE", help="Column and value of the official test rows."),
    ] = None,
    onehot: Annotated[bool, typer.Option("--onehot", help="Encode categories one-hot.")] = False,
    name: Annotated[
        str | None, typer.Option(help="Name of the dataset [default: the card's file name].")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Card to write [default: TABLE.yaml in this folder].")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the card.")] = False,
) -> None:
    """Write the dataset card of a table of your own, and check it.

    Asks for the sensitive attribute and the labels unless options name them.
    """
    options = CardOptions(
        sensitive=_names(sensitive),
        bins=tuple(bins or ()),
        labels=tuple(label) if label else None,
        drop=_names(drop),
        categories=_names(category) or (),
        test=test,
        onehot=onehot,
        name=name,
    )
    _new_card(load_plugins(), table, options, output=output, force=force)


def _names(text: str | None) -> tuple[str, ...] | None:
    return split_names(text) if text is not None else None


def _new_card(
    registry: Registry, table: Path, options: CardOptions, *, output: Path | None, force: bool
) -> None:
    """Write a card, check it, and print the next command."""
    card = output or Path(f"{slug(table.stem)}.yaml")
    if card.suffix not in (".yaml", ".yml"):
        raise ConfigError(f"--output {card} does not end in .yaml.", "Cards are .yaml files.")
    if card.exists() and not force:
        raise ConfigError(
            f"{card} is there already.", "Overwrite it with --force, or give --output."
        )
    separator, header = sniff(table)
    frame = read_table(table, separator=separator, header=header)
    if options.sensitive is None or options.labels is None:
        options = _ask_missing(frame, options, table)
    if options.name is None and slug(card.stem) in registry.datasets:
        options = replace(options, name=f"my-{slug(card.stem)}")
    contents = _contents(frame, options, table, separator, header)
    write_file(card, card_text(contents, frame, card).encode())
    out.print(f"Written: {card}. Read and edit it.", markup=False)
    for column, why in contents.drop.items():
        if why:
            out.print(f"Left out of X: {column} ({why})", markup=False)
    out.print()
    path = str(card)
    try:
        check_data(registry.dataset(path), None)
    except FairbenchError as error:
        again = f"The card is written; edit it, then: fairbench data check {shlex.quote(path)}"
        raise DataError(error.message, f"{error.hint}\n{again}") from None
    words = ["fairbench", "run", "--methods", _a_method(registry), "--dataset", path]
    out.print(f"\nNext:\n  fairbench data describe {shlex.quote(path)}", markup=False)
    out.print(f"  {shlex.join([*words, '--budget', 'quick'])}", markup=False)


def _a_method(registry: Registry) -> str:
    """Name a method to try first: if possible one whose single fit gives a whole curve at once."""
    candidates = [
        (cls.shots is not Shots.SINGLE, issubclass(cls, NeuralMethod), place, name)
        for place, (name, cls) in enumerate(registry.methods.classes.items())
        if not cls.baseline and cls.track is Track.BLIND
    ]
    return min(candidates)[3] if candidates else "METHOD"


def _contents(
    frame: pd.DataFrame, options: CardOptions, table: Path, separator: str, header: bool
) -> CardText:
    """Return all that the card holds; ConfigError where an option does not fit the table."""
    bins = {}
    for text in options.bins:
        column, cuts = _split("--bins", text, frame)
        bins[column] = split_names(cuts)
        if not bins[column] or not all(is_number(cut) for cut in bins[column]):
            raise ConfigError(f"--bins {text!r} gives no numbers.", "As in --bins age:25,45")
    sensitive = options.sensitive or ()
    for column in sensitive:
        _known("--sensitive", column, frame)
        if many_numbers(frame[column]) and column not in bins:
            raise ConfigError(
                f"The sensitive column {column!r} holds {frame[column].nunique():,} numbers.",
                f"Name its cuts: --bins {column}:{_cuts(frame[column])}",
            )
    labels = tuple(_label(text, frame) for text in options.labels or ())
    test = _split("--test", options.test, frame) if options.test else None
    taken = {*sensitive, *(label.column for label in labels), *((test[0],) if test else ())}
    drop = dict.fromkeys(options.drop or (), "")
    for option, columns in (("--drop", drop), ("--category", options.categories)):
        for column in columns:
            _known(option, column, frame)
    drop |= {c: why for c, why in _useless(frame).items() if c not in taken and not drop.get(c)}
    features = {
        str(name): ColumnKind.CATEGORY if name in options.categories else guess_kind(frame[name])
        for name in frame.columns
        if name not in taken and name not in drop
    }
    return CardText(
        table=table,
        separator=separator,
        header=header,
        name=options.name,
        sensitive={column: bins.get(column, ()) for column in sensitive},
        labels=labels,
        features=features,
        drop=drop,
        test=test,
        onehot=options.onehot,
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
    held = frame[column]
    values = set(texts(held.dropna()))
    if not value:
        if many_numbers(held):
            raise ConfigError(
                f"The label {column!r} holds {held.nunique():,} numbers.",
                f"Name the number above which it is class 1: --label '{column}:>{_middle(held)}'",
            )
        return LabelText(column)
    if value in values:
        return LabelText(column, positive=value)
    if value.startswith(">") and is_number(value[1:]):
        return LabelText(column, above=value[1:].strip())
    raise ConfigError(f"--label: no row of {column!r} is {value!r}.", nearest(value, values))


def _useless(frame: pd.DataFrame) -> dict[str, str]:
    """Return columns that no encoder can learn from, and why."""
    import pandas as pd

    useless = {}
    for name in frame.columns:
        held = frame[name].dropna()
        category = guess_kind(held) is ColumnKind.CATEGORY
        if held.nunique() < 2:
            useless[str(name)] = "the same in every row" if len(held) else "no values"
        elif category and held.is_unique:
            useless[str(name)] = "another value in every row"
        elif not category:
            parsed = pd.to_numeric(held, errors="coerce")
            if not parsed.isna().any() and is_id(parsed):
                useless[str(name)] = "another whole number in every row"
    return useless


def _cuts(column: pd.Series) -> str:
    """Return two cuts that make three groups of about equal size."""
    held = numbers(column.dropna(), "the table")
    low, high = sorted(held)[len(held) // 3], sorted(held)[2 * len(held) // 3]
    return f"{low:g},{high:g}" if low < high else f"{high:g}"


def _middle(column: pd.Series) -> str:
    held = numbers(column.dropna(), "the table")
    return f"{sorted(held)[len(held) // 2]:g}"


def _ask_missing(frame: pd.DataFrame, options: CardOptions, table: Path) -> CardOptions:
    """Ask for what the options leave open; ConfigError where there is no terminal."""
    if not sys.stdin.isatty():
        open_ = {"--sensitive": options.sensitive, "--label": options.labels}
        missing = " and ".join(option for option, value in open_.items() if value is None)
        raise ConfigError(
            f"{missing} missing, and there is no terminal to ask on.",
            f"As in: fairbench data new {table} --sensitive sex,race --label 'income:>50K'. "
            f"Columns: {', '.join(str(name) for name in frame.columns[:_MOST_NAMES])}",
        )
    _show_table(frame)
    if options.sensitive is None:
        options = _ask_sensitive(frame, options)
    if options.labels is None:
        options = _ask_labels(frame, options)
    if options.drop is None:
        useless = ",".join(_useless(frame))
        drop = _ask_columns("Columns to leave out of X, such as ids", useless, frame)
        options = replace(options, drop=drop)
    return options


def _show_table(frame: pd.DataFrame) -> None:
    rows = []
    for name in frame.columns:
        held = frame[name].dropna()
        example = ", ".join(str(value) for value in held.unique()[:3])
        rows.append([str(name), guess_kind(held).value, example[:40], f"{held.nunique():,}"])
    show_columns(["column", "looks like", "such as", "values"], rows, words=3)


def _ask_sensitive(frame: pd.DataFrame, options: CardOptions) -> CardOptions:
    guess = _likely(LIKELY_SENSITIVE, frame, "")
    question = "Sensitive attribute (several columns, a,b: their intersections)"
    columns = _ask_columns(question, guess, frame, needed=True)
    bins = list(options.bins)
    for column in columns:
        if many_numbers(frame[column]) and not any(b.startswith(f"{column}:") for b in bins):
            cuts = _ask(
                f"{column} holds numbers; cut it into groups at",
                _cuts(frame[column]),
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
    return replace(options, labels=tuple(labels))


def _likely(names: tuple[str, ...], frame: pd.DataFrame, otherwise: str) -> str:
    """Return the column whose name is first on a list of names."""
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
    while True:
        answer = str(typer.prompt(question, default=guess, show_default=bool(guess))).strip()
        if valid(answer):
            return answer
