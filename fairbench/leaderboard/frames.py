"""Leaderboards as pandas frames, with types that say what a column holds."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from fairbench.errors import DataError
from fairbench.metrics.earlier_names import present_name

if TYPE_CHECKING:
    import pandas as pd

TEXT = frozenset(
    (
        *("method", "params", "track", "tags", "budget", "audit", "dataset", "data_source"),
        *("device", "processor", "plugin", "fingerprint", "ranked_by"),
        "interval_over",
        *("fairbench", "python", "torch", "scikit_learn"),
        *("point", "status", "auditor", "view"),
    )
)
"""Columns of words."""

WHOLE = frozenset(
    (
        *("rank", "seeds", "seeds_missing", "points", "points_missing"),
        *("iterations", "protocol", "audit_version"),
        *("point_number", "seed", "distinct_codes"),
    )
)
"""Columns of whole numbers."""

YES_OR_NO = frozenset(("complete", "on_front"))
"""Columns of True and False; all other columns hold numbers."""


def load_leaderboard(path: str | Path) -> pd.DataFrame:
    """Read a leaderboard's CSV, or a points CSV, as a typed frame.

    Parameters
    ----------
    path : str or Path
        ``<dataset>.csv`` or ``<dataset>-points.csv`` as fairbench writes them.

    Returns
    -------
    DataFrame
        Words as ``string``, whole numbers as ``Int64``, yes and no as ``boolean``, all else as
        ``Float64``; an empty cell is ``<NA>`` in every one of them.

    Raises
    ------
    DataError
        There is no such file, or it is not one of these tables.

    Examples
    --------
    >>> import fairbench
    >>> board = fairbench.load_leaderboard("leaderboards/adults-gender.csv")
    >>> board.query("complete").sort_values("aufdc")[["method", "aufdc"]]  # doctest: +SKIP
    """
    import pandas as pd

    hint = "fairbench leaderboard writes these tables."
    try:
        raw = pd.read_csv(path, dtype="string", keep_default_na=False, na_values=[""])
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", hint) from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a CSV: {error}.".replace("..", "."), hint) from None
    if not {"method", "dataset", "track"} <= set(raw.columns):
        raise DataError(f"{path} is not a leaderboard: it has no column 'method'.", hint)
    renamed = {name: present_name(name) for name in raw.columns}
    if any(old != new for old, new in renamed.items()):
        warnings.warn(
            f"{path} has the column names of fairbench 0.1; they are read as the present ones. "
            "Version 0.3 will not read them: fairbench leaderboard writes the file anew.",
            FutureWarning,
            stacklevel=2,
        )
        raw = raw.rename(columns=renamed)
    frame = pd.DataFrame()
    for name in raw.columns:
        column = raw[name]
        try:
            if name in TEXT:
                frame[name] = column
            elif name in YES_OR_NO:
                frame[name] = column.map({"True": True, "False": False}).astype("boolean")
            else:
                numbers = pd.to_numeric(column).astype("Float64")
                frame[name] = numbers.astype("Int64") if name in WHOLE else numbers
        except (ValueError, TypeError):
            bad = f"{path}: the column {name!r} holds what is not a number."
            raise DataError(bad, hint) from None
    return frame
