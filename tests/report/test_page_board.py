"""A board of the page in a real browser: the ranking plot, what is seen, links, paper."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from fairbench.api import CurveEvaluation, Metric, Track
from fairbench.leaderboard.boards import find_board
from fairbench.registry import load_registry
from fairbench.report.gather import gather, gather_boards
from fairbench.report.page import page
from fairbench.report.page.ranking import draw_ranking
from fairbench.report.panels import looks_of
from fairbench.store.records import Record, RunRecord, UnitRecord
from tests.support.browser import DESK, PHONE, names, opened, written
from tests.support.runs import certified, five_folds, stored

NOT_REPLICATED = ["random-projection", "pca"]


def folds_and_certificates(records: list[Record]) -> list[Record]:
    return certified(five_folds(records))


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("page"), folds_and_certificates)


@pytest.fixture(scope="module")
def opened_once(browser: Any, target: Path) -> Iterator[tuple[Any, list[str]]]:
    tab, complaints = opened(browser, target, viewport=DESK)
    yield tab, complaints
    tab.close()


@pytest.fixture
def tab(opened_once: tuple[Any, list[str]]) -> Iterator[Any]:
    """The page on a desk, as it opens; a test fails if the page complains."""
    tab, complaints = opened_once
    go(tab, "#adults-gender")
    tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = false)")
    yield tab
    assert complaints == []


def go(tab: Any, address: str) -> None:
    """Follow an address of the page that is open, and wait until the page has."""
    tab.evaluate("address => { location.hash = address; }", address)
    tab.wait_for_function("address => location.hash === address", arg=address)
    tab.wait_for_timeout(50)  # the event comes after


def left_edges(tab: Any, what: str) -> dict[str, float]:
    """Where marks of the ranking plot stand, by method."""
    found: dict[str, float] = {}
    for row in tab.locator(".ranking li").all():
        mark = row.locator(what)
        if mark.count():
            box = mark.first.bounding_box()
            found[row.get_attribute("data-name")] = box["x"] + box["width"] / 2
    return found


def test_the_plot_stands_on_top_in_the_order_of_the_ranks(tab: Any) -> None:
    assert names(tab, ".ranking li") == names(tab, "table.sortable >> nth=0 >> tr")
    assert names(tab, ".ranking .rows >> nth=1 >> li") == NOT_REPLICATED
    ranks = tab.locator(".ranking .rank").all_inner_texts()
    assert ranks[0] == "1"
    assert ranks[-2:] == ["", ""]
    places = left_edges(tab, "circle")
    ranked = [places[name] for name in names(tab, ".ranking .rows >> nth=0 >> li")]
    assert ranked == sorted(ranked)
    assert places["identity"] == pytest.approx(left_edges(tab, "line.nothing")["identity"], abs=1.5)
    assert left_edges(tab, ".certified path")["sofair"] > 0
    said = tab.locator(".ranking li[data-name=sofair] svg.marks").get_attribute("aria-label")
    assert "95% interval" in said
    assert "certified" in said
    top, table = (tab.locator(one).first.bounding_box() for one in (".ranking", "table.sortable"))
    assert top["y"] + top["height"] <= table["y"]


def test_it_needs_no_script(browser: Any, target: Path) -> None:
    context = browser.new_context(java_script_enabled=False, viewport=DESK)
    tab = context.new_page()
    tab.goto(target.as_uri())
    assert tab.locator(".ranking li[data-name=sofair] circle").is_visible()
    assert tab.locator("table.sortable").first.is_visible()
    assert not tab.locator(".csv, .chart, .bar").first.is_visible()
    page_wide = tab.locator("#main").bounding_box()["width"]
    assert tab.locator(".left").first.bounding_box()["width"] == pytest.approx(page_wide)
    assert "JavaScript" in tab.locator(".unscripted").inner_text()
    context.close()


def test_rows_are_in_the_colours_of_their_curves(tab: Any) -> None:
    colours = tab.locator(".ranking li").evaluate_all(
        "rows => Object.fromEntries(rows.map(row =>"
        " [row.dataset.name, getComputedStyle(row.querySelector('circle')).fill]))"
    )
    curves = tab.locator(".chart").first.evaluate(
        """chart => Object.fromEntries(chart.data.filter(t => t.mode === "markers").map(t => {
            const parts = [1, 3, 5].map(k => parseInt(t.marker.color.slice(k, k + 2), 16));
            return [t.legendgroup, `rgb(${parts.join(", ")})`];
        }))"""
    )
    assert colours == curves
    red, green, blue = colours["pca"].removeprefix("rgb(").removesuffix(")").split(", ")
    assert red == green == blue  # baselines are grey


def test_the_plot_follows_the_choice_and_ranks_say_whose_they_are(tab: Any) -> None:
    second = tab.locator(".ranking li").nth(1).bounding_box()
    tab.locator(".choose summary").click()
    tab.locator('input.one[value="latfr"]').uncheck()
    assert "latfr" not in names(tab, ".ranking li")
    first = tab.locator(".ranking li:visible").nth(0).bounding_box()
    after = tab.locator(".ranking li:visible").nth(1).bounding_box()
    assert after["y"] - first["y"] == second["height"]  # no gap is left
    assert "Ranks are those of the whole board" in tab.locator(".seen").first.inner_text()
    tab.locator(".ranked-only").check()
    assert not set(NOT_REPLICATED) & set(names(tab, ".ranking li"))
    assert not tab.locator(".ranking .block").is_visible()
    assert not tab.locator("tr.block").first.is_visible()


def test_the_auditors_table_follows_the_choice(tab: Any) -> None:
    go(tab, "#adults-gender?without=sofair")
    tab.locator("summary", has_text="Auditors side by side").click()
    shown = set(names(tab, "details tr"))
    assert "latfr" in shown
    assert "sofair" not in shown


def test_pointing_at_a_row_lights_its_curve_and_its_other_rows(tab: Any) -> None:
    tab.locator(".ranking li[data-name=latfr]").hover()
    assert "lit" in tab.locator("tr[data-name=latfr]").first.get_attribute("class")
    bright = tab.locator(".chart").first.evaluate(
        "chart => [...new Set(chart.data.filter(t => !(t.opacity < 1)).map(t => t.legendgroup))]"
    )
    assert bright == ["latfr"]


def test_a_click_opens_the_method_keeps_the_choice_and_back_closes_it(tab: Any) -> None:
    go(tab, "#adults-gender?without=latfr")
    tab.locator(".ranking li[data-name=sofair] a").click()
    assert tab.evaluate("location.hash") == "#adults-gender/sofair?without=latfr"
    assert tab.locator(".card:visible h4").inner_text().startswith("sofair")
    assert "latfr" not in names(tab, ".ranking li")
    tab.go_back()
    tab.wait_for_selector(".cards", state="hidden")
    assert tab.evaluate("location.hash") == "#adults-gender?without=latfr"


def test_a_view_closed_by_key_leaves_the_keyboard_at_its_row(tab: Any) -> None:
    tab.locator(".ranking li[data-name=sofair] a").focus()
    tab.keyboard.press("Enter")
    assert tab.locator(".card:visible").count() == 1
    tab.locator("a.close:visible").focus()
    tab.keyboard.press("Enter")
    assert tab.locator(".card:visible").count() == 0
    here = "document.activeElement.closest('li').dataset.name"
    assert tab.evaluate(here) == "sofair"


@pytest.mark.parametrize("address", ["#%", "#nowhere/sofair", "#adults-gender?without=%"])
def test_an_address_that_means_nothing_does_no_harm(tab: Any, address: str) -> None:
    go(tab, address)
    assert len(names(tab, ".ranking li")) == 7


def test_a_link_to_the_glossary_opens_it_and_changes_nothing_else(tab: Any) -> None:
    go(tab, "#adults-gender/sofair?without=latfr")
    tab.locator(".help summary").click()
    tab.locator(".help a").click()
    tab.wait_for_selector("#glossary dl", state="visible")
    assert tab.locator(".card:visible").count() == 1
    assert "latfr" not in names(tab, ".ranking li")


@pytest.mark.thorough
def test_an_address_of_the_glossary_opens_it_in_a_new_tab(browser: Any, target: Path) -> None:
    tab, complaints = opened(browser, target, at="#glossary", drawn=False)
    tab.wait_for_selector("#glossary dl", state="visible")
    assert len(names(tab, ".ranking li")) == 7
    assert complaints == []
    tab.close()


def test_few_columns_are_seen_until_all_are_asked_for(tab: Any) -> None:
    heads = tab.locator("table.sortable").first.locator("thead th:visible")
    assert heads.count() <= 7
    tab.locator("input.wide").first.check()
    assert heads.count() > 10
    assert "columns=all" in tab.evaluate("location.hash")


def test_labels_of_points_are_legible_and_allowed_by_the_policy(tab: Any) -> None:
    tab.emulate_media(color_scheme="dark")
    chart = tab.locator(".chart").first
    ground = "getComputedStyle(document.documentElement).getPropertyValue('--ground').trim()"
    drawn = f"chart => chart._fullLayout.hoverlabel.bgcolor === {ground}"
    for _ in range(100):  # the page draws its charts anew a moment later
        if chart.evaluate(drawn):
            break
        tab.wait_for_timeout(50)
    chart.evaluate(
        """chart => Plotly.Fx.hover(chart, [{
            curveNumber: chart.data.findIndex(t => t.mode === "markers"), pointNumber: 0,
        }])"""
    )
    label = tab.locator(".hoverlayer .hovertext").first
    label.wait_for()
    assert label.locator("path").evaluate("box => getComputedStyle(box).fill") == "rgb(23, 24, 26)"
    text = label.locator("text").first
    assert text.evaluate("text => getComputedStyle(text).fill") == "rgb(236, 236, 238)"
    tab.emulate_media(color_scheme="light")


def check_it_fits(tab: Any, viewport: dict[str, int]) -> None:
    """Nothing is off the screen; first the plot, then the table, then the charts; not too long."""
    width = viewport["width"]
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    for mark in tab.locator(".ranking li").all():
        box = mark.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        name, plot = (mark.locator(one).bounding_box() for one in ("a.name", "svg.marks"))
        assert name["x"] + name["width"] <= plot["x"] + 1
        assert plot["width"] >= 150
    order = tab.evaluate(
        "[...document.querySelectorAll('.ranking, table.sortable, .chart')].slice(0, 3)"
        ".map(one => one.className)"
    )
    assert order[0].startswith("ranking")
    assert order[1:] == ["sortable", "chart js-plotly-plot"]
    # Four screens of a desk, or of a phone
    assert tab.evaluate("document.documentElement.scrollHeight") < 4 * viewport["height"]


def test_a_desk_shows_plot_table_and_charts_in_a_short_page(tab: Any) -> None:
    check_it_fits(tab, DESK)


@pytest.mark.thorough
def test_a_phone_shows_plot_table_and_charts_in_a_short_page(browser: Any, target: Path) -> None:
    tab, complaints = opened(browser, target, viewport=PHONE)
    check_it_fits(tab, PHONE)
    assert complaints == []
    tab.close()


def test_no_chart_stands_in_the_way_of_the_keyboard(tab: Any) -> None:
    assert tab.locator(".modebar-btn").count() == 0
    stops = tab.locator(".chart a[href], .chart button, .chart [tabindex='0']").count()
    assert stops == 0


def test_paper_has_everything_on_white_without_controls(tab: Any) -> None:
    tab.emulate_media(media="print", color_scheme="dark")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.evaluate("getComputedStyle(document.body).color") == "rgb(28, 28, 30)"
    assert tab.locator("details:not([open])").count() == 0
    assert not tab.locator(".csv, .bar, .wide").first.is_visible()
    assert tab.locator(".ranking circle").first.is_visible()
    font = "chart => chart.layout.font.color"
    assert set(tab.locator(".chart").evaluate_all(f"all => all.map({font})")) == {"#1c1c1e"}
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.locator("details:not([open])").count() > 0
    tab.emulate_media(media="screen", color_scheme="light")


@pytest.mark.thorough
def test_nothing_is_wider_than_a_sheet_of_paper(browser: Any, tmp_path: Path) -> None:
    report = gather(stored(tmp_path), load_registry())
    command = "fairbench run --methods sofair,latfr --dataset adults --budget quick"
    run = RunRecord("run", "2026-01-01T00:00:00+00:00", command, {}, {"torch": "2.13.0"})
    target = tmp_path / "report.html"
    target.write_text(page(replace(report, provenance=(run,))), encoding="utf-8")
    sheet = {"width": 718, "height": 1000}  # A4 with margins
    tab, complaints = opened(browser, target, viewport=sheet)
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.locator("table.runs").is_visible()
    assert tab.evaluate("document.documentElement.scrollWidth") <= 718
    assert complaints == []
    tab.close()


def test_highlighted_rows_are_in_colour_and_the_others_grey(tmp_path: Path) -> None:
    (panel,) = gather(stored(tmp_path), load_registry()).datasets[0].panels
    looks = looks_of([panel])
    plot = draw_ranking(replace(panel, highlighted=("sofair",)), looks, {})
    for variant, marks in plot.marks.items():
        assert ('class="marks grey"' in marks) == (variant.method != "sofair")


class FairestI(Metric):
    """A metric of somebody's own plugin."""

    name = "fairest-i"
    summary = "I of the fairest point"
    level = "curve"
    direction = "lower"
    columns: ClassVar = {"i_fairest": "I of the fairest point, nats", "i_fairest_low": "its end"}

    def compute(self, evaluation: CurveEvaluation) -> dict[str, float | None]:
        return {"i_fairest": min(point["mutual_information"] for point in evaluation.points)}


@pytest.mark.thorough
def test_a_plugins_metric_of_curves_is_a_column_with_its_direction_and_meaning(
    browser: Any, tmp_path: Path
) -> None:
    registry = load_registry()
    registry.metrics.add(FairestI, "a plugin")
    target = tmp_path / "report.html"
    target.write_text(page(gather(stored(tmp_path), registry)), encoding="utf-8")
    tab, complaints = opened(browser, target)
    head = tab.locator("table.sortable").first.locator("thead th", has_text="i_fairest")
    assert head.count() == 1
    assert not head.is_visible()
    tab.locator("input.wide").first.check()
    assert head.is_visible()
    assert head.get_attribute("data-better") == "lower"
    assert head.get_attribute("data-meaning") == "I of the fairest point, nats"
    head.locator("button").click()
    values = tab.locator("table.sortable").first.locator("tbody tr:visible td:last-child")
    figures = [float(text) for text in values.all_inner_texts() if text]
    assert len(figures) > 1
    assert figures == sorted(figures)
    assert complaints == []
    tab.close()


def another_board(records: list[Record]) -> list[Record]:
    """A second board, of a few methods."""
    units = [one for one in records if isinstance(one, UnitRecord)]
    other = [
        unit.replace(key=f"b{unit.key[1:]}", dataset="compas-race", fingerprint="b" * 64)
        for unit in units[:3]
    ]
    return [*records, *other]


@pytest.mark.slow
def test_an_address_opens_another_board_than_the_first(browser: Any, tmp_path: Path) -> None:
    target = written(tmp_path, another_board)
    tab, _ = opened(browser, target, drawn=False)
    assert tab.locator(".board:visible h2").inner_text() == "adults-gender"
    tab.close()
    tab, _ = opened(browser, target, at="#compas-race", drawn=False)
    assert tab.locator(".board:visible h2").inner_text() == "compas-race"
    tab.close()


@pytest.mark.thorough
def test_no_view_hides_below_a_bar_of_two_lines(browser: Any, tmp_path: Path) -> None:
    def long_names(records: list[Record]) -> list[Record]:
        units = [one for one in another_board(records) if isinstance(one, UnitRecord)]
        others = [one.replace(dataset="a-table-" * 9) for one in units if one.dataset[0] == "c"]
        return [*records, *others]

    target = written(tmp_path, long_names)
    low = {"width": 820, "height": 500}
    for follow in (True, False):
        at = "" if follow else "#adults-gender/identity"
        tab, complaints = opened(browser, target, at=at, viewport=low, drawn=follow)
        if follow:
            go(tab, "#adults-gender/identity")
        tab.wait_for_timeout(1000)  # it scrolls smoothly
        bar, view = (tab.locator(one).bounding_box() for one in (".bar", ".cards:visible"))
        assert bar["height"] > 60
        assert view["y"] >= bar["y"] + bar["height"]
        assert complaints == []
        tab.close()


@pytest.mark.slow
def test_a_track_can_be_chosen(browser: Any, tmp_path: Path) -> None:
    report = gather(stored(tmp_path), load_registry())
    (dataset,) = report.datasets
    (blind,) = dataset.panels
    aware = replace(blind.only(["sofair"]), group=blind.group._replace(track=Track.AWARE))
    target = tmp_path / "report.html"
    both = replace(report, datasets=(replace(dataset, panels=(blind, aware)),))
    target.write_text(page(both), encoding="utf-8")
    tab, complaints = opened(browser, target, drawn=False)
    tab.locator(".choose summary").click()
    tab.locator("select.track").select_option("aware")
    assert names(tab, ".ranking li") == ["sofair"]
    assert tab.evaluate("location.hash") == "#adults-gender?track=aware"
    assert complaints == []
    tab.close()


@pytest.fixture(scope="module")
def published(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page of a published board, of more rows than can be told apart by colours."""
    board = find_board("adults-gender-5", load_registry())
    file = tmp_path_factory.mktemp("board") / "board.html"
    file.write_text(page(gather_boards([board], load_registry())), encoding="utf-8")
    tab, complaints = opened(browser, file, viewport=DESK)
    yield tab
    assert complaints == []
    tab.close()


def legend(tab: Any) -> list[str]:
    chart = tab.locator(".board:not([hidden]) .panel:not([hidden]) .chart").first
    found: list[str] = chart.locator(".legendtext").evaluate_all(
        "texts => texts.map(text => text.textContent)"
    )
    return found


@pytest.mark.thorough
def test_charts_have_the_curves_of_the_rows_that_are_seen(published: Any) -> None:
    go(published, "#adults-gender")
    first = set(legend(published)[:-1])
    assert 5 < len(first) <= 12
    go(published, "#adults-gender?find=inl")
    assert legend(published)[:-1] == names(published, ".ranking li") == ["inlp"]
    go(published, "#adults-gender?without=kept-cells,funnel")
    left_out = {name for name in first if name.startswith(("kept-cells", "funnel"))}
    assert left_out
    assert set(legend(published)[:-1]) == first - left_out
    published.locator(".choose summary").click()
    published.locator(".controls .none").click()
    assert len(legend(published)) == 1  # the line of x for some


@pytest.mark.thorough
def test_a_method_of_several_rows_is_found_by_its_name_alone(published: Any) -> None:
    go(published, "#adults-gender/sofair")
    assert published.locator(".card:visible h4").inner_text().startswith("sofair (default)")
    assert "sofair (default)" in legend(published)
    go(published, "#adults-gender")
    at_first = legend(published)
    go(published, "#adults-gender/nobody")
    assert published.locator(".card:visible").count() == 0
    assert legend(published) == at_first


@pytest.mark.thorough
def test_a_method_of_one_track_leaves_the_colours_of_the_other(published: Any) -> None:
    go(published, "#adults-gender/kept-cells")
    chart = published.locator('.panel[data-track="aware"] .chart').first
    chart.scroll_into_view_if_needed()
    published.wait_for_function("chart => chart.dataset.drawn", arg=chart.element_handle())
    assert "conditional-quantile" in chart.locator(".legendtext").all_text_contents()


@pytest.mark.thorough
def test_a_track_leaves_rows_of_no_other(published: Any) -> None:
    go(published, "#adults-gender?track=aware")
    shown = published.locator("tr[data-track]:not([hidden])").evaluate_all(
        "rows => [...new Set(rows.map(row => row.dataset.track))]"
    )
    assert shown == ["aware"]
    go(published, "#adults-gender?track=nobody")
    assert published.locator(".no-track:visible").count() == 1


@pytest.mark.thorough
def test_words_in_place_of_a_mark_stay_in_their_row_on_a_phone(published: Any) -> None:
    published.set_viewport_size({"width": 360, "height": 800})
    go(published, "#adults-gender?track=aware")
    rows = published.locator(".ranking li", has=published.locator("span.marks.note"))
    assert rows.locator("visible=true").count()
    for row in rows.locator("visible=true").all():
        assert row.evaluate("row => row.scrollHeight <= row.clientHeight")
    published.set_viewport_size(DESK)


@pytest.mark.thorough
def test_truth_values_are_sorted_and_the_skip_link_keeps_the_choice(published: Any) -> None:
    go(published, "#adults-gender?find=cells&columns=all")
    head = published.locator("table.sortable thead button", has_text="may be best").first
    column = head.evaluate("button => button.closest('th').cellIndex")
    for falling in (False, True):
        head.click()
        cells = (
            published.locator("table.sortable")
            .first.locator("tbody")
            .first.evaluate(
                "(body, at) => [...body.rows].map(row => row.cells[at].textContent)", column
            )
        )
        assert len(set(cells)) == 2
        assert cells == sorted(cells, reverse=falling)
    published.locator(".skip").focus()
    published.keyboard.press("Enter")
    assert published.evaluate("location.hash") == "#adults-gender?find=cells&columns=all"
    assert published.evaluate("document.activeElement.id") == "main"
