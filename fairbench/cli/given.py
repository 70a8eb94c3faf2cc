"""What is wrong with a command line whatever the command: options given twice, or empty."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from fairbench.cli.options import LIST
from fairbench.errors import ConfigError

UsageError: type[Any] = typer.BadParameter.__mro__[1]
"""Base of every mistake on the command line; typer does not export it."""


class CheckedCommand(TyperCommand):
    """A command that refuses options whose values would be dropped without a word."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; ConfigError where an option is there twice, or empty."""
        try:
            if not ctx.resilient_parsing:
                values, _, given = self.make_parser(ctx).parse_args(args=list(args))
                _refuse_repeated(given)
                _refuse_empty(values, given)
            return super().parse_args(ctx, args)
        except UsageError as error:
            error.ctx = error.ctx or ctx  # whose help to see
            raise


def _refuse_repeated(given: list[Any]) -> None:
    """Raise ConfigError where a list of values is given twice: who does that means both lists.

    Of other options the last one counts, as in other programs: a script may put its own after
    those that it was given.
    """
    for option in given:
        if option.metavar == LIST and given.count(option) > 1:
            raise ConfigError(
                f"{option.opts[0]} is given {given.count(option)} times.",
                f"Give it once. Its help: {option.help}",
            )


def _refuse_empty(values: dict[str, Any], given: list[Any]) -> None:
    """Raise ConfigError where a value is an empty text, as an unset variable of a script is.

    A path would be this folder, and other values would be taken for options that are not there;
    so would a list of nothing but commas.
    """
    for parameter in given:
        value = values[parameter.name]
        if parameter.metavar == LIST and not value.strip(", "):
            value = ""
        if "" in (value if isinstance(value, list | tuple) else [value]):
            if parameter.param_type_name == "argument":
                raise ConfigError(f"{parameter.name} is empty.", "Give a value.")
            raise ConfigError(
                f"{parameter.opts[0]} is empty.", "Give a value, or leave the option out."
            )
