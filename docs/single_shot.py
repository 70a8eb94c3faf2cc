"""Tables of single-shot twins against their methods.

From the board of that experiment, of one split, and from the published one, over five.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from board_rows import (
    MISSING,
    get_figure,
    name_rows,
    read_table,
    show_area,
    show_figure,
    show_seconds,
)
from claims import FAILS, HOLDS, UNDECIDED
from fairbench.leaderboard.ranking import LeaderboardEntry, difference
from fairbench.metrics.rows import DEFAULT
from fairbench.report.format import format_count, format_interval, format_share
from fairbench.stats.intervals import Estimate
from markdown_parts import list_names, make_paragraph, make_table
from published_figures import Published, read_published

BOARD, FOLDER = "single-shot", "experiments"

SUFFIX = "-ss"
"""What the name of a twin ends in."""

MARGIN = 0.01
"""Area that a twin may lose and still be as good as its method."""

CHEAP = 0.25
"""Largest share of its method's training time."""

_HEADS = (
    *("method", "AUFDC", "of the twin", "twin - method", "training, s", "of the twin"),
    *("share", "monotonicity", "of the twin"),
)

EARLIER_SHARES: Mapping[str, float] = {"l-mifr": 0.25}
"""Methods that were trained again after their twin, beside more other work, so that the share of
the twin is too low; and the share before."""

_MIXED = "mixed"
"""Machine of a row whose models were trained on several."""

Pair = tuple[LeaderboardEntry, LeaderboardEntry]
"""A method and its twin."""


def format_single_shot() -> str:
    """Format the table; a row for each method that is on the board with its twin."""
    pairs = read_pairs()
    rows = (_cells(*pair) for pair in pairs)
    return f"{make_table(_HEADS, rows, rule='---:')}\n\n{_verdict(pairs)}"


def _verdict(pairs: Sequence[Pair]) -> str:
    """Say which twins are as good as their method, which are not, and which may be either."""
    verdicts = [(judge(difference(twin, method, "aufdc")), twin) for method, twin in pairs]
    shares = [training_share(*pair) for pair in pairs]
    known = [share for share in shares if not math.isnan(share)]
    cheap = sum(share <= CHEAP for share in known)
    lines = {
        HOLDS: "lose at most .01 of area, by the 95% interval of the difference: ",
        FAILS: "lose more: ",
        UNDECIDED: "undecided: ",
    }
    found = [
        f"- {line}{list_names([twin.row.method for own, twin in verdicts if own == verdict])}"
        for verdict, line in lines.items()
    ]
    found.append(
        f"- take at most a fourth of their method's training time: {cheap} of {len(known)}"
    )
    shares_too_low = describe_shares([pair[0].row.method for pair in pairs], "{:.2f}".format)
    listed = "\n".join(["Of the twins:", "", *found])
    return "\n\n".join(filter(None, [listed, make_paragraph(shares_too_low)]))


def describe_shares(methods: Sequence[str], show: Callable[[float], str]) -> str:
    """Say of which methods the share of the training is too low; nothing where of none."""
    return " ".join(
        f"`{method}` was trained again after its twin, on a busier machine. So its share is too "
        f"low: before, it was {show(EARLIER_SHARES[method])}."
        for method in methods
        if method in EARLIER_SHARES
    )


def judge(gap: Estimate | None) -> str:
    """Say whether a twin loses at most :data:`MARGIN` of area, by the 95% interval of its gap."""
    low, high = (math.nan, math.nan) if gap is None else gap.interval()
    return HOLDS if high <= MARGIN else FAILS if low > MARGIN else UNDECIDED


def format_over_splits() -> str:
    """Format the table of twins that are on the published board, over its five splits."""
    board = read_published()
    rows = []
    for method in list_twins(board):
        gap = board.gap(method + SUFFIX, method, "aufdc")
        pair = (board.rows[name] for name in (method, method + SUFFIX))
        rows.append(
            [
                f"`{method}`",
                *map(show_area, pair),
                format_interval(gap.value, *gap.interval()),
                f"**{judge(gap)}**",
            ]
        )
    heads = ("method", "AUFDC", "of the twin", "twin - method", "claim: loses at most .01")
    return make_table(heads, rows)


def format_in_short() -> str:
    """Format how many twins lose little area over the splits, and how many train in little time."""
    board = read_published()
    twins = list_twins(board)
    found = Counter(judge(board.gap(name + SUFFIX, name, "aufdc")) for name in twins)
    shares = [share for pair in read_pairs() if not math.isnan(share := training_share(*pair))]
    cheap = sum(share <= CHEAP for share in shares)
    return make_paragraph(
        f"Over five splits, {found[HOLDS]} of {format_count(len(twins), 'twin')} lose at most",
        f"{format_share(MARGIN)} of area, {found[FAILS]} lose more, and",
        f"{found[UNDECIDED]} are undecided. {cheap} of {len(shares)} take at most a fourth of",
        "the training time.",
    )


def list_twins(board: Published) -> list[str]:
    """Return the methods of a board that stand there with their twins."""
    return sorted(name for name in board.rows if name + SUFFIX in board.rows)


def read_pairs() -> list[Pair]:
    """Return each method of the board with its twin, both with their default hyperparameters."""
    defaults = (
        entry
        for entry in read_table(BOARD, FOLDER).entries
        if entry.row.complete and entry.row.params == DEFAULT
    )
    rows = name_rows(defaults, BOARD)
    return [(rows[name], rows[name + SUFFIX]) for name in sorted(rows) if name + SUFFIX in rows]


def training_share(method: LeaderboardEntry, twin: LeaderboardEntry) -> float:
    """Return a twin's training time as a share of its method's.

    NaN where one is not known, or where they were trained on different machines.
    """
    machines = {(one.row.device, one.row.processor) for one in (method, twin)}
    if len(machines) > 1 or any(_MIXED in machine for machine in machines):
        return math.nan
    whole, of_twin = (get_figure(one, "train_seconds") or math.nan for one in (method, twin))
    return of_twin / whole


def _cells(method: LeaderboardEntry, twin: LeaderboardEntry) -> tuple[str, ...]:
    gap = difference(twin, method, "aufdc")
    share = training_share(method, twin)
    return (
        f"`{method.row.method}`",
        show_figure(method, "aufdc"),
        show_figure(twin, "aufdc"),
        MISSING if gap is None else format_interval(gap.value, *gap.interval()),
        show_seconds(get_figure(method, "train_seconds")),
        show_seconds(get_figure(twin, "train_seconds")),
        MISSING if math.isnan(share) else f"{share:.2f}",
        show_figure(method, "monotonicity"),
        show_figure(twin, "monotonicity"),
    )
