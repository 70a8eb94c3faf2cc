"""Data files: what is found, and what is said of bad ones."""

import hashlib
from pathlib import Path

import pytest

from fairbench.api.dataset import DataFile, Dataset, Table
from fairbench.data.files import find_files
from fairbench.data.loading import load_dataset
from fairbench.errors import DataError
from tests.support.small_table import make_table

CONTENT = b"the real thing\n"


class Filed(Dataset):
    name = "filed"
    summary = "a dataset of one file"
    folder = "filed"
    url = "https://example.org"
    files = (
        DataFile(
            "table.txt",
            ("https://example.org/table.txt",),
            hashlib.sha256(CONTENT).hexdigest(),
            len(CONTENT),
        ),
    )

    def load(self, folder: Path) -> Table:
        return make_table(500, seed=1)


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAIRBENCH_OFFLINE", "1")
    monkeypatch.setenv("FAIRBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FAIRBENCH_DATA", raising=False)


def put(folder: Path, content: bytes = CONTENT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.txt").write_bytes(content)
    return folder


def test_files_are_found_in_the_datasets_folder_or_in_the_root(tmp_path: Path) -> None:
    for folder in (tmp_path / "a" / "filed", tmp_path / "b"):
        put(folder)
    for root, folder in ((tmp_path / "a", tmp_path / "a" / "filed"), (tmp_path / "b",) * 2):
        found = find_files(Filed, root)
        assert found is not None
        assert (found.folder, found.origin) == (folder, "data root")


def test_a_user_without_a_home_has_a_cache_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_home(*_: object) -> str:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("FAIRBENCH_CACHE")
    monkeypatch.setattr("pooch.os_cache", no_home)
    put(tmp_path / "filed")
    found = find_files(Filed, tmp_path)
    assert found is not None
    assert found.origin == "data root"


def test_the_environment_names_a_root_and_the_cache_is_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "cache" / "filed")
    assert load_dataset(Filed).origin.startswith("cache")
    put(tmp_path / "root")
    monkeypatch.setenv("FAIRBENCH_DATA", str(tmp_path / "root"))
    assert load_dataset(Filed).origin.startswith("data root")


@pytest.mark.parametrize(
    ("content", "what"), [(CONTENT[:-3], "truncated"), (CONTENT.upper(), "altered")]
)
def test_a_bad_file_is_told_with_both_digests(tmp_path: Path, content: bytes, what: str) -> None:
    put(tmp_path, content)
    with pytest.raises(DataError, match=what) as caught:
        find_files(Filed, tmp_path)
    text = str(caught.value)
    assert "table.txt" in text
    assert Filed.files[0].sha256 in text
    assert hashlib.sha256(content).hexdigest() in text
    assert "download it again" in text


def test_without_files_network_or_twin_the_error_says_where_to_get_them() -> None:
    with pytest.raises(DataError, match="no network") as caught:
        load_dataset(Filed)
    assert "--data-root" in str(caught.value)


def test_a_data_root_that_is_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a folder"):
        load_dataset(Filed, root=tmp_path / "nowhere")


class Unpublished(Filed):
    """Two files without a known sha256, or a zip in their place."""

    name = "unpublished"
    folder = "unpublished"
    files = (DataFile("one.csv"), DataFile("two.csv"))
    archive = "both.zip"


def write(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(CONTENT)
    return folder


def test_files_without_a_known_sha256_are_found_and_left_to_the_loader(tmp_path: Path) -> None:
    found = find_files(Unpublished, write(tmp_path, "one.csv", "two.csv"))
    assert found is not None
    assert (found.path, found.archive) == (tmp_path, None)


def test_an_archive_stands_in_place_of_the_files(tmp_path: Path) -> None:
    write(tmp_path / "unpublished", "both.zip")
    assert load_dataset(Unpublished, root=tmp_path).origin.endswith("both.zip")
    # Some of the files beside it are no reason to complain about the others ...
    write(tmp_path / "unpublished", "one.csv")
    found = find_files(Unpublished, tmp_path)
    assert found is not None
    assert found.path == tmp_path / "unpublished" / "both.zip"
    # ... and all of them come before it.
    write(tmp_path / "unpublished", "two.csv")
    found = find_files(Unpublished, tmp_path)
    assert found is not None
    assert found.path == tmp_path / "unpublished"


@pytest.mark.parametrize("where", ["root", "cache/unpublished"])
def test_one_file_of_two_is_an_error_wherever_it_is(tmp_path: Path, where: str) -> None:
    write(tmp_path / where, "one.csv")
    root = write(tmp_path / "root")
    with pytest.raises(DataError, match=r"two\.csv is missing"):
        find_files(Unpublished, root)


def test_what_has_no_sha256_is_never_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tempting(Unpublished):
        files = (DataFile("one.csv", ("https://example.org/one.csv",)),)

    def fetch(*arguments: object, **options: object) -> None:
        raise AssertionError("tried to download")

    monkeypatch.setenv("FAIRBENCH_OFFLINE", "0")
    monkeypatch.setattr("pooch.retrieve", fetch)
    assert find_files(Tempting, tmp_path) is None


def test_the_error_names_the_archive_too() -> None:
    with pytest.raises(DataError) as caught:
        load_dataset(Unpublished, require_real=True)
    assert "one.csv, two.csv (or both.zip)" in str(caught.value)
