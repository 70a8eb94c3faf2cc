"""Pages and tables are written whole, or stay as they are."""

from pathlib import Path
from typing import Any

import pytest

import tables


def test_who_stops_the_writing_loses_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    before = "<!-- columns: provenance -->\n\nold\n\n<!-- end of columns -->\n"
    page.write_text(before, encoding="utf-8")
    for name, value in (("PAGES", [page]), ("LEADERBOARDS", tmp_path), ("ROOT", tmp_path)):
        monkeypatch.setattr(tables, name, value)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        # All but the last step is done: the new text lies on the disk.
        patch.setattr(Path, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            tables.main()
    assert page.read_text(encoding="utf-8") == before
    assert list(tmp_path.iterdir()) == [page]
    tables.main()
    assert "| `fairbench` | " in page.read_text(encoding="utf-8")
