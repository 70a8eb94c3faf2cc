"""One command of several forms, each with options of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from fairbench.errors import ConfigError


class Forms(TyperGroup):
    """A command whose first option decides which of its forms is meant.

    The forms are registered as sub-commands, called as their usage is shown. No option may belong
    to two forms. Each form is parsed by its own parser, so it knows its own options only.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the form before its options; raises ConfigError without any."""
        if "--help" in args:
            return super().parse_args(ctx, ["--help"])
        if not args and not ctx.resilient_parsing:
            raise ConfigError(f"Nothing to {ctx.info_name}: give {' or '.join(self.commands)}.")
        return super().parse_args(ctx, ["--", self._form_of(args), *args])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the form; raises ConfigError where an option belongs to another form."""
        form = args[0]
        owners = {option: name for name, own in self._options().items() for option in own}
        for arg in args[1:]:
            option = arg.partition("=")[0]
            if owners.get(option, form) != form and not ctx.resilient_parsing:
                raise ConfigError(
                    f"{option} is an option of {ctx.info_name} {owners[option]}, not of "
                    f"{ctx.info_name} {form}: use the options of one of the two."
                )
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help of every form."""
        for name, form in self.commands.items():
            form.format_help(typer.Context(form, info_name=name, parent=ctx), formatter)

    def _form_of(self, args: list[str]) -> str:
        """Return the form of the first option that is known, else the first form."""
        for arg in args:
            for name, options in self._options().items():
                if arg.partition("=")[0] in options:
                    return name
        return next(iter(self.commands))

    def _options(self) -> Mapping[str, set[str]]:
        """Return the options of every form, by the form's name."""
        return {
            name: {option for parameter in form.params for option in parameter.opts}
            for name, form in self.commands.items()
        }
