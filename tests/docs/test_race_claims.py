"""Verdicts on the paper's claims of ten groups, in cases that are known."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from claims import FAILS, HOLDS, UNDECIDED
from fairbench.stats.intervals import Estimate
from published_figures import Published
from race_claims import race_claims


def exactly(value: float) -> Estimate:
    return Estimate(value, rows=0.0, shared=0.0, seeds=1e-6, df=np.inf)


def a_board(figures: dict[str, float], within: dict[str, float]) -> Published:
    """A board of one figure for each method, whatever its column."""
    return cast(
        Published,
        SimpleNamespace(
            rows=figures,
            of=lambda name, column: exactly(figures[name]),
            gap=lambda a, b, column: exactly(figures[a] - figures[b]),
            share_within=lambda name, column: within[name],
        ),
    )


def test_each_pair_of_areas_is_a_claim_where_both_methods_are_there() -> None:
    one, other, last = race_claims(a_board({"sofair": 0.2, "msfair": 0.3, "sofair-nos": 0.25}, {}))
    assert (one.verdict, other.verdict, last.verdict) == (HOLDS, HOLDS, FAILS)
    assert "`sofair` has a smaller area than `msfair`" in one.words
    assert not list(race_claims(a_board({"sofair": 0.2, "latfr-like": 0.3}, {})))


@pytest.mark.parametrize(
    ("latfr", "within_latfr", "within_sofair", "verdict"),
    [
        (0.81, 1, 1, HOLDS),
        (0.79, 1, 1, FAILS),
        (0.80, 1, 1, UNDECIDED),
        # No point of LATFR is within the limit, and SoFaiR has one on each curve, or on some.
        (0.81, 0, 1, FAILS),
        (0.79, 0, 0.8, UNDECIDED),
        # Nothing is within it: a guess is compared with a guess.
        (0.81, 0, 0, UNDECIDED),
    ],
)
def test_a_front_is_ahead_only_with_points_within_the_limit(
    latfr: float, within_latfr: float, within_sofair: float, verdict: str
) -> None:
    board = a_board(
        {"latfr": latfr, "sofair": 0.80}, {"latfr": within_latfr, "sofair": within_sofair}
    )
    found = list(race_claims(board))
    assert [one.verdict for one in found] == [verdict, verdict]
    assert ("constant guess's" in found[0].figures) == (not within_latfr)
