"""A leaderboard in words: what its intervals account for, and the two tests of its rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fairbench.metrics.limits import LIMIT_NOTE
from fairbench.metrics.rows import LeaderboardRow
from fairbench.stats.intervals import LEVEL


def describe_tests(ranked: Sequence[LeaderboardRow]) -> list[str]:
    """Say which ranked rows of a group are better than its reference methods, and may be best.

    Parameters
    ----------
    ranked : sequence of LeaderboardRow
        The replicated rows of one group; without any, nothing is said.

    Returns
    -------
    list of str
        One sentence per reference method that they were tested against, and one on the best.
    """
    if not ranked:
        return []
    lines = []
    for name in ranked[0].p_values:
        tested = [(row, p) for row in ranked if (p := row.p_values.get(name)) is not None]
        better = [row for row, p in tested if p < 1 - LEVEL]
        if tested:
            lines.append(f"Better than {name} (5%): {_listed(better, ranked) or 'none'}.")
    best = [row for row in ranked if row.may_be_best]
    lines.append(f"Could be the best (5%): {_listed(best, ranked) or 'none of these'}.")
    wider = [row for row in ranked if row.rank_low == 1 and not row.may_be_best]
    if wider:
        lines.append(
            "Not the best by this test, though ranks begin at 1, as figures differ much between "
            f"splits: {_listed(wider, ranked)}."
        )
    return lines


def describe_intervals(rows: Sequence[LeaderboardRow]) -> str:
    """Say what the 95% intervals of rows account for: "over 5 folds", "over test rows ..."."""
    over = {row.interval_over for row in rows if row.interval_over is not None}
    if over == {"splits"}:
        return f"over {rows[0].splits}"
    if over == {"rows"}:
        return "over test rows alone, of these models"
    if over == {"rows and seeds"}:
        return "over test rows and seeds"
    return "over test rows, and seeds if several"


def note_intervals(
    ranked: Sequence[LeaderboardRow], others: Sequence[LeaderboardRow] = ()
) -> list[str]:
    """The same in sentences, of ranked rows and of others; nothing where no row has an interval."""
    with_ends = [[r for r in rows if r.interval_over is not None] for rows in (ranked, others)]
    first, then = (describe_intervals(rows) if rows else "" for rows in with_ends)
    if first and then and first != then:
        return [f"95% intervals are {first}; those of rows without a rank {then}."]
    return [f"95% intervals are {first or then}."] if first or then else []


def note_limits(rows: Sequence[LeaderboardRow], columns: Collection[str]) -> list[str]:
    """Explain the mark of figures that are a constant guess's on some splits, where there is one.

    ``columns``: those that are shown.
    """
    marked = any(row.limit_mark(column) for row in rows for column in columns)
    return [LIMIT_NOTE] if marked else []


def _listed(rows: Sequence[LeaderboardRow], ranked: Sequence[LeaderboardRow]) -> str:
    """Name rows by their methods, and by their hyperparameters where not all of the method's are.

    So a method is not said to pass a test of which one of its rows fails.
    """
    names = []
    for row in rows:
        whole = all(other in rows for other in ranked if other.method == row.method)
        names.append(row.method if whole else f"{row.method} ({row.settings})")
    return ", ".join(dict.fromkeys(names))
