"""One command of several forms, each with options of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from fairbench.errors import ConfigError


class Forms(TyperGroup):
    """A command whose first option that only one of its forms has decides which is meant.

    The forms are registered as sub-commands, called as their usage is shown. Each form is parsed by
    its own parser, so it knows its own options only.
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
        for arg in args[1:]:
            option = arg.partition("=")[0]
            owners = self._owners(option)
            if owners and form not in owners and not ctx.resilient_parsing:
                raise ConfigError(
                    f"{option} is an option of {ctx.info_name} {owners[0]}, not of "
                    f"{ctx.info_name} {form}: use the options of one of the two."
                )
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help of every form."""
        for name, form in self.commands.items():
            form.format_help(typer.Context(form, info_name=name, parent=ctx), formatter)

    def _form_of(self, args: list[str]) -> str:
        """Return the form of the first option that only one has, else the first form."""
        for arg in args:
            owners = self._owners(arg.partition("=")[0])
            if len(owners) == 1:
                return owners[0]
        return next(iter(self.commands))

    def _owners(self, option: str) -> list[str]:
        """Return the names of the forms that have an option."""
        return [name for name, options in self._options().items() if option in options]

    def _options(self) -> Mapping[str, set[str]]:
        """Return the options of every form, by the form's name."""
        return {
            name: {option for parameter in form.params for option in parameter.opts}
            for name, form in self.commands.items()
        }
