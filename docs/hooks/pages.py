"""What the site's pages do not say themselves: made when it is built, so that it cannot go stale.

A line ``<!-- generated: NAME -->`` becomes the commands as the command line knows them (``cli``),
the keys of a run's configuration (``config``), or a file of the repository (``file PATH``). A
paragraph ``As plain text: ...`` after it says where to read the same without the site, and is left
out.
"""

from __future__ import annotations

import enum
import inspect
import posixpath
import re
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]

_MARK = re.compile(
    r"^<!-- generated: (\w+)(?: (\S+))? -->$(?:\n\nAs plain text: .*$)?", re.MULTILINE
)
"""A mark, and where to read the same without the site."""
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_FIGURE = re.compile(r"(?<=!)\[[^\]]+\]\(\.\./(leaderboards/[\w./-]+)\)")
"""An image of the published results, which the site has a copy of."""

SHOWN: Mapping[str, str] = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "leaderboards": "published.md",
    "leaderboards/README.md": "published.md",
}
"""Files of the repository that have a page of their own."""


def on_files(files: Files, *, config: Any) -> Files:
    """Add the figures that pages show."""
    pages = (ROOT / "docs").glob("*.md")
    shown = {path for page in pages for path in _FIGURE.findall(page.read_text(encoding="utf-8"))}
    for path in sorted(shown):
        files.append(File.generated(config, _copy(path), abs_src_path=str(ROOT / path)))
    return files


def _copy(figure: str) -> str:
    """Where the site has a figure of the repository, from the folder of its pages."""
    below = figure.removeprefix("leaderboards/")
    return f"figures/{below.removeprefix('figures/')}"


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Fill in what is generated, and lead links to repository files where the site has them."""
    text = _MARK.sub(lambda mark: _generate(mark[1], mark[2]), markdown)
    return in_site(text, folder=posixpath.normpath(f"docs/{posixpath.dirname(page.file.src_uri)}"))


def _generate(what: str, argument: str | None) -> str:
    if what == "cli":
        return "\n".join(cli_lines())
    if what == "config":
        return "\n".join(config_lines())
    if what == "file" and argument:
        text = (ROOT / argument).read_text(encoding="utf-8")
        return _from_docs(text, posixpath.dirname(argument))
    raise PluginError(f"Nothing is known of <!-- generated: {what} -->.")


def _from_docs(text: str, folder: str) -> str:
    """Links of a file in another folder, as a page in ``docs`` would write them."""

    def moved(link: re.Match[str]) -> str:
        words, target = link.groups()
        if re.match(r"\w+:|#", target):
            return link[0]
        return f"[{words}]({posixpath.relpath(posixpath.join(folder, target), 'docs')})"

    return _LINK.sub(moved, text)


def in_site(text: str, *, folder: str) -> str:
    """Links out of ``docs``: to the page that shows the file, else the file's path as code."""

    def led(link: re.Match[str]) -> str:
        words, target = link.groups()
        path = posixpath.normpath(posixpath.join(folder, target.partition("#")[0]))
        if re.match(r"\w+:|#", target) or path.startswith("docs/"):
            return link[0]
        if path in SHOWN:
            return f"[{words}]({SHOWN[path]})"
        if text[: link.start()].endswith("!"):
            return f"[{words}]({_copy(path)})"
        if not (ROOT / path).exists():
            raise PluginError(f"[{words}]({target}): there is no {path}.")
        return words if path in words else f"{words} (`{path}` in the repository)"

    return _LINK.sub(led, text)


def cli_lines() -> Iterator[str]:
    """Every command with its arguments and options, as the command line itself knows them."""
    from fairbench.cli.app import command_tree

    yield from _command_lines(command_tree(), "fairbench")


def _command_lines(command: Any, words: str) -> Iterator[str]:
    below = getattr(command, "commands", None)
    if below is None:
        yield from (f"## `{words}`", "", command.help or "", "")
        yield from ("```text", f"{words} {_usage(command)}", "```", "")
        yield from _parameter_lines(command)
        return
    if words != "fairbench":
        yield from (f"## `{words}`", "", command.help or "", "")
    for name, sub in below.items():
        yield from _command_lines(sub, f"{words} {name}")


def _usage(command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    words = [p.name.upper() if p.required else f"[{p.name.upper()}]" for p in arguments]
    needed = [p for p in command.params if p.required and p not in arguments]
    words += [f"{p.opts[0]} {p.name.upper()}" for p in needed]
    return " ".join([*words, "[OPTIONS]"])


def _parameter_lines(command: Any) -> Iterator[str]:
    hints = typing.get_type_hints(inspect.unwrap(command.callback))
    yield from ("| | values | |", "|---|---|---|")
    for parameter in command.params:
        if parameter.name == "help":
            continue
        argument = parameter.param_type_name == "argument"
        name = parameter.name.upper() if argument else ", ".join(parameter.opts)
        values = _values(parameter, hints[parameter.name])
        yield f"| `{name}` | {values} | {_cell(parameter.help or '')} |"
    yield ""


def _values(parameter: Any, hint: Any) -> str:
    kinds = [kind for kind in (typing.get_args(hint) or (hint,)) if kind is not type(None)]
    if bool in kinds:
        return ""
    words = f"`{parameter.metavar}`" if parameter.metavar else _kind(kinds[0])
    default = parameter.default
    if default is not None and "[default" not in (parameter.help or ""):
        words += f"; default `{_plain(default)}`"
    return _cell(words)


def config_lines() -> Iterator[str]:
    """Every key of a run's configuration: what may stand there, its default, and what it is."""
    from fairbench.config import ExecutorConfig, RunConfig

    texts = {**_parameters_of(ExecutorConfig.__doc__), **_parameters_of(RunConfig.__doc__)}
    own = [name for name in RunConfig.model_fields if name not in ExecutorConfig.model_fields]
    yield from ("| key | values | default | |", "|---|---|---|---|")
    for name in [*own, *ExecutorConfig.model_fields]:
        field = RunConfig.model_fields[name]
        kind, text = texts[name]
        value = _plain(field.get_default(call_default_factory=True))
        default = "needed" if field.is_required() else f"`{value}`"
        yield f"| `{name}` | {_cell(_kind(field.annotation, kind))} | {default} | {_cell(text)} |"


def _parameters_of(docstring: str | None) -> dict[str, tuple[str, str]]:
    """Type and description by parameter, of a numpydoc docstring's first section."""
    from griffe import Docstring, DocstringSectionParameters

    found: dict[str, tuple[str, str]] = {}
    for section in Docstring(docstring or "").parse("numpy"):
        if isinstance(section, DocstringSectionParameters):
            for parameter in section.value:
                names = [name.strip() for name in parameter.name.split(",")]
                found.update(
                    (name, (str(parameter.annotation or ""), parameter.description))
                    for name in names
                )
    return found


def _kind(annotation: Any, text: str = "") -> str:
    """What may be given, in words; an enum's members by name."""
    for part in (annotation, *typing.get_args(annotation)):
        if isinstance(part, type) and issubclass(part, enum.Enum):
            return ", ".join(f"`{member.value}`" for member in part)
    words = {int: "whole number", float: "number", str: "text", Path: "path"}
    return words.get(annotation) or text.replace(", optional", "")


def _plain(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return str(list(value))
    return str(getattr(value, "value", value))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
