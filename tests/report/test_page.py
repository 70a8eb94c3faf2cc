"""The page in a real browser: sorting, filtering, hovering, escaping, phones and the dark."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbench.registry import load_registry
from fairbench.report.gather import gather
from fairbench.report.page import page
from fairbench.report.page.curves import corners
from fairbench.store.records import Record, UnitRecord
from tests.support.browser import PHONE, opened, written
from tests.support.runs import EVIL, change_units, malicious, stored, three_seeds


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("page"))


def column(tab: Any, head: str) -> list[str]:
    table = tab.locator("table.sortable").first
    heads = [text.strip() for text in table.locator("thead th button").all_text_contents()]
    rows = table.locator("tbody tr:visible").all()
    return [row.locator("td, th").nth(heads.index(head)).inner_text() for row in rows]


def test_it_is_one_small_file_that_fetches_nothing(browser: Any, target: Path) -> None:
    assert target.stat().st_size < 2_500_000
    tab, complaints = opened(browser, target)
    assert complaints == []
    assert tab.locator(".warning").all_text_contents() == [], "nothing is simulated, or missing"
    tab.close()


def test_no_other_script_or_style_runs_and_nothing_is_fetched(browser: Any, target: Path) -> None:
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


@pytest.mark.thorough
def test_a_click_or_a_key_sorts_and_sorts_back(browser: Any, target: Path) -> None:
    tab, _ = opened(browser, target)
    before = column(tab, "AUFDC")
    table = tab.locator("table.sortable").first
    assert table.locator("th[aria-sort=ascending] button").inner_text() == "AUFDC"
    button = table.locator("thead button", has_text="AUFDC").first
    button.click()
    falling = [float(text) for text in column(tab, "AUFDC") if text]
    assert falling == sorted(falling, reverse=True)
    button.focus()
    tab.keyboard.press("Enter")
    rising = [float(text) for text in column(tab, "AUFDC") if text]
    assert rising == sorted(rising)
    assert sorted(before) == sorted(column(tab, "AUFDC"))
    assert table.locator("th[aria-sort=ascending]").count() == 1
    assert "AUFDC: " in tab.locator(".meaning").first.inner_text()
    tab.close()


@pytest.mark.thorough
def test_the_first_click_on_a_heading_puts_the_best_row_on_top(browser: Any, target: Path) -> None:
    tab, _ = opened(browser, target)
    head = "A_y at I<10%"
    tab.locator("table.sortable").first.locator("thead button", has_text=head).click()
    found = [float(text) for text in column(tab, head) if text not in ("", "none")]
    assert len(found) > 1
    assert found == sorted(found, reverse=True)
    assert column(tab, head)[-1] == "none"
    tab.close()


@pytest.mark.thorough
def test_the_filter_hides_rows_and_curves(browser: Any, target: Path) -> None:
    tab, complaints = opened(browser, target)
    legend = tab.locator(".chart").first.locator(".legendtext")
    everything = legend.count()
    tab.locator(".choose summary").click()
    tab.locator(".find").fill("fair")
    names = column(tab, "method")
    assert names
    assert all("fair" in name for name in names)
    assert 0 < legend.count() < everything
    assert complaints == []
    tab.close()


def visible_names(tab: Any) -> list[str]:
    table = tab.locator(".board:not([hidden]) table.sortable").first
    names: list[str] = table.locator("tr[data-name]:not([hidden])").evaluate_all(
        "rows => rows.map(row => row.dataset.name)"
    )
    return names


@pytest.mark.thorough
def test_methods_are_chosen_and_the_address_remembers_it(browser: Any, target: Path) -> None:
    tab, complaints = opened(browser, target)
    everything = visible_names(tab)
    tab.locator(".choose summary").click()
    tab.locator('input.one[value="sofair"]').uncheck()
    assert visible_names(tab) == [name for name in everything if name != "sofair"]
    count = len(everything)
    assert f"{count - 1} of {count} rows" in tab.locator(".seen").first.inner_text()
    tab.locator("fieldset", has_text="baselines").locator("input.family").uncheck()
    assert visible_names(tab) == ["latfr"]
    assert "without=" in tab.evaluate("location.hash")
    again, _ = opened(browser, target)
    again.goto(tab.url)
    again.reload()
    assert visible_names(again) == ["latfr"]
    again.locator(".choose summary").click()
    again.locator(".controls .all").click()
    assert visible_names(again) == everything
    assert complaints == []
    again.close()
    tab.close()


@pytest.mark.thorough
def test_a_method_has_a_view_of_its_own_and_another_beside_it(browser: Any, target: Path) -> None:
    tab, complaints = opened(browser, target)
    tab.locator("tr[data-name=sofair] a.name").first.click()
    assert tab.evaluate("location.hash") == "#adults-gender/sofair"
    card = tab.locator(".card:visible")
    assert card.count() == 1
    assert "fairbench run --methods sofair --dataset adults-gender" in card.inner_text()
    assert "Gitiaux" in card.inner_text()
    tab.locator("select.other:visible").select_option("latfr")
    assert tab.evaluate("location.hash") == "#adults-gender/sofair/latfr"
    names = tab.locator(".card:visible h4").all_inner_texts()
    assert names == ["sofair", "latfr"]
    legend = tab.locator(".chart").first.locator(".legendtext").all_text_contents()
    assert set(legend) == {"sofair", "latfr", "x for some, nothing for others"}
    tab.locator("a.close:visible").click()
    assert tab.locator(".card:visible").count() == 0
    assert complaints == []
    tab.close()


@pytest.mark.thorough
def test_a_row_lights_up_its_curve(browser: Any, target: Path) -> None:
    tab, _ = opened(browser, target)
    tab.locator("tr[data-name=sofair] a.name").first.focus()
    faded = "chart => chart.data.filter(t => t.opacity < 1).map(t => t.legendgroup)"
    names = set(tab.locator(".chart").first.evaluate(faded))
    assert "sofair" not in names
    assert "latfr" in names
    tab.locator("tr[data-name=sofair] a.name").first.blur()
    assert tab.locator(".chart").first.evaluate(faded) == []
    tab.close()


@pytest.mark.slow
def test_what_is_seen_can_be_downloaded(browser: Any, target: Path) -> None:
    tab, complaints = opened(browser, target)
    tab.locator(".choose summary").click()
    tab.locator(".find").fill("fair")
    with tab.expect_download() as waiting:
        tab.locator(".csv:visible").first.click()
    frame = pd.read_csv(waiting.value.path())
    assert waiting.value.suggested_filename == "adults-gender-blind.csv"
    assert frame["method"].to_list() == visible_names(tab)
    assert frame["AUFDC"].dtype == float
    assert complaints == []
    tab.close()


@pytest.mark.slow
def test_tabs_are_turned_by_keys_and_one_board_is_seen(browser: Any, tmp_path: Path) -> None:
    def two(records: list[Record]) -> list[Record]:
        other = change_units(
            records,
            lambda u: u.replace(key=f"b{u.key[1:]}", dataset="compas-race", fingerprint="b" * 64),
        )
        units = [one for one in other if isinstance(one, UnitRecord)][:3]
        return [*records, *units]

    tab, complaints = opened(browser, written(tmp_path, two))
    tabs = tab.locator('[role="tab"]')
    assert tabs.all_inner_texts() == ["adults-gender", "compas-race"]
    assert tab.locator(".board:visible").count() == 1
    tabs.first.focus()
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("location.hash") == "#compas-race"
    assert tab.locator(".board:visible h2").inner_text() == "compas-race"
    assert tabs.nth(1).get_attribute("aria-selected") == "true"
    tab.emulate_media(media="print")
    assert tab.locator(".board:visible").count() == 2
    assert not tab.locator(".bar").is_visible()
    assert complaints == []
    tab.close()


@pytest.mark.slow
def test_own_rows_are_in_colour_before_the_others(browser: Any, tmp_path: Path) -> None:
    report = gather(stored(tmp_path), load_registry())
    datasets = tuple(
        replace(d, panels=tuple(replace(p, highlighted=("sofair",)) for p in d.panels))
        for d in report.datasets
    )
    target = tmp_path / "report.html"
    target.write_text(page(replace(report, datasets=datasets)), encoding="utf-8")
    tab, _ = opened(browser, target)
    chart = tab.locator(".chart").first
    legend = set(chart.locator(".legendtext").all_text_contents())
    assert legend == {"sofair", "drop-features", "x for some, nothing for others"}
    assert "highlighted" in tab.locator("tr[data-name=sofair]").first.get_attribute("class")
    tab.locator(".uncolour:visible").first.click()
    assert "latfr" in chart.locator(".legendtext").all_text_contents()
    tab.close()


@pytest.mark.thorough
def test_hovering_tells_the_point(browser: Any, target: Path) -> None:
    tab, _ = opened(browser, target)
    tab.locator(".choose summary").click()
    tab.locator(".find").fill("identity")
    tab.locator(".choose summary").click()
    mark = tab.locator(".chart").first.locator(".points path").first
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.wait_for_selector(".hoverlayer .hovertext")
    said = tab.locator(".hoverlayer .hovertext").first.text_content()
    for word in ("identity", "D 0", "nats", "A_y", "A_s", "seed 0"):
        assert word in said
    tab.close()


@pytest.mark.thorough
def test_a_phone_in_the_dark_has_nothing_off_its_screen(browser: Any, target: Path) -> None:
    tab, complaints = opened(browser, target, viewport=PHONE, color_scheme="dark")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(23, 24, 26)"
    assert complaints == []
    tab.close()


def test_failures_missing_seeds_and_twins_are_shown_and_text_stays_text(
    browser: Any, tmp_path: Path
) -> None:
    tab, complaints = opened(browser, written(tmp_path, malicious))
    assert tab.evaluate("window.hacked") is None
    assert complaints == []
    assert EVIL in tab.locator("tbody th").all_text_contents()
    assert "Simulated data" in tab.locator(".warning").first.inner_text()
    assert "simulated data" in tab.locator("h2 .badge").first.inner_text()
    captions = tab.locator("figcaption").all_inner_texts()
    assert captions
    assert all("simulated" in caption for caption in captions)
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


@pytest.mark.thorough
def test_several_seeds_have_a_median_and_a_band(browser: Any, tmp_path: Path) -> None:
    tab, complaints = opened(browser, written(tmp_path, three_seeds))
    chart = tab.locator(".chart").first
    assert chart.locator(".js-fill").count() >= 5  # releasing x, or nothing, does not vary
    assert "drawn is the median over them" in tab.locator(".charts figcaption").first.inner_text()
    assert complaints == []
    tab.close()


def test_the_glossary_shows_values_of_columns_as_code(target: Path) -> None:
    html = target.read_text(encoding="utf-8")
    glossary = html.partition('<section id="glossary">')[2].partition("</section>")[0]
    assert "<code>default</code> where none does" in glossary
    assert "`" not in glossary


def test_a_browser_that_cannot_unpack_the_charts_still_sorts(browser: Any, target: Path) -> None:
    tab = browser.new_page()
    tab.add_init_script("delete window.DecompressionStream")
    tab.goto(target.as_uri())
    tab.locator("table.sortable thead button", has_text="AUFDC").first.click()
    assert tab.locator("th[aria-sort=descending]").count() == 1
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
