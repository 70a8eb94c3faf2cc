"""Parts of a page as Markdown; a page joins them by an empty line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

Cells = Sequence[str | None]
"""A line of a table, as Markdown; None leaves a cell empty."""


def make_table(heads: Cells, rows: Iterable[Cells], *, rule: str = "---") -> str:
    """Make a table; ``rule`` is of all columns but the first, ``---:`` aligns them to the right."""
    rules = "|".join(["", "---", *[rule] * (len(heads) - 1), ""])
    return "\n".join([_line(heads), rules, *map(_line, rows)])


def _line(cells: Cells) -> str:
    return f"|{'|'.join(' ' if cell is None else f' {cell} ' for cell in cells)}|"


def make_paragraph(*parts: str) -> str:
    """Join parts of a paragraph, without those that are empty, in lines of the pages' length."""
    return "\n".join(textwrap.wrap(" ".join(filter(None, parts)), 128, break_on_hyphens=False))


def list_names(names: Iterable[str]) -> str:
    """List names of methods, datasets or tables as code."""
    return ", ".join(f"`{name}`" for name in names) or "none"


def split_lists(text: str) -> list[list[str]]:
    """Return the lists of names behind the name of a mark: ``: a, b: c`` are two."""
    return [names.split(", ") for names in text.split(": ")[1:]]
