"""Commands whose files are imported when they are used, so that the help is fast."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from fairbench.cli.given import CheckedCommand


@dataclass(frozen=True)
class Entry:
    """A command as the help lists it, and ``file:function``, or one for each name of a group."""

    panel: str
    help: str
    target: str | Mapping[str, str]
    cls: type[TyperGroup] = TyperGroup

    def load(self, name: str) -> Any:
        """Import the function, or the functions of a group, and return the command."""
        app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        if isinstance(self.target, str):
            app.command(name, cls=CheckedCommand)(_function(self.target))
            return get_command(app)
        app.info.name, app.info.cls, app.info.help = name, self.cls, self.help
        app.info.no_args_is_help = True
        for each, target in self.target.items():
            app.command(each, cls=CheckedCommand)(_function(target))
        return get_group(app)


def _function(target: str) -> Any:
    file, _, function = target.partition(":")
    return getattr(importlib.import_module(f"fairbench.cli.{file}"), function)


class UnloadedCommand(TyperCommand):
    """A command that the help can list; nothing of it has been imported yet."""


class LazyGroup(TyperGroup):
    """A group that imports a command when it is called; subclasses set ``entries``."""

    entries: ClassVar[Mapping[str, Entry]]

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, entry in self.entries.items():
            self.commands[name] = UnloadedCommand(
                name, help=entry.help, rich_help_panel=entry.panel
            )

    def invoke(self, ctx: Any) -> Any:
        """Call a command; Ctrl-C that it does not answer itself ends it with one word."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is called, and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else self.load(name), rest

    def load(self, name: str) -> Any:
        """Return a command, imported."""
        if isinstance(self.commands[name], UnloadedCommand):
            self.commands[name] = self.entries[name].load(name)
        return self.commands[name]
