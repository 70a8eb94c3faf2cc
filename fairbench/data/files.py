"""Where a dataset's files are: data root, else cache, else download; nothing unchecked is used."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from fairbench.api.dataset import DataFile, Dataset
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
    archive : str, optional
        The file in the folder that stands in place of the dataset's files.
    """

    folder: Path
    origin: str
    archive: str | None = None

    @property
    def path(self) -> Path:
        """The folder, or the archive in it."""
        return self.folder / self.archive if self.archive else self.folder


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
    """Find all files of a dataset, or the archive that stands in their place, and check them.

    Files are checked against their sha256 where one is known; the rest, and archives, are left
    to the loader.

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
    generated = Found(cache_folder() / dataset.folder, "generated")
    if dataset.home is not None:
        return Found(dataset.home, "own table")
    if not dataset.files:
        return generated
    folders = [(root / dataset.folder, "data root"), (root, "data root")] if root else []
    folders.append((cache_folder() / dataset.folder, "cache"))
    for folder, origin in folders:
        present = [file for file in dataset.files if (folder / file.name).exists()]
        complete = len(present) == len(dataset.files)
        if not complete and dataset.archive and (folder / dataset.archive).exists():
            return Found(folder, origin, dataset.archive)
        if not present:
            continue
        if not complete and origin == "cache" and any(file.urls for file in dataset.files):
            continue  # an interrupted download: fetch the rest
        for file in dataset.files:
            check_file(folder / file.name, file)
        return Found(folder, origin)
    if dataset.optional:
        return generated
    if not download or os.environ.get(OFFLINE_ENV) == "1":
        return None
    return _download(dataset)


def wanted(dataset: type[Dataset]) -> str:
    """The names of a dataset's files, and of the archive, for messages."""
    names = ", ".join(file.name for file in dataset.files)
    return f"{names} (or {dataset.archive})" if dataset.archive else names


def check_file(path: Path, file: DataFile) -> None:
    """Raise DataError unless the file at ``path`` is the one described.

    That is byte for byte where its sha256 is known; otherwise it only has to be there.
    """
    length = "" if file.size is None else f" ({file.size:,} bytes)"
    if not path.exists():
        raise DataError(
            f"{path} is missing, though others of its dataset are beside it.",
            f"Put the original {file.name}{length} there, or take the folder away.",
        )
    if file.sha256 is None:
        return
    digest = hashlib.sha256()
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
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


def _download(dataset: type[Dataset]) -> Found | None:
    """Fetch all files into the cache; None where there is no network, or no sha256 to check by."""
    if any(file.sha256 is None for file in dataset.files):
        return None
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
