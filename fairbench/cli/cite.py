"""``fairbench cite``: BibTeX entries of a board's methods, its dataset and this suite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Annotated

import typer

from fairbench.api.dataset import Dataset
from fairbench.api.method import Method
from fairbench.cli.plugins import load_plugins
from fairbench.leaderboard.board import Board
from fairbench.leaderboard.boards import PUBLISHED, find_board

_FILE = "references.bib"
"""File that a plugin's package may bring along; its field ``methods`` names an entry's methods."""

_ENTRY = re.compile(r"^@\w+\{.*?^\}", re.DOTALL | re.MULTILINE)
_METHODS = re.compile(r"^ *methods = \{(.*?)\},?\n", re.MULTILINE)


def cite_command(
    board: Annotated[str, typer.Argument(help="Name of a board, or a .board file.")],
) -> None:
    """Print BibTeX entries of a board: its methods, its dataset, and fairbench."""
    registry = load_plugins()
    found = find_board(board, registry)
    names = sorted({unit.method for unit in found.units})
    known = registry.methods.classes
    published = board == PUBLISHED or board in registry.boards
    entries = [_of_board(found, published=published)]
    entries += _of_methods([known[name] for name in names if name in known])
    if found.info.dataset in registry.datasets:
        entries.append(_of_dataset(registry.datasets[found.info.dataset]))
    missing = [name for name in names if name not in known]
    if missing:
        entries.append(f"% not installed here: {', '.join(missing)}")
    print("\n\n".join(entries))


def _of_board(board: Board, *, published: bool) -> str:
    """Entry of a board; one that is a file has no author, for whoever exported it to fill in."""
    info = board.info
    fields = {
        **({"author": "{The fairbench authors}"} if published else {}),
        "title": f"{{fairbench}}: {info.title}",
        "year": info.made[:4],
        "note": f"fairbench {info.fairbench}, audit version {info.audit_version}, made {info.made}",
    }
    return _entry("misc", f"fairbench-{info.name}", fields)


def _of_methods(methods: Sequence[type[Method]]) -> list[str]:
    """Entries of the packages' files; of other methods one with the reference that they give."""
    entries: dict[str, None] = {}
    for method in methods:
        own = [
            _METHODS.sub("", entry)
            for entry in _entries_of(method)
            if method.name in _names_of(entry)
        ]
        if not own and method.reference:
            own = [_entry("misc", f"fairbench-{method.name}", {"note": _tex(method.reference)})]
        entries.update(dict.fromkeys(own))
    return list(entries)


def _entries_of(method: type[Method]) -> list[str]:
    try:
        file = files(method.__module__.partition(".")[0]) / _FILE
        return _ENTRY.findall(file.read_text(encoding="utf-8"))
    except (OSError, ModuleNotFoundError, TypeError):  # TypeError: a module, no package
        return []


def _names_of(entry: str) -> set[str]:
    found = _METHODS.search(entry)
    return set() if found is None else {name.strip() for name in found[1].split(",")}


def _of_dataset(dataset: type[Dataset]) -> str:
    fields = {
        "title": f"{{{dataset.name}}}: {_tex(dataset.summary)}",
        "note": _tex(dataset.citation),
        "howpublished": f"\\url{{{dataset.url}}}" if dataset.url else "",
    }
    return _entry("misc", f"dataset-{dataset.name}", {k: v for k, v in fields.items() if v})


def _tex(text: str) -> str:
    """Text with the marks escaped that TeX would read."""
    return re.sub(r"([&%$#_])", r"\\\1", text)


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}}}"
