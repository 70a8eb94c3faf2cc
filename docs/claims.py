"""The paper's claims about Adults-Gender, each tested on the published board over five splits.

A verdict is ``holds``, ``does not hold`` or ``undecided``. A difference is clear where its 95%
interval excludes 0. Where the paper says "as good as", two one-sided tests at 5% are made against a
margin (equivalence), or one where being better is as good (not worse): a 90% interval inside the
margin holds, one outside of it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from fairbench.report.format import format_count, format_interval, format_share
from fairbench.stats.intervals import LEVEL, Estimate
from markdown_parts import make_table
from published_figures import (
    FALL_MARGIN,
    RISE_MARGIN,
    TEST_LEVEL,
    Falls,
    Published,
    Rises,
    read_published,
)

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"

AREA_MARGIN = 0.02
"""AUFDC within which two methods count as equally good; areas lie between 0 and .5."""
ACCURACY_MARGIN = 0.01
"""The same of accuracies of income."""
SHARES = (50, 25, 10)
"""Percent of I(X;S) at which the D of two curves is compared."""
ENOUGH = 0.5
"""Share of the way from a constant guess to x at which an accuracy counts as enough."""
LITTLE = 0.1
"""Share of I(X;S) that counts as little leakage."""

OTHERS = ("latfr", "maxent-arl", "cvib", "beta-vae")
"""The methods that the paper compares its own with."""


def is_equal(gap: Estimate, margin: float) -> str:
    """Two one-sided tests of -margin < gap < margin."""
    half = gap.half_width(2 * TEST_LEVEL)
    if abs(gap.value) + half < margin:
        return HOLDS
    return FAILS if abs(gap.value) - half > margin else UNDECIDED


def is_not_above(gap: Estimate, margin: float) -> str:
    """One one-sided test of gap < margin."""
    half = gap.half_width(2 * TEST_LEVEL)
    if gap.value + half < margin:
        return HOLDS
    return FAILS if gap.value - half > margin else UNDECIDED


def is_above(gap: Estimate) -> str:
    """Whether a difference is above 0, by its 95% interval."""
    low, high = gap.interval()
    return HOLDS if low > 0 else FAILS if high < 0 else UNDECIDED


@dataclass(frozen=True)
class Claim:
    """What the paper says, the figures it is judged by, and the verdict."""

    words: str
    figures: str
    verdict: str


def _shown(estimate: Estimate) -> str:
    return format_interval(estimate.value, *estimate.interval())


def pair(board: Published, a: str, b: str, column: str) -> str:
    """Show a figure of two methods, and their difference with its interval."""
    values = (format_share(board.of(name, column).value) for name in (a, b))
    return f"`{a}` {next(values)}, `{b}` {next(values)}: {_shown(board.gap(a, b, column))}"


def say_guess(method: str) -> str:
    """Say what the figure of a method is that keeps a limit of A_s in no split."""
    return f". No point of `{method}` is within the limit: its figure is a constant guess's"


def claims(board: Published) -> Iterator[Claim]:
    """All claims whose methods are on the board."""
    for needed, make in _CLAIMS:
        if all(name in board.rows for name in needed):
            yield make(board)


def _same_area(a: str, b: str, words: str) -> Callable[[Published], Claim]:
    return lambda board: Claim(
        f"{words} (equal areas, margin {format_share(AREA_MARGIN)})",
        pair(board, a, b, "aufdc"),
        is_equal(board.gap(a, b, "aufdc"), AREA_MARGIN),
    )


def _as_good_area(a: str, b: str) -> Callable[[Published], Claim]:
    return lambda board: Claim(
        f"RQ2: `{a}` is as good as `{b}` or better, by area (margin {format_share(AREA_MARGIN)})",
        pair(board, a, b, "aufdc"),
        is_not_above(board.gap(a, b, "aufdc"), AREA_MARGIN),
    )


def _as_good_front(a: str, b: str, percent: int) -> Callable[[Published], Claim]:
    """Where no point of b keeps the limit, it holds if a keeps it on every split.

    Else it is undecided: not to be worse than a constant guess says nothing.
    """
    column = f"accuracy_y_at_accuracy_s_{percent}"

    def claim(board: Published) -> Claim:
        shown, verdict = pair(board, a, b, column), UNDECIDED
        if board.share_within(b, column):
            verdict = is_not_above(board.gap(b, a, column), ACCURACY_MARGIN)
        else:
            shown += say_guess(b)
            verdict = HOLDS if board.share_within(a, column) == 1 else UNDECIDED
        return Claim(
            f"RQ2: the same, by A_y where A_s is at most {percent}% of the way from a guess to "
            f"that of x (margin {format_share(ACCURACY_MARGIN)})",
            shown,
            verdict,
        )

    return claim


def _less_distortion(a: str, b: str, words: str) -> Callable[[Published], Claim]:
    """Whether a has less D than b at each of some levels of I."""

    def claim(board: Published) -> Claim:
        gaps = {percent: board.distortion_gap(a, b, percent) for percent in SHARES}
        ends = [gap.interval() for gap in gaps.values()]
        less = all(high < 0 for _, high in ends)
        # One level is enough: each is given its share of the error.
        level = (1 - LEVEL) / len(gaps)
        not_less = any(gap.value - gap.half_width(level) > 0 for gap in gaps.values())
        shown = "; ".join(f"{percent}%: {_shown(gap)}" for percent, gap in gaps.items())
        return Claim(
            f"{words} (D / D_max at the given share of I(X;S))",
            f"`{a}` less `{b}`, at {shown}",
            HOLDS if less else FAILS if not_less else UNDECIDED,
        )

    return claim


def _enough(method: str, column: str, words: str) -> Callable[[Published], Claim]:
    """Whether the code of the fair end keeps half of what x says of a task."""

    def claim(board: Published) -> Claim:
        share = board.share_at_fair_end(method, column)
        low, high = share.interval()
        return Claim(
            f"{words} (at least {ENOUGH:.0%} of the way from a constant guess to x)",
            f"share of the way: {_shown(share)}",
            HOLDS if low > ENOUGH else FAILS if high < ENOUGH else UNDECIDED,
        )

    return claim


def worse(a: str, b: str, words: str) -> Callable[[Published], Claim]:
    """Whether the area of a is above that of b."""
    return lambda board: Claim(
        words, pair(board, a, b, "aufdc"), is_above(board.gap(a, b, "aufdc"))
    )


def _leaks(method: str, words: str, *, claimed: bool) -> Callable[[Published], Claim]:
    """Whether a method leaks at every setting (``claimed``), or does not."""

    def claim(board: Published) -> Claim:
        least = board.least_share(method)
        low, high = least.interval()
        leaks, does_not = (HOLDS, FAILS) if claimed else (FAILS, HOLDS)
        verdict = leaks if low > LITTLE else does_not if high < LITTLE else UNDECIDED
        return Claim(words, f"least share: {_shown(least)}", verdict)

    return claim


def judge_order(rises: Rises, falls: Falls) -> str:
    """Whether curves of one model go one way, from low D and high I to high D and low I.

    That their points do never confirms it: the points of such a curve are chosen so that D rises
    from one to the next on validation rows, and where it falls between two of them none is read.
    """
    return FAILS if rises.clear or falls.clear else UNDECIDED


def describe_rises(found: Rises) -> str:
    """Say at how many steps I rises."""
    steps = format_count(found.steps, "step")
    return f"I rises at {found.seen} of {steps}, significantly at {found.clear}"


def describe_falls(found: Falls) -> str:
    """Say at how many of the same steps D falls."""
    return f"D falls at {found.seen}, by more than {FALL_MARGIN:.0%} of D_max at {found.clear}"


def _could_rise(found: Rises) -> str:
    margin = format_share(RISE_MARGIN)
    return f"a rise of more than {margin} nats cannot be excluded at {found.possible}"


def _in_order(method: str, words: str) -> Callable[[Published], Claim]:
    """Whether I never rises and D never falls towards the fair end."""

    def claim(board: Published) -> Claim:
        rises, falls = board.rises(method), board.falls(method)
        shown = (describe_rises(rises), _could_rise(rises), describe_falls(falls))
        return Claim(words, "; ".join(shown), judge_order(rises, falls))

    return claim


def _rises(method: str, words: str) -> Callable[[Published], Claim]:
    """Whether I rises somewhere towards the fair end."""

    def claim(board: Published) -> Claim:
        found = board.rises(method)
        # What these points do not show may lie between them: that none rises refutes nothing.
        verdict = HOLDS if found.clear else UNDECIDED
        return Claim(words, f"{describe_rises(found)}; {_could_rise(found)}", verdict)

    return claim


_CLAIMS: list[tuple[tuple[str, ...], Callable[[Published], Claim]]] = [
    (
        ("sofair", "msfair"),
        _same_area("sofair", "msfair", "RQ1: one model is as good as one for each point"),
    ),
    (
        ("sofair", "msfair"),
        _less_distortion(
            *("sofair", "msfair"),
            "RQ1: one model is better than sixteen at all values of I(Z;S)",
        ),
    ),
    (
        ("sofair", "sofair-nos"),
        worse(
            *("sofair-nos", "sofair"),
            "RQ1: a decoder that does not see s is worse than SoFaiR's (larger area)",
        ),
    ),
    (
        ("msfair", "sofair-nos"),
        worse("sofair-nos", "msfair", "RQ1: and worse than MSFaiR's (larger area)"),
    ),
    (
        ("sofair",),
        _in_order(
            "sofair",
            "RQ1: one model moves in order from low D and high I to high D and low I",
        ),
    ),
    (
        ("sofair",),
        _leaks(
            "sofair",
            "RQ1: a price on H(Z) is enough to control I(Z;S) (`sofair` comes below "
            f"{LITTLE:.0%} of I(X;S))",
            claimed=False,
        ),
    ),
    (
        ("sofair", "constant", "identity"),
        _enough(
            "sofair",
            "accuracy_y_married",
            "RQ3: codes at the fair end (largest beta) are enough to predict marital status",
        ),
    ),
    *(
        entry
        for other in OTHERS
        for entry in (
            (("sofair", other), _as_good_area("sofair", other)),
            (("sofair", other), _as_good_front("sofair", other, 25)),
            (("msfair", other), _as_good_area("msfair", other)),
        )
    ),
    *(
        (
            (name,),
            _leaks(
                name,
                f"RQ2: `{name}` leaks at every setting of its knob (at least {LITTLE:.0%} of "
                "I(X;S))",
                claimed=True,
            ),
        )
        for name in ("latfr", "maxent-arl")
    ),
    (
        ("beta-vae",),
        _rises("beta-vae", "RQ2: `beta-vae` is not monotonic in its knob"),
    ),
]
"""The methods that each claim needs, and what makes it."""


def format_claims() -> str:
    """Format the table of claims."""
    return table_of_claims("over five splits", claims(read_published()))


def table_of_claims(head: str, claimed: Iterable[Claim]) -> str:
    """Format claims as a table of a page; ``head`` says what their figures are of."""
    rows = ((one.words, one.figures, f"**{one.verdict}**") for one in claimed)
    return make_table(["claim of the paper", head, "verdict"], rows)
