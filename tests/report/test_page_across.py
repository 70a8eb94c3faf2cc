"""The page's verdict across tables."""

from dataclasses import replace
from pathlib import Path

from fairbench.leaderboard.across import compare_across
from fairbench.registry import load_registry
from fairbench.report.gather import gather
from fairbench.report.page import page
from tests.leaderboard.test_across import TEN, ten_tables
from tests.support.runs import stored


def test_the_page_has_a_verdict_where_tables_are_replicated(tmp_path: Path) -> None:
    registry = load_registry()
    report = gather(stored(tmp_path), registry)
    assert report.verdicts == ()
    assert 'id="across"' not in page(report)
    verdicts, _ = compare_across(ten_tables(), TEN, registry)
    html = page(replace(report, verdicts=tuple(verdicts)))
    part = html[html.index('id="across"') :].partition("</section>")[0]
    assert part.index("sofair") < part.index("msfair") < part.index("pca")
    assert "10 tables: table-0, table-1" in part
    assert "The reference is drop-features." in part
    assert html.index('id="dataset-0"') < html.index('id="across"')  # boards come first


def test_its_columns_are_headed(tmp_path: Path) -> None:
    registry = load_registry()
    verdicts, _ = compare_across(ten_tables(), TEN, registry)
    html = page(replace(gather(stored(tmp_path), registry), verdicts=tuple(verdicts)))
    for column in ("wins", "P(better)", "mean rank"):
        assert f">{column}</button>" in html
