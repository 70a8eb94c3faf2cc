"""Find a dataset's files in the data root, else the cache, else by download, and check them."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fairbench.api.dataset import DataFile, Dataset
from fairbench.errors import DataError

DATA_ENV = "FAIRBENCH_DATA"
"""Environment variable: a folder that holds data files, like ``--data-root``."""
CACHE_ENV = "FAIRBENCH_CACHE"
"""Environment variable: folder for downloads; by default the user's cache folder."""
OFFLINE_ENV = "FAIRBENCH_OFFLINE"
"""Environment variable: 1 forbids downloads."""


@dataclass(frozen=True)
class DatasetFiles:
    """A folder with all files of a dataset, checked."""

    folder: Path
    # ``data root``, ``cache``, ``download``, ``own table``, or ``generated`` for a dataset without
    # files
    origin: str
    archive: str | None = None  # A file in the folder that replaces the dataset's files

    @property
    def path(self) -> Path:
        """The folder, or the archive in it."""
        return self.folder / self.archive if self.archive else self.folder


def cache_folder() -> Path:
    """Return the folder for downloads: ``FAIRBENCH_CACHE``, else the platform's cache folder.

    A user without a home, as in some containers, has one for temporary files.
    """
    import pooch

    try:
        return Path(os.environ.get(CACHE_ENV) or pooch.os_cache("fairbench")).expanduser()
    except RuntimeError:
        return Path(tempfile.gettempdir(), f"fairbench-{os.getuid()}")


def data_root(option: Path | None) -> Path | None:
    """Return the folder of ``--data-root``, else of ``FAIRBENCH_DATA``; DataError if it is none."""
    text = str(option) if option is not None else os.environ.get(DATA_ENV)
    if not text:
        return None
    root = Path(text).expanduser()
    if not root.is_dir():
        name = "--data-root" if option is not None else DATA_ENV
        raise DataError(f"{name} is not a folder: {root}", "Give the folder that holds the files.")
    return root


def find_files(
    dataset: type[Dataset], root: Path | None, *, download: bool = True
) -> DatasetFiles | None:
    """Find all files of a dataset, or the archive that replaces them, and check them.

    Files are checked against their sha256 where one is known; the rest, and archives, are left
    to the loader.

    ``root``: data root: ``root/<dataset.folder>/`` and ``root/`` itself are searched. ``download``:
    whether files that are not on disk are downloaded.
    """
    generated = DatasetFiles(cache_folder() / dataset.folder, "generated")
    if dataset.home is not None:
        return DatasetFiles(dataset.home, "own table")
    if not dataset.files:
        return generated
    folders = [(root / dataset.folder, "data root"), (root, "data root")] if root else []
    folders.append((cache_folder() / dataset.folder, "cache"))
    for folder, origin in folders:
        present = [file for file in dataset.files if (folder / file.name).exists()]
        complete = len(present) == len(dataset.files)
        if not complete and dataset.archive and (folder / dataset.archive).exists():
            return DatasetFiles(folder, origin, dataset.archive)
        if not present:
            continue
        if not complete and origin == "cache" and any(file.urls for file in dataset.files):
            continue  # an interrupted download: fetch the rest
        for file in dataset.files:
            check_file(folder / file.name, file)
        return DatasetFiles(folder, origin)
    if dataset.optional:
        return generated
    if not download or os.environ.get(OFFLINE_ENV) == "1":
        return None
    return _download(dataset)


def paths_of_files(datasets: Iterable[type[Dataset]], root: Path | None) -> list[Path]:
    """Return where the files of datasets are looked for: the files, and folders that are theirs.

    ``root``: as in :func:`find_files`.
    """
    paths: list[Path] = []
    for dataset in datasets:
        names = [file.name for file in dataset.files]
        names += [name for name in (dataset.folder, dataset.archive) if name]
        paths += [
            place / name
            for place in (root, cache_folder(), dataset.home)
            if place is not None
            for name in names
        ]
    return paths


def name_files(dataset: type[Dataset]) -> str:
    """Return the names of a dataset's files, and of the archive, for messages."""
    names = ", ".join(file.name for file in dataset.files)
    return f"{names} (or {dataset.archive})" if dataset.archive else names


def say_origin(dataset: type[Dataset]) -> str:
    """Return a sentence that says where a dataset's files are from."""
    urls = [file.urls[0] for file in dataset.files if file.urls]
    if urls and len(urls) == len(dataset.files):
        return f"They come from {', '.join(urls)}"
    return f"They are at no address that fairbench knows; about the data: {dataset.url}"


def check_file(path: Path, file: DataFile) -> None:
    """Raise DataError unless the file at ``path`` has the sha256, or exists where none is known."""
    length = "" if file.size is None else f" ({file.size:,} bytes)"
    if not path.exists():
        raise DataError(
            f"{path} is missing, though other files of its dataset are there.",
            f"Put the original {file.name}{length} there, or remove the folder.",
        )
    if file.sha256 is None:
        return
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Check it.") from error
    if digest.hexdigest() != file.sha256:
        what = "truncated" if size < (file.size or 0) else "altered"
        raise DataError(
            f"{path} is {what}: expected sha256 {file.sha256}{length}, "
            f"found {digest.hexdigest()} ({size:,} bytes).",
            f"Delete it and download it again: {file.urls[0]}"
            if file.urls
            else "Get the original file again.",
        )


def _download(dataset: type[Dataset]) -> DatasetFiles | None:
    """Download all files to the cache; None without a network, or without a sha256 to check."""
    if any(file.sha256 is None for file in dataset.files):
        return None
    folder = cache_folder() / dataset.folder
    for file in dataset.files:
        if not any(fetch(url, file, folder) for url in file.urls):
            return None
    return DatasetFiles(folder, "download")


def fetch(url: str, file: DataFile, folder: Path) -> bool:
    """Download a file from one address; return whether it is there now.

    pooch writes to a temporary file, checks the sha256, then renames.
    """
    import logging

    import pooch

    pooch.get_logger().setLevel(logging.WARNING)
    try:
        pooch.retrieve(
            url,
            known_hash=f"sha256:{file.sha256}",
            fname=file.name,
            path=folder,
            downloader=pooch.HTTPDownloader(timeout=10),
        )
    # No network, a dead host, a page instead of the file: each means "try the next address".
    except (OSError, ValueError):
        return False
    return True
