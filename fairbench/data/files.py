"""Where a dataset's files are: data root, else cache, else download; nothing unchecked is used."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from fairbench.api import DataFile, Dataset
from fairbench.errors import DataError

DATA_ENV = "FAIRBENCH_DATA"
"""Environment variable: a folder that holds data files, like ``--data-root``."""
CACHE_ENV = "FAIRBENCH_CACHE"
"""Environment variable: where downloads are kept; by default the user's cache folder."""
OFFLINE_ENV = "FAIRBENCH_OFFLINE"
"""Environment variable: set to 1, nothing is ever downloaded."""


@dataclass(frozen=True)
class Found:
    """A folder that holds all files of a dataset, checked.

    Parameters
    ----------
    folder : Path
        Where they are.
    origin : str
        ``data root``, ``cache``, ``download``, ``own table``, or ``generated`` for a dataset
        without files.
    """

    folder: Path
    origin: str


def cache_folder() -> Path:
    """Folder for downloads: ``FAIRBENCH_CACHE``, else the platform's cache folder."""
    import pooch

    return Path(os.environ.get(CACHE_ENV) or pooch.os_cache("fairbench"))


def data_root(given: Path | None) -> Path | None:
    """The folder from ``--data-root``, else from ``FAIRBENCH_DATA``; DataError if not a folder."""
    text = str(given) if given is not None else os.environ.get(DATA_ENV)
    if not text:
        return None
    root = Path(text).expanduser()
    if not root.is_dir():
        name = "--data-root" if given is not None else DATA_ENV
        raise DataError(f"{name} is not a folder: {root}", "Give the folder that holds the files.")
    return root


def find_files(dataset: type[Dataset], root: Path | None, *, download: bool = True) -> Found | None:
    """Find all files of a dataset and check them against their sha256.

    Parameters
    ----------
    dataset : type of Dataset
        Names the files.
    root : Path, optional
        Data root: ``root/<dataset.folder>/`` and ``root/`` itself are searched.
    download : bool
        Fetch what is nowhere on disk.

    Returns
    -------
    Found or None
        None where files are missing and cannot be downloaded.

    Raises
    ------
    DataError
        A file is there but truncated, altered or unreadable, or only some are there.
    """
    if dataset.home is not None:
        return Found(dataset.home, "own table")
    if not dataset.files:
        return Found(cache_folder() / dataset.folder, "generated")
    folders = [(root / dataset.folder, "data root"), (root, "data root")] if root else []
    folders.append((cache_folder() / dataset.folder, "cache"))
    for folder, origin in folders:
        present = [file for file in dataset.files if (folder / file.name).exists()]
        if not present:
            continue
        if len(present) < len(dataset.files) and origin == "cache":
            continue  # an interrupted download: fetch the rest
        for file in dataset.files:
            check_file(folder / file.name, file)
        return Found(folder, origin)
    if not download or os.environ.get(OFFLINE_ENV) == "1":
        return None
    return _download(dataset)


def check_file(path: Path, file: DataFile) -> None:
    """Raise DataError unless the file at ``path`` is the one described, byte for byte."""
    if not path.exists():
        raise DataError(
            f"{path} is missing, though others of its dataset are beside it.",
            f"Put the original {file.name} ({file.size:,} bytes) there, or take the folder away.",
        )
    digest = hashlib.sha256()
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Check it.") from error
    if digest.hexdigest() != file.sha256:
        what = "truncated" if size < file.size else "altered"
        raise DataError(
            f"{path} is {what}: expected sha256 {file.sha256} ({file.size:,} bytes), "
            f"found {digest.hexdigest()} ({size:,} bytes).",
            f"Delete it and download it again: {file.urls[0]}"
            if file.urls
            else "Get the original file again.",
        )


def _download(dataset: type[Dataset]) -> Found | None:
    """Fetch all files into the cache; None where there is no network."""
    import logging

    import pooch

    pooch.get_logger().setLevel(logging.WARNING)
    folder = cache_folder() / dataset.folder
    for file in dataset.files:
        if not any(_fetch(url, file, folder) for url in file.urls):
            return None
    return Found(folder, "download")


def _fetch(url: str, file: DataFile, folder: Path) -> bool:
    """Try one address. Pooch writes aside, checks the sha256 and only then renames."""
    import pooch

    try:
        pooch.retrieve(
            url,
            known_hash=f"sha256:{file.sha256}",
            fname=file.name,
            path=folder,
            downloader=pooch.HTTPDownloader(timeout=10),
        )
    # No network, a dead host, a page in place of the file: each means "try the next address".
    except (OSError, ValueError):
        return False
    return True
