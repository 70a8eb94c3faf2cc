"""Markdown: tables and escaped text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table; rows whose cells are all empty but the first are left out."""
    shown = [[*row, *[""] * (len(columns) - len(row))] for row in rows if any(map(str, row[1:]))]
    return "\n".join(map(_line, [columns, ["---"] * len(columns), *shown]))


def _line(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(map(escape, cells))} |"


def escape(text: Any) -> str:
    """Return Markdown that shows a text as it is, whatever marks of Markdown or HTML it has."""
    shown = " ".join(str(text).split())
    shown = re.sub(r"([\\`*~|]|\](?=[(\[]))", r"\\\1", shown)
    shown = re.sub(r"(?<![^\W_])_+|_+(?![^\W_])", lambda marks: "\\_" * len(marks[0]), shown)
    return shown.replace("&", "&amp;").replace("<", "&lt;")
