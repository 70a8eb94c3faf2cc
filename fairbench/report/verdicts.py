"""The two tests of a leaderboard, in words: better than a reference, and could it be the best."""

from __future__ import annotations

from collections.abc import Sequence

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
        One sentence per reference method among the rows, and one on the best.
    """
    if not ranked:
        return []
    lines = []
    for name in ranked[0].p_values:
        better = [
            row for row in ranked if (p := row.p_values.get(name)) is not None and p < 1 - LEVEL
        ]
        if any(row.method == name for row in ranked):
            lines.append(f"Better than {name} (5%): {_listed(better, ranked) or 'none'}.")
    best = [row for row in ranked if row.may_be_best]
    lines.append(f"Could be the best (5%): {_listed(best, ranked)}.")
    wider = [row for row in ranked if row.rank_low == 1 and not row.may_be_best]
    if wider:
        lines.append(
            f"Ranks, which are two-sided, leave rank 1 to {_listed(wider, ranked)}, too; "
            "this one-sided test does not."
        )
    return lines


def _listed(rows: Sequence[LeaderboardRow], ranked: Sequence[LeaderboardRow]) -> str:
    """Name rows by their methods, and by their hyperparameters where not all of the method's are.

    So a method is not said to pass a test of which one of its rows fails.
    """
    names = []
    for row in rows:
        whole = all(other in rows for other in ranked if other.method == row.method)
        names.append(row.method if whole else f"{row.method} ({row.settings})")
    return ", ".join(dict.fromkeys(names))
