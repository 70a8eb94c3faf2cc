"""``fairbench data new``: write the dataset card of a table, by options or by asking."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairbench.api import Shots, Track
from fairbench.cli.card_text import CardText, LabelText, card_text
from fairbench.cli.console import out, spinner
from fairbench.cli.data import check_data
from fairbench.cli.data_new_ask import (
    CardOptions,
    ask_missing,
    propose_cuts,
    propose_limit,
    useless,
)
from fairbench.cli.options import LIST
from fairbench.cli.plugins import load_plugins
from fairbench.config import split_names
from fairbench.data.card import MissingPolicy, check_name, slug
from fairbench.data.card_table import many_numbers
from fairbench.data.checks import check_groups, check_notation
from fairbench.data.column_values import (
    ColumnKind,
    Decimal,
    Notation,
    find_notation,
    guess_kind,
    is_number,
    texts,
)
from fairbench.data.csv_files import index_column, sniff, why_unnamed
from fairbench.data.tables import read_table, rejoined, respelt
from fairbench.errors import ConfigError, DataError, FairbenchError, MissingValueError, nearest
from fairbench.files import write_file
from fairbench.registry import Registry
from fairbench.training import NeuralMethod

if TYPE_CHECKING:
    import pandas as pd


def data_new_command(
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file.")],
    sensitive: Annotated[
        str | None,
        typer.Option(
            metavar=LIST, help="Columns of S, separated by commas: sex,race makes intersections."
        ),
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
    drop: Annotated[
        str | None,
        typer.Option(metavar=LIST, help="Columns to leave out, such as ids, separated by commas."),
    ] = None,
    category: Annotated[
        str | None,
        typer.Option(
            metavar=LIST,
            help="Columns whose numbers are codes, such as zip codes, separated by commas.",
        ),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Names or ids of people, where some have several rows."
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="COLUMN:VALUE", help="Column and value of the official test rows."),
    ] = None,
    missing: Annotated[
        MissingPolicy,
        typer.Option(
            help="Missing values: refuse the table, leave out rows that have some, make them a "
            "category (an error in numbers and labels), or do so and leave out the other rows."
        ),
    ] = MissingPolicy.ERROR,
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
        person=person,
        test=test,
        missing=missing,
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
    if table.suffix.lower() in (".yaml", ".yml"):
        raise ConfigError(
            f"{table} is no table: it ends as dataset cards do.",
            f"To check a card: fairbench data check {shlex.quote(str(table))}",
        )
    card = output or Path(f"{slug(table.stem)}.yaml")
    if card.suffix not in (".yaml", ".yml"):
        raise ConfigError(f"--output {card} does not end in .yaml.", "Cards are .yaml files.")
    if card.exists() and not force:
        raise ConfigError(
            f"{card} is there already.", "Overwrite it with --force, or give --output."
        )
    if options.name is None and slug(card.stem) in registry.datasets:
        options = replace(options, name=f"my-{slug(card.stem)}")
    _check_name(options.name or slug(card.stem), registry)
    separator, header = sniff(table, _named(options))
    unused = set(options.drop or ())
    with spinner("reading the table"):
        frame = read_table(table, separator=separator, header=header, unused=unused.__contains__)
        frame = frame.rename(columns=respelt(frame.columns, _named(options)))
        options = _rejoined(options, [str(name) for name in frame.columns])
        options = replace(options, decimal=_decimal(frame, options.categories))
    if options.sensitive is None or options.labels is None:
        options = ask_missing(frame, options, table)
    with spinner("looking at its columns"):
        contents = _contents(frame, options, table, separator, header)
        write_file(card, card_text(contents, frame, card).encode())
    out.print(f"Written: {card}. Read and edit it.", markup=False)
    if options.decimal == ",":
        out.print('Numbers have a decimal comma, as in 19,8: the card says decimal: ","')
    for column, why in contents.drop.items():
        if why:
            out.print(f"Left out of X: {column} ({why})", markup=False)
    out.print()
    path = str(card)
    try:
        check_data(registry.dataset(path), None)
    except FairbenchError as error:
        again = f"The card is written; edit it, then: fairbench data check {shlex.quote(path)}"
        if isinstance(error, MissingValueError):
            policy = options.missing.with_drop
            again += f"\nOr write it anew: add --missing {policy} --force to this command."
        raise DataError(error.message, f"{error.hint}\n{again}") from None
    words = ["fairbench", "run", "--methods", _a_method(registry), "--dataset", path]
    out.print(f"\nNext:\n  fairbench data describe {shlex.quote(path)}", markup=False)
    out.print(f"  {shlex.join([*words, '--budget', 'quick'])}", markup=False)


def _named(options: CardOptions) -> set[str]:
    """Return all that options may name as columns: of column:value each part before a colon."""
    with_value = [*options.bins, *(options.labels or ()), options.test or ""]
    heads = {text[:end] for text in with_value for end, mark in enumerate(text) if mark == ":"}
    columns = [*(options.sensitive or ()), *(options.drop or ()), *options.categories]
    columns += [options.person] if options.person else []
    return heads | {*with_value, *columns}


def _rejoined(options: CardOptions, known: list[str]) -> CardOptions:
    """Return options in which columns with commas in their names are whole."""
    return replace(
        options,
        sensitive=options.sensitive and rejoined(options.sensitive, known),
        drop=options.drop and rejoined(options.drop, known),
        categories=rejoined(options.categories, known),
    )


def _decimal(frame: pd.DataFrame, categories: Collection[str]) -> Decimal:
    """Guess the sign before the decimals of a table's numbers."""
    columns = [frame[name] for name in frame.columns if name not in categories]
    found = [written for column in columns if (written := find_notation(column))]
    return "," if any(notation is Notation.COMMA for notation, _ in found) else "."


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
        if guess_kind(frame[column].dropna(), options.decimal) is not ColumnKind.NUMBER:
            raise ConfigError(
                f"--bins {text}: the column {column!r} holds no numbers.",
                "Leave out --bins: each of its values is a group, and groups: in the card merges "
                "some.",
            )
        if sorted({float(cut) for cut in bins[column]}) != [float(cut) for cut in bins[column]]:
            raise ConfigError(f"--bins {text!r}: cuts must increase.", "As in --bins age:25,45")
    sensitive = options.sensitive or ()
    for column in sensitive:
        _check_values("--sensitive", column, frame)
        if many_numbers(frame[column], options.decimal) and column not in bins:
            raise ConfigError(
                f"The sensitive column {column!r} holds {frame[column].nunique():,} numbers.",
                f"Name its cuts: --bins {column}:{propose_cuts(frame[column], options.decimal)}",
            )
        if column not in bins:
            check_groups(frame[column].dropna(), str(table))
    for column in bins:
        if column not in sensitive:
            raise ConfigError(
                f"--bins {column}: the column is not sensitive.",
                f"Name it: --sensitive {','.join([*sensitive, column])}",
            )
    labels = tuple(_label(text, frame, options.decimal) for text in options.labels or ())
    test = _test(options.test, frame) if options.test else None
    if options.person is not None:
        _check_values("--person", options.person, frame)
    taken = _one_use_each(
        [("--sensitive", column) for column in sensitive]
        + [("--label", label.column) for label in labels]
        + ([("--test", test[0])] if test else [])
        + ([("--person", options.person)] if options.person is not None else [])
    )
    drop = dict.fromkeys(options.drop or (), "")
    if used := next((column for column in drop if column in taken), None):
        raise ConfigError(
            f"--drop: the column {used!r} is also named by {taken[used]}.",
            "Take it out of --drop: it is never in X.",
        )
    for option, columns in (("--drop", drop), ("--category", options.categories)):
        for column in columns:
            _known(option, column, frame)
    # What is dropped may be of a type that was not read.
    held = frame.drop(columns=[column for column in drop if frame[column].isna().all()])
    drop |= {
        c: why
        for c, why in useless(held, options.decimal, options.missing).items()
        if c not in taken and c not in options.categories and not drop.get(c)
    }
    if (index := index_column(frame)) and index not in taken:
        drop.setdefault(index, "no name and whole numbers: it looks like an index of rows")
    of_x = [str(name) for name in frame.columns if name not in taken and name not in drop]
    guessed = [name for name in of_x if name not in options.categories]
    check_notation(frame[guessed], str(table), options.decimal)
    features = dict.fromkeys(of_x, ColumnKind.CATEGORY)
    features |= {name: guess_kind(frame[name], options.decimal) for name in guessed}
    return CardText(
        table=table,
        separator=separator,
        decimal=options.decimal,
        header=header,
        name=options.name,
        sensitive={column: bins.get(column, ()) for column in sensitive},
        labels=labels,
        features=features,
        drop=drop,
        person=options.person,
        test=test,
        missing=options.missing,
        onehot=options.onehot,
    )


def _known(option: str, column: str, frame: pd.DataFrame) -> None:
    if column not in frame.columns:
        names = [str(name) for name in frame.columns]
        raise ConfigError(
            f"{option}: the table has no column {column!r}.",
            why_unnamed(names) + nearest(column, names),
        )


def _check_values(option: str, column: str, frame: pd.DataFrame) -> None:
    """Raise ConfigError for a column that the table lacks, or that has no values."""
    _known(option, column, frame)
    if frame[column].isna().all():
        raise ConfigError(
            f"{option}: the column {column!r} has no value in any row.", "Name another column."
        )


def _split(option: str, text: str, frame: pd.DataFrame) -> tuple[str, str]:
    """``column:value``, in two; the name of the column may have colons, too."""
    column, colon, value = text.partition(":")
    if not colon:
        raise ConfigError(f"{option} {text!r} is not COLUMN:VALUE.", "Put a colon between the two.")
    names = [str(name) for name in frame.columns if text.startswith(f"{name}:")]
    if names:
        column = max(names, key=len)
        value = text[len(column) + 1 :]
    _known(option, column, frame)
    return column, value


def _test(text: str, frame: pd.DataFrame) -> tuple[str, str]:
    column, value = _split("--test", text, frame)
    values = set(texts(frame[column].dropna()))
    if value not in values:
        raise ConfigError(f"--test: no row of {column!r} is {value!r}.", nearest(value, values))
    return column, value


def _one_use_each(uses: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the option of each column, of (option, column); ConfigError where one stands twice."""
    by_column: dict[str, str] = {}
    for option, column in uses:
        if column in by_column:
            both = " and ".join(dict.fromkeys((by_column[column], option)))
            raise ConfigError(
                f"{both}: the column {column!r} stands twice.", "A column has one use."
            )
        by_column[column] = option
    return by_column


def _check_name(name: str, registry: Registry) -> None:
    try:
        check_name(name)
    except ValueError as error:
        usable = slug(name) if slug(name) != name else "my-table"
        raise ConfigError(f"--name {name!r}: {error}.", f"As in --name {usable}") from None
    if name in registry.datasets:
        raise ConfigError(
            f"--name {name!r} belongs to a registered dataset.", f"As in --name my-{name}"
        )


def _label(text: str, frame: pd.DataFrame, decimal: Decimal) -> LabelText:
    column, value = text, ""
    if text not in frame.columns and ":" in text:
        column, value = _split("--label", text, frame)
    _check_values("--label", column, frame)
    held = frame[column]
    values = set(texts(held.dropna()))
    if not value:
        if many_numbers(held, decimal):
            limit = propose_limit(held, decimal)
            raise ConfigError(
                f"The label {column!r} holds {held.nunique():,} numbers.",
                f"Name the number above which it is class 1: --label '{column}:>{limit}'",
            )
        return LabelText(column)
    if value in values:
        return LabelText(column, positive=value)
    if value.startswith(">"):
        if not is_number(value[1:]):
            raise ConfigError(
                f"--label {text}: {value[1:]!r} is no number.", "As in --label pay:>50"
            )
        if guess_kind(held, decimal) is not ColumnKind.NUMBER:
            raise ConfigError(
                f"--label {text}: the column {column!r} holds no numbers.",
                f"Name one of its values: {nearest(value[1:], values)}",
            )
        return LabelText(column, above=value[1:].strip())
    hint = nearest(value, values)
    if is_number(value) and guess_kind(held, decimal) is ColumnKind.NUMBER:
        above = shlex.quote(f"{column}:>{value}")
        hint = f"To make all numbers above it class 1: --label {above}. {hint}"
    raise ConfigError(f"--label: no row of {column!r} is {value!r}.", hint)
