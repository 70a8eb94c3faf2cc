"""The search of the documentation site, whose pages open from the disk."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.browser import started

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from started()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of two pages, one in a folder, with the real theme and the real hook."""
    commands = pytest.importorskip("mkdocs.commands.build")
    load_config = pytest.importorskip("mkdocs.config").load_config
    folder = tmp_path_factory.mktemp("site")
    docs = folder / "docs"
    (docs / "below").mkdir(parents=True)
    (docs / "index.md").write_text("# Home\n\nNothing to see.\n")
    (docs / "below" / "page.md").write_text("# Leakage\n\nWhat an auditor finds.\n")
    real = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    features = yaml.safe_load(real[real.index("theme:") : real.index("plugins:")])
    config = {
        **features,
        "site_name": "small",
        "use_directory_urls": False,
        "extra_css": [],
        "plugins": ["search"],
        "hooks": [str(ROOT / "docs" / "hooks" / "offline.py")],
    }
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config))
    commands.build(load_config(str(folder / "mkdocs.yml")))
    return folder / "site"


@pytest.mark.slow
@pytest.mark.parametrize("page", ["index.html", "below/page.html"])
def test_the_search_finds_pages_that_are_opened_from_the_disk(
    browser: Any, site: Path, page: str
) -> None:
    tab = browser.new_page()
    complaints: list[str] = []
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda r: complaints.append(r.url) if r.url.startswith("http") else 0)
    tab.goto((site / page).as_uri())
    tab.locator(".md-search__input").fill("auditor")
    found = tab.locator(".md-search-result__link").first
    found.wait_for()
    assert found.get_attribute("href").partition("?")[0].endswith("below/page.html")
    assert complaints == []
    tab.close()
