"""Assumptions of the simulated twin on unpublished dependences.

None of these numbers was measured on anybody. They are common sense about medicine in its coarsest
form (old people's hearts, children's coughs, young women's pregnancies), with strengths chosen so
that s and y can be predicted from x about as well as the paper's authors once reported for the real
data. A study of health must not use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairbench.api import Ints
from fairbench_datasets.heritage.columns import AGES, SEXES

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Use:
    """Dependences of a count over a member's year: standard normal score = the sum of these."""

    age: tuple[float, ...]  # shift by age band
    woman: float  # shift of women against men
    frailty: float  # weight of what a member's counts of all kinds have in common, standard normal
    # Weight of what is the member's own in this count, year after year, standard normal
    habit: float
    year: float  # weight of chance from year to year, standard normal


CLAIMS = Use((-0.1, -0.4, -0.4, -0.25, -0.1, 0.1, 0.3, 0.5, 0.5), 0.15, 0.7, 0.2, 0.6)
LABS = Use((-0.8, -0.5, -0.1, 0.0, 0.1, 0.3, 0.4, 0.5, 0.4), 0.15, 0.5, 0.3, 0.7)
DRUGS = Use((-0.5, -0.6, -0.5, -0.3, 0.0, 0.3, 0.6, 0.8, 0.8), 0.10, 0.5, 0.7, 0.4)

YEAR_THERE = 0.63
"""Chance that a member is enrolled in a year; each is enrolled in at least one."""

DELAY_SPREAD = 0.35
"""Standard deviation of the logarithm of a member's mean delay in a year."""

CONDITION_SAMENESS = 5.0
PROCEDURE_SAMENESS = 10.0
"""Parameters of the Dirichlet distributions that members' proportions come from, summed. Small: a
member has few groups. The published deviations of the groups' counts fit 3 to 7 for 13 of 15
conditions, and 7 to 23 for the five procedures that most claims have."""

# Rates relative to other ages, at 0-9, 10-19, ... 80+.
_PROFILES = {
    "newborn": (8.8, 0.69, 1.4, 1.4, 0.53, 0.3, 0.3, 0.3, 0.3),
    "child": (2.3, 1.6, 1.1, 0.95, 0.89, 0.83, 0.76, 0.69, 0.69),
    "young": (1.1, 1.5, 1.3, 1.1, 1, 0.89, 0.83, 0.83, 0.89),
    "fertile": (0.087, 1, 3.4, 2.8, 0.83, 0.13, 0.087, 0.087, 0.087),
    "adult": (0.37, 0.89, 1.4, 1.3, 1.2, 1.1, 0.83, 0.69, 0.62),
    "middle": (0.43, 0.69, 0.89, 1, 1.1, 1.1, 1.1, 1.1, 0.95),
    "late": (0.26, 0.37, 0.53, 0.69, 0.95, 1.1, 1.3, 1.3, 1.2),
    "old": (0.2, 0.2, 0.3, 0.43, 0.65, 0.95, 1.2, 1.6, 1.8),
    "oldest": (0.37, 0.3, 0.37, 0.43, 0.57, 0.76, 1.1, 1.6, 2.3),
    "even": (1, 1, 1, 1, 1, 1, 1, 1, 1),
}

# A group's profile, and its rate among women relative to men.
_CONDITIONS = {
    "AMI": ("old", 0.7),
    "APPCHOL": ("adult", 1.3),
    "ARTHSPIN": ("middle", 1.1),
    "CANCRA": ("late", 0.7),
    "CANCRB": ("late", 1.2),
    "CANCRM": ("late", 3.0),
    "CATAST": ("even", 1.0),
    "CHF": ("oldest", 0.9),
    "COPD": ("old", 0.8),
    "FLaELEC": ("old", 1.2),
    "FXDISLC": ("young", 0.9),
    "GIBLEED": ("middle", 1.0),
    "GIOBSENT": ("middle", 1.0),
    "GYNEC1": ("adult", 60.0),
    "GYNECA": ("middle", 60.0),
    "HEART2": ("old", 0.8),
    "HEART4": ("old", 0.7),
    "HEMTOL": ("late", 1.2),
    "HIPFX": ("oldest", 1.8),
    "INFEC4": ("child", 1.1),
    "LIVERDZ": ("middle", 0.7),
    "METAB1": ("middle", 1.0),
    "METAB3": ("late", 0.9),
    "MISCHRT": ("late", 0.9),
    "MISCL1": ("even", 1.0),
    "MISCL5": ("even", 1.0),
    "MSC2a3": ("even", 1.1),
    "NEUMENT": ("young", 1.1),
    "ODaBNCA": ("middle", 1.0),
    "PERINTL": ("newborn", 1.0),
    "PERVALV": ("old", 0.9),
    "PNCRDZ": ("middle", 0.9),
    "PNEUM": ("oldest", 1.0),
    "PRGNCY": ("fertile", 300.0),
    "RENAL1": ("old", 0.8),
    "RENAL2": ("old", 0.7),
    "RENAL3": ("late", 0.7),
    "RESPR4": ("child", 1.0),
    "ROAMI": ("late", 1.0),
    "SEIZURE": ("young", 1.0),
    "SKNAUT": ("young", 1.1),
    "STROKE": ("oldest", 1.0),
    "TRAUMA": ("child", 0.8),
    "UTI": ("even", 3.5),
    "other": ("even", 1.0),
}

# How much more common a procedure is among the claims with a condition.
_PROCEDURES: Mapping[str, Mapping[str, float]] = {
    "APPCHOL": {"SDS": 8, "ANES": 4, "RAD": 2},
    "ARTHSPIN": {"RAD": 2.5, "SMS": 5, "SNS": 6},
    "CANCRA": {"RAD": 3, "SRS": 4},
    "CANCRB": {"RAD": 3, "SIS": 3, "SUS": 3},
    "COPD": {"MED": 3, "SRS": 6},
    "FXDISLC": {"RAD": 3, "SMS": 12},
    "GIBLEED": {"SDS": 12, "ANES": 3},
    "GIOBSENT": {"SDS": 8},
    "GYNEC1": {"SGS": 25, "PL": 1.5},
    "GYNECA": {"SGS": 15, "PL": 1.5},
    "HEART2": {"MED": 4},
    "HEART4": {"SCS": 3},
    "HIPFX": {"SMS": 10, "ANES": 4, "RAD": 2},
    "INFEC4": {"PL": 1.5},
    "METAB3": {"PL": 2.5, "SCS": 1.5},
    "MISCHRT": {"MED": 2, "PL": 1.3},
    "MSC2a3": {"PL": 1.3, "SCS": 1.3},
    "NEUMENT": {"MED": 2.5, "SEOA": 12, "SAS": 12},
    "PRGNCY": {"SMCD": 200, "PL": 1.5, "RAD": 2},
    "RENAL3": {"SUS": 20, "PL": 1.5},
    "RESPR4": {"EM": 1.5, "SAS": 3},
    "ROAMI": {"MED": 3, "RAD": 2},
    "SKNAUT": {"SIS": 15},
    "TRAUMA": {"RAD": 2, "SIS": 3, "SMS": 2},
    "UTI": {"PL": 2, "SUS": 5},
}

# Chance that a claim with a condition shows a Charlson index above 0.
_CHARLSON = {
    "AMI": 0.34,
    "CANCRA": 0.42,
    "CANCRB": 0.26,
    "CANCRM": 0.51,
    "CATAST": 0.34,
    "CHF": 0.42,
    "COPD": 0.34,
    "GIBLEED": 0.02,
    "HEART2": 0.05,
    "HEART4": 0.3,
    "LIVERDZ": 0.26,
    "METAB3": 0.02,
    "RENAL1": 0.34,
    "RENAL2": 0.42,
    "STROKE": 0.34,
}
_CHARLSON_OF_AGE = (0.0, 0.0, 0.01, 0.01, 0.01, 0.02, 0.03, 0.04, 0.05)
"""Chance of one from causes outside the columns, by age band."""


def condition_rates(shares: Mapping[str, float], claims: Ints) -> Array:
    """Share of a group's claims by condition.

    ``shares``: share of all claims by condition, which the result is fitted to.
    ``claims (groups,)``: claims of each of the groups of S. Returns ``(groups, conditions)``: rows
    add up to 1; columns are in the order of ``shares``.
    """
    rates = np.ones((len(SEXES), len(AGES), len(shares)))
    for i, name in enumerate(shares):
        profile, women = _CONDITIONS[name]
        rates[:, :, i] = np.array([[women], [1.0]]) * np.array(_PROFILES[profile])
    return _rake(rates.reshape(-1, len(shares)), claims, shares)


def procedure_rates(shares: Mapping[str, float], conditions: Mapping[str, float]) -> Array:
    """Share of a condition's claims by procedure: ``(conditions, procedures)``, as above."""
    more = [_PROCEDURES.get(condition, {}) for condition in conditions]
    rates = np.array([[of.get(procedure, 1.0) for procedure in shares] for of in more])
    return _rake(rates, np.array(list(conditions.values())), shares)


def _rake(rates: Array, weights: npt.NDArray[Any], shares: Mapping[str, float]) -> Array:
    """Scale columns, and rows to 1, until the rows' weighted mean is ``shares``."""
    target = np.array(list(shares.values()))
    for _ in range(200):
        rates = rates * (target / (weights @ rates))
        rates /= rates.sum(axis=1, keepdims=True)
    return rates


def charlson_probability(counts: Mapping[str, Ints], age: Ints) -> Array:
    """Chance that any of a member's claims shows a Charlson index above 0, ``(n,)``."""
    spared = 1 - np.array(_CHARLSON_OF_AGE)[age]
    for condition, chance in _CHARLSON.items():
        spared = spared * (1 - chance) ** counts[condition]
    return 1 - spared
