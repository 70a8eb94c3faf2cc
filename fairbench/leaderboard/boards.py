"""Finding a published board: the newest of a dataset, one by name, or a file."""

from __future__ import annotations

import os
from pathlib import Path

from fairbench.api.published import BoardFile
from fairbench.data.card import is_card
from fairbench.data.files import OFFLINE_ENV, cache_folder, check_file, fetch
from fairbench.errors import ConfigError, StoreError, UnknownNameError
from fairbench.leaderboard.board import Board, BoardInfo
from fairbench.leaderboard.board_file import SUFFIX, read_board, read_models
from fairbench.registry import Registry, distribution_of
from fairbench.store.records import UnitRecord

PUBLISHED = "published"
"""Stands for the newest published board of a dataset."""


def find_board(text: str, registry: Registry, dataset: str | None = None) -> Board:
    """Return a board.

    Parameters
    ----------
    text : str
        ``published``: the newest of ``dataset``; a name as ``fairbench board list`` prints it; or
        the path of a ``.board`` file.
    dataset : str, optional
        Name or alias of a dataset, or its card's path: the board must be of it.

    Raises
    ------
    ConfigError, UnknownNameError
        There is none, or it is of another dataset.
    StoreError
        Its file cannot be read, or downloaded.
    """
    if text == PUBLISHED:
        return _read(_newest(registry, dataset))
    board = _named(text, registry)
    if dataset is not None and board.info.dataset != _dataset_name(dataset, registry):
        name = registry.dataset(dataset).name  # UnknownNameError names the nearest
        raise ConfigError(
            f"The {board.info.title} is of another dataset than {name}.",
            f"Name a board of {name} (fairbench board list), or the dataset {board.info.dataset}.",
        )
    return board


def _named(text: str, registry: Registry) -> Board:
    path = Path(text)
    if path.suffix == SUFFIX or path.is_file():
        return read_board(path)
    if text not in registry.boards:
        raise UnknownNameError(
            "board", text, [PUBLISHED, *registry.boards], command="fairbench board list"
        )
    return _read(registry.boards[text])


def _dataset_name(dataset: str, registry: Registry) -> str:
    known = dataset in registry.datasets or is_card(dataset)
    return registry.dataset(dataset).name if known else dataset


def installed_board(dataset: str, registry: Registry) -> Board | None:
    """Return the newest published board of a dataset that needs no download; None: there is none.

    Raises StoreError: its file cannot be read.
    """
    known = [board for board in _boards_of(dataset, registry) if board.path is not None]
    return _read(max(known, key=lambda board: board.version)) if known else None


def _boards_of(dataset: str, registry: Registry) -> list[BoardFile]:
    """Boards of a dataset: of the distribution that it comes from, where that has any.

    A board of another package has to be named: the package may bring a method to compare with it.
    """
    known = [board for board in registry.boards.values() if board.dataset == dataset]
    home = distribution_of(registry.datasets.sources.get(dataset))
    own = [b for b in known if distribution_of(registry.boards.sources[b.name]) == home]
    return own or known


def _newest(registry: Registry, dataset: str | None) -> BoardFile:
    if dataset is None:
        raise ConfigError(
            "Which board? --against published needs a dataset.", "Add --dataset NAME."
        )
    name = _dataset_name(dataset, registry)
    known = _boards_of(name, registry)
    if not known:
        registry.dataset(dataset)  # UnknownNameError names the nearest
        of = ", ".join(sorted({board.dataset for board in registry.boards.values()})) or "none"
        raise ConfigError(
            f"There is no published board of {name}; there are boards of: {of}.",
            "Name a file instead: --against FILE.board",
        )
    return max(known, key=lambda board: board.version)


def models_of(name: str, registry: Registry) -> tuple[BoardInfo, list[UnitRecord]]:
    """Return what an installed board is of, and its models; StoreError as :func:`find_board`."""
    return read_models(_file_of(registry.boards[name]))


def _read(source: BoardFile) -> Board:
    board = read_board(_file_of(source))
    if (board.info.dataset, board.info.version) != (source.dataset, source.version):
        raise StoreError(
            f"The board {source.name} is in truth the {board.info.title}.",
            "Whoever published it has to name it so.",
        )
    return board


def _file_of(source: BoardFile) -> Path:
    """Return the file of a board, which may be downloaded."""
    if source.path is not None:
        return source.path
    if source.download is None:
        raise StoreError(f"The board {source.name} has neither a file nor an address.")
    folder = cache_folder() / "boards"
    path = folder / source.download.name
    if not path.exists():
        offline = os.environ.get(OFFLINE_ENV) == "1"
        if offline or not any(fetch(url, source.download, folder) for url in source.download.urls):
            raise StoreError(
                f"The board {source.name} cannot be downloaded.",
                f"Get {', '.join(source.download.urls)} and name the file: --against FILE.board",
            )
    check_file(path, source.download)
    return path
