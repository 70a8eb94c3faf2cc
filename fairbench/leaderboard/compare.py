"""``fairbench.compare``: own results among those of a published board, as a frame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairbench.config import DEFAULT_RESULTS
from fairbench.leaderboard.against import compare_with
from fairbench.leaderboard.boards import PUBLISHED, find_board
from fairbench.leaderboard.frames import to_frame
from fairbench.leaderboard.select import read
from fairbench.registry import load_registry
from fairbench.store.database import Store

if TYPE_CHECKING:
    import pandas as pd


def compare(
    results: str | Path = DEFAULT_RESULTS,
    *,
    dataset: str | None = None,
    against: str = PUBLISHED,
) -> pd.DataFrame:
    """Rank the results in a folder among those of a published board.

    The same as ``fairbench leaderboard --against``; nothing is trained, and no file is written.

    Parameters
    ----------
    results : str or Path
        A results folder of ``fairbench run --against``.
    dataset : str, optional
        Name of the dataset; needed where ``against`` is ``published``.
    against : str
        ``published``: the newest published board of the dataset; a board's name; or a file.

    Returns
    -------
    DataFrame
        One row per method and set of hyperparameters, in the order of the leaderboard. ``own``
        says which rows are from ``results``. The other columns are those of the leaderboards.

    Raises
    ------
    ConfigError
        There is no such board, or none of the results can stand in it.
    StoreError
        There are no results, or the board's file cannot be read.

    Examples
    --------
    >>> import fairbench
    >>> table = fairbench.compare("fairbench-results", dataset="adults")  # doctest: +SKIP
    >>> table[["own", "rank_low", "rank_high", "method", "aufdc"]]  # doctest: +SKIP
    """
    registry = load_registry()
    board = find_board(against, registry, dataset)
    store = Store.in_folder(Path(results), create=False)
    compared = compare_with(read(store), board, registry)
    rows = [
        {"own": row.variant in compared.own} | row.cells() for row in compared.table.leaderboard
    ]
    return to_frame(rows).convert_dtypes()
