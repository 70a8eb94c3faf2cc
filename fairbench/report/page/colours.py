"""Colours of rows as rules of the style sheet: the page's policy forbids styles on elements."""

from __future__ import annotations

from collections.abc import Mapping

from fairbench.metrics.rows import Variant
from fairbench.report.style import Look, shaded

_TEXT_ON_DARK = "#ECECEE"
"""Black is the text's colour, and the text is light on a dark ground."""


def on_dark(colour: str) -> str:
    """Return a colour for dark ground: colours are made for white paper, so white is mixed in."""
    return _TEXT_ON_DARK if colour == "#000000" else shaded(colour, 0.3)


def colour_class(look: Look) -> str:
    """Return the class of what is drawn in a row's colour."""
    return f"c-{look.colour.removeprefix('#')}"


def colour_rules(looks: Mapping[Variant, Look]) -> str:
    """Return the rules of all colours of a page, on white and on dark ground."""
    found = dict.fromkeys((colour_class(look), look.colour) for look in looks.values())
    light = "".join(f".{name}{{color:{colour}}}" for name, colour in found)
    dark = "".join(f".{name}{{color:{on_dark(colour)}}}" for name, colour in found)
    return f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}\n"
