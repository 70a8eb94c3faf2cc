"""The site needs no network and no server: readers may be offline, or watched.

No page loads anything from another host, and the search works on pages that are opened from the
disk. There a browser fetches no index and starts no worker of a file, so scripts hold both as text.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

_LOADED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*?\bsrc=[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preload|preconnect|icon))[^>]*"
    r"\bhref=[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|@import[^;]*//|url\([\"']?(?:https?:)?//"
)

_WORKER = "search/search_worker.js"
"""Makes the worker of the search from its text; the theme runs it before its own script."""


def loaded_from_elsewhere(html: str) -> list[str]:
    """Whatever of a page a browser would fetch from another host; links are not fetched."""
    return _LOADED.findall(html)


def on_config(config: Any) -> Any:
    """Have every page run the script of the worker first."""
    config.extra["polyfills"] = [*config.extra.get("polyfills", []), _WORKER]
    return config


def on_post_page(output: str, *, page: object, **_: object) -> str:
    """Refuse a page that loads something from elsewhere."""
    if found := loaded_from_elsewhere(output):
        raise PluginError(f"{page}: loaded from another host: {', '.join(found)}")
    return output


def on_post_build(*, config: Any) -> None:
    """Write the worker of the search and its index as scripts; the theme looks for the latter."""
    site = Path(config.site_dir)
    workers = list(site.glob("assets/javascripts/workers/search.*.js"))
    if len(workers) != 1:
        raise PluginError(f"the theme has {len(workers)} workers of the search, not one")
    source = json.dumps(workers[0].read_text("utf-8"))
    (site / _WORKER).write_text(
        'if (location.protocol === "file:") {\n'
        f"  const text = {source};\n"
        '  const file = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));\n'
        "  window.Worker = class extends Worker { constructor() { super(file); } };\n"
        "}\n",
        "utf-8",
    )
    index = (site / "search" / "search_index.json").read_text("utf-8")
    (site / "search" / "search_index.js").write_text(f"var __index = {index};\n", "utf-8")
