"""The page in a real browser: sorting, filtering, hovering, escaping, phones and the dark."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbench.registry import load_registry
from fairbench.report.gather import gather
from fairbench.report.page import corners, page
from tests.support.runs import EVIL, malicious, stored, three_seeds

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


def written(folder: Path, change: Any = None) -> Path:
    target = folder / "report.html"
    target.write_text(page(gather(stored(folder, change), load_registry())), encoding="utf-8")
    return target


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium)")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("page"))


def opened(browser: Any, target: Path, **options: Any) -> tuple[Any, list[str]]:
    """The page, drawn, and what it complained of."""
    tab = browser.new_page(**options)
    complaints: list[str] = []
    tab.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else 0)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda r: complaints.append(r.url) if r.url.startswith("http") else 0)
    tab.goto(target.as_uri())
    tab.locator(".chart").first.scroll_into_view_if_needed()
    tab.wait_for_selector(".chart[data-drawn] .main-svg")
    return tab, complaints


def column(tab: Any, head: str) -> list[str]:
    table = tab.locator("table.sortable").first
    heads = [text.strip() for text in table.locator("thead th").all_text_contents()]
    rows = table.locator("tbody tr:visible").all()
    return [row.locator("td, th").nth(heads.index(head)).inner_text() for row in rows]


def test_it_is_one_small_file_that_fetches_nothing(browser: Any, target: Path) -> None:
    assert target.stat().st_size < 2_500_000
    tab, complaints = opened(browser, target)
    assert complaints == []
    assert "real" not in (tab.locator(".warning").all_text_contents() or [""])[0]
    tab.close()


def test_row_13_no_other_script_or_style_runs_and_nothing_is_fetched(
    browser: Any, target: Path
) -> None:
    tab, _ = opened(browser, target)
    refused = []
    tab.on("console", lambda m: refused.append(m.text) if "Content Security" in m.text else 0)
    tab.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.hacked = 1";
            document.head.append(script);
            const html = '<img src="http://127.0.0.1:9/x.png" onerror="window.hacked=2">';
            document.body.insertAdjacentHTML("beforeend", html);
            document.body.insertAdjacentHTML("beforeend", "<style>body{display:none}</style>");
        }"""
    )
    tab.wait_for_timeout(300)
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("body").is_visible()
    assert len(refused) >= 3
    assert "unsafe" not in tab.locator("meta[http-equiv]").get_attribute("content")
    tab.close()


def test_a_click_or_a_key_sorts_and_sorts_back(browser: Any, target: Path) -> None:
    tab, _ = opened(browser, target)
    before = column(tab, "AUFDC")
    button = tab.locator("table.sortable thead button", has_text="AUFDC").first
    button.click()
    rising = [float(text) for text in column(tab, "AUFDC") if text]
    assert rising == sorted(rising)
    button.focus()
    tab.keyboard.press("Enter")
    falling = [float(text) for text in column(tab, "AUFDC") if text]
    assert falling == sorted(falling, reverse=True)
    assert sorted(before) == sorted(column(tab, "AUFDC"))
    assert tab.locator("th[aria-sort=descending]").count() == 1
    tab.close()


def test_the_filter_hides_rows_and_curves(browser: Any, target: Path) -> None:
    tab, complaints = opened(browser, target)
    legend = tab.locator(".chart").first.locator(".legendtext")
    everything = legend.count()
    tab.locator(".filter input").first.fill("fair")
    names = column(tab, "method")
    assert names
    assert all("fair" in name for name in names)
    assert 0 < legend.count() < everything
    assert complaints == []
    tab.close()


def test_hovering_tells_the_point(browser: Any, target: Path) -> None:
    tab, _ = opened(browser, target)
    tab.locator(".filter input").first.fill("identity")
    mark = tab.locator(".chart").first.locator(".points path").first
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.wait_for_selector(".hoverlayer .hovertext")
    said = tab.locator(".hoverlayer .hovertext").first.text_content()
    for word in ("identity", "D 0", "nats", "A_y", "A_s", "seed 0"):
        assert word in said
    tab.close()


def test_a_phone_in_the_dark_has_nothing_off_its_screen(browser: Any, target: Path) -> None:
    phone = {"width": 390, "height": 844}
    tab, complaints = opened(browser, target, viewport=phone, color_scheme="dark")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(23, 24, 26)"
    assert complaints == []
    tab.close()


def test_failures_missing_seeds_and_twins_are_shown_and_text_stays_text(
    browser: Any, tmp_path: Path
) -> None:
    tab, complaints = opened(browser, written(tmp_path, malicious))
    assert tab.evaluate("window.hacked") is None
    assert [c for c in complaints if "x" in c] == []
    assert EVIL in tab.locator("tbody th").all_text_contents()
    assert "Simulated data" in tab.locator(".warning").first.inner_text()
    assert "simulated data" in tab.locator("h2 .badge").first.inner_text()
    assert all("simulated" in text for text in tab.locator("figcaption").all_inner_texts())
    short = tab.locator(".panel .warning li").all_inner_texts()
    assert short == [
        "latfr: 4 of 4 points missing (4 FAILED)",
        "sofair: 4 of 8 points missing; 1 of 2 seeds without any (1 CRASHED)",
    ]
    legend = tab.locator(".chart").first.locator(".legendtext").all_text_contents()
    assert "sofair (incomplete)" in legend
    assert not any(text.startswith("latfr") for text in legend)
    failures = tab.locator("table.failures").inner_text()
    assert "FAILED" in failures
    assert "SIGSEGV" in failures
    assert EVIL in failures
    tab.close()


def test_several_seeds_have_a_median_and_a_band(browser: Any, tmp_path: Path) -> None:
    tab, complaints = opened(browser, written(tmp_path, three_seeds))
    chart = tab.locator(".chart").first
    assert chart.locator(".js-fill").count() >= 5  # releasing x, or nothing, does not vary
    assert "the median over splits and seeds" in tab.locator("figcaption").first.inner_text()
    assert complaints == []
    tab.close()


def test_a_browser_that_cannot_unpack_the_charts_still_sorts(browser: Any, target: Path) -> None:
    tab = browser.new_page()
    tab.add_init_script("delete window.DecompressionStream")
    tab.goto(target.as_uri())
    tab.locator("table.sortable thead button", has_text="AUFDC").first.click()
    assert tab.locator("th[aria-sort=ascending]").count() == 1
    assert "browser of 2023" in tab.locator(".chart").first.inner_text()
    tab.close()


@given(
    st.lists(st.floats(-1e3, 1e3, allow_nan=False), min_size=2, max_size=60),
    st.integers(0, 2**32 - 1),
)
def test_corners_left_out_are_not_missed(heights: list[float], seed: int) -> None:
    y = np.array(heights)
    x = np.sort(np.random.default_rng(seed).normal(size=len(y)))
    kept = corners(x, y)
    assert {0, len(y) - 1} <= set(kept)
    off = np.abs(np.interp(x, x[kept], y[kept]) - y)
    assert off.max() <= 1e-3 * np.ptp(y) + 1e-9


def test_straight_lines_need_their_ends_alone() -> None:
    x = np.linspace(0, 8, 101)
    assert corners(x, 1 - x / 8) == [0, 100]
    assert corners(x, np.maximum(1 - x / 4, 0)) == [0, 50, 100]
