"""The simulated twin: rows with the published marginals of Health Heritage, and nothing else real.

A member's years, claims, lab tests and drugs come from the quantiles of a member's year, joined by
a Gaussian copula. Each claim then has a condition and a procedure, drawn from proportions that are
the member's own. ``published`` has the marginals, ``assumed`` all else;
docs/simulated-twins.md says what this is and is not.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairbench.api import Ints
from fairbench.api.dataset import Table
from fairbench_datasets.heritage import assumed, published
from fairbench_datasets.heritage.columns import AGES, CONDITIONS, FEATURES, GROUPS, PROCEDURES

Array = npt.NDArray[np.float64]

ROWS = int(np.sum(published.MEMBERS))
"""Members of the release whose age and sex are known."""


def simulate(*, rows: int = ROWS, seed: int = 0) -> Table:
    """Draw the twin.

    ``rows``: about how many; each group has its share of the release's members, rounded. ``seed``:
    the same seed gives the same table. Returns by default 92,671 rows: as many of each group as the
    release has members.
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    members = np.ravel(published.MEMBERS)
    counts = np.round(members * (rows / ROWS)).astype(np.int64)
    s = rng.permutation(np.repeat(np.arange(len(GROUPS)), counts))
    frailty = rng.normal(size=len(s))
    there = _years(rng, len(s))
    claims = _yearly(rng, published.CLAIMS, assumed.CLAIMS, s, frailty, there)
    labs = _yearly(rng, published.LABS, assumed.LABS, s, frailty, there).sum(axis=1)
    drugs = _yearly(rng, published.DRUGS, assumed.DRUGS, s, frailty, there).sum(axis=1)
    n = claims.sum(axis=1)

    shares = published.condition_shares()
    rates = assumed.condition_rates(shares, np.bincount(s, weights=n).astype(np.int64))
    conditions = _deal(rng, n, rates[s] * assumed.CONDITION_SAMENESS)
    kinds = published.procedure_shares()
    rates = conditions / n[:, None] @ assumed.procedure_rates(kinds, shares)
    procedures = _deal(rng, n, rates * assumed.PROCEDURE_SAMENESS)

    columns = {
        "ClaimsCount": n,
        "PayDelay": _delays(rng, claims),
        "LabCount": labs,
        "DrugCount": drugs,
        **{name: conditions[:, list(shares).index(name)] for name in CONDITIONS},
        **{name: procedures[:, list(kinds).index(name)] for name in PROCEDURES},
    }
    ill = rng.random(len(s)) < assumed.charlson_probability(columns, s % len(AGES))
    return Table(
        x=pd.DataFrame({name: columns[name].astype(np.int32) for name in FEATURES}),
        s=s,
        groups=GROUPS,
        y={"charlson": ill.astype(np.int64)},
    )


def _years(rng: np.random.Generator, n: int) -> npt.NDArray[np.bool_]:
    """Whether each member is there in each year, ``(n, 3)``; everybody is in one at least."""
    there = rng.random((n, 3)) < assumed.YEAR_THERE
    never = np.flatnonzero(~there.any(axis=1))
    there[never, rng.integers(0, 3, len(never))] = True
    return there


def _yearly(
    rng: np.random.Generator,
    summary: published.CountSummary,
    use: assumed.Use,
    s: Ints,
    frailty: Array,
    there: npt.NDArray[np.bool_],
) -> Ints:
    """Draw a count for each member and year, ``(n, 3)``; 0 where the member is not there.

    The scores' ranks among all that are there become levels of the published quantiles, so that
    the marginal is the published one whatever the scores depend on.
    """
    woman, age = s < len(AGES), s % len(AGES)
    own = np.array(use.age)[age] + use.woman * woman + use.frailty * frailty
    own = own + use.habit * rng.normal(size=len(s))
    score = (own[:, None] + use.year * rng.normal(size=there.shape))[there]
    level = np.empty(len(score))
    level[np.argsort(score)] = (np.arange(len(score)) + 0.5) / len(score)
    counts = np.zeros(there.shape, np.int64)
    counts[there] = np.round(summary.quantiles(level))
    return counts


def _delays(rng: np.random.Generator, claims: Ints) -> Ints:
    """Days of delay of all of a member's claims, ``(n,)``."""
    spread = assumed.DELAY_SPREAD
    noise = np.exp(spread * rng.normal(size=claims.shape) - spread**2 / 2)
    days: Array = np.round(claims * np.array(published.DELAYS) * noise).sum(axis=1)
    return days.astype(np.int64)


def _deal(rng: np.random.Generator, n: Ints, shapes: Array) -> Ints:
    """Deal each member's ``n`` claims to groups by proportions drawn from a Dirichlet."""
    parts = rng.gamma(shapes)
    return rng.multinomial(n, parts / parts.sum(axis=1, keepdims=True))
