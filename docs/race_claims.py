"""The paper's claims about Adults-Gender-Race, each tested on the published board over five splits.

The paper prints areas of .30 (SoFaiR), .36 (MSFaiR) and .53 (SoFaiR-NOS), and says that LATFR's
front is ahead of both where little may leak. The tests of differences are those of claims.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from claims import FAILS, UNDECIDED, Claim, is_above, pair, say_guess, table_of_claims, worse
from published_figures import Published, read_published

BOARD = "adults-gender-race-5"

LIMITS = (10, 25)
"""Percent of the way from a constant guess of s to that of x: where little may leak."""


def race_claims(board: Published) -> Iterator[Claim]:
    """All claims whose methods are on the board over all splits."""
    for better, other in (("sofair", "msfair"), ("sofair", "sofair-nos"), ("msfair", "sofair-nos")):
        if {better, other} <= board.rows.keys():
            yield worse(other, better, f"RQ1: `{better}` has a smaller area than `{other}`")(board)
    for method in ("sofair", "msfair"):
        for percent in LIMITS:
            if {"latfr", method} <= board.rows.keys():
                yield _front(board, method, percent)


def _front(board: Published, method: str, percent: int) -> Claim:
    """Whether LATFR keeps more of income than a method at a limit of A_s.

    Where LATFR keeps the limit on no split its figure is that of a constant guess, and says nothing
    of a front. It is not ahead then if the other method keeps the limit on every split.
    """
    column = f"accuracy_y_at_accuracy_s_{percent}"
    shown = pair(board, "latfr", method, column)
    verdict = is_above(board.gap("latfr", method, column))
    if not board.share_within("latfr", column):
        shown += say_guess("latfr")
        everywhere = board.share_within(method, column) == 1
        verdict = FAILS if everywhere else UNDECIDED
    return Claim(
        f"RQ2: `latfr` is ahead of `{method}`, by A_y where A_s is at most {percent}% of the way "
        "from a guess to that of x",
        shown,
        verdict,
    )


def format_race_claims() -> str:
    """Format the table of claims."""
    return table_of_claims("over five splits", read_race_claims())


def read_race_claims() -> list[Claim]:
    """All claims, of the published board."""
    return list(race_claims(read_published(BOARD)))
