"""What a restored encoder must not open is found however it is named."""

from __future__ import annotations

import os
import pickle
import socket
import sys
import time
from pathlib import Path

import pytest

from fairbench.runs.isolated_encoding import _call_alone
from fairbench.runs.opened_files import no_new_files
from fairbench.runs.own_process import call_in_own_process
from fairbench.runs.plugin_values import ContractError

LEAK = "leak.npy"

MODULE = """
from pathlib import Path

left = Path(__file__).with_name("leak.npy")
known = left.read_text() if left.exists() else None


def encode():
    return known
"""


def guarded(way: str, folder: Path, since: float) -> None:
    with no_new_files(since, "mine", but=folder / "encoder"):
        open_in_some_way(way, folder)


def open_in_some_way(way: str, folder: Path) -> None:
    if way == "the encoder itself":
        (folder / "encoder").read_text()
    elif way == "an older file":
        Path(os.__file__).read_text()
    elif way == "a module":
        import this  # noqa: F401
    elif way == "its name":
        (folder / LEAK).read_text()
    elif way == "the root of its process":
        Path(f"/proc/self/root{folder / LEAK}").read_text()
    elif way == "compiled modules":
        (folder / "__pycache__" / LEAK).read_text()
    elif way == "a folder":
        opened = os.open(folder, os.O_RDONLY)
        os.close(os.open(LEAK, os.O_RDONLY, dir_fd=opened))
    elif way == "writing":
        (folder / "__pycache__" / "new").write_text("s")
    elif way == "a link":
        os.symlink("what s is", folder / "link")
    elif way == "a socket":
        with socket.socket() as one, pytest.raises(ConnectionError):
            one.connect(("127.0.0.1", 9))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MODULE)
    time.sleep(0.05)
    return tmp_path


@pytest.fixture
def since(folder: Path) -> float:
    """When the training began; it has left files."""
    began = time.time()
    time.sleep(0.05)
    (folder / "__pycache__").mkdir()
    for name in ("encoder", LEAK, f"__pycache__/{LEAK}"):
        (folder / name).write_text("s")
    return began


@pytest.mark.parametrize("way", ["the encoder itself", "an older file", "a module"])
def test_what_was_there_before_may_be_read(way: str, folder: Path, since: float) -> None:
    call_in_own_process(guarded, way, folder, since)


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux names files")
@pytest.mark.parametrize(
    "way",
    [
        *("its name", "the root of its process", "compiled modules", "a folder"),
        *("writing", "a link", "a socket"),
    ],
)
def test_what_the_training_left_is_refused(way: str, folder: Path, since: float) -> None:
    with pytest.raises(ContractError, match="All that encode and decode need is in state"):
        call_in_own_process(guarded, way, folder, since)


def test_so_is_what_a_module_reads_while_it_is_imported(
    folder: Path, since: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    (folder / LEAK).rename(folder / "elsewhere")
    import mine  # type: ignore[import-not-found]

    (folder / "elsewhere").rename(folder / LEAK)
    content = pickle.dumps((mine.encode, ()))
    del sys.modules["mine"]
    with pytest.raises(ContractError, match=f"reads .*{LEAK}, which is newer than its training"):
        call_in_own_process(_call_alone, content, since, "mine", folder / "encoder", [])
