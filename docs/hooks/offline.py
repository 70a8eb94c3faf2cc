"""No page of the site loads anything from the internet: readers may be offline, or watched."""

from __future__ import annotations

import re

from mkdocs.exceptions import PluginError

_LOADED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*?\bsrc=[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preload|preconnect|icon))[^>]*"
    r"\bhref=[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|@import[^;]*//|url\([\"']?(?:https?:)?//"
)


def loaded_from_elsewhere(html: str) -> list[str]:
    """Whatever of a page a browser would fetch from another host; links are not fetched."""
    return _LOADED.findall(html)


def on_post_page(output: str, *, page: object, **_: object) -> str:
    """Refuse a page that loads something from elsewhere."""
    if found := loaded_from_elsewhere(output):
        raise PluginError(f"{page}: loaded from another host: {', '.join(found)}")
    return output
