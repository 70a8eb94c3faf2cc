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
            row.method
            for row in ranked
            if (p := row.p_values.get(name)) is not None and p < 1 - LEVEL
        ]
        if any(row.method == name for row in ranked):
            lines.append(f"Better than {name} (5%): {_listed(better) or 'none'}.")
    best = [row.method for row in ranked if row.may_be_best]
    lines.append(f"Could be the best (5%): {_listed(best)}.")
    wider = [row.method for row in ranked if row.rank_low == 1 and not row.may_be_best]
    if wider:
        lines.append(
            f"Ranks, which are two-sided, leave rank 1 to {_listed(wider)}, too; this one-sided "
            "test does not."
        )
    return lines


def _listed(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))
