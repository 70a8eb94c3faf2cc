"""Downloads from a real server: checked before they are cached, safe to make twice at once."""

import functools
import hashlib
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairbench.api.dataset import DataFile, Dataset, Table
from fairbench.data.files import find_files
from tests.support.small_table import make_table

CONTENT = b"a line of the real thing\n" * 40_000


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the address at which it is served."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)
    monkeypatch.delenv("FAIRBENCH_OFFLINE", raising=False)
    monkeypatch.setenv("FAIRBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def dataset(*urls: str) -> type[Dataset]:
    class Served(Dataset):
        name = "served"
        summary = "a dataset of one file"
        folder = "served"
        files = (DataFile("table.txt", urls, hashlib.sha256(CONTENT).hexdigest(), len(CONTENT)),)

        def load(self, folder: Path) -> Table:
            return make_table(500)

    return Served


@pytest.mark.parametrize("content", [CONTENT[:-1], b"", b"<html>Sign in</html>", CONTENT + b"x"])
def test_what_fails_its_checksum_is_not_cached(
    served: tuple[Path, str], cache: Path, content: bytes
) -> None:
    folder, address = served
    (folder / "table.txt").write_bytes(content)
    assert find_files(dataset(f"{address}/table.txt"), None) is None
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_a_mirror_stands_in_and_the_next_time_the_cache_does(
    served: tuple[Path, str], cache: Path
) -> None:
    folder, address = served
    (folder / "mirror.txt").write_bytes(CONTENT)
    both = dataset(f"{address}/gone.txt", f"{address}/mirror.txt")
    found = find_files(both, None)
    assert found is not None
    assert found.origin == "download"
    assert (found.folder / "table.txt").read_bytes() == CONTENT
    (folder / "mirror.txt").unlink()
    again = find_files(both, None)
    assert again is not None
    assert again.origin == "cache"


@pytest.mark.thorough
def test_two_processes_that_fetch_at_once_both_get_the_file(
    served: tuple[Path, str], cache: Path
) -> None:
    folder, address = served
    (folder / "table.txt").write_bytes(CONTENT)
    script = (
        "import sys; from fairbench.data.files import find_files\n"
        "from tests.data.test_downloads import dataset\n"
        "found = find_files(dataset(sys.argv[1]), None)\n"
        "print((found.folder / 'table.txt').stat().st_size)"
    )
    root = Path(__file__).parents[2]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, f"{address}/table.txt"],
            cwd=root,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    told = [process.communicate(timeout=120)[0].strip() for process in running]
    assert told == [str(len(CONTENT))] * 3
    files = [path.name for path in cache.rglob("*") if path.is_file()]
    assert files == ["table.txt"]
