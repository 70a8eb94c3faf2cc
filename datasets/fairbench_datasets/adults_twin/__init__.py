"""The simulated twin of the UCI Adult table: rows drawn from a fitted parametric model.

The twin stands in for the real table where neither the files nor a network are at hand. Its figures
are figures about the twin: never mix them with figures measured on real data. How it was fitted and
how close it comes is told in ``docs/simulated-twins.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["simulate"]


def simulate(*, rows: int = 48_842, seed: int = 0) -> pd.DataFrame:
    """Draw independent rows of the simulated twin.

    The same seed gives the same rows in every process, and a shorter draw is the beginning of a
    longer one. Takes about a second for 48,842 rows.

    Parameters
    ----------
    rows
        How many rows to draw, 0 or more; the default is the size of the real table (the official
        training and test files together).
    seed
        Seed of the draw, 0 or more.

    Returns
    -------
    pandas.DataFrame
        Shape ``(rows, 12)``, named as in the official files: ``workclass``, ``education``,
        ``education-num`` (years rank, 1 to 16), ``marital-status``, ``occupation``,
        ``relationship``, ``race``, ``sex``, ``capital-gain`` and ``capital-loss`` (US dollars),
        ``hours-per-week`` (hours) and ``income``. Categories are strings without surrounding
        blanks, ``?`` is one of them, income is ``<=50K`` or ``>50K``; numbers are ``int64``.

    Raises
    ------
    ValueError
        If `rows` or `seed` is negative.
    """
    if rows < 0 or seed < 0:
        raise ValueError(f"rows and seed must be 0 or more, got rows={rows} and seed={seed}")
    # Imported here, so that listing the datasets loads neither numpy nor pandas.
    from fairbench_datasets.adults_twin.sampling import draw, load_network, to_frame

    return to_frame(draw(load_network(), rows=rows, seed=seed))
