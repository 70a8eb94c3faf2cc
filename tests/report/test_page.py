"""The page in a real browser: sorting, filtering, hovering, escaping, phones and the dark."""

import copy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairbench.registry import load_registry
from fairbench.report.gather import gather
from fairbench.report.page import page
from fairbench.store import Row, Store, parse_export

EXPORT = Path(__file__).parent / "adults-quick.jsonl"
EVIL = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


def written(folder: Path, change: Any = None) -> Path:
    records = parse_export(EXPORT.read_text().splitlines())
    if change is not None:
        change(records)
    store = Store.in_folder(folder)
    store.merge(records)
    target = folder / "report.html"
    target.write_text(page(gather(store, load_registry())), encoding="utf-8")
    return target


def damaged(records: dict[str, list[Row]]) -> None:
    """One method fails, one seed is missing, the data is a twin, and a plugin is malicious."""
    units = records["units"]
    for unit in units:
        unit["data_source"] = "simulated"
    failed = next(unit for unit in units if unit["method"] == "latfr")
    failed |= {"status": "FAILED", "error": f"ValueError: {EVIL}", "read_points": None}
    sofair = next(unit for unit in units if unit["method"] == "sofair")
    missing = copy.deepcopy(sofair) | {"key": "0" * 64, "seed": 1, "status": "CRASHED"}
    units.append(missing | {"error": "the process was ended by SIGSEGV", "read_points": None})
    pca = [unit for unit in units if unit["method"] == "pca"]
    for unit in pca:
        unit["method"] = EVIL
        unit["plugin"] = EVIL


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
    tab.wait_for_selector(".chart[data-drawn] .main-svg")
    return tab, complaints


def column(tab: Any, head: str) -> list[str]:
    table = tab.locator("table.sortable").first
    heads = [text.strip() for text in table.locator("thead th").all_text_contents()]
    rows = table.locator("tbody tr:visible").all()
    return [row.locator("td, th").nth(heads.index(head)).inner_text() for row in rows]


def test_it_is_one_small_file_that_fetches_nothing(browser: Any, target: Path) -> None:
    assert target.stat().st_size < 6_000_000
    tab, complaints = opened(browser, target)
    assert complaints == []
    assert "real" not in (tab.locator(".warning").all_text_contents() or [""])[0]
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
    tab, complaints = opened(browser, written(tmp_path, damaged))
    assert tab.evaluate("window.hacked") is None
    assert [c for c in complaints if "x" in c] == []
    assert EVIL in tab.locator("tbody th").all_text_contents()
    assert "Simulated data" in tab.locator(".warning").first.inner_text()
    failures = tab.locator("table.failures").inner_text()
    assert "FAILED" in failures
    assert "SIGSEGV" in failures
    assert EVIL in failures
    ranks = dict(zip(column(tab, "method"), column(tab, "rank"), strict=True))
    assert ranks["latfr"] == ranks["sofair"] == ""
    tab.close()
