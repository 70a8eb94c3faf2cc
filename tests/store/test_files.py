"""Files beside the store: what is said where one cannot be written."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from fairbench.errors import StoreError
from fairbench.store import files


def test_a_full_disk_is_told_with_what_frees_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = tmp_path / files.FOLDER
    monkeypatch.setattr(files, "write_atomically", full)
    with pytest.raises(StoreError) as error:
        files.write(folder, b"content", "npz")
    says = f".npz cannot be written to {folder}: No space left on device."
    assert error.value.message.endswith(says)
    assert "fairbench clean --dry-run" in error.value.hint
    assert "resume with the same command" in error.value.hint
    assert files.files(folder) == []
