"""What is installed beside fairbench, where its list of files is damaged."""

from pathlib import Path

import pytest

from fairbench.errors import PluginError
from fairbench.registry import source


def test_a_package_whose_list_of_files_is_damaged_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    info = tmp_path / "acme_fair-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-fair\nVersion: 1.0\n")
    (info / "RECORD").write_text("acme.py,,\n\nacme_more.py,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    source._distributions.cache_clear()
    with pytest.raises(PluginError, match="installed package acme-fair cannot be read") as said:
        source._distributions()
    assert "pip install --force-reinstall acme-fair" in said.value.hint
