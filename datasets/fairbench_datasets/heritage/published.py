"""Published marginals of Health Heritage, as the simulated twin uses them.

Numbers are rounded. They are of release 3, a row a member and year: mean, quartiles and maximum of
claims, lab tests and drugs, mean claims by condition and procedure group; and of the members table:
counts by sex and age. Three things need saying:

- The means by group add up to 23.1 claims though a member's year has 12.1 on average. They fit
  averages over claims rather than over rows: E[n^2]/E[n] is between 21 and 23 for the published
  mean, deviation and quartiles of n, and only then do their deviations make sense too. So their
  proportions are used, not their sizes.
- Condition groups are numbered there, not named, and so are procedures; the names are those of the
  query that the numbering comes from (P. Brierley, D. Vogel and R. Axelrod, *How We Did It: Team
  Market Makers*, milestone 1 of the Heritage Health Prize, 2011).
- Of the 46 conditions, counting claims without one, the printed summary holds the first 15. The
  rest together have the claims that are left; how these fall off in the order of that query is
  a guess, (1 - k/31)^p with the p that makes the sum right.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

MEMBERS = (
    (4761, 5137, 4347, 6026, 7510, 5976, 5881, 6786, 3622),
    (4901, 5063, 3118, 5063, 6780, 5532, 4736, 5281, 2151),
)
"""Members by sex (F, M) and age band; the 20,329 who lack one of the two are left out."""


@dataclass(frozen=True)
class CountSummary:
    """A count over a member's year."""

    mean: float
    # lower, median, upper: quartiles
    lower: float
    median: float
    upper: float
    # least, most: the least value, where there is a row at all, and the largest
    least: float
    most: float

    def quantiles(self, level: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Values at these levels: straight lines between the quartiles, then a cut exponential.

        The exponential's scale is the one that gives the published mean.
        """
        points = (self.least, self.lower, self.median, self.upper)
        middles = sum((a + b) / 2 for a, b in pairwise(points))
        excess, room = 4 * self.mean - middles - self.upper, self.most - self.upper
        scale = excess
        for _ in range(100):
            scale = excess / (1 - np.exp(-room / scale))
        tail = -scale * np.log(np.minimum(1, 4 * (1 - level)))
        return np.interp(level, (0, 0.25, 0.5, 0.75), points) + np.minimum(tail, room)


CLAIMS = CountSummary(12.15, 4, 8, 17, least=1, most=44)
LABS = CountSummary(6.47, 0, 4, 10, least=0, most=111)
DRUGS = CountSummary(10.39, 0, 3, 14, least=0, most=84)

DELAYS = (54.3, 38.6, 38.6)
"""Mean days until a claim was paid in the first year and the others: days over claims."""

YEARS = 1.945
"""Mean years a member is there: 2,668,990 claims of 113,000 members, 12.15 a year."""

OTHER = "other"
"""Claims with none of the groups that are columns of X."""

_CONDITIONS = {
    "MSC2a3": 4.097,
    "METAB3": 2.710,
    "ARTHSPIN": 2.709,
    "NEUMENT": 1.414,
    "RESPR4": 0.989,
    "MISCHRT": 1.063,
    "SKNAUT": 0.929,
    "GIBLEED": 0.865,
    "INFEC4": 0.613,
    "TRAUMA": 0.520,
    "HEART2": 0.664,
    "RENAL3": 0.477,
    "ROAMI": 0.478,
    "MISCL5": 0.377,
    "ODaBNCA": 0.388,
}
_RARER = (
    "UTI COPD GYNEC1 CANCRB FXDISLC AMI PRGNCY HEMTOL HEART4 SEIZURE APPCHOL CHF GYNECA other "
    "PNEUM RENAL2 GIOBSENT STROKE CANCRA FLaELEC MISCL1 HIPFX METAB1 PERVALV LIVERDZ CATAST CANCRM "
    "PERINTL PNCRDZ RENAL1"
)
_PROCEDURES = {
    "EM": 8.479,
    "PL": 4.325,
    "MED": 3.400,
    "SCS": 2.511,
    "RAD": 2.414,
    "SDS": 0.500,
    "SIS": 0.508,
    "SMS": 0.297,
    "ANES": 0.170,
    "SGS": 0.097,
    "SEOA": 0.084,
    "SRS": 0.064,
    "SNS": 0.083,
    "SAS": 0.042,
    "SUS": 0.058,
    OTHER: 0.035,
    "SMCD": 0.030,
    "SO": 0.004,
}


def condition_shares() -> dict[str, float]:
    """Share of all claims by condition group, ``other`` among them."""
    total = sum(_PROCEDURES.values())
    names = _RARER.split()
    rank = np.arange(len(names)) / (len(names) + 1)
    first = min(_CONDITIONS.values())
    left = total - sum(_CONDITIONS.values())
    powers = np.linspace(0.5, 5, 1000)
    sums = (first * (1 - rank) ** powers[:, None]).sum(axis=1)
    power = powers[np.argmin(np.abs(sums - left))]
    rarer = dict(zip(names, (first * (1 - rank) ** power).tolist(), strict=True))
    return {name: value / total for name, value in (_CONDITIONS | rarer).items()}


def procedure_shares() -> dict[str, float]:
    """Share of all claims by procedure group, ``other`` among them."""
    total = sum(_PROCEDURES.values())
    return {name: value / total for name, value in _PROCEDURES.items()}
