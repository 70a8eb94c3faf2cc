"""The paper's claims about what SoFaiR's bits contain, tested against chance.

From what ``fairbench explain`` published of five seeds of the official split of Adults-Gender: per
step of beta, the correlation of each column with what the step releases, and per bit its disparity.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from claims import FAILS, HOLDS, UNDECIDED, Claim, is_above, table_of_claims
from fairbench.report.format import format_interval, format_share
from fairbench.stats.intervals import Estimate

FOLDER = Path(__file__).parents[1] / "leaderboards" / "figures"
SEEDS = range(5)
ORDER = ("marital-status", "occupation", "relationship", "hours-per-week")
"""Columns in the paper's order, from the one that beta releases first as it falls."""
_LEVEL = 0.05


def load_explained(name: str, kind: str) -> pd.DataFrame:
    """Load a file of ``fairbench explain``; ``name`` is a page's label, such as ``seed 0``."""
    return pd.read_csv(FOLDER / f"{name_explained(name)}-{kind}.csv")


def name_explained(name: str) -> str:
    """Return what the names of these files begin with."""
    of_race, _, seed = name.rpartition("seed ")
    dataset = "adults-gender-race" if of_race else "adults-gender"
    return f"{dataset}-sofair-seed{seed}"


def place(correlations: np.ndarray) -> float:
    """Return at which step, from 0, a column is released.

    The mean of the steps, weighted by the squared correlations of the column with what each
    releases, ``(steps,)``.
    """
    weights = np.square(correlations)
    return float(weights @ np.arange(len(weights)) / weights.sum())


def count_in_order(places: Sequence[float]) -> int:
    """Pairs of columns of which the former comes before the latter."""
    return sum(a < b for a, b in itertools.combinations(places, 2))


def order_p_value(pairs: int, columns: int, seeds: int) -> float:
    """Chance of so many pairs in order, or more, over all seeds, if each order is as likely.

    Exact: all permutations of the columns, independently for each seed.
    """
    counts = np.bincount([count_in_order(p) for p in itertools.permutations(range(columns))])
    chances = np.ones(1)
    for _ in range(seeds):
        chances = np.convolve(chances, counts / counts.sum())
    return float(chances[pairs:].sum())


def rank_correlations() -> list[float]:
    """Spearman's correlation of a bit's disparity with how often it is released, by seed.

    Over the bits: the disparity is that of beta = 0, where all are released; how often is the mean
    share of people over the other settings.
    """
    found = []
    for seed in SEEDS:
        bits = load_explained(f"seed {seed}", "bits")
        by_bit = bits.set_index(["dimension", "bit"])
        at_zero = by_bit["point"] == "beta=0"
        kept = by_bit[~at_zero].groupby(level=["dimension", "bit"])["kept"].mean()
        found.append(float(kept.corr(by_bit[at_zero]["disparity"], method="spearman")))
    return found


def _in_order() -> Claim:
    pairs, firsts = 0, []
    for seed in SEEDS:
        steps = load_explained(f"seed {seed}", "information")
        places = [place(steps[column].to_numpy()) for column in ORDER]
        pairs += count_in_order(places)
        firsts.append(ORDER[int(np.argmin(places))])
    most = len(SEEDS) * len(ORDER) * (len(ORDER) - 1) // 2
    p_value = order_p_value(pairs, len(ORDER), len(SEEDS))
    opposite = order_p_value(most - pairs, len(ORDER), len(SEEDS))
    first = firsts.count(ORDER[0])
    return Claim(
        "RQ3: as beta falls, marital status is released first, then occupation, relationship and "
        "hours",
        f"{pairs} of {most} pairs of columns in this order, p = {format_share(p_value)} if every "
        f"order were as likely; marital status is the first of the four in {first} of "
        f"{len(SEEDS)} seeds",
        HOLDS if p_value < _LEVEL else FAILS if opposite < _LEVEL else UNDECIDED,
    )


def _predictive_bits_last() -> Claim:
    found = np.array(rank_correlations())
    variance = float(found.var(ddof=1)) / len(found)
    mean = Estimate(float(found.mean()), rows=0.0, shared=0.0, seeds=variance, df=len(found) - 1)
    return Claim(
        "RQ3: bits that predict s are released last",
        "rank correlation of a bit's disparity with how often it is released: "
        f"{format_interval(mean.value, *mean.interval())}; it should be negative",
        is_above(replace(mean, value=-mean.value)),
    )


def format_claims_of_bits() -> str:
    """Format the table of both claims."""
    return table_of_claims("over five seeds", claims_of_bits())


def claims_of_bits() -> list[Claim]:
    """Both claims."""
    return [_in_order(), _predictive_bits_last()]
