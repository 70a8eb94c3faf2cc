"""Pages in a real browser: Chromium, and what tests ask of a page."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairbench.registry import load_registry
from fairbench.report.gather import gather
from fairbench.report.page import page
from tests.support.runs import Change, stored

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1400, "height": 900}


def started() -> Iterator[Any]:
    """Chromium, closed at the end; skips where there is none."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium)")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def written(folder: Path, change: Change | None = None) -> Path:
    """The page of the small run, changed or as it was."""
    target = folder / "report.html"
    target.write_text(page(gather(stored(folder, change), load_registry())), encoding="utf-8")
    return target


def opened(
    browser: Any, target: Path, *, at: str = "", drawn: bool = True, **options: Any
) -> tuple[Any, list[str]]:
    """The page, with its charts drawn, and a list of what it complains of."""
    tab = browser.new_page(**options)
    complaints: list[str] = []
    tab.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else 0)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda r: complaints.append(r.url) if r.url.startswith("http") else 0)
    tab.goto(target.as_uri() + at)
    if drawn:
        tab.locator(".chart:visible").first.scroll_into_view_if_needed()
        tab.wait_for_selector(".board:not([hidden]) .chart[data-drawn] .main-svg")
    return tab, complaints


def names(tab: Any, rows: str) -> list[str]:
    """Methods of the rows that are seen of the board that is seen."""
    found: list[str] = tab.locator(f".board:not([hidden]) {rows}[data-name]").evaluate_all(
        "rows => rows.filter(row => row.checkVisibility()).map(row => row.dataset.name)"
    )
    return found
